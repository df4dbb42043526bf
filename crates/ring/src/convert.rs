//! Basis conversion: residues in one basis from residues in another.
//!
//! With `y_i = x_i (Q/q_i)^{-1} mod q_i`, the value is `x = sum_i y_i Q/q_i - v Q` for an integer
//! `0 <= v <= l`. With `v = round(sum_i y_i / q_i)` it is the centred representative (Halevi,
//! Polyakov, Shoup, CT-RSA 2019, section 2.2; they compute `v` in floating point, this module in
//! integers).

use crate::basis::Basis;
use crate::par::for_each_item;
use crate::poly::{Coeff, Poly};
use crate::pool;
use kernels::{Kernels, Modulus, Reciprocal, Scalar, kernels};
use std::ops::Range;
use zeroize::Zeroizing;

/// Columns worked on at a time: a block of 25 limbs is 200 KB and stays in the L2 cache.
const BLOCK: usize = 1 << 10;

/// Precomputed conversion from one basis to another.
pub struct BasisConverter {
    from: Basis,
    to: Basis,
    /// `(Q/q_i)^{-1} mod q_i`.
    hat_inverse: Vec<u64>,
    /// Row `j`: `Q/q_i mod p_j` for all `i`, then `-Q mod p_j`.
    matrix: Vec<u64>,
    inverse: Vec<Reciprocal>,
    moduli: Vec<Modulus>,
    /// Bits of the largest modulus of the basis converted from.
    from_bits: u32,
}

impl BasisConverter {
    /// Tables for converting from `from` to `to`.
    ///
    /// # Panics
    /// If the degrees differ.
    pub fn new(from: &Basis, to: &Basis) -> Self {
        assert_eq!(from.n(), to.n(), "bases of one ring have one degree");
        let moduli: Vec<Modulus> = to.moduli().copied().collect();
        Self::to_moduli(from, to.clone(), moduli)
    }

    fn to_moduli(from: &Basis, to: Basis, moduli: Vec<Modulus>) -> Self {
        let len = from.len();
        let hat = |i: usize, p: &Modulus| {
            from.moduli()
                .enumerate()
                .filter(|&(k, _)| k != i)
                .fold(1 % p.value(), |acc, (_, q)| p.mul(acc, p.reduce(q.value())))
        };
        let hat_inverse = (0..len)
            .map(|i| {
                let q = from.modulus(i);
                q.inv(hat(i, q)).expect("moduli are pairwise coprime")
            })
            .collect();
        let mut matrix = Vec::with_capacity(moduli.len() * (len + 1));
        for p in &moduli {
            matrix.extend((0..len).map(|i| hat(i, p)));
            matrix.push(p.neg(from.product_mod(p)));
        }
        Self {
            from: from.clone(),
            to,
            hat_inverse,
            matrix,
            inverse: reciprocals(from),
            moduli,
            from_bits: bits(from),
        }
    }

    /// Basis of the result.
    pub fn to(&self) -> &Basis {
        &self.to
    }

    /// The centred representative of `x` modulo `Q`, in `[-Q/2, Q/2]`.
    ///
    /// Exact for one modulus, and for coefficients further than `l 2^-30 Q` from `Q/2`: the
    /// quotient is computed in words of 32 bits. For coefficients nearer to `Q/2` the result may be
    /// off by `Q`.
    ///
    /// # Panics
    /// If `x` is not over the basis converted from.
    pub fn exact(&self, x: &Poly<Coeff>) -> Poly<Coeff> {
        assert_eq!(x.basis(), &self.from, "input over the basis converted from");
        let limbs: Vec<&[u64]> = (0..x.limbs()).map(|i| x.limb(i)).collect();
        self.exact_limbs(&limbs)
    }

    /// The first step of a conversion, on some columns: scales `y` in place and writes the
    /// quotients to `v`.
    pub(crate) fn scale(&self, y: &mut [&mut [u64]], v: &mut [u64]) {
        for (i, y) in y.iter_mut().enumerate() {
            kernels().scalar_mul_assign(self.from.modulus(i), y, self.hat_inverse[i]);
        }
        kernels().quotients(y, &self.inverse, v);
    }

    /// The second step, to the moduli of `rows`. `scaled` holds the scaled limbs, then the
    /// quotients.
    pub(crate) fn combine(&self, scaled: &[&[u64]], rows: Range<usize>, out: &mut [&mut [u64]]) {
        let width = self.from.len() + 1;
        let matrix = &self.matrix[rows.start * width..rows.end * width];
        kernels().mat_mul_into(&self.moduli[rows], matrix, (scaled, self.from_bits), out);
    }

