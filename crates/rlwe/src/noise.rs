//! Noise measurement: the exact size of a polynomial's coefficients, for the owner of the secret;
//! the noise that key switching adds; and the probability that noise exceeds a bound.

use crate::params::Params;
use ring::sample::SIGMA;
use ring::{Coeff, Poly};
use zeroize::Zeroizing;

/// The centred coefficients as doubles: exact up to 53 bits, and without overflow for moduli below
/// 2^1023. They are as secret as the polynomial. Nothing else computed from it stays in memory.
#[expect(clippy::missing_panics_doc, reason = "moduli are pairwise coprime")]
pub fn centred(poly: &Poly<Coeff>) -> Zeroizing<Vec<f64>> {
    let basis = poly.basis();
    let mut product = vec![1];
    for q in basis.moduli() {
        multiply(&mut product, q.value());
    }
    let hats: Vec<Vec<u64>> = basis
        .moduli()
        .map(|q| divide(&product, q.value()).0)
        .collect();
    let inverses: Vec<u64> = basis
        .moduli()
        .zip(&hats)
        .map(|(q, hat)| {
            let residue = divide(hat, q.value()).1;
            q.inv(residue).expect("moduli are pairwise coprime")
        })
        .collect();
    let half = divide(&product, 2).0;
    let mut sum = Zeroizing::new(vec![0u64; product.len() + 1]);
    product.push(0);
    let coefficient = |k: usize| {
        sum.fill(0);
        for (i, q) in basis.moduli().enumerate() {
            // Each term is below the product of the moduli, so the sum stays below twice the
            // product.
            add_multiple(&mut sum, &hats[i], q.mul(poly.limb(i)[k], inverses[i]));
            if !is_less(&sum, &product) {
                subtract(&mut sum, &product);
            }
        }
        if is_less(&half, &sum) {
            subtract(&mut sum, &product);
            negate(&mut sum);
            -to_double(&sum)
        } else {
            to_double(&sum)
        }
    };
    Zeroizing::new((0..poly.n()).map(coefficient).collect())
}

// Natural numbers as words, the least significant first.

fn multiply(words: &mut Vec<u64>, factor: u64) {
    let mut carry = 0;
    for word in &mut *words {
        let wide = u128::from(*word) * u128::from(factor) + carry;
        (*word, carry) = (wide as u64, wide >> 64);
    }
    if carry > 0 {
        words.push(carry as u64);
    }
}

/// Quotient and remainder.
fn divide(words: &[u64], divisor: u64) -> (Vec<u64>, u64) {
    let (mut quotient, mut rest) = (vec![0; words.len()], 0);
    for (out, &word) in quotient.iter_mut().zip(words).rev() {
        let wide = u128::from(rest) << 64 | u128::from(word);
        *out = (wide / u128::from(divisor)) as u64;
        rest = (wide % u128::from(divisor)) as u64;
    }
    (quotient, rest)
}

fn add_multiple(sum: &mut [u64], words: &[u64], factor: u64) {
    let mut carry = 0;
    for (i, sum) in sum.iter_mut().enumerate() {
        let word = words.get(i).copied().unwrap_or(0);
        let wide = u128::from(word) * u128::from(factor) + u128::from(*sum) + carry;
        (*sum, carry) = (wide as u64, wide >> 64);
    }
}

/// `a - b`, modulo 2 to the number of bits of `a`.
fn subtract(a: &mut [u64], b: &[u64]) {
    let mut borrow = false;
    for (a, &b) in a.iter_mut().zip(b) {
        let (first, second) = a.overflowing_sub(b);
        let (word, third) = first.overflowing_sub(borrow.into());
        (*a, borrow) = (word, second || third);
    }
}

/// `-a`, modulo 2 to the number of bits of `a`.
fn negate(a: &mut [u64]) {
    let mut carry = true;
    for a in a {
        (*a, carry) = (!*a).overflowing_add(carry.into());
    }
}

/// Returns true if `a < b`. The shorter number is extended with zeros.
fn is_less(a: &[u64], b: &[u64]) -> bool {
    let word = |x: &[u64], i: usize| x.get(i).copied().unwrap_or(0);
    let mut places = (0..a.len().max(b.len())).rev();
    let differs = places.find(|&i| word(a, i) != word(b, i));
    differs.is_some_and(|i| word(a, i) < word(b, i))
}

