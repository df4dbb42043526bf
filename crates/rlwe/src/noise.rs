//! Measuring noise: the exact size of the coefficients of a polynomial, as a secret's owner sees it.

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