    /// As [`BasisConverter::exact`], on limbs at any places.
    pub(crate) fn exact_limbs(&self, limbs: &[&[u64]]) -> Poly<Coeff> {
        assert_eq!(limbs.len(), self.from.len(), "one limb per modulus");
        let mut out = Poly::stale(&self.to);
        let blocks = blocks(out.limbs_mut());
        for_each_item(blocks, |index, mut rows| {
            let columns = index * BLOCK..index * BLOCK + rows[0].len();
            let width = columns.len();
            with_scratch(limbs.len() * width, |scratch| {
                let mut y: Vec<&mut [u64]> = scratch.chunks_exact_mut(width).collect();
                for (y, limb) in y.iter_mut().zip(limbs) {
                    y.copy_from_slice(&limb[columns.clone()]);
                }
                self.convert_rows(&mut y, &mut rows);
            });
        });
        out
    }

    /// As [`BasisConverter::exact`], on limbs that are not needed afterwards and are overwritten.
    pub(crate) fn exact_consuming<'a>(
        &self,
        limbs: impl ExactSizeIterator<Item = &'a mut [u64]>,
    ) -> Poly<Coeff> {
        assert_eq!(limbs.len(), self.from.len(), "one limb per modulus");
        let mut out = Poly::stale(&self.to);
        let blocks: Vec<_> = blocks(limbs)
            .into_iter()
            .zip(blocks(out.limbs_mut()))
            .collect();
        for_each_item(blocks, |_, (mut y, mut rows)| {
            self.convert_rows(&mut y, &mut rows);
        });
        out
    }

    /// Converts some columns; `y` is scaled in place.
    fn convert_rows(&self, y: &mut [&mut [u64]], out: &mut [&mut [u64]]) {
        with_scratch(y[0].len(), |v| {
            self.scale(y, v);
            let scaled: Vec<&[u64]> = y.iter().map(|y| &**y).chain([&*v]).collect();
            self.combine(&scaled, 0..self.moduli.len(), out);
        });
    }
}

/// The columns of `limbs` in blocks: entry `b` holds block `b` of every limb.
pub(crate) fn blocks<'a>(limbs: impl Iterator<Item = &'a mut [u64]>) -> Vec<Vec<&'a mut [u64]>> {
    let mut blocks = Vec::new();
    for limb in limbs {
        blocks.resize_with(limb.len().div_ceil(BLOCK), Vec::new);
        for (block, part) in blocks.iter_mut().zip(limb.chunks_mut(BLOCK)) {
            block.push(part);
        }
    }
    blocks
}

/// Runs `work` on words of unspecified content.
pub(crate) fn with_scratch(len: usize, work: impl FnOnce(&mut [u64])) {
    let mut words = pool::take(len);
    work(&mut words);
    pool::give(words);
}

/// Bits of the largest modulus.
pub(crate) fn bits(basis: &Basis) -> u32 {
    basis.moduli().map(Modulus::bits).max().unwrap_or(0)
}

/// The reciprocals of all moduli.
pub(crate) fn reciprocals(basis: &Basis) -> Vec<Reciprocal> {
    basis.moduli().map(Reciprocal::new).collect()
}

/// Centred conversion of the coefficients of a polynomial to one small modulus. This is the last
/// step of decryption.
pub struct ToModulus {
    converter: BasisConverter,
}

impl ToModulus {
    /// Tables for converting from `from` to the modulus `t`. `t` need not split the ring.
    pub fn new(from: &Basis, t: Modulus) -> Self {
        // The result has one row. The basis given here is never used.
        let converter = BasisConverter::to_moduli(from, from.prefix(1), vec![t]);
        Self { converter }
    }

    /// The centred representative of `x` modulo `Q`, reduced modulo `t`: `N` words in `[0, t)`. Of
    /// all that is computed from `x`, only the result stays in memory.
    ///
    /// # Panics
    /// If `x` is not over the basis converted from.
    pub fn exact(&self, x: &Poly<Coeff>) -> Vec<u64> {
        let converter = &self.converter;
        assert_eq!(
            x.basis(),
            &converter.from,
            "input over the basis converted from"
        );
        let mut out = vec![0; x.n()];
        let blocks = out.chunks_mut(BLOCK).collect();
        // Scaled limbs are as secret as a phase. They stay in memory that is overwritten, and only
        // the backend whose products copy nothing to buffers of its own works on them.
        for_each_item(blocks, |index, out: &mut [u64]| {
            let (start, width, limbs) = (index * BLOCK, out.len(), x.limbs());
            let mut scratch = Zeroizing::new(vec![0u64; (limbs + 1) * width]);
            let (scaled, quotients) = scratch.split_at_mut(limbs * width);
            let mut y: Vec<&mut [u64]> = scaled.chunks_exact_mut(width).collect();
            for (i, y) in y.iter_mut().enumerate() {
                y.copy_from_slice(&x.limb(i)[start..start + width]);
            }
            converter.scale(&mut y, quotients);
            let rows: Vec<&[u64]> = scratch.chunks_exact(width).collect();
            let (moduli, matrix) = (&converter.moduli, &converter.matrix);
            Scalar.mat_mul_into(moduli, matrix, (&rows, converter.from_bits), &mut [out]);
        });
        out
    }
}
