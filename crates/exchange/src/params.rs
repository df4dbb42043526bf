//! Parameters of the loop.

use crate::error::{Error, Result};
use bfv::Params;
use program::Parameters;
use rlwe::noise::{log2_sum, log2_two_sided_tail};
use rlwe::security::Security;
use rlwe::{DimensionParams, ParamsSpec};
use std::collections::BTreeMap;

/// Default of [`LoopParams::slack_bits`].
pub const SLACK_BITS: f64 = 1.5;
/// Default of [`LoopParams::baby_steps`].
const BABY_STEPS: usize = 16;

/// Parameters of the loop: the parameters of the scheme and of the dimension switch.
#[derive(Clone, Debug)]
pub struct LoopParams {
    bfv: Params,
    small: DimensionParams,
    slack_bits: f64,
    baby_steps: usize,
}

impl LoopParams {
    /// Makes parameters with LWE dimension `dimension` and a dimension switch with digits of
    /// `digit_bits` bits.
    ///
    /// # Errors
    /// If the dimension does not divide the ring degree, or log2(q_0) exceeds its 128-bit limit.
    pub fn new(bfv: &Params, dimension: usize, digit_bits: u32) -> Result<Self> {
        let q = bfv.rlwe().spec().q[0];
        Ok(Self {
            bfv: bfv.clone(),
            small: DimensionParams::new(bfv.n(), q, dimension, digit_bits)?,
            slack_bits: SLACK_BITS,
            baby_steps: BABY_STEPS,
        })
    }

    /// Makes the parameters that a program or a profile names.
    ///
    /// # Errors
    /// If they name no ring, or are not secure. They must pass
    /// [`Parameters::verify`](program::Parameters::verify).
    pub fn of(p: &Parameters) -> Result<Self> {
        let spec = ParamsSpec {
            n: p.n,
            q: p.q.clone(),
            p: p.p.clone(),
            digit_limbs: p.digit_limbs,
        };
        let bfv = Params::new(&spec, p.t)?;
        let params = Self::new(&bfv, p.lwe_dimension, p.lwe_digit_bits)?;
        params
            .with_slack(p.slack_bits)
            .with_baby_steps(p.baby_steps)
    }

    /// As [`LoopParams::new`], without the security check of the dimension switch. For unit tests.
    ///
    /// # Errors
    /// If the dimension does not divide the ring degree.
    pub fn new_insecure(bfv: &Params, dimension: usize, digit_bits: u32) -> Result<Self> {
        let q = bfv.rlwe().spec().q[0];
        Ok(Self {
            bfv: bfv.clone(),
            small: DimensionParams::new_insecure(bfv.n(), q, dimension, digit_bits)?,
            slack_bits: SLACK_BITS,
            baby_steps: BABY_STEPS,
        })
    }

    /// Returns these parameters with [`slack_bits`](Self::slack_bits) set to `bits`.
    #[must_use]
    pub fn with_slack(self, bits: f64) -> Self {
        Self {
            slack_bits: bits,
            ..self
        }
    }

    /// Returns these parameters with `count` baby steps per packing, a power of two.
    ///
    /// # Errors
    /// If `count` is no power of two.
    pub fn with_baby_steps(self, count: usize) -> Result<Self> {
        if !count.is_power_of_two() {
            return Err(Error::Shape {
                what: "the number of baby steps of packings",
                found: count.to_string(),
                expected: "a power of two".into(),
            });
        }
        Ok(Self {
            baby_steps: count,
            ..self
        })
    }

    /// Largest number of baby steps of a packing: rotations of the LWE secret that are held ready.
    pub fn baby_steps(&self) -> usize {
        self.baby_steps
    }

    /// Bits that noise may lie above a rounding's noise before another limb is dropped.
    pub fn slack_bits(&self) -> f64 {
        self.slack_bits
    }

    /// Parameters of the scheme.
    pub fn bfv(&self) -> &Params {
        &self.bfv
    }

    /// Parameters of the dimension switch, modulo `q_0`.
    pub fn small(&self) -> &DimensionParams {
        &self.small
    }

    /// LWE dimension.
    pub fn dimension(&self) -> usize {
        self.small.dimension()
    }

    /// Estimated security: the weaker of the ring's secret and the LWE secret.
    pub fn security(&self) -> Security {
        let ring = self.bfv.rlwe().security();
        ring.weaker(self.small.security())
    }

    /// Standard deviation of the noise of LWE samples modulo `t`. It has two parts: rounding adds a
    /// variance of `(1 + |z|^2) / 12`, and the dimension switch before it adds its own variance,
    /// scaled down.
    pub fn rounding_sigma(&self) -> f64 {
        let rounding = (1.0 + 2.0 * self.dimension() as f64 / 3.0) / 12.0;
        let scale = self.bfv.t().value() as f64 / self.small.log_q().exp2();
        (rounding + self.small.noise_variance() * scale * scale).sqrt()
    }

    /// Bounds the probability that noise moves any of some values by more than `room`. Returns log2
    /// of the bound. `values` gives for each value the number of samples that are added up in it.
    ///
    /// The bound is an average over keys, as [`rounding_sigma`](Self::rounding_sigma) is.
    pub fn log2_beyond(&self, room: i64, values: impl Iterator<Item = usize>) -> f64 {
        let mut counts = BTreeMap::new();
        for samples in values {
            *counts.entry(samples).or_insert(0usize) += 1;
        }
        // The noise is an integer, so more than `room` is best approximated by the Gaussian beyond
        // `room + 1/2`.
        let reach = (room as f64 + 0.5) / self.rounding_sigma();
        let tail = |samples: usize| log2_two_sided_tail(reach / (samples as f64).sqrt());
        let noisy = counts.into_iter().filter(|&(samples, _)| samples > 0);
        noisy
            .map(|(samples, count)| (count as f64).log2() + tail(samples))
            .fold(f64::NEG_INFINITY, log2_sum)
    }
}
