//! Bootstrapping as a recording.

use super::Bootstrapper;
use crate::approximate::arithmetic::{Arithmetic, Scaled};
use crate::error::Result;
use crate::operations::{RecordRing, Recorder, parameters};
use program::KeyNeeds;
use program::recording::{Message, Recording};

impl Bootstrapper {
    /// Name of the input ciphertext in a recording.
    pub const INPUT: &'static str = "low";
    /// Name of the result.
    pub const OUTPUT: &'static str = "high";

    /// Records the operations of bootstrapping a ciphertext at level 0 whose message has the given
    /// scale, in order.
    ///
    /// # Errors
    /// Errors of the circuits.
    pub fn record(&self, scale: f64) -> Result<Recording> {
        let params = &self.params;
        let recorder = Recorder::new(parameters(params.rlwe(), Vec::new()));
        let operations = RecordRing::new(&recorder, params.rlwe(), Message::Approximate { scale });
        let arithmetic = Arithmetic::of(params, &operations);
        let low = arithmetic.operations();
        let low = low.given(Self::INPUT, params.ring_level(0));
        let high = self.refresh(&arithmetic, Scaled::new(low, 0, scale))?;
        recorder.output(Self::OUTPUT, high.ciphertext());
        let (top, encoder) = (params.rlwe().max_level(), params.encoder());
        let rotations = self.rotations().iter();
        let rotations = rotations.map(|&k| encoder.rotation_element(k as isize));
        let galois = rotations.chain([encoder.conjugation_element()]);
        Ok(recorder.finish(&KeyNeeds {
            relinearization: Some(top),
            galois: galois.map(|element| (element, top)).collect(),
            packing: Vec::new(),
        }))
    }
}