fn to_double(words: &[u64]) -> f64 {
    words.iter().rev().fold(0.0, |sum, &word| {
        sum * 18_446_744_073_709_551_616.0 + word as f64
    })
}

/// Size of a set of errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// log2 of the root mean square; minus infinity if all are zero.
    pub log2_rms: f64,
    /// log2 of the largest magnitude; minus infinity if all are zero.
    pub log2_max: f64,
}

impl Size {
    /// Size of the given errors.
    pub fn of(errors: &[f64]) -> Self {
        let max = errors.iter().fold(0.0f64, |m, e| m.max(e.abs()));
        // Scaled by the largest error, so that squares of huge errors do not overflow.
        let scale = if max > 0.0 { max } else { 1.0 };
        let mean = errors.iter().map(|e| (e / scale).powi(2)).sum::<f64>() / errors.len() as f64;
        Self {
            log2_rms: mean.sqrt().log2() + scale.log2(),
            log2_max: max.log2(),
        }
    }
}

/// log2 of `P(|x| >= t)` for a normal `x` of deviation 1, with `t >= 0`.
pub fn log2_two_sided_tail(t: f64) -> f64 {
    use std::f64::consts::{LN_2, PI, SQRT_2};
    let x = t / SQRT_2;
    if x < 2.0 {
        // 1 - erf by its series. The terms alternate and stay below 10.
        let (mut term, mut sum) = (x, x);
        for i in 1..60 {
            term *= -x * x / f64::from(i);
            sum += term / f64::from(2 * i + 1);
        }
        return (1.0 - 2.0 / PI.sqrt() * sum).max(f64::MIN_POSITIVE).log2();
    }
    // erfc(x) = exp(-x^2) / sqrt(pi) / (x + (1/2) / (x + 1 / (x + (3/2) / (x + ...)))), evaluated
    // from the innermost term.
    let terms = if x < 8.0 { 80 } else { 12 };
    let fraction = (1..=terms)
        .rev()
        .fold(x, |inner, i| x + f64::from(i) / 2.0 / inner);
    -x * x / LN_2 - (PI.sqrt() * fraction).log2()
}

/// Variance of the coefficients of `sum_j d_j e_j / P`, the noise that key switching at a level
/// adds before the final rounding.
///
/// # Panics
/// If `level` is above the highest level.
pub fn switch_variance(params: &Params, level: usize) -> f64 {
    let basis = params.basis(level);
    let special = params.special().log2();
    let digits = params.digits(level);
    let variance = digits.map(|limbs| {
        let ratio = (basis.slice(limbs.clone()).log2() - special).exp2();
        // Digits are centred: uniform in [-D_j/2, D_j/2].
        SIGMA * SIGMA * params.n() as f64 / 12.0 * ratio * ratio
    });
    variance.sum()
}

/// log2(2^a + 2^b), for probabilities too small for a double.
pub fn log2_sum(a: f64, b: f64) -> f64 {
    let (high, low) = (a.max(b), a.min(b));
    // A double does not change by an addend of less than 2^-100 of its value.
    if low - high < -100.0 || low == f64::NEG_INFINITY {
        return high;
    }
    high + (low - high).exp2().ln_1p() * std::f64::consts::LOG2_E
}

/// The number of deviations, at most 64, that a normal value exceeds on either side with the
/// probability `2^log2` or less.
pub fn deviations(log2: f64) -> f64 {
    let (mut low, mut high) = (0.0, 64.0);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if log2_two_sided_tail(middle) > log2 {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_deviations_of_probabilities() {
        assert_eq!(log2_sum(-3.0, -3.0), -2.0);
        assert_eq!(log2_sum(f64::NEG_INFINITY, -9.0), -9.0);
        assert_eq!(log2_sum(-2000.0, -3000.0), -2000.0);
        // From tables of the normal distribution: 5 % beyond 1.95996 deviations, 2.0e-9 beyond 6,
        // 1.24e-15 beyond 8.
        for (probability, wanted) in [(0.05, 1.959_964), (1.973_175e-9, 6.0), (1.244_192e-15, 8.0)]
        {
            let found = deviations(f64::log2(probability));
            assert!((found - wanted).abs() < 1e-4, "{found}, expected {wanted}");
        }
        for log2 in [-40.0, -64.0, -128.0, -1000.0] {
            assert!((log2_two_sided_tail(deviations(log2)) - log2).abs() < 1e-6);
        }
    }
}
