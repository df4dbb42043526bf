//! The scaling of the scale-invariant product: `round(t d / Q)` modulo `Q`, with `d` known modulo
//! `Q R` for an auxiliary basis `R`.
//!
//! With `y_i = t d_i (Q/q_i)^{-1} mod q_i` and `v = round(sum_i y_i / q_i)`, the centred remainder
//! of `t d` modulo `Q` is `sum_i y_i Q/q_i - v Q`. Subtracting it and dividing by `Q` is exact, and
//! possible modulo `r_j`:
//!
//! `res_j = (t / Q) d_j - sum_i y_i / q_i + v (mod r_j)`.
//!
//! `res` is an integer modulo `R`. If it is smaller than `R / 2` in size, it is the result, and an
//! exact conversion brings it to `Q`. Both steps are one matrix product each. The factor
//! `(R/r_j)^{-1} mod r_j` of the second conversion is part of the first matrix.
//!
//! Source: Halevi, Polyakov, Shoup, CT-RSA 2019, sections 2.3 and 4. They round the parts of
//! `t/q_i` that do not divide in floating point. Here the remainder is subtracted first, so only
//! the small integers `v` are rounded, and the result is exact.

use crate::basis::Basis;
use crate::convert::{BasisConverter, bits, blocks, reciprocals, with_scratch};
use crate::par::for_each_item;
use crate::poly::{Coeff, Poly};
use kernels::{Modulus, Reciprocal, kernels};

/// Tables for `d -> round(t d / Q)`.
pub struct Scaler {
    q: Basis,
    r: Basis,
    extend: BasisConverter,
    /// `t (Q/q_i)^{-1} mod q_i`.
    entry: Vec<u64>,
    q_inverse: Vec<Reciprocal>,
    r_inverse: Vec<Reciprocal>,
    /// With `h_j = (R/r_j)^{-1} mod r_j`, row `j`: `-h_j / q_i` for all `i`, then `h_j`.
    first: Vec<u64>,
    /// `h_j t / Q mod r_j`.
    own: Vec<u64>,
    q_moduli: Vec<Modulus>,
    r_moduli: Vec<Modulus>,
}

/// The second matrix of a [`Scaler`]: row `i` is `f_i R/r_j` for all `j`, then `-f_i R`, modulo
/// `q_i`.
pub struct Output {
    matrix: Vec<u64>,
}

impl Scaler {
    /// Tables for one pair of bases.
    ///
    /// # Panics
    /// If the degrees differ, or the bases share a modulus.
    pub fn new(q: &Basis, r: &Basis, t: u64) -> Self {
        let coprime = "the bases have no modulus in common";
        let inverse_of = |p: &Modulus, x: u64| p.inv(x).expect(coprime);
        let entry = q
            .moduli()
            .enumerate()
            .map(|(i, m)| m.mul(inverse_of(m, others(q, i, m)), m.reduce(t)))
            .collect();
        let mut first = Vec::with_capacity(r.len() * (q.len() + 1));
        let mut own = Vec::with_capacity(r.len());
        for (j, p) in r.moduli().enumerate() {
            let h = inverse_of(p, others(r, j, p));
            let minus_h = p.neg(h);
            first.extend(
                q.moduli()
                    .map(|m| p.mul(minus_h, inverse_of(p, p.reduce(m.value())))),
            );
            first.push(h);
            let over_q = p.mul(p.reduce(t), inverse_of(p, q.product_mod(p)));
            own.push(p.mul(h, over_q));
        }
        Self {
            extend: BasisConverter::new(q, r),
            entry,
            q_inverse: reciprocals(q),
            r_inverse: reciprocals(r),
            first,
            own,
            q_moduli: q.moduli().copied().collect(),
            r_moduli: r.moduli().copied().collect(),
            q: q.clone(),
            r: r.clone(),
        }
    }

    /// The auxiliary basis.
    pub fn auxiliary(&self) -> &Basis {
        &self.r
    }

