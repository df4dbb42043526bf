//! The noise of a run's ciphertexts.

use crate::error::Result;
use crate::inspector::Inspector;
use exchange::Verified;
use program::{Op, Type};
use runtime::StepResult;

/// Noise of the ciphertext of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepNoise {
    /// Layer and operation.
    pub name: String,
    /// log2 of the predicted root mean square of the residual.
    pub predicted_bits: f64,
    /// log2 of the measured root mean square of the residual.
    pub measured_bits: f64,
    /// Bits between the largest measured residual and the largest one that decrypts correctly.
    pub margin_bits: f64,
}

impl<E> Inspector<E> {
    /// Measures the noise of a ciphertext. Only in the first run, because it takes long.
    pub(crate) fn measure(&mut self, step: usize, value: &StepResult) -> Result<()> {
        let verified = self.verified.clone();
        let StepResult::Ciphertext(value) = value else {
            return Ok(());
        };
        let described = &verified.program().steps[step];
        let name = format!("{step} {}: {}", described.layer, described.op.name());
        let (Type::Ciphertext { noise_bits, .. }, ct) = (described.ty, value.ciphertext()) else {
            return Ok(());
        };
        if self.noise.iter().any(|known| known.name == name) || is_constant(&verified, step) {
            return Ok(());
        }
        let (size, margin_bits) =
            bfv::measure(verified.params().bfv(), self.client.keys().secret(), ct)?;
        self.noise.push(StepNoise {
            name,
            predicted_bits: noise_bits,
            measured_bits: size.log2_rms,
            margin_bits,
        });
        Ok(())
    }
}

/// Returns true if the step's result is a constant. A constant has no noise. Examples: a product
/// with a kernel of zeros, which stands for a pruned channel, and the bias added to it.
fn is_constant(verified: &Verified, step: usize) -> bool {
    let program = verified.program();
    match &program.steps[step].op {
        Op::MulCoefficients { terms } => terms
            .iter()
            .flat_map(|term| &program.constants[term.weights].values)
            .all(|&weight| weight == 0),
        Op::AddCoefficients { value, .. } => is_constant(verified, *value),
        _ => false,
    }
}
