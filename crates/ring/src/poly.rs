//! Polynomials over an RNS basis, with the domain in the type.

use crate::basis::Basis;
use crate::error::{Error, Result};
use crate::par::for_each_limb;
use crate::pool;
use crate::words::Words;
use kernels::{Kernels, Modulus, Store, kernels};
use std::marker::PhantomData;
use zeroize::Zeroize;

/// Terms of one inner product of [`kernels`].
const DOT_TERMS: usize = 256;
/// A sum of this length goes to memory past the caches: 2 MiB, more than a core's own cache.
///
/// Sums of two pairs of polynomials of 2, 3.9 and 15.7 MB take 0.20, 0.72 and 5.0 ms through the
/// caches, and 0.16, 0.50 and 3.2 ms past them. With a pass that reads the results at once, the
/// first two take 0.40 and 0.99 ms, and 0.29 and 0.75. At 1.5 MB there is no difference (Zen 4, one
/// thread).
const STREAMED_WORDS: usize = 1 << 18;

/// Coefficient domain: residues of the coefficients of a polynomial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coeff;

/// Evaluation domain: residues of its values at the odd powers of the `2N`-th root, bit-reversed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eval;

/// [`Coeff`] or [`Eval`].
pub trait Domain: Copy + Send + Sync + std::fmt::Debug + PartialEq + Eq + private::Sealed {}
impl Domain for Coeff {}
impl Domain for Eval {}

mod private {
    pub trait Sealed {}
    impl Sealed for super::Coeff {}
    impl Sealed for super::Eval {}
}

/// Polynomial in RNS form, limb-major: word `i * N + k` is residue `k` modulo `q_i`.
#[derive(Debug, PartialEq, Eq)]
pub struct Poly<D> {
    data: Words,
    basis: Basis,
    domain: PhantomData<D>,
}

impl<D> Clone for Poly<D> {
    fn clone(&self) -> Self {
        let mut data = pool::take(self.data.len());
        data.copy_from_slice(&self.data);
        Self {
            data,
            basis: self.basis.clone(),
            domain: PhantomData,
        }
    }
}

/// Gives the words to the pool, for a next polynomial of this size to overwrite.
impl<D> Drop for Poly<D> {
    fn drop(&mut self) {
        pool::give(std::mem::take(&mut self.data));
    }
}

impl<D: Domain> Poly<D> {
    /// The zero polynomial.
    pub fn zero(basis: &Basis) -> Self {
        let mut out = Self::stale(basis);
        out.data.fill(0);
        out
    }

    /// A polynomial of unspecified words, all of which the caller overwrites.
    pub(crate) fn stale(basis: &Basis) -> Self {
        Self::wrap(basis, pool::take(basis.len() * basis.n()))
    }

    /// The same words, labelled as another domain.
    pub(crate) fn relabel<E: Domain>(mut self) -> Poly<E> {
        Poly::wrap(&self.basis, std::mem::take(&mut self.data))
    }

    pub(crate) fn wrap(basis: &Basis, data: Words) -> Self {
        debug_assert_eq!(data.len(), basis.len() * basis.n());
        Self {
            data,
            basis: basis.clone(),
            domain: PhantomData,
        }
    }

    /// Copies residues that came from outside.
    ///
    /// # Errors
    /// [`Error::Words`] for a wrong number of words, [`Error::Residue`] for one that is not below
    /// its modulus.
    pub fn from_words(basis: &Basis, words: impl AsRef<[u64]>) -> Result<Self> {
        let (words, n) = (words.as_ref(), basis.n());
        let expected = basis.len() * n;
        if words.len() != expected {
            return Err(Error::Words {
                found: words.len(),
                expected,
            });
        }
        Self::from_limbs(basis, |i, limb| limb.copy_from_slice(&words[i * n..][..n]))
    }

