//! Linear layers on coefficients: one product of polynomials computes many inner products.
//!
//! With values `d_p` in coefficients `p` and weights `w_e` at powers `X^e`, coefficient `o` of the
//! product is `sum_e w_e d_(o-e)`, where exponents count modulo `2N` and `X^N = -1`. For a
//! convolution, every output whose window reads values at the same distances is such a sum. Strides
//! and gaps cost nothing, since sample extraction takes any coefficients. The compiler decides
//! where values lie.
//!
//! Source: Athena (MICRO 2025), section 3.2.1, equation 1; Huang, Lu, Hong, Ding, "Cheetah", USENIX
//! Security 2022, section 3.

use crate::engine::{Engine, ValueOf};
use crate::error::Result;
use crate::operations::{Operations, Plain, Words};
use crate::residual::Squares;

/// A sparse polynomial of small integers. Each weight has its exponent below `2N`.
#[derive(Clone, Copy, Debug)]
pub struct Kernel<'a> {
    /// Weights.
    pub weights: &'a [i64],
    /// The exponents, one for each weight.
    pub exponents: &'a [i64],
}

impl Kernel<'_> {
    /// Returns the `n` coefficients of the polynomial.
    pub fn polynomial(&self, n: usize) -> Vec<i64> {
        let mut out = vec![0; n];
        for (&weight, &exponent) in self.weights.iter().zip(self.exponents) {
            match exponent as usize {
                e if e < n => out[e] += weight,
                e => out[e - n] -= weight,
            }
        }
        out
    }
}

/// Adds up the products of values with kernels, at the lowest level of the values. The result has
/// factor 1 and is not switched down.
///
/// # Errors
/// Errors of the scheme.
///
/// # Panics
/// If there is no term.
pub fn multiply<O: Operations>(
    engine: &Engine<O>,
    terms: &[(&ValueOf<O>, Kernel<'_>)],
) -> Result<ValueOf<O>> {
    let n = engine.params().n();
    let level = terms.iter().map(|(value, _)| value.level()).min();
    let level = level.expect("a sum of products has a term");
    let mut sum: Option<ValueOf<O>> = None;
    for (value, kernel) in terms {
        engine.count_weights(kernel.weights.len());
        let polynomial = kernel.polynomial(n);
        let mut squares = Squares::of(polynomial.iter().copied(), n);
        // A kernel of zeros makes a constant. Its noise must still be a number.
        squares.sum = squares.sum.max(1.0);
        squares.peak = squares.peak.max(1.0);
        let plain = |_| {
            let weights = polynomial.iter().copied().enumerate();
            Plain::Coefficients(Words::Sparse(weights.filter(|&(_, w)| w != 0).collect()))
        };
        let product = engine.mul_plain_sum_at(level, &[value], squares, 1, plain)?;
        match &mut sum {
            None => sum = Some(product),
            Some(sum) => engine.add_apart_assign(sum, &product)?,
        }
    }
    Ok(sum.expect("there is a term"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_wrap_with_a_sign() {
        let kernel = Kernel {
            weights: &[1, 2, 4, 5],
            exponents: &[0, 7, 8, 0],
        };
        assert_eq!(kernel.polynomial(8), [2, 0, 0, 0, 0, 0, 0, 2]);
    }
}
