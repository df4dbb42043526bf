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

/// A kernel has few weights if this many times as many are fewer than the coefficients.
const FEW: usize = 32;

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
        for (place, weight) in self.places(n) {
            out[place] += weight;
        }
        out
    }

    /// Places and values of the coefficients that are not 0, in order. A kernel of few weights is not
    /// written out.
    fn entries(&self, n: usize) -> Vec<(usize, i64)> {
        let mut entries: Vec<(usize, i64)> = match self.weights.len() * FEW < n {
            true => self.places(n).collect(),
            false => self.polynomial(n).into_iter().enumerate().collect(),
        };
        entries.sort_unstable_by_key(|&(place, _)| place);
        entries.dedup_by(|(place, weight), (before, sum)| {
            let same = place == before;
            *sum += if same { *weight } else { 0 };
            same
        });
        entries.retain(|&(_, weight)| weight != 0);
        entries
    }

    /// Coefficient and sign of each weight.
    fn places(&self, n: usize) -> impl Iterator<Item = (usize, i64)> {
        let weights = self.weights.iter().zip(self.exponents);
        weights.map(move |(&weight, &exponent)| match exponent as usize {
            e if e < n => (e, weight),
            e => (e - n, -weight),
        })
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
        let entries = kernel.entries(n);
        let mut squares = Squares::of(entries.iter().map(|&(_, weight)| weight), n);
        // A kernel of zeros makes a constant. Its noise must still be a number.
        squares.sum = squares.sum.max(1.0);
        squares.peak = squares.peak.max(1.0);
        let plain = |_| Plain::Coefficients(Words::Sparse(entries.clone()));
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
        // Written out, and not.
        for n in [8, 4096] {
            let exponents = [0, n as i64 - 1, n as i64, 0, 3, n as i64 + 3];
            let kernel = Kernel {
                weights: &[1, 2, 4, 5, 6, 6],
                exponents: &exponents,
            };
            assert_eq!(kernel.entries(n), [(0, 2), (n - 1, 2)]);
        }
    }
}