    /// The centred representative of `x` over the auxiliary basis.
    ///
    /// # Panics
    /// If `x` is not over `Q`.
    pub fn extend(&self, mut x: Poly<Coeff>) -> Poly<Coeff> {
        assert_eq!(x.basis(), &self.q, "input over the basis converted from");
        self.extend.exact_consuming(x.limbs_mut())
    }

    /// The second matrix for [`Scaler::scale`], which multiplies by `factor(i)`, a residue modulo
    /// `q_i`.
    pub fn output(&self, factor: impl Fn(usize) -> u64) -> Output {
        let mut matrix = Vec::with_capacity(self.q.len() * (self.r.len() + 1));
        for (i, m) in self.q.moduli().enumerate() {
            let f = factor(i);
            matrix.extend((0..self.r.len()).map(|j| m.mul(f, others(&self.r, j, m))));
            matrix.push(m.neg(m.mul(f, self.r.product_mod(m))));
        }
        Output { matrix }
    }

    /// `round(t d / Q)` modulo `Q`, times the factor of `output`. `d` is given by its residues
    /// modulo `Q` and modulo `R`.
    ///
    /// Exact if `|t d / Q| < R / 2 - l 2^-30 R`, with one exception: where `t d / Q` is nearer than
    /// `l 2^-30` to the middle of two integers, it may be rounded the other way.
    ///
    /// # Panics
    /// If the bases differ from those of the tables.
    pub fn scale(&self, mut d_q: Poly<Coeff>, d_r: &Poly<Coeff>, output: &Output) -> Poly<Coeff> {
        assert!(
            d_q.basis() == &self.q && d_r.basis() == &self.r,
            "residues over the two bases"
        );
        let mut start = 0;
        let items = blocks(d_q.limbs_mut())
            .into_iter()
            .map(|rows| {
                let columns = start..start + rows[0].len();
                start = columns.end;
                (rows, columns)
            })
            .collect();
        for_each_item(items, |_, (mut rows, columns)| {
            with_scratch((self.r.len() + 1) * columns.len(), |scratch| {
                let (v, z) = scratch.split_at_mut(columns.len());
                let mut z: Vec<&mut [u64]> = z.chunks_exact_mut(v.len()).collect();
                self.divide_rows(&mut rows, v, &mut z);
                for (j, z) in z.iter_mut().enumerate() {
                    let d = &d_r.limb(j)[columns.clone()];
                    kernels().scalar_mul_add_assign(&self.r_moduli[j], z, d, self.own[j]);
                }
                kernels().quotients(&z, &self.r_inverse, v);
                let z = with_last(&z, v);
                kernels().mat_mul_into(
                    &self.q_moduli,
                    &output.matrix,
                    (&z, bits(&self.r)),
                    &mut rows,
                );
            });
        });
        d_q
    }

    /// `h_j (v - sum_i y_i / q_i)` over the auxiliary basis, from the residues modulo `Q`.
    fn divide_rows(&self, d: &mut [&mut [u64]], v: &mut [u64], z: &mut [&mut [u64]]) {
        for (i, y) in d.iter_mut().enumerate() {
            kernels().scalar_mul_assign(&self.q_moduli[i], y, self.entry[i]);
        }
        kernels().quotients(d, &self.q_inverse, v);
        kernels().mat_mul_into(
            &self.r_moduli,
            &self.first,
            (&with_last(d, v), bits(&self.q)),
            z,
        );
    }
}

fn with_last<'a>(rows: &'a [&mut [u64]], last: &'a [u64]) -> Vec<&'a [u64]> {
    rows.iter().map(|row| &**row).chain([last]).collect()
}

/// Product of all moduli but number `i`, modulo `p`.
fn others(basis: &Basis, i: usize, p: &Modulus) -> u64 {
    basis
        .moduli()
        .enumerate()
        .filter(|&(k, _)| k != i)
        .fold(1 % p.value(), |acc, (_, m)| p.mul(acc, p.reduce(m.value())))
}
