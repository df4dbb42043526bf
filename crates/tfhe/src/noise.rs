//! Predicted noise: variances, in squares of the torus, and the probability of a wrong table entry.
//!
//! All secrets are binary and uniform. Digits are uniform in `[-B/2, B/2)`, with mean square
//! `(B^2 + 2) / 12`. The *rest* that the digits leave of a word is uniform, with variance
//! `(B^-2l - q^-2) / 12`. Variances are over keys and inputs. Digits have mean -1/2, so for a given
//! key part of the noise is the same in every operation: half of it for digits of one bit, next to
//! nothing for digits of many bits.
//!
//! Source: Chillotti, Ligier, Orfila, Tap, "Improved Programmable Bootstrapping with Larger
//! Precision and Efficient Arithmetic Circuits for TFHE", ASIACRYPT 2021, <https://ia.cr/2021/729>,
//! appendix. The terms of means of rests are subtracted here (key switch, modulus switch) or below
//! a unit of `q` (external product).

use crate::params::KeySwitch;
use rand::{Rng, RngCore};
use ring::torus::{Decomposition, Multiplier, Naive, Torus};

pub use rlwe::noise::log2_two_sided_tail;

/// Variance of each coefficient from rounding in one product of digits and rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounding {
    /// Variance in an external product.
    pub bootstrap: f64,
    /// Variance in a key switch in the ring.
    pub key_switch: f64,
}

impl Rounding {
    /// No rounding.
    pub const EXACT: Self = Self {
        bootstrap: 0.0,
        key_switch: 0.0,
    };
}

/// The numbers on which noise depends. [`Params::noise`](crate::Params::noise) computes them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// log2 of `q`.
    pub word_bits: u32,
    /// Dimension `n` of the small secret.
    pub lwe_dimension: usize,
    /// Standard deviation of noise under the small secret.
    pub lwe_sigma: f64,
    /// Rank `k`.
    pub rank: usize,
    /// Ring degree `N`.
    pub n: usize,
    /// Standard deviation of noise under the ring secret.
    pub ring_sigma: f64,
    /// Digits of external products.
    pub bootstrap: Decomposition,
    /// Kind and digits of the key switch.
    pub key_switch: KeySwitch,
    /// The rounding of the multiplier.
    pub rounding: Rounding,
}

/// Variance that a modulus switch adds to the phase, in squares of the torus.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Switched {
    /// Variance from rounding the mask.
    pub mask: f64,
    /// Variance from rounding the body. It moves no index across the border of a box, so failures
    /// do not count it.
    pub body: f64,
}

impl Model {
    fn big_dimension(&self) -> f64 {
        (self.rank * self.n) as f64
    }

    /// Variance of the rest that digits leave of a word.
    fn rest(&self, digits: Decomposition) -> f64 {
        let square = |bits: u32| (-2.0 * f64::from(bits)).exp2();
        (square(digits.bits()) - square(self.word_bits)) / 12.0
    }

    /// Variance of a fresh sample under the big secret.
    pub fn fresh(&self) -> f64 {
        self.ring_sigma * self.ring_sigma
    }

    /// Variance that a key switch of either kind adds.
    ///
    /// The variance comes from `k N l` products of a digit with noise under the small secret, and
    /// from the rests of `k N` words times bits minus 1/2.
    pub fn key_switch(&self) -> f64 {
        let (digits, rounding) = match self.key_switch {
            KeySwitch::Lwe(digits) => (digits, 0.0),
            KeySwitch::Ring(digits) => {
                let meets = 1.0 + self.lwe_dimension as f64 / 2.0;
                (digits, meets * self.rounding.key_switch)
            }
        };
        let products = self.big_dimension() * f64::from(digits.levels());
        let noise = products * digits.mean_square() * self.lwe_sigma * self.lwe_sigma;
        noise + self.big_dimension() * self.rest(digits) / 4.0 + rounding
    }

