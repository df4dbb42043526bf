//! Runs whose inputs are encrypted under a public key.

use crate::error::Result;
use crate::ir::MAX_LOG2_FAILURE;
use crate::verify::{check, range};
use serde::{Deserialize, Serialize};

/// Largest number of bits by which noise may rise.
const MAX_RISE: usize = 64;

/// The promise of a program for inputs that are encrypted under a public key. They have more noise
/// than those under the secret.
///
/// Both numbers are whole, so that they say little about the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublicInputs {
    /// log2 of a bound on the probability that any slot of such a run is wrong: at most
    /// [`MAX_LOG2_FAILURE`].
    pub log2_failure: i32,
    /// Bits by which the noise of outputs without a flood may exceed
    /// [`Outputs::noise_bits`](crate::Outputs::noise_bits).
    pub rise_bits: u32,
}

impl PublicInputs {
    pub(crate) fn verify(&self) -> Result<()> {
        check(
            f64::from(self.log2_failure) <= MAX_LOG2_FAILURE,
            "the probability that a run with inputs under a public key is wrong",
            format!("2^{}", self.log2_failure),
            &format!("at most 2^{MAX_LOG2_FAILURE}"),
        )?;
        range(
            "the rise of noise by inputs under a public key",
            self.rise_bits as usize,
            0,
            MAX_RISE,
        )
    }
}