    /// Takes residues from outside, which `read(i, limb i)` writes, in parallel. It overwrites
    /// every word.
    ///
    /// # Errors
    /// [`Error::Residue`] for a residue that is not below its modulus.
    pub fn from_limbs(basis: &Basis, read: impl Fn(usize, &mut [u64]) + Sync) -> Result<Self> {
        let mut out = Self::stale(basis);
        out.for_each_limb(read);
        for (limb, q) in basis.moduli().enumerate() {
            if let Some(&found) = out.limb(limb).iter().find(|&&w| w >= q.value()) {
                let q = q.value();
                return Err(Error::Residue { limb, found, q });
            }
        }
        Ok(out)
    }

    /// The basis.
    pub fn basis(&self) -> &Basis {
        &self.basis
    }

    /// Ring degree `N`.
    pub fn n(&self) -> usize {
        self.basis.n()
    }

    /// Number of limbs.
    pub fn limbs(&self) -> usize {
        self.basis.len()
    }

    /// All residues, limb after limb.
    pub fn words(&self) -> &[u64] {
        &self.data
    }

    /// The limbs in order, mutable each on its own. The caller keeps residues in range.
    pub fn limbs_mut(&mut self) -> impl ExactSizeIterator<Item = &mut [u64]> {
        self.data.chunks_exact_mut(self.basis.n())
    }

    /// Residues modulo `q_i`, in `[0, q_i)`.
    pub fn limb(&self, i: usize) -> &[u64] {
        &self.data[i * self.n()..][..self.basis.n()]
    }

    /// Residues modulo `q_i`. The caller keeps them in `[0, q_i)`.
    pub fn limb_mut(&mut self, i: usize) -> &mut [u64] {
        let n = self.n();
        &mut self.data[i * n..][..n]
    }

    /// Runs `work(i, limb i)` for every limb, in parallel. The caller keeps residues in range.
    pub fn for_each_limb(&mut self, work: impl Fn(usize, &mut [u64]) + Sync) {
        for_each_limb(self.basis.n(), &mut self.data, work);
    }

    /// `self += other`.
    ///
    /// # Panics
    /// If the bases differ, as for every operation on two polynomials.
    pub fn add_assign(&mut self, other: &Self) {
        self.zip_limbs(other, |k, q, a, b| k.add_assign(q, a, b));
    }

    /// `self -= other`.
    pub fn sub_assign(&mut self, other: &Self) {
        self.zip_limbs(other, |k, q, a, b| k.sub_assign(q, a, b));
    }

    /// `self + other`, in one pass over memory. A copy and an addition would be two.
    pub fn add(&self, other: &Self) -> Self {
        self.zipped(other, |k, q, out, a, b, store| {
            k.add_into(q, out, a, b, store)
        })
    }

    /// `self - other`, as [`Poly::add`].
    pub fn sub(&self, other: &Self) -> Self {
        self.zipped(other, |k, q, out, a, b, store| {
            k.sub_into(q, out, a, b, store)
        })
    }

    /// `self = -self`.
    pub fn neg_assign(&mut self) {
        let basis = self.basis.clone();
        self.for_each_limb(|i, a| kernels().neg_assign(basis.modulus(i), a));
    }

    /// Multiplies limb `i` by `scalar(i)`, a residue modulo `q_i`.
    pub fn scalar_mul_assign(&mut self, scalar: impl Fn(usize) -> u64 + Sync) {
        let basis = self.basis.clone();
        self.for_each_limb(|i, a| kernels().scalar_mul_assign(basis.modulus(i), a, scalar(i)));
    }

    /// `self_i += scalar(i) * other_i` on the limbs of `other`. The basis of `other` is a prefix of
    /// this one, or longer. In the second case its further limbs are ignored.
    ///
    /// # Panics
    /// If the moduli differ.
    pub fn add_scaled_prefix(&mut self, other: &Self, scalar: impl Fn(usize) -> u64 + Sync) {
        let common = self.limbs().min(other.limbs());
        let basis = self.basis.clone();
        for i in 0..common {
            assert_eq!(
                basis.modulus(i),
                other.basis.modulus(i),
                "operands over one basis"
            );
        }
        self.for_each_limb(|i, a| {
            if i < common {
                kernels().scalar_mul_add_assign(basis.modulus(i), a, other.limb(i), scalar(i));
            }
        });
    }