    /// Variance that a modulus switch to `2N / 2^drop` adds.
    pub fn modulus_switch(&self, drop: u32) -> Switched {
        let step = f64::from(drop).exp2() / (2 * self.n) as f64;
        let unit = step * step / 12.0;
        Switched {
            mask: self.lwe_dimension as f64 * unit / 4.0,
            body: unit,
        }
    }

    /// Variance that an external product with a GGSW ciphertext of `bit` adds.
    pub fn external_product(&self, bit: bool) -> f64 {
        let digits = self.bootstrap;
        let rows = ((self.rank + 1) * self.n) as f64 * f64::from(digits.levels());
        let noise = rows * digits.mean_square() * self.ring_sigma * self.ring_sigma;
        let rest = (1.0 + self.big_dimension() / 2.0) * self.rest(digits);
        // Rounding errors of a mask are multiplied by a secret, as rests are.
        let rounding = (1.0 + self.big_dimension() / 2.0) * self.rounding.bootstrap;
        noise + f64::from(u8::from(bit)) * rest + rounding
    }

    /// Variance of a blind rotation: `n` external products, half of them with 1. It does not depend
    /// on the input's noise.
    pub fn blind_rotation(&self) -> f64 {
        self.lwe_dimension as f64 * (self.external_product(false) + self.external_product(true))
            / 2.0
    }

    /// Variance of the output of a bootstrapping. Extraction adds nothing.
    pub fn output(&self) -> f64 {
        self.blind_rotation()
    }

    /// Variance of the index into a table, before its body is rounded, for an input with
    /// `squared_norm` times the variance of an output.
    ///
    /// For a sum `sum c_i x_i` of independent outputs, `squared_norm` is `sum c_i^2`. If outputs
    /// may be the same, it is `(sum |c_i|)^2`. With `2^v` tables, `drop` is `v`.
    pub fn index(&self, squared_norm: f64, drop: u32) -> f64 {
        let input = squared_norm * self.output().max(self.fresh());
        input + self.key_switch() + self.modulus_switch(drop).mask
    }

    /// log2 of the probability that the index is off by at least `margin` of the torus. The margin
    /// is half the distance of two values: `1/4p` for `p` values below a padding bit, 1/8 for
    /// gates.
    pub fn log2_failure(&self, squared_norm: f64, margin: f64, drop: u32) -> f64 {
        log2_two_sided_tail(margin / self.index(squared_norm, drop).sqrt())
    }
}

