//! AVX-512 with IFMA: eight residues per vector. One instruction gives the lower half of a 52-bit
//! product, one the upper half. Products modulo wide moduli are 64-bit ones, made of the same
//! instructions and `vpmullq`.

mod context;
mod dot;
mod elementwise;
mod forward;
mod inverse;
mod matrix;
mod packed;
mod permute;
mod roots;
mod tiles;
mod vector;
mod wide;
mod wide_sums;

use crate::backend::{by_width, check_dot, check_lengths, check_mat_mul, check_ntt, lift};
use crate::combine::{self, Combinations};
use crate::quotient::{self, Reciprocal};
use crate::{Kernels, Modulus, NttTable, PackedWords, Scalar, Store};

/// The smallest modulus for which the constants of [`vector::Consts`] are in range. Smaller ones,
/// of no use in practice, go to the scalar reference.
const MIN_MODULUS: u64 = 1 << 10;

/// Proof that this CPU has AVX-512 F, DQ and IFMA: only [`Avx512::detect`] makes one.
#[derive(Debug)]
pub(crate) struct Avx512 {
    /// Whether the matrix unit is used. It is there, then.
    tiles: bool,
}

impl Avx512 {
    /// Without the matrix unit, and with it where there is one.
    pub(crate) fn detect() -> impl Iterator<Item = &'static dyn Kernels> {
        static PLAIN: Avx512 = Avx512 { tiles: false };
        static WITH_TILES: Avx512 = Avx512 { tiles: true };
        let here = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512ifma");
        let plain = here.then_some(&PLAIN as &dyn Kernels);
        let with_tiles = (here && tiles::allowed()).then_some(&WITH_TILES as &dyn Kernels);
        plain.into_iter().chain(with_tiles)
    }
}

/// Runs `$fast` on a modulus in range, `$wide` on a wide one if it is given, and otherwise the
/// method of the scalar reference.
macro_rules! dispatch {
    ($q:expr, $scalar:ident ( $($arg:expr),* ), $fast:expr, $wide:expr) => {
        if $q.is_wide() {
            // SAFETY: `self` proves that the CPU has the features the kernel is compiled for.
            unsafe { $wide }
        } else {
            dispatch!($q, $scalar($($arg),*), $fast)
        }
    };
    ($q:expr, $scalar:ident ( $($arg:expr),* ), $fast:expr) => {
        if $q.value() < MIN_MODULUS {
            Scalar.$scalar($q, $($arg),*)
        } else {
            // SAFETY: `self` proves that the CPU has the features the kernel is compiled for.
            unsafe { $fast }
        }
    };
}