    /// A polynomial over `basis` made of the limbs `limb_of(0), limb_of(1), ..`.
    ///
    /// # Panics
    /// If a limb belongs to another modulus than the one at its place in `basis`.
    pub fn select(&self, basis: &Basis, limb_of: impl Fn(usize) -> usize) -> Self {
        let mut out = Self::stale(basis);
        for (i, q) in basis.moduli().enumerate() {
            assert_eq!(
                q,
                self.basis.modulus(limb_of(i)),
                "limb {i} of the selection"
            );
            out.limb_mut(i).copy_from_slice(self.limb(limb_of(i)));
        }
        out
    }

    /// `self += scalar * other`, for a signed integer `scalar`.
    pub fn add_scaled(&mut self, other: &Self, scalar: i64) {
        self.zip_limbs(other, |k, q, a, b| {
            k.scalar_mul_add_assign(q, a, b, q.from_i64(scalar))
        });
    }

    /// Drops all limbs after the first `limbs`. The residues that stay are unchanged.
    pub fn truncate(&mut self, limbs: usize) {
        self.basis = self.basis.prefix(limbs);
        self.data.truncate(limbs * self.basis.n());
    }

    /// A copy of the first `limbs` limbs.
    pub fn prefix(&self, limbs: usize) -> Self {
        let mut out = Self::stale(&self.basis.prefix(limbs));
        let words = out.data.len();
        out.data.copy_from_slice(&self.data[..words]);
        out
    }

    fn zipped(
        &self,
        other: &Self,
        work: impl Fn(&dyn Kernels, &Modulus, &mut [u64], &[u64], &[u64], Store) + Sync,
    ) -> Self {
        assert_eq!(self.basis, other.basis, "operands over one basis");
        let mut out = Self::stale(&self.basis);
        let store = if out.data.len() < STREAMED_WORDS {
            Store::Cached
        } else {
            Store::Streamed
        };
        out.for_each_limb(|i, out| {
            let (q, a, b) = (self.basis.modulus(i), self.limb(i), other.limb(i));
            work(kernels(), q, out, a, b, store);
        });
        out
    }

    fn zip_limbs(
        &mut self,
        other: &Self,
        work: impl Fn(&dyn Kernels, &Modulus, &mut [u64], &[u64]) + Sync,
    ) {
        assert_eq!(self.basis, other.basis, "operands over one basis");
        let basis = self.basis.clone();
        self.for_each_limb(|i, a| work(kernels(), basis.modulus(i), a, other.limb(i)));
    }
}

impl Poly<Coeff> {
    /// The polynomial with the given signed coefficients, the same in every limb.
    ///
    /// # Panics
    /// If there are not `N` coefficients.
    pub fn from_signed(basis: &Basis, coefficients: &[i64]) -> Self {
        assert_eq!(
            coefficients.len(),
            basis.n(),
            "one coefficient per power of X"
        );
        let mut poly = Self::stale(basis);
        let moduli = basis.clone();
        let largest = coefficients.iter().map(|c| c.unsigned_abs()).max();
        poly.for_each_limb(|i, limb| {
            let q = moduli.modulus(i);
            let words = limb.iter_mut().zip(coefficients);
            if largest.is_some_and(|c| c < q.value()) {
                // Small coefficients, the usual case, take one masked addition each.
                words.for_each(|(x, &c)| *x = (c + (q.value() as i64 & (c >> 63))) as u64);
            } else {
                words.for_each(|(x, &c)| *x = q.from_i64(c));
            }
        });
        poly
    }

