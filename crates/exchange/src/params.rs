//! Parameters of the loop.

use crate::error::{Error, Result};
use bfv::Params;
use rlwe::DimensionParams;
use rlwe::noise::{log2_sum, log2_two_sided_tail};
use rlwe::security::Security;
use std::collections::BTreeMap;

/// Noise so many bits above a rounding's is carried on, where parameters do not say.
pub const SLACK_BITS: f64 = 1.5;
/// Baby steps of packings, where parameters do not say.
const BABY_STEPS: usize = 16;

/// Parameters of the loop: the scheme's, and those of the dimension switch.
#[derive(Clone, Debug)]
pub struct LoopParams {
    bfv: Params,
    small: DimensionParams,
    slack_bits: f64,
    baby_steps: usize,
}

impl LoopParams {
    /// Parameters with LWE dimension `dimension`, to which digits of `digit_bits` bits lead.
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

    /// These parameters for engines that keep noise up to `bits` bits above a rounding's.
    #[must_use]
    pub fn with_slack(self, bits: f64) -> Self {
        Self {
            slack_bits: bits,
            ..self
        }
    }

    /// These parameters for packings with `count` baby steps, a power of two.
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

    /// Rotations of the LWE secret that are held ready for packings, at most.
    pub fn baby_steps(&self) -> usize {
        self.baby_steps
    }

    /// Noise so many bits above a rounding's is not worth dropping another limb.
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

    /// Estimated security: the weaker of the ring's secret and the small one.
    pub fn security(&self) -> Security {
        let ring = self.bfv.rlwe().security();
        ring.weaker(self.small.security())
    }

    /// Standard deviation of the noise of LWE samples modulo `t`: rounding adds a variance of
    /// `(1 + |z|^2) / 12`, the dimension switch before it its own, scaled down.
    pub fn rounding_sigma(&self) -> f64 {
        let rounding = (1.0 + 2.0 * self.dimension() as f64 / 3.0) / 12.0;
        let scale = self.bfv.t().value() as f64 / self.small.log_q().exp2();
        (rounding + self.small.noise_variance() * scale * scale).sqrt()
    }

    /// log2 of a bound on the probability that noise takes any of some values `room` or more beyond
    /// where it stood: of each value, the number of samples it is a sum of.
    ///
    /// It is an average over keys, as the deviation is.
    pub fn log2_beyond(&self, room: i64, values: impl Iterator<Item = usize>) -> f64 {
        let mut counts = BTreeMap::new();
        for samples in values {
            *counts.entry(samples).or_insert(0usize) += 1;
        }
        // The noise is an integer: more than `room` is nearer to the Gaussian's `room + 1/2`.
        let reach = (room as f64 + 0.5) / self.rounding_sigma();
        let tail = |samples: usize| log2_two_sided_tail(reach / (samples as f64).sqrt());
        let noisy = counts.into_iter().filter(|&(samples, _)| samples > 0);
        noisy
            .map(|(samples, count)| (count as f64).log2() + tail(samples))
            .fold(f64::NEG_INFINITY, log2_sum)
    }
}
