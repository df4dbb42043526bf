//! The precision of a bootstrapping, predicted without keys.

use super::Bootstrapper;
use crate::approximate::sampled::{Sampled, SampledRing};
use crate::error::Result;
use ckks::Complex64;
use ckks::noise::Noise;
use std::f64::consts::TAU;

impl Bootstrapper {
    /// Predicts the error that a bootstrapping adds to a message of small coefficients with a given
    /// scale, in units of the message: the mean over all slots of one sampled run.
    /// [`sine_errors`](Self::sine_errors) gives the error that the sine adds to larger messages.
    ///
    /// The mean square of `N/2` sampled errors has a relative deviation of `sqrt(2/N)`.
    ///
    /// # Errors
    /// As [`Bootstrapper::bootstrap`] for the scale.
    pub fn precision(&self, scale: f64) -> Result<Noise> {
        let params = &self.params;
        let operations = SampledRing::new(params, &self.sparse);
        let zero = vec![Complex64::ZERO; params.slots()];
        let low = Sampled::exact(params.ring_level(0), zero);
        let high = self.apply(&operations, low, (0, scale))?;
        let scale = self.stated.result_scale(&super::arithmetic(params), scale);
        let errors = high.errors.iter().zip(&high.values);
        // The message is 0, so the values are the errors from rounding plaintexts.
        let squares = errors.map(|(error, value)| (error + value).norm_sqr());
        Ok(Noise(
            squares.sum::<f64>() / params.slots() as f64 / (scale * scale),
        ))
    }

    /// The error of the sine for a message with a given scale, by slot: `sin(2 pi x) / 2 pi - x` of
    /// each coefficient `x`, in units of `q_0`.
    ///
    /// # Errors
    /// Errors of the encoder, for slots that are not numbers or are too many.
    pub fn sine_errors(&self, slots: &[Complex64], scale: f64) -> Result<Vec<Complex64>> {
        let params = &self.params;
        let room = self.stated.room(&super::arithmetic(params), scale).max(1.0);
        let part = scale * room / params.level_modulus(0);
        let mut coefficients = params.encoder().embed(slots)?;
        for c in &mut coefficients {
            let x = *c * part;
            *c = ((TAU * x).sin() / TAU - x) / part;
        }
        Ok(params.encoder().slots_of(&coefficients, slots.len())?)
    }
}