    /// NTT of every limb.
    pub fn into_eval(mut self) -> Poly<Eval> {
        let basis = self.basis.clone();
        self.for_each_limb(|i, a| kernels().ntt(&basis.tables()[i], a));
        self.relabel()
    }

    /// `X -> X^g`, for odd `g`.
    pub fn automorphism(&self, g: usize) -> Self {
        let mut out = Self::stale(&self.basis);
        out.for_each_limb(|i, o| {
            kernels().automorphism_into(self.basis.modulus(i), o, self.limb(i), g);
        });
        out
    }
}

impl Poly<Eval> {
    /// Inverse NTT of every limb.
    pub fn into_coeff(mut self) -> Poly<Coeff> {
        let basis = self.basis.clone();
        self.for_each_limb(|i, a| kernels().intt(&basis.tables()[i], a));
        self.relabel()
    }

    /// As [`Poly::into_coeff`], without consuming the polynomial.
    pub fn to_coeff(&self) -> Poly<Coeff> {
        let mut out = Poly::stale(&self.basis);
        out.for_each_limb(|i, a| {
            a.copy_from_slice(self.limb(i));
            kernels().intt(&self.basis.tables()[i], a);
        });
        out
    }

    /// `self *= other`.
    pub fn mul_assign(&mut self, other: &Self) {
        self.zip_limbs(other, |k, q, a, b| k.mul_assign(q, a, b));
    }

    /// `self * other`.
    ///
    /// # Panics
    /// If the bases differ.
    pub fn mul(&self, other: &Self) -> Self {
        assert_eq!(self.basis, other.basis, "operands over one basis");
        let mut out = Self::stale(&self.basis);
        out.for_each_limb(|i, o| {
            kernels().mul_into(self.basis.modulus(i), o, self.limb(i), other.limb(i));
        });
        out
    }

    /// `sum_k a[k] * b[k]`, with one reduction per residue.
    ///
    /// # Panics
    /// If there are no factors, or not as many of `a` as of `b`. All bases must begin with that of
    /// `a[0]`; further limbs are ignored.
    pub fn dot(a: &[&Self], b: &[&Self]) -> Self {
        assert!(
            !a.is_empty() && a.len() == b.len(),
            "as many left factors as right ones"
        );
        Self::dot_limbs(&a[0].basis, |i| {
            let left = a.iter().map(|p| p.limb(i)).collect();
            let right = b.iter().map(|p| p.limb(i)).collect();
            (left, right)
        })
    }

    /// Inner products limb by limb. Limb `i` is `sum_k left_k * right_k`, where `factors(i)` gives
    /// the slices.
    pub fn dot_limbs<'a>(
        basis: &Basis,
        factors: impl Fn(usize) -> (Vec<&'a [u64]>, Vec<&'a [u64]>) + Sync,
    ) -> Self {
        let mut out = Self::stale(basis);
        out.for_each_limb(|i, o| {
            let (left, right) = factors(i);
            dot_limb(basis.modulus(i), o, &left, &right);
        });
        out
    }

    /// `X -> X^g`, by the permutation that [`kernels::eval_automorphism_index`] gives for `g`.
    pub fn permuted(&self, index: &[u32]) -> Self {
        let mut out = Self::stale(&self.basis);
        out.for_each_limb(|i, o| kernels().permute_into(o, self.limb(i), index));
        out
    }
}

/// `out = sum_k left_k * right_k`, for any number of terms.
pub(crate) fn dot_limb(q: &Modulus, out: &mut [u64], left: &[&[u64]], right: &[&[u64]]) {
    let terms = left.chunks(DOT_TERMS).zip(right.chunks(DOT_TERMS));
    for (k, (left, right)) in terms.enumerate() {
        match k {
            0 => kernels().dot_into(q, out, left, right),
            _ => kernels().dot_add_assign(q, out, left, right),
        }
    }
}

impl<D> Zeroize for Poly<D> {
    fn zeroize(&mut self) {
        self.data.zeroize();
    }
}