/// Measured variance of a multiplier's rounding, for one product of `rows` uniform digits of
/// `base_log` bits with uniform words, compared with the exact product. It depends only on the
/// multiplier.
///
/// Takes `rows N^2` steps.
pub fn measure_rounding<T: Torus>(
    multiplier: &impl Multiplier<T>,
    rows: usize,
    base_log: u32,
    rng: &mut impl RngCore,
) -> f64 {
    let n = multiplier.n();
    let half = 1i32 << (base_log - 1);
    let digits: Vec<i32> = (0..rows * n)
        .map(|_| rng.random_range(-half..half))
        .collect();
    let words: Vec<T> = (0..rows * n)
        .map(|_| T::from_low_bits(rng.next_u64()))
        .collect();
    let mut found = vec![T::default(); n];
    let mut scratch = multiplier.scratch(rows, 1);
    multiplier.dot_add(
        &mut found,
        &digits,
        &multiplier.prepare(&words),
        &mut scratch,
    );
    let mut expected = vec![T::default(); n];
    Naive::new(n).dot_add(&mut expected, &digits, &words, &mut ());
    let square = |(f, &e): (&T, &T)| f.minus(e).to_torus().powi(2);
    found.iter().zip(&expected).map(square).sum::<f64>() / n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_tables() {
        // P(|x| >= t): 1, 0.3173105, 0.0455003, 0.00269980, 5.733031e-7, 1.973175e-9, 1.523971e-23
        // (Abramowitz, Stegun, table 26.1, and for t = 10).
        let known = [
            (0.0, 1.0),
            (1.0, 0.317_310_5),
            (2.0, 0.045_500_3),
            (3.0, 0.002_699_80),
            (5.0, 5.733_031e-7),
            (6.0, 1.973_175e-9),
            (10.0, 1.523_971e-23),
        ];
        for (t, p) in known {
            let found = log2_two_sided_tail(t);
            assert!(
                (found - f64::log2(p)).abs() < 1e-4,
                "{t}: {found}, expected {}",
                f64::log2(p)
            );
        }
    }

    /// Sets that Zama published with their failure probability, for the same order of steps
    /// (tfhe-rs 1.x). Their sets keep the mean of rests in the key switch. For gates they also keep
    /// it in the modulus switch, and have half of our margin: 1/16 at a squared norm of 8.
    #[test]
    fn published_failure_probabilities_are_met() {
        let digits = |b, l| Decomposition::new(b, l).expect("in range");
        // `DEFAULT_PARAMETERS_KS_PBS` and `PARAMETERS_ERROR_PROB_2_POW_MINUS_165_KS_PBS` of its
        // boolean parameters.
        let gates = |lwe_dimension, lwe_sigma, rank, n, ring_sigma, levels| Model {
            word_bits: 32,
            lwe_dimension,
            lwe_sigma,
            rank,
            n,
            ring_sigma,
            bootstrap: digits(10, 2),
            key_switch: KeySwitch::Lwe(digits(3, levels)),
            rounding: Rounding::EXACT,
        };
        let kept = |model: Model| {
            let rests = model.big_dimension() * model.rest(model.key_switch.decomposition()) / 4.0;
            model.key_switch() + rests
        };
        let default = gates(739, 1.830_452_073e-5, 3, 512, 9.315_272_083e-10, 4);
        let precise = gates(770, 1.072_193_170e-5, 2, 1024, 9.313_225_746e-10, 5);
        for (model, published) in [(default, -64.017), (precise, -166.826)] {
            let Switched { mask, body } = model.modulus_switch(0);
            let variance = 8.0 * model.output() + kept(model) + 2.0 * mask + body;
            let found = log2_two_sided_tail(0.0625 / variance.sqrt());
            println!(
                "gates: 2^{found:.2}, published 2^{published:.2}; ours 2^{:.2}",
                model.log2_failure(8.0, 0.125, 0)
            );
            assert!(
                (found / published - 1.0).abs() < 0.03,
                "{found}, published {published}"
            );
            assert!(model.log2_failure(8.0, 0.125, 0) < found);
        }
        // `V1_5_PARAM_MESSAGE_2_CARRY_2_KS32_PBS_TUNIFORM_2M128`. Its noise is uniform with
        // variance (2^(2b + 1) + 1) / 6 units of q, for b = 45 and 17. It too subtracts the mean in
        // the modulus switch.
        let tuniform = |b: i32| ((2.0 * f64::from(b) + 1.0).exp2() / 6.0).sqrt() * 2f64.powi(-64);
        let model = Model {
            word_bits: 64,
            lwe_dimension: 918,
            lwe_sigma: tuniform(45),
            rank: 1,
            n: 2048,
            ring_sigma: tuniform(17),
            bootstrap: digits(23, 1),
            key_switch: KeySwitch::Lwe(digits(4, 4)),
            rounding: Rounding::EXACT,
        };
        let Switched { mask, body } = model.modulus_switch(0);
        let variance = 25.0 * model.output() + kept(model) + mask + body;
        let found = log2_two_sided_tail(1.0 / 64.0 / variance.sqrt());
        println!(
            "2_2: 2^{found:.2}, published 2^-129.58; ours 2^{:.2}",
            model.log2_failure(25.0, 1.0 / 64.0, 0)
        );
        assert!((found + 129.581).abs() < 0.5, "{found}");
    }
}
