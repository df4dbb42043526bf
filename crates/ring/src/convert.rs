//! Basis conversion: residues in one basis from residues in another.
//!
//! With `y_i = x_i (Q/q_i)^{-1} mod q_i`, the value is `x = sum_i y_i Q/q_i - v Q` for an integer
//! `0 <= v < l`. The approximate conversion leaves `v Q` in; the exact one subtracts it, with
//! `v = round(sum_i y_i / q_i)` in double precision, which gives the centred representative
//! (Halevi, Polyakov, Shoup, CT-RSA 2019, section 2.2).

use crate::basis::Basis;
use crate::par::for_each_item;
use crate::poly::{Coeff, Poly};
use kernels::{Modulus, kernels};

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
    /// The same without the last column.
    approximate: Vec<u64>,
    /// `1 / q_i`.
    inverse: Vec<f64>,
    moduli: Vec<Modulus>,
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
        let mut approximate = Vec::with_capacity(moduli.len() * len);
        for p in &moduli {
            let row: Vec<u64> = (0..len).map(|i| hat(i, p)).collect();
            approximate.extend_from_slice(&row);
            matrix.extend_from_slice(&row);
            matrix.push(p.neg(from.product_mod(p)));
        }
        Self {
            from: from.clone(),
            to,
            hat_inverse,
            matrix,
            approximate,
            inverse: from.moduli().map(|q| 1.0 / q.value() as f64).collect(),
            moduli,
        }
    }

    /// Basis of the result.
    pub fn to(&self) -> &Basis {
        &self.to
    }

    /// `x + u Q` with `0 <= u < l` per coefficient, where `x` lies in `[0, Q)`.
    ///
    /// # Panics
    /// If `x` is not over the basis converted from.
    pub fn approx(&self, x: &Poly<Coeff>) -> Poly<Coeff> {
        assert_eq!(x.basis(), &self.from, "input over the basis converted from");
        let limbs: Vec<&[u64]> = (0..x.limbs()).map(|i| x.limb(i)).collect();
        self.convert(&limbs, false)
    }

    /// The centred representative of `x` modulo `Q`, in `[-Q/2, Q/2]`.
    ///
    /// Exact for coefficients that lie further from `Q/2` than `l 2^-51 Q`: the quotient is
    /// taken in double precision. Nearer than that, the result may be off by `Q`.
    ///
    /// # Panics
    /// If `x` is not over the basis converted from.
    pub fn exact(&self, x: &Poly<Coeff>) -> Poly<Coeff> {
        assert_eq!(x.basis(), &self.from, "input over the basis converted from");
        let limbs: Vec<&[u64]> = (0..x.limbs()).map(|i| x.limb(i)).collect();
        self.convert(&limbs, true)
    }

    /// As [`BasisConverter::approx`], on limbs that lie anywhere.
    pub fn approx_limbs(&self, limbs: &[&[u64]]) -> Poly<Coeff> {
        self.convert(limbs, false)
    }

    fn convert(&self, limbs: &[&[u64]], exact: bool) -> Poly<Coeff> {
        assert_eq!(limbs.len(), self.from.len(), "one limb per modulus");
        let n = self.from.n();
        let mut out = Poly::zero(&self.to);
        let mut blocks: Vec<Vec<&mut [u64]>> = Vec::new();
        blocks.resize_with(n.div_ceil(BLOCK), Vec::new);
        for limb in out.words_mut().chunks_exact_mut(n) {
            for (block, part) in blocks.iter_mut().zip(limb.chunks_mut(BLOCK)) {
                block.push(part);
            }
        }
        for_each_item(blocks, |index, mut rows| {
            let columns = index * BLOCK..((index + 1) * BLOCK).min(n);
            self.convert_block(limbs, columns, exact, &mut rows);
        });
        out
    }

    fn convert_block(
        &self,
        limbs: &[&[u64]],
        columns: std::ops::Range<usize>,
        exact: bool,
        out: &mut [&mut [u64]],
    ) {
        let width = columns.len();
        let inner = limbs.len() + usize::from(exact);
        let mut scratch = vec![0u64; inner * width];
        for (i, y) in scratch
            .chunks_exact_mut(width)
            .take(limbs.len())
            .enumerate()
        {
            y.copy_from_slice(&limbs[i][columns.clone()]);
            kernels().scalar_mul_assign(self.from.modulus(i), y, self.hat_inverse[i]);
        }
        if exact {
            let (y, v) = scratch.split_at_mut(limbs.len() * width);
            quotients(y, &self.inverse, v);
        }
        let rows: Vec<&[u64]> = scratch.chunks_exact(width).collect();
        let matrix = if exact {
            &self.matrix
        } else {
            &self.approximate
        };
        kernels().mat_mul_into(&self.moduli, matrix, &rows, out);
    }
}

/// `v[k] = round(sum_i y_i[k] / q_i)`, with `y` the rows one after another.
///
/// Words below 2^52 become doubles by their bits, `2^52 + y`, which every vector unit can do.
fn quotients(y: &[u64], inverse: &[f64], v: &mut [u64]) {
    const TWO52: f64 = 4_503_599_627_370_496.0;
    const BITS: u64 = 0x4330_0000_0000_0000; // the bits of 2^52
    let mut sums = vec![0.0f64; v.len()];
    for (row, &inv) in y.chunks_exact(v.len()).zip(inverse) {
        for (sum, &word) in sums.iter_mut().zip(row) {
            *sum += (f64::from_bits(word | BITS) - TWO52) * inv;
        }
    }
    for (out, sum) in v.iter_mut().zip(sums) {
        // Adding 2^52 rounds to the nearest integer and leaves it in the low bits.
        *out = (sum + TWO52).to_bits() ^ BITS;
    }
}

/// Conversion of single coefficients to one small modulus, centred: the last step of decryption.
pub struct ToModulus {
    converter: BasisConverter,
}

impl ToModulus {
    /// Tables for converting from `from` to the modulus `t`, which need not split the ring.
    pub fn new(from: &Basis, t: Modulus) -> Self {
        // The result has one row; its own basis is never asked for.
        let converter = BasisConverter::to_moduli(from, from.prefix(1), vec![t]);
        Self { converter }
    }

    /// The centred representative of `x` modulo `Q`, reduced modulo `t`: `N` words in `[0, t)`.
    ///
    /// # Panics
    /// If `x` is not over the basis converted from.
    pub fn exact(&self, x: &Poly<Coeff>) -> Vec<u64> {
        self.converter.exact(x).into_words()
    }
}