impl Kernels for Avx512 {
    fn name(&self) -> &'static str {
        if self.tiles { "amx" } else { "avx512" }
    }

    fn ntt(&self, table: &NttTable, a: &mut [u64]) {
        check_ntt(table, a);
        if table.modulus().value() < MIN_MODULUS || a.len() < 128 {
            return Scalar.ntt(table, a);
        }
        // SAFETY: `self` proves that the CPU has the features; the length was checked.
        unsafe { forward::ntt(table, a) }
    }

    fn intt(&self, table: &NttTable, a: &mut [u64]) {
        check_ntt(table, a);
        if table.modulus().value() < MIN_MODULUS || a.len() < 128 {
            return Scalar.intt(table, a);
        }
        // SAFETY: `self` proves that the CPU has the features; the length was checked.
        unsafe { inverse::intt(table, a) }
    }

    fn add_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64]) {
        check_lengths(a, [b.len()]);
        dispatch!(q, add_assign(a, b), elementwise::add_assign(q, a, b))
    }

    fn sub_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64]) {
        check_lengths(a, [b.len()]);
        dispatch!(q, sub_assign(a, b), elementwise::sub_assign(q, a, b))
    }

    fn add_into(&self, q: &Modulus, out: &mut [u64], a: &[u64], b: &[u64], store: Store) {
        check_lengths(out, [a.len(), b.len()]);
        dispatch!(
            q,
            add_into(out, a, b, store),
            elementwise::add_into(q, out, a, b, store)
        )
    }

    fn sub_into(&self, q: &Modulus, out: &mut [u64], a: &[u64], b: &[u64], store: Store) {
        check_lengths(out, [a.len(), b.len()]);
        dispatch!(
            q,
            sub_into(out, a, b, store),
            elementwise::sub_into(q, out, a, b, store)
        )
    }

    fn neg_assign(&self, q: &Modulus, a: &mut [u64]) {
        dispatch!(q, neg_assign(a), elementwise::neg_assign(q, a))
    }

    fn mul_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64]) {
        check_lengths(a, [b.len()]);
        dispatch!(
            q,
            mul_assign(a, b),
            elementwise::mul_assign(q, a, b),
            wide::mul_assign(q, a, b)
        )
    }

    fn mul_into(&self, q: &Modulus, out: &mut [u64], a: &[u64], b: &[u64]) {
        check_lengths(out, [a.len(), b.len()]);
        dispatch!(
            q,
            mul_into(out, a, b),
            elementwise::mul_into(q, out, a, b),
            wide::mul_into(q, out, a, b)
        )
    }

    fn mul_add_assign(&self, q: &Modulus, acc: &mut [u64], a: &[u64], b: &[u64]) {
        check_lengths(acc, [a.len(), b.len()]);
        dispatch!(
            q,
            mul_add_assign(acc, a, b),
            elementwise::mul_add_assign(q, acc, a, b),
            wide::mul_add_assign(q, acc, a, b)
        )
    }

    fn scalar_mul_assign(&self, q: &Modulus, a: &mut [u64], c: u64) {
        dispatch!(
            q,
            scalar_mul_assign(a, c),
            elementwise::scalar_mul_assign(q, a, c),
            wide::scalar_mul_assign(q, a, c)
        )
    }

    fn scalar_mul_add_assign(&self, q: &Modulus, acc: &mut [u64], a: &[u64], c: u64) {
        check_lengths(acc, [a.len()]);
        dispatch!(
            q,
            scalar_mul_add_assign(acc, a, c),
            elementwise::scalar_mul_add_assign(q, acc, a, c),
            wide::scalar_mul_add_assign(q, acc, a, c)
        )
    }

    fn sub_scalar_mul_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64], c: u64) {
        check_lengths(a, [b.len()]);
        dispatch!(
            q,
            sub_scalar_mul_assign(a, b, c),
            elementwise::sub_scalar_mul_assign(q, a, b, c),
            wide::sub_scalar_mul_assign(q, a, b, c)
        )
    }

    fn reduce_into(&self, q: &Modulus, out: &mut [u64], a: &[u64]) {
        check_lengths(out, [a.len()]);
        dispatch!(
            q,
            reduce_into(out, a),
            elementwise::reduce_into(q, out, a),
            wide::reduce_into(q, out, a)
        )
    }

    fn dot_into(&self, q: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
        check_dot(out, a, b);
        dispatch!(
            q,
            dot_into(out, a, b),
            dot::dot::<false>(q, out, a, b),
            wide_sums::dot::<false>(q, out, a, b)
        )
    }

    fn dot_add_assign(&self, q: &Modulus, acc: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
        check_dot(acc, a, b);
        dispatch!(
            q,
            dot_add_assign(acc, a, b),
            dot::dot::<true>(q, acc, a, b),
            wide_sums::dot::<true>(q, acc, a, b)
        )
    }

    fn dot_packed_into(&self, q: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[PackedWords]) {
        crate::packed::check(out, a, b);
        let here = is_x86_feature_detected!("avx512vbmi") && is_x86_feature_detected!("avx512bw");
        if here && !q.is_wide() && q.value() >= MIN_MODULUS {
            // SAFETY: `self` and the line above prove that the CPU has the features.
            unsafe { packed::dot(q, out, a, b) }
        } else {
            crate::packed::dot(self, q, out, a, b);
        }
    }

    fn mat_mul_into(
        &self,
        moduli: &[Modulus],
        m: &[u64],
        (x, x_bits): (&[&[u64]], u32),
        out: &mut [&mut [u64]],
    ) {
        check_mat_mul(moduli, m, x, out);
        if moduli.iter().any(|q| q.value() < MIN_MODULUS) {
            return Scalar.mat_mul_into(moduli, m, (x, x_bits), out);
        }
        by_width(
            (moduli, m, out),
            (x.len(), x_bits),
            // SAFETY: `self` proves that the CPU has the features; all lengths were checked.
            |(moduli, m, out)| unsafe { matrix::mat_mul(moduli, m, (x, x_bits), out) },
            // SAFETY: as above.
            |(moduli, m, out)| unsafe { wide_sums::mat_mul(moduli, m, x, out) },
        );
    }

    fn tensor_combinations(
        &self,
        q: &Modulus,
        combinations: &Combinations,
        out: &mut [&mut [u64]],
    ) {
        combine::check(combinations, out);
        if self.tiles && q.value() >= MIN_MODULUS && tiles::fits(q, combinations) {
            // SAFETY: `self` proves that the CPU has the features and the unit.
            unsafe { tiles::tensor_combinations(q, combinations, out) }
        } else {
            combine::tensor_combinations(self, q, combinations, out);
        }
    }

    fn lift_into(&self, q: &Modulus, out: &mut [u64], a: &[i32]) {
        #[target_feature(enable = "avx512f,avx512dq")]
        fn compiled(q: &Modulus, out: &mut [u64], a: &[i32]) {
            lift(q, out, a);
        }
        check_lengths(out, [a.len()]);
        // SAFETY: `self` proves that the CPU has the features.
        unsafe { compiled(q, out, a) }
    }

    fn quotients(&self, y: &[&mut [u64]], reciprocals: &[Reciprocal], out: &mut [u64]) {
        #[target_feature(enable = "avx512f,avx512dq")]
        fn compiled(y: &[&mut [u64]], reciprocals: &[Reciprocal], out: &mut [u64]) {
            quotient::quotients(y, reciprocals, out);
        }
        quotient::check(y, reciprocals, out);
        // SAFETY: `self` proves that the CPU has the features.
        unsafe { compiled(y, reciprocals, out) }
    }

    fn permute_into(&self, out: &mut [u64], a: &[u64], index: &[u32]) {
        check_lengths(out, [a.len(), index.len()]);
        // SAFETY: `self` proves that the CPU has the features.
        unsafe { permute::permute(out, a, index) }
    }
}
