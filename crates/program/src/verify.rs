//! The verifier: rejects programs that cannot run or whose results would not decrypt.
//!
//! A program that it accepts can be prepared and run without a panic, and within memory that the
//! file's own size and its parameters imply. Other layers check that moduli are prime and
//! parameters secure. A rehearsal by the runtime checks that levels and keys are those that the
//! circuits give, and noise and failure no worse than stated.

mod steps;

pub use steps::MAX_TERMS;

use crate::error::{Error, Result};
use crate::ir::{FORMAT, MAX_LOG2_FAILURE, Program};
use crate::public_inputs::PublicInputs;
use std::fmt::Display;

/// Largest number of steps of a program.
pub const MAX_STEPS: usize = 1 << 16;
/// Largest number of steps whose constants are prepared before a run. Each takes a few megabytes,
/// for about ten bytes of the file.
pub const MAX_PREPARED: usize = 1 << 10;

impl Program {
    /// Sets the format, verifies the program and returns it.
    ///
    /// # Errors
    /// As [`Program::verify`].
    pub fn new(mut self) -> Result<Self> {
        self.format = FORMAT.into();
        self.verify()?;
        Ok(self)
    }

    /// Checks parameters, placement, keys, constants and every step: operands exist and have the
    /// right form and level, constants fit, and every result is given once. No ciphertext's
    /// predicted noise may make a run fail more often than [`MAX_LOG2_FAILURE`].
    ///
    /// # Errors
    /// [`Error::Format`] for the text of another version. [`Error::Parameters`],
    /// [`Error::Constant`] or [`Error::Step`] with the first place that breaks a rule.
    pub fn verify(&self) -> Result<()> {
        if self.format != FORMAT {
            return Err(Error::Format {
                found: self.format.clone(),
                expected: FORMAT.into(),
            });
        }
        let terms = self.terms();
        terms.parameters.verify()?;
        self.verify_prediction()?;
        terms.verify_images()?;
        terms.verify_keys()?;
        self.verify_constants()?;
        let costly = self.steps.iter().filter(|s| s.op.is_prepared()).count();
        range("the number of steps", self.steps.len(), 1, MAX_STEPS)?;
        range(
            "the number of tables and maps from slots",
            costly,
            0,
            MAX_PREPARED,
        )?;
        for index in 0..self.steps.len() {
            self.verify_step(index)?;
        }
        terms.verify_results()
    }

    fn verify_prediction(&self) -> Result<()> {
        let margin = self.prediction.margin_bits;
        check(
            margin.is_finite(),
            "the predicted margin",
            margin,
            "a number",
        )?;
        let failure = self.prediction.log2_failure;
        check(
            failure.is_finite() && failure <= MAX_LOG2_FAILURE,
            "the probability that a run is wrong",
            format!("2^{failure:.1}"),
            &format!("at most 2^{MAX_LOG2_FAILURE}"),
        )?;
        let public = self.prediction.public_inputs;
        public.as_ref().map_or(Ok(()), PublicInputs::verify)
    }

    /// Checks that values are residues modulo `t`, of either sign.
    fn verify_constants(&self) -> Result<()> {
        let bound = self.parameters.t - 1;
        for (id, constant) in self.constants.iter().enumerate() {
            let mut values = constant.values.iter().enumerate();
            if let Some((index, &found)) = values.find(|(_, v)| v.unsigned_abs() > bound) {
                return Err(Error::Constant {
                    id,
                    index,
                    found,
                    bound,
                });
            }
        }
        Ok(())
    }
}

pub(crate) fn check(
    ok: bool,
    what: &'static str,
    found: impl Display,
    expected: &str,
) -> Result<()> {
    if ok {
        return Ok(());
    }
    Err(Error::Parameters {
        what,
        found: found.to_string(),
        expected: expected.into(),
    })
}

pub(crate) fn range(what: &'static str, found: usize, min: usize, max: usize) -> Result<()> {
    let expected = format!("{min} to {max}");
    check((min..=max).contains(&found), what, found, &expected)
}
