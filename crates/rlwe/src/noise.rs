//! Measuring noise: the exact size of the coefficients of a polynomial, as a secret's owner sees it; and how
//! probable it is that noise exceeds a bound.

use num_bigint::BigUint;
use num_traits::{ToPrimitive, Zero};
use ring::{Coeff, Poly};

/// The centred coefficients, as doubles: exact up to 53 bits, and never overflowing for moduli
/// below 2^1023.
pub fn centred(poly: &Poly<Coeff>) -> Vec<f64> {
    let basis = poly.basis();
    let product: BigUint = basis.moduli().map(|q| BigUint::from(q.value())).product();
    let half = &product >> 1u32;
    let hats: Vec<BigUint> = basis.moduli().map(|q| &product / q.value()).collect();
    let inverses: Vec<u64> = basis
        .moduli()
        .zip(&hats)
        .map(|(q, hat)| {
            let residue = (hat % q.value()).to_u64().expect("a residue is a word");
            q.inv(residue).expect("moduli are pairwise coprime")
        })
        .collect();
    (0..poly.n())
        .map(|k| {
            let mut sum = BigUint::zero();
            for (i, q) in basis.moduli().enumerate() {
                sum += &hats[i] * q.mul(poly.limb(i)[k], inverses[i]);
            }
            sum %= &product;
            if sum > half {
                -(&product - sum).to_f64().expect("a modulus below 2^1023")
            } else {
                sum.to_f64().expect("a modulus below 2^1023")
            }
        })
        .collect()
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
        // Scaled by the largest, so that squares of huge errors do not overflow.
        let scale = if max > 0.0 { max } else { 1.0 };
        let mean = errors.iter().map(|e| (e / scale).powi(2)).sum::<f64>() / errors.len() as f64;
        Self {
            log2_rms: mean.sqrt().log2() + scale.log2(),
            log2_max: max.log2(),
        }
    }
}

/// log2 of `P(|x| >= t)` for a normal `x` of deviation 1, `t >= 0`.
pub fn log2_two_sided_tail(t: f64) -> f64 {
    use std::f64::consts::{LN_2, PI, SQRT_2};
    let x = t / SQRT_2;
    if x < 2.0 {
        // 1 - erf by its series, whose terms alternate and stay below 10.
        let (mut term, mut sum) = (x, x);
        for i in 1..60 {
            term *= -x * x / f64::from(i);
            sum += term / f64::from(2 * i + 1);
        }
        return (1.0 - 2.0 / PI.sqrt() * sum).max(f64::MIN_POSITIVE).log2();
    }
    // erfc(x) = exp(-x^2) / sqrt(pi) / (x + (1/2) / (x + 1 / (x + (3/2) / (x + ...)))), from the inside.
    let fraction = (1..=80)
        .rev()
        .fold(x, |inner, i| x + f64::from(i) / 2.0 / inner);
    -x * x / LN_2 - (PI.sqrt() * fraction).log2()
}

/// log2(2^a + 2^b), for probabilities too small for their own size to be a number.
pub fn log2_sum(a: f64, b: f64) -> f64 {
    let (high, low) = (a.max(b), a.min(b));
    if low == f64::NEG_INFINITY {
        return high;
    }
    high + (low - high).exp2().ln_1p() * std::f64::consts::LOG2_E
}

/// The deviations that a normal value exceeds, on either side, with the probability `2^log2` or less: at most 64.
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
        // From tables of the normal distribution: 5 % beyond 1.95996, 2.0e-9 beyond 6 deviations,
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
