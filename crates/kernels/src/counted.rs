//! A backend that counts the calls of another one, for tests that compare a description of a run
//! with the run.

use crate::backend::{CHOSEN, available};
use crate::{Combinations, Kernels, Modulus, NttTable, PackedWords, Reciprocal, Store};
use std::sync::atomic::{AtomicU64, Ordering};

/// The fastest backend, with counters. It counts only passes over whole limbs, because no caller
/// cuts those into parts.
pub struct Counted {
    inner: &'static dyn Kernels,
    ntt: AtomicU64,
    intt: AtomicU64,
}

impl Counted {
    /// Makes this the backend of the process. `None` if another one was chosen before.
    pub fn install() -> Option<&'static Self> {
        let inner = *available().last()?;
        let counted: &'static Self = Box::leak(Box::new(Self {
            inner,
            ntt: AtomicU64::new(0),
            intt: AtomicU64::new(0),
        }));
        CHOSEN.set(counted).ok()?;
        Some(counted)
    }

    /// Returns the numbers of transforms and inverse transforms of a limb since the last call.
    pub fn take(&self) -> [u64; 2] {
        [&self.ntt, &self.intt].map(|count| count.swap(0, Ordering::Relaxed))
    }
}

impl Kernels for Counted {
    fn name(&self) -> &'static str {
        "counted"
    }

    fn ntt(&self, table: &NttTable, a: &mut [u64]) {
        self.ntt.fetch_add(1, Ordering::Relaxed);
        self.inner.ntt(table, a);
    }

    fn intt(&self, table: &NttTable, a: &mut [u64]) {
        self.intt.fetch_add(1, Ordering::Relaxed);
        self.inner.intt(table, a);
    }

    fn add_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64]) {
        self.inner.add_assign(q, a, b);
    }

    fn sub_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64]) {
        self.inner.sub_assign(q, a, b);
    }

    fn add_into(&self, q: &Modulus, out: &mut [u64], a: &[u64], b: &[u64], store: Store) {
        self.inner.add_into(q, out, a, b, store);
    }

    fn sub_into(&self, q: &Modulus, out: &mut [u64], a: &[u64], b: &[u64], store: Store) {
        self.inner.sub_into(q, out, a, b, store);
    }

    fn neg_assign(&self, q: &Modulus, a: &mut [u64]) {
        self.inner.neg_assign(q, a);
    }

    fn mul_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64]) {
        self.inner.mul_assign(q, a, b);
    }

    fn mul_into(&self, q: &Modulus, out: &mut [u64], a: &[u64], b: &[u64]) {
        self.inner.mul_into(q, out, a, b);
    }

    fn mul_add_assign(&self, q: &Modulus, acc: &mut [u64], a: &[u64], b: &[u64]) {
        self.inner.mul_add_assign(q, acc, a, b);
    }

    fn scalar_mul_assign(&self, q: &Modulus, a: &mut [u64], c: u64) {
        self.inner.scalar_mul_assign(q, a, c);
    }

    fn scalar_mul_add_assign(&self, q: &Modulus, acc: &mut [u64], a: &[u64], c: u64) {
        self.inner.scalar_mul_add_assign(q, acc, a, c);
    }

    fn sub_scalar_mul_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64], c: u64) {
        self.inner.sub_scalar_mul_assign(q, a, b, c);
    }

    fn reduce_into(&self, q: &Modulus, out: &mut [u64], a: &[u64]) {
        self.inner.reduce_into(q, out, a);
    }

    fn dot_into(&self, q: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
        self.inner.dot_into(q, out, a, b);
    }

    fn dot_add_assign(&self, q: &Modulus, acc: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
        self.inner.dot_add_assign(q, acc, a, b);
    }

    fn dot_packed_into(&self, q: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[PackedWords]) {
        self.inner.dot_packed_into(q, out, a, b);
    }

    fn mat_mul_into(
        &self,
        moduli: &[Modulus],
        m: &[u64],
        x: (&[&[u64]], u32),
        out: &mut [&mut [u64]],
    ) {
        self.inner.mat_mul_into(moduli, m, x, out);
    }

    fn tensor_combinations(
        &self,
        q: &Modulus,
        combinations: &Combinations,
        out: &mut [&mut [u64]],
    ) {
        self.inner.tensor_combinations(q, combinations, out);
    }

    fn quotients(&self, y: &[&mut [u64]], reciprocals: &[Reciprocal], out: &mut [u64]) {
        self.inner.quotients(y, reciprocals, out);
    }

    fn lift_into(&self, q: &Modulus, out: &mut [u64], a: &[i32]) {
        self.inner.lift_into(q, out, a);
    }

    fn permute_into(&self, out: &mut [u64], a: &[u64], index: &[u32]) {
        self.inner.permute_into(out, a, index);
    }

    fn automorphism_into(&self, q: &Modulus, out: &mut [u64], a: &[u64], g: usize) {
        self.inner.automorphism_into(q, out, a, g);
    }
}
