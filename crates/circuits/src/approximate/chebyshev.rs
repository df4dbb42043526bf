//! Polynomials in the Chebyshev basis on encrypted slots.
//!
//! `p = q T_m + r`, with `m` a power of two, splits a polynomial into halves. The halves are split
//! again, down to leaves that are sums of powers already computed. A leaf and every product take
//! one level. The split is chosen so that degree `d` takes `ceil(log2(d + 1))` levels: parts that
//! are multiplied often are split to the end, others have levels to spare. Scales are chosen from
//! the result downwards, so that the terms of every sum have exactly one scale.
//!
//! Sources: Paterson, Stockmeyer, SIAM J. Comput. 1973; Bossuat et al., EUROCRYPT 2021, section 5
//! (scales handed down).

use crate::approximate::arithmetic::{Arithmetic, ScaledOf};
use crate::error::{Error, Result};
use crate::operations::RingOperations;
use std::collections::BTreeMap;

/// A polynomial `sum_k c_k T_k` on `[-1, 1]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Chebyshev {
    coefficients: Vec<f64>,
}

impl Chebyshev {
    /// Makes the polynomial with these coefficients, that of `T_0` first. Trailing zeros are
    /// removed.
    pub fn new(mut coefficients: Vec<f64>) -> Self {
        while coefficients.last() == Some(&0.0) {
            coefficients.pop();
        }
        Self { coefficients }
    }

    /// Interpolates `f` on `[-1, 1]` at the `degree + 1` roots of the next Chebyshev polynomial.
    pub fn interpolate(f: impl Fn(f64) -> f64, degree: usize) -> Self {
        let count = degree + 1;
        let angle = |k: usize| std::f64::consts::PI * (k as f64 + 0.5) / count as f64;
        let values: Vec<f64> = (0..count).map(|k| f(angle(k).cos())).collect();
        let coefficient = |j: usize| {
            let terms = values.iter().enumerate();
            let sum: f64 = terms.map(|(k, v)| v * (j as f64 * angle(k)).cos()).sum();
            sum * if j == 0 { 1.0 } else { 2.0 } / count as f64
        };
        Self::new((0..count).map(coefficient).collect())
    }

    /// The coefficients, that of `T_0` first.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// Degree. 0 for constants.
    pub fn degree(&self) -> usize {
        self.coefficients.len().saturating_sub(1)
    }

    /// Number of levels that [`evaluate`] takes.
    pub fn depth(&self) -> usize {
        depth(self.degree())
    }

    /// Value at `x`.
    pub fn at(&self, x: f64) -> f64 {
        // Clenshaw's recurrence.
        let (mut b1, mut b2) = (0.0, 0.0);
        for &c in self.coefficients.iter().skip(1).rev() {
            (b1, b2) = (c + 2.0 * x * b1 - b2, b1);
        }
        self.coefficients.first().copied().unwrap_or(0.0) + x * b1 - b2
    }

    /// Returns `q` and `r` with `p = q T_m + r`, for a degree below `2m`. Uses
    /// `2 T_m T_k = T_(m+k) + T_(m-k)`.
    fn split(&self, m: usize) -> (Self, Self) {
        let mut low = self.coefficients[..m].to_vec();
        let mut high = self.coefficients[m..].to_vec();
        for k in 1..high.len() {
            low[m - k] -= high[k];
            high[k] *= 2.0;
        }
        (Self::new(high), Self::new(low))
    }
}

fn depth(degree: usize) -> usize {
    (degree + 1).next_power_of_two().ilog2() as usize
}

/// Evaluates `p(x)` in every slot, for slots in `[-1, 1]`. The result has the scale `scale` and is
/// [`Chebyshev::depth`] levels below `x`.
///
/// # Errors
/// If the levels do not suffice, the key was made for lower ones, or the degree is 0.
pub fn evaluate<O: RingOperations>(
    arithmetic: &Arithmetic<O>,
    p: &Chebyshev,
    x: &ScaledOf<O>,
    scale: f64,
) -> Result<ScaledOf<O>> {
    if p.degree() == 0 {
        return Err(Error::Shape {
            what: "the degree of a polynomial",
            found: "0".into(),
            expected: "at least 1".into(),
        });
    }
    let top = x.level();
    let need = p.depth();
    if top < need {
        return Err(ckks::Error::LevelExhausted { need, have: top }.into());
    }
    let mut powers = Powers {
        arithmetic,
        top,
        at: BTreeMap::from([(1, x.clone())]),
    };
    // Leaves below this length are sums of powers. A length near the square root balances powers
    // and products.
    let bits = need as u32;
    let leaf = 1usize << bits.div_ceil(2);
    powers.eval(p, leaf, top - need, scale)
}

