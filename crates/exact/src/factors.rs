//! Sums need equal factors. This module brings two ciphertexts to one factor.

use crate::encrypt::Ciphertext;
use crate::error::Result;
use crate::evaluator::Evaluator;
use ring::Modulus;

impl Evaluator {
    /// Brings two ciphertexts to one factor. Multiplies `a` by `x` and `b` by `y`, and their
    /// factors too, so the messages do not change. Returns `[x, y]`.
    ///
    /// `x` and `y` are small: `x^2 + y^2 <= 2 t`. Both are 1 for equal factors. They multiply the
    /// residuals too ([`Model::mul_scalar`](crate::noise::Model::mul_scalar)), so a sum has the
    /// noise `x^2 v_a + y^2 v_b`.
    ///
    /// Source: Halevi, Shoup, "Design and implementation of HElib", 2020, on the factors of sums.
    ///
    /// # Errors
    /// If levels differ.
    #[expect(clippy::missing_panics_doc, reason = "factors are units modulo t")]
    pub fn match_factors(&self, a: &mut Ciphertext, b: &mut Ciphertext) -> Result<[i64; 2]> {
        self.params().check_ciphertexts(&[a, b])?;
        let (left, right) = (a.level(), b.level());
        if left != right {
            return Err(rlwe::Error::LevelMismatch { left, right }.into());
        }
        let t = self.params().t();
        let inverse = t.inv(a.factor()).expect("factors are units");
        let [x, y] = short_ratio(t, t.mul(b.factor(), inverse));
        self.mul_factor_assign(a, x);
        self.mul_factor_assign(b, y);
        Ok([x, y])
    }

    /// Multiplies a ciphertext and its factor by `c`, which is not 0 modulo `t`. The message does
    /// not change.
    pub fn mul_factor_assign(&self, a: &mut Ciphertext, c: i64) {
        if c == 1 {
            return;
        }
        let (t, factor) = (self.params().t(), a.factor());
        let c = t.from_i64(c);
        self.scale_assign(a, t.center(c));
        a.set_factor(t.mul(factor, c));
    }
}

/// Small `(x, y)` with `x = ratio y mod t` and `x^2 + y^2 <= 2 t`. The remainders of Euclid's
/// algorithm give such pairs, and the first remainder below `sqrt t` has `|y|` below `sqrt t` too.
pub fn short_ratio(t: &Modulus, ratio: u64) -> [i64; 2] {
    let mut pairs = [[t.value() as i64, 0], [ratio as i64, 1]];
    let norm = |[x, y]: [i64; 2]| i128::from(x).pow(2) + i128::from(y).pow(2);
    let mut best = pairs[1];
    while pairs[1][0] != 0 {
        if norm(pairs[1]) < norm(best) {
            best = pairs[1];
        }
        let [[x0, y0], [x1, y1]] = pairs;
        let quotient = x0 / x1;
        pairs = [[x1, y1], [x0 - quotient * x1, y0 - quotient * y1]];
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_short() {
        for prime in [257u64, 65_537, 1_032_193] {
            let t = Modulus::new(prime).expect("a word-sized modulus");
            for ratio in (1..prime).step_by(prime as usize / 250) {
                let [x, y] = short_ratio(&t, ratio);
                assert_eq!(t.from_i64(x), t.mul(ratio, t.from_i64(y)), "{ratio}");
                assert!(x * x + y * y <= 2 * prime as i64, "{ratio}: {x}, {y}");
                assert!(y != 0);
            }
            assert_eq!(short_ratio(&t, 1), [1, 1]);
        }
    }
}
