//! Four residues per vector, by AVX2 with FMA or by NEON: see [`lanes`]. Products modulo `q` and
//! sums of products are computed exactly, in `f64`. For wide moduli, everything but sums and
//! differences goes to the scalar reference.
#![cfg_attr(
    target_arch = "aarch64",
    expect(
        unused_unsafe,
        clippy::redundant_closure,
        reason = "functions that need no features are safe, and are functions of any closure's type"
    )
)]

mod dot;
mod elementwise;
mod float;
mod matrix;
mod sums;
mod transform;

use self::sums::MIN_BITS;
use crate::backend::{by_width, check_dot, check_lengths, check_mat_mul, check_ntt, lift};
use crate::packed;
use crate::quotient::{self, Reciprocal};
use crate::{Kernels, Modulus, NttTable, PackedWords, Scalar, Store, lanes};

/// Proof that this CPU has the operations of [`lanes`]: only [`Four::detect`] makes one.
#[derive(Debug)]
pub(crate) struct Four(());

impl Four {
    pub(crate) fn detect() -> Option<&'static Self> {
        static HERE: Four = Four(());
        lanes::available().then_some(&HERE)
    }
}

/// Runs the kernel on a narrow modulus. Otherwise runs the scalar reference: the method named, or
/// the one of the same name.
macro_rules! dispatch {
    ($q:expr, $module:ident :: $name:ident ( $($arg:expr),* )) => {
        dispatch!($q, $name($($arg),*), $module::$name($($arg),*))
    };
    ($q:expr, $scalar:ident ( $($arg:expr),* ), $fast:expr) => {
        if $q.is_wide() {
            Scalar.$scalar($($arg),*)
        } else {
            // SAFETY: `self` proves that the CPU has the features the kernel is compiled for;
            // lengths were checked.
            unsafe { $fast }
        }
    };
}

/// Returns true if this backend computes sums of products modulo `q`. Otherwise the scalar
/// reference computes them.
fn has_sums(q: &Modulus) -> bool {
    !q.is_wide() && q.bits() >= MIN_BITS
}

