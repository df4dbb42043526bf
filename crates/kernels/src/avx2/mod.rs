//! AVX2 with FMA: four residues per vector. Products modulo `q` are made in `f64`, sums of products
//! in 32-bit halves.

mod elementwise;
mod float;
mod products;
mod transform;

use crate::backend::{check_dot, check_lengths, check_mat_mul, check_ntt};
use crate::{Kernels, Modulus, NttTable};

/// Proof that this CPU has AVX2 and FMA: only [`Avx2::detect`] makes one.
#[derive(Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    pub(crate) fn detect() -> Option<&'static Self> {
        static HERE: Avx2 = Avx2(());
        let here = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        here.then_some(&HERE)
    }
}

impl Kernels for Avx2 {
    fn name(&self) -> &'static str {
        "avx2"
    }

    fn ntt(&self, table: &NttTable, a: &mut [u64]) {
        check_ntt(table, a);
        // SAFETY: `self` proves that the CPU has the features; the length was checked.
        unsafe { transform::ntt(table, a) }
    }

    fn intt(&self, table: &NttTable, a: &mut [u64]) {
        check_ntt(table, a);
        // SAFETY: `self` proves that the CPU has the features; the length was checked.
        unsafe { transform::intt(table, a) }
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

    fn neg_assign(&self, q: &Modulus, a: &mut [u64]) {
        // SAFETY: `self` proves that the CPU has the features.
        unsafe { elementwise::neg_assign(q, a) }
    }

    fn mul_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64]) {
        check_lengths(a, [b.len()]);
        // SAFETY: `self` proves that the CPU has the features.
        unsafe { elementwise::mul_assign(q, a, b) }
    }

    fn mul_into(&self, q: &Modulus, out: &mut [u64], a: &[u64], b: &[u64]) {
        check_lengths(out, [a.len(), b.len()]);
        // SAFETY: `self` proves that the CPU has the features.
        unsafe { elementwise::mul_into(q, out, a, b) }
    }

    fn mul_add_assign(&self, q: &Modulus, acc: &mut [u64], a: &[u64], b: &[u64]) {
        check_lengths(acc, [a.len(), b.len()]);
        // SAFETY: `self` proves that the CPU has the features.
        unsafe { elementwise::mul_add_assign(q, acc, a, b) }
    }

    fn scalar_mul_assign(&self, q: &Modulus, a: &mut [u64], c: u64) {
        // SAFETY: `self` proves that the CPU has the features.
        unsafe { elementwise::scalar_mul_assign(q, a, c) }
    }

    fn scalar_mul_add_assign(&self, q: &Modulus, acc: &mut [u64], a: &[u64], c: u64) {
        check_lengths(acc, [a.len()]);
        // SAFETY: `self` proves that the CPU has the features.
        unsafe { elementwise::scalar_mul_add_assign(q, acc, a, c) }
    }

    fn sub_scalar_mul_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64], c: u64) {
        check_lengths(a, [b.len()]);
        // SAFETY: `self` proves that the CPU has the features.
        unsafe { elementwise::sub_scalar_mul_assign(q, a, b, c) }
    }

    fn reduce_into(&self, q: &Modulus, out: &mut [u64], a: &[u64]) {
        check_lengths(out, [a.len()]);
        // SAFETY: `self` proves that the CPU has the features.
        unsafe { elementwise::reduce_into(q, out, a) }
    }

    fn dot_into(&self, q: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
        check_dot(out, a, b);
        // SAFETY: `self` proves that the CPU has the features.
        unsafe { products::dot::<false>(q, out, a, b) }
    }

    fn dot_add_assign(&self, q: &Modulus, acc: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
        check_dot(acc, a, b);
        // SAFETY: `self` proves that the CPU has the features.
        unsafe { products::dot::<true>(q, acc, a, b) }
    }

    fn mat_mul_into(
        &self,
        moduli: &[Modulus],
        m: &[u64],
        (x, _): (&[&[u64]], u32),
        out: &mut [&mut [u64]],
    ) {
        check_mat_mul(moduli, m, x, out);
        // SAFETY: `self` proves that the CPU has the features; all lengths were checked.
        unsafe { products::mat_mul(moduli, m, x, out) }
    }
}