/// Chebyshev polynomials of the input, made when first needed.
struct Powers<'a, O: RingOperations> {
    arithmetic: &'a Arithmetic<'a, O>,
    top: usize,
    at: BTreeMap<usize, ScaledOf<O>>,
}

impl<O: RingOperations> Powers<'_, O> {
    /// Evaluates `p` at a level and scale.
    fn eval(
        &mut self,
        p: &Chebyshev,
        leaf: usize,
        level: usize,
        scale: f64,
    ) -> Result<ScaledOf<O>> {
        let arithmetic = self.arithmetic;
        let spare = self.top - level;
        let degree = p.degree();
        // A leaf of degree d needs T_d, at depth ceil(log2 d), and a level for its constants.
        if degree < leaf && depth(degree - 1) < spare {
            return self.leaf(p, level, scale);
        }
        let m = 1 << degree.ilog2();
        let (q, r) = p.split(m);
        self.make(m)?;
        let modulus = arithmetic.params().level_modulus(level + 1);
        let power = arithmetic.drop_to(self.at[&m].clone(), level + 1)?;
        let wide = scale * modulus;
        let mut product = if q.degree() == 0 {
            // `q` is a number, so the product is a multiple of the power.
            let c = q.coefficients().first().copied().unwrap_or(0.0);
            let mut out = power.clone();
            arithmetic.mul_const_assign(&mut out, c, wide / power.scale())?;
            out.set_scale(wide);
            out
        } else {
            let q = self.eval(&q, leaf, level + 1, wide / power.scale())?;
            arithmetic.mul(&q, &power)?
        };
        product = arithmetic.rescale(product)?;
        product.set_scale(scale);
        if r.degree() == 0 {
            let c = r.coefficients().first().copied().unwrap_or(0.0);
            arithmetic.add_const_assign(&mut product, c)?;
        } else {
            let r = self.eval(&r, leaf, level, scale)?;
            arithmetic.add_assign(&mut product, &r)?;
        }
        Ok(product)
    }

    /// A sum of powers. Constants have the scale of the level's modulus.
    fn leaf(&mut self, p: &Chebyshev, level: usize, scale: f64) -> Result<ScaledOf<O>> {
        let arithmetic = self.arithmetic;
        for k in 1..=p.degree() {
            self.make(k)?;
        }
        let wide = scale * arithmetic.params().level_modulus(level + 1);
        let mut sum = arithmetic.drop_to(self.at[&1].clone(), level + 1)?;
        let c1 = p.coefficients().get(1).copied().unwrap_or(0.0);
        let factor = wide / sum.scale();
        arithmetic.mul_const_assign(&mut sum, c1, factor)?;
        sum.set_scale(wide);
        for (k, &c) in p.coefficients().iter().enumerate().skip(2) {
            arithmetic.add_scaled_assign(&mut sum, &self.at[&k], c)?;
        }
        let c0 = p.coefficients().first().copied().unwrap_or(0.0);
        arithmetic.add_const_assign(&mut sum, c0)?;
        let mut sum = arithmetic.rescale(sum)?;
        sum.set_scale(scale);
        Ok(sum)
    }

    /// `T_k` at depth `ceil(log2 k)`: `T_(a+b) = 2 T_a T_b - T_(a-b)`.
    fn make(&mut self, k: usize) -> Result<()> {
        if self.at.contains_key(&k) {
            return Ok(());
        }
        let a = (k.next_power_of_two() / 2).max(1);
        let b = k - a;
        self.make(a)?;
        self.make(b)?;
        let arithmetic = self.arithmetic;
        let level = self.at[&a].level().min(self.at[&b].level());
        let left = arithmetic.drop_to(self.at[&a].clone(), level)?;
        let right = arithmetic.drop_to(self.at[&b].clone(), level)?;
        let mut product = arithmetic.mul(&left, &right)?;
        arithmetic.mul_const_assign(&mut product, 2.0, 1.0)?;
        if a == b {
            arithmetic.add_const_assign(&mut product, -1.0)?;
        } else {
            // `T_(a-b)` is available: it has a smaller index and a level that is not lower.
            self.make(a - b)?;
            arithmetic.add_scaled_assign(&mut product, &self.at[&(a - b)], -1.0)?;
        }
        self.at.insert(k, arithmetic.rescale(product)?);
        Ok(())
    }
}