impl Kernels for Four {
    fn name(&self) -> &'static str {
        lanes::NAME
    }

    fn ntt(&self, table: &NttTable, a: &mut [u64]) {
        check_ntt(table, a);
        dispatch!(table.modulus(), transform::ntt(table, a))
    }

    fn intt(&self, table: &NttTable, a: &mut [u64]) {
        check_ntt(table, a);
        dispatch!(table.modulus(), transform::intt(table, a))
    }

    fn add_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64]) {
        check_lengths(a, [b.len()]);
        // SAFETY: `self` proves that the CPU has the features.
        unsafe { elementwise::add_assign(q, a, b) }
    }

    fn sub_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64]) {
        check_lengths(a, [b.len()]);
        // SAFETY: `self` proves that the CPU has the features.
        unsafe { elementwise::sub_assign(q, a, b) }
    }

    fn add_into(&self, q: &Modulus, out: &mut [u64], a: &[u64], b: &[u64], store: Store) {
        check_lengths(out, [a.len(), b.len()]);
        // SAFETY: `self` proves that the CPU has the features.
        unsafe { elementwise::add_into(q, out, a, b, store) }
    }

    fn sub_into(&self, q: &Modulus, out: &mut [u64], a: &[u64], b: &[u64], store: Store) {
        check_lengths(out, [a.len(), b.len()]);
        // SAFETY: `self` proves that the CPU has the features.
        unsafe { elementwise::sub_into(q, out, a, b, store) }
    }

    fn neg_assign(&self, q: &Modulus, a: &mut [u64]) {
        // SAFETY: `self` proves that the CPU has the features.
        unsafe { elementwise::neg_assign(q, a) }
    }

    fn mul_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64]) {
        check_lengths(a, [b.len()]);
        dispatch!(q, elementwise::mul_assign(q, a, b))
    }

    fn mul_into(&self, q: &Modulus, out: &mut [u64], a: &[u64], b: &[u64]) {
        check_lengths(out, [a.len(), b.len()]);
        dispatch!(q, elementwise::mul_into(q, out, a, b))
    }

    fn mul_add_assign(&self, q: &Modulus, acc: &mut [u64], a: &[u64], b: &[u64]) {
        check_lengths(acc, [a.len(), b.len()]);
        dispatch!(q, elementwise::mul_add_assign(q, acc, a, b))
    }

    fn scalar_mul_assign(&self, q: &Modulus, a: &mut [u64], c: u64) {
        dispatch!(q, elementwise::scalar_mul_assign(q, a, c))
    }

    fn scalar_mul_add_assign(&self, q: &Modulus, acc: &mut [u64], a: &[u64], c: u64) {
        check_lengths(acc, [a.len()]);
        dispatch!(q, elementwise::scalar_mul_add_assign(q, acc, a, c))
    }

    fn sub_scalar_mul_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64], c: u64) {
        check_lengths(a, [b.len()]);
        dispatch!(q, elementwise::sub_scalar_mul_assign(q, a, b, c))
    }

    fn reduce_into(&self, q: &Modulus, out: &mut [u64], a: &[u64]) {
        check_lengths(out, [a.len()]);
        dispatch!(q, elementwise::reduce_into(q, out, a))
    }

    fn dot_packed_into(&self, q: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[PackedWords]) {
        packed::check(out, a, b);
        if has_sums(q) {
            // SAFETY: `self` proves that the CPU has the features; lengths were checked.
            unsafe { dot::dot_packed(q, out, a, b) }
        } else {
            packed::dot(self, q, out, a, b);
        }
    }

    fn dot_into(&self, q: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
        check_dot(out, a, b);
        if !has_sums(q) {
            return Scalar.dot_into(q, out, a, b);
        }
        // SAFETY: `self` proves that the CPU has the features; lengths were checked.
        unsafe { dot::dot::<false>(q, out, a, b) }
    }

    fn dot_add_assign(&self, q: &Modulus, acc: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
        check_dot(acc, a, b);
        if !has_sums(q) {
            return Scalar.dot_add_assign(q, acc, a, b);
        }
        // SAFETY: `self` proves that the CPU has the features; lengths were checked.
        unsafe { dot::dot::<true>(q, acc, a, b) }
    }

    fn mat_mul_into(
        &self,
        moduli: &[Modulus],
        m: &[u64],
        (x, x_bits): (&[&[u64]], u32),
        out: &mut [&mut [u64]],
    ) {
        check_mat_mul(moduli, m, x, out);
        by_width(
            (moduli, m, out),
            (x.len(), x_bits),
            |(moduli, m, out)| {
                if !moduli.iter().all(has_sums) {
                    return Scalar.mat_mul_into(moduli, m, (x, x_bits), out);
                }
                // SAFETY: `self` proves that the CPU has the features; all lengths were checked.
                unsafe { matrix::mat_mul(moduli, m, (x, x_bits), out) }
            },
            |(moduli, m, out)| Scalar.mat_mul_into(moduli, m, (x, x_bits), out),
        );
    }

    fn lift_into(&self, q: &Modulus, out: &mut [u64], a: &[i32]) {
        #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
        fn compiled(q: &Modulus, out: &mut [u64], a: &[i32]) {
            lift(q, out, a);
        }
        check_lengths(out, [a.len()]);
        // SAFETY: `self` proves that the CPU has the features.
        unsafe { compiled(q, out, a) }
    }

    fn quotients(&self, y: &[&mut [u64]], reciprocals: &[Reciprocal], out: &mut [u64]) {
        #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
        fn compiled(y: &[&mut [u64]], reciprocals: &[Reciprocal], out: &mut [u64]) {
            quotient::quotients(y, reciprocals, out);
        }
        quotient::check(y, reciprocals, out);
        // SAFETY: `self` proves that the CPU has the features.
        unsafe { compiled(y, reciprocals, out) }
    }
}
