//! Moduli for a number of products in a row, from predicted noise.

use super::scheme::Exact;
use crate::error::{Error, Result};
use crate::params::Params;
use crate::spec::{Bits, Spec};
use ::exact::noise::{Model, Noise};
use ring::ntt_primes;
use rlwe::ParamsSpec;
use rlwe::security::{TARGET_BITS, max_log_qp};

/// Every factor of a product may be a ciphertext times this number, or a sum of as many.
const TERMS: f64 = 4.0;
/// Bits by which the largest of all coefficients may exceed the root mean square: 11 deviations.
const TAIL_BITS: f64 = 3.5;
/// Bits of the largest moduli that are fast.
const WIDEST: u32 = 50;
/// Bits that a product may leave above the noise of a rounding.
const SLACK_BITS: f64 = 1.5;

impl<S: Exact> Params<S> {
    /// A secure set of degree `2^log_n` for `depth` products in a row modulo `t`, whose factors may
    /// be sums of four ciphertexts, or four times one. Predicted noise tells how long the moduli
    /// are. The special moduli are as many as are secure: with more of them, key switching has
    /// fewer digits.
    ///
    /// # Errors
    /// Of the kind [`Security`](crate::ErrorKind::Security) if the degree is too small for the
    /// depth, and an error for a `t` that has no slots: a prime with `t = 1 mod 2N` has them.
    pub fn for_depth(log_n: u32, depth: usize, t: u64) -> Result<Self> {
        if !(10..=17).contains(&log_n) {
            return Err(Error::argument("log_n", log_n, "10 to 17"));
        }
        let n = 1usize << log_n;
        let limit = max_log_qp(n).unwrap_or(0);
        if depth > limit as usize {
            return Err(insecure(depth as u32, limit, n));
        }
        let sizes = S::chain(&model(n, t)?, depth, f64::from(limit))?;
        let total: u32 = sizes.iter().sum();
        let largest = sizes.iter().copied().max().unwrap_or(WIDEST);
        // Primes of a size have up to that many bits, so sums of sizes are bounds.
        let special = limit.saturating_sub(total) / largest;
        if special == 0 {
            return Err(insecure(total + largest, limit, n));
        }
        let special = vec![largest; (special as usize).min(sizes.len())];
        let levels: Vec<Vec<u32>> = sizes.into_iter().map(|bits| vec![bits]).collect();
        let bits = Bits {
            log_n,
            levels: &levels,
            special: &special,
            digit_limbs: None,
        };
        Self::of_spec(Spec::of_bits(S::SCHEME, t, &bits)?, false)
    }
}

fn insecure(log_qp: u32, limit: u32, n: usize) -> Error {
    let lambda = TARGET_BITS;
    rlwe::Error::Insecure {
        log_qp,
        limit,
        lambda,
        n,
    }
    .into()
}

/// Noise formulas for the degree and `t`. The noise of products hardly depends on the moduli.
fn model(n: usize, t: u64) -> Result<Model> {
    let mut primes = ntt_primes(WIDEST, n, 3)?;
    let p = primes.pop();
    let spec = ParamsSpec {
        n,
        q: primes,
        p: p.into_iter().collect(),
        digit_limbs: 1,
    };
    Ok(Model::new(&::exact::Params::new_insecure(&spec, t)?))
}

/// Noise of a sum of ciphertexts, which may all be one.
fn summed(noise: Noise) -> Noise {
    noise.scaled(TERMS * TERMS, TERMS * TERMS)
}

/// Bits of a modulus that holds a residual of this noise, with the least budget.
fn held(noise: Noise) -> f64 {
    noise.bits() + TAIL_BITS + ::exact::LEAST_BUDGET + 1.0
}

/// Moduli of about one size for products at the whole modulus, as BFV's.
pub(crate) fn whole(model: &Model, depth: usize, limit: f64) -> Result<Vec<u32>> {
    let mut noise = model.fresh_public();
    for _ in 0..depth {
        if noise.bits() > limit {
            break;
        }
        let factor = summed(noise);
        let product = model.scale_invariant(factor, factor, true);
        noise = product.plus(model.key_switch(0)).plus(model.rounding());
    }
    let total = held(summed(noise));
    let count = (total / f64::from(WIDEST)).ceil().max(1.0);
    let bits = (total / count).ceil() as u32 + 1;
    Ok(vec![bits.min(WIDEST); count as usize])
}

/// A modulus for each product, by which it is divided, and one for the last result, as BGV's.
pub(crate) fn by_level(model: &Model, depth: usize, _: f64) -> Result<Vec<u32>> {
    let floor = model.rounding();
    let product = |noise: Noise| {
        let factor = summed(noise);
        let product = model.tensor(factor, factor, true);
        product.plus(model.key_switch(0))
    };
    // The least size that brings the product of two products back to where it started.
    let after = |noise: Noise, bits: u32| product(noise).divided(f64::from(bits)).plus(floor);
    let settled = |bits: u32| {
        let first = after(model.fresh_public(), bits);
        let later = (0..depth).fold(first, |noise, _| {
            // Noise that grows without end is cut off, before it leaves the range of doubles.
            if noise.bits() > floor.bits() + 2.0 * SLACK_BITS {
                noise
            } else {
                after(noise, bits)
            }
        });
        later.bits() <= floor.bits() + SLACK_BITS
    };
    let bits = (17..=WIDEST).find(|&bits| settled(bits)).unwrap_or(WIDEST);
    let first = held(summed(floor)) + SLACK_BITS;
    // A fresh ciphertext of a public key has to fit, too.
    let fresh = held(model.fresh_public());
    let first = if depth == 0 { first.max(fresh) } else { first };
    let mut sizes = vec![(first.ceil() as u32).clamp(bits.min(WIDEST), 60)];
    sizes.extend(vec![bits; depth]);
    Ok(sizes)
}
