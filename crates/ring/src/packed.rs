//! Polynomials in as few bytes as their moduli need.

use crate::basis::Basis;
use crate::par::for_each_item;
use crate::poly::{Eval, Poly};
use kernels::PackedWords;

/// A polynomial in the evaluation domain that is read often and never changed, such as one of a
/// key. A word modulo a prime of 34 bits takes 5 bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct PackedPoly {
    basis: Basis,
    bytes: Vec<u8>,
    /// For each limb, where its bytes start and how many a word has.
    limbs: Vec<(usize, usize)>,
}

impl PackedPoly {
    /// Bytes of a polynomial over `basis`.
    pub fn bytes_over(basis: &Basis) -> usize {
        basis
            .moduli()
            .map(|q| PackedWords::width(q) * basis.n())
            .sum()
    }

    /// Bytes in memory.
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Limb `i`: the residues modulo the prime `i` of the basis.
    pub fn limb(&self, i: usize) -> PackedWords<'_> {
        let (start, width) = self.limbs[i];
        PackedWords::new(&self.bytes[start..][..width * self.basis.n()], width)
    }

    /// The polynomial itself.
    pub fn to_poly(&self) -> Poly<Eval> {
        let mut poly = Poly::stale(&self.basis);
        poly.for_each_limb(|i, words| self.limb(i).unpack_into(words));
        poly
    }
}

impl From<&Poly<Eval>> for PackedPoly {
    fn from(poly: &Poly<Eval>) -> Self {
        let basis = poly.basis().clone();
        let mut bytes = vec![0; Self::bytes_over(&basis)];
        let mut limbs = Vec::with_capacity(basis.len());
        let mut items = Vec::with_capacity(basis.len());
        let (mut start, mut rest) = (0, &mut bytes[..]);
        for q in basis.moduli() {
            let width = PackedWords::width(q);
            let (own, others) = rest.split_at_mut(width * basis.n());
            limbs.push((start, width));
            start += own.len();
            rest = others;
            items.push((width, own));
        }
        for_each_item(items, |i, (width, own)| {
            PackedWords::pack(poly.limb(i), width, own);
        });
        Self {
            basis,
            bytes,
            limbs,
        }
    }
}
