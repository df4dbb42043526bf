//! A circuit: its arithmetic, constants and steps, and the types of its values.

use super::bootstrapping::Bootstrapping;
use super::op::Op;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Format that is written. No other format is read.
pub(crate) const FORMAT: &str = "palladion-circuit/1";

/// A value, given by the number of the step that computes it.
pub type ValueId = usize;

/// A constant, given by its index in [`Circuit::constants`].
pub type ConstantId = usize;

/// The body of a repeated part, given by its index in [`Circuit::bodies`].
pub type BodyId = usize;

/// The arithmetic of a circuit: the content of slots, and the meaning of levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub enum Arithmetic {
    /// Complex numbers, approximately: CKKS.
    Approximate {
        /// For each level, the product of the moduli by which a rescale from it divides. The moduli
        /// of level 0 stay to the end.
        moduli: Vec<f64>,
    },
    /// Integers modulo `t`, exactly: BGV and BFV. Every scale is 1, and a rescale is a modulus
    /// switch, which divides only the noise. Slots are two rows, each with half of them.
    Exact {
        /// Plaintext modulus.
        t: u64,
        /// As in approximate arithmetic.
        moduli: Vec<f64>,
    },
}

impl Arithmetic {
    fn moduli(&self) -> &[f64] {
        match self {
            Self::Approximate { moduli } | Self::Exact { moduli, .. } => moduli,
        }
    }

    /// Number of levels, level 0 included.
    pub fn levels(&self) -> usize {
        self.moduli().len()
    }

    /// The product of the moduli by which a rescale from `level` divides.
    ///
    /// # Panics
    /// If there is no such level.
    pub fn divisor(&self, level: usize) -> f64 {
        self.moduli()[level]
    }

    /// The number by which a rescale from `level` divides a scale. A product with a factor of this
    /// scale has its old scale again after the rescale. In exact arithmetic it is 1.
    ///
    /// # Panics
    /// If there is no such level.
    pub fn factor_scale(&self, level: usize) -> f64 {
        match self {
            Self::Approximate { .. } => self.divisor(level),
            Self::Exact { .. } => 1.0,
        }
    }

    /// log2 of the product of all moduli of a level.
    pub fn log_q(&self, level: usize) -> f64 {
        let moduli = self.moduli().iter().take(level + 1);
        moduli.map(|q| q.log2()).sum()
    }
}

/// Type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Type {
    /// True for a ciphertext, false for a plaintext.
    pub encrypted: bool,
    /// Level: the number of rescalings left.
    pub level: usize,
    /// Scale: the factor from the message to the integers that are computed with. 1 in exact
    /// arithmetic.
    pub scale: f64,
}

/// One step: an operation and the type of its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The operation.
    pub op: Op,
    /// Type of the operation's value.
    pub ty: Type,
}

/// Real numbers in the slots. In exact arithmetic they are integers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// Name for display.
    pub name: String,
    /// The numbers. Their count is a power of two, at most the number of slots, and they repeat. In
    /// exact arithmetic they are integers below `t` in absolute value.
    pub values: Vec<f64>,
}

/// A circuit of homomorphic operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Circuit {
    /// Format. [`CircuitBuilder::new`](super::CircuitBuilder::new) sets it.
    pub format: String,
    /// Name.
    pub name: String,
    /// The arithmetic.
    pub arithmetic: Arithmetic,
    /// Number of slots of every value, a power of two. In ciphertexts with more slots they repeat.
    pub slots: usize,
    /// The bootstrapping. A circuit that bootstraps must state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrapping: Option<Bootstrapping>,
    /// Bodies of repeated parts. They are circuits with the same arithmetic, slots and
    /// bootstrapping.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bodies: Vec<Circuit>,
    /// Constants.
    pub constants: Vec<Constant>,
    /// Steps in order.
    pub steps: Vec<Step>,
}

impl Circuit {
    /// Reads and verifies a circuit.
    ///
    /// # Errors
    /// [`Error::Json`] and those of [`Circuit::verify`].
    pub fn from_json(text: &str) -> Result<Self> {
        let circuit: Self = serde_json::from_str(text).map_err(|e| Error::Json(e.to_string()))?;
        circuit.verify()?;
        Ok(circuit)
    }

    /// Returns the JSON form.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a circuit has no keys that are not strings")
    }

    /// The type of a value.
    ///
    /// # Panics
    /// If there is no such value.
    pub fn ty(&self, value: ValueId) -> Type {
        self.steps[value].ty
    }

    /// Number of slots of a row, in which rotations are cyclic: all slots, or half of them in exact
    /// arithmetic.
    pub fn row(&self) -> usize {
        match self.arithmetic {
            Arithmetic::Approximate { .. } => self.slots,
            Arithmetic::Exact { .. } => self.slots / 2,
        }
    }

    /// Returns true if the right factors of a product are ciphertexts.
    pub(crate) fn multiplies_ciphertexts(&self, terms: &[[ValueId; 2]]) -> bool {
        terms.iter().any(|&[_, right]| self.ty(right).encrypted)
    }

    /// Names and types of the inputs, in order.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, Type)> {
        self.steps.iter().filter_map(|step| match &step.op {
            Op::Input { name } => Some((name.as_str(), step.ty)),
            _ => None,
        })
    }

    /// Names and types of the outputs, in order.
    pub fn outputs(&self) -> impl Iterator<Item = (&str, Type)> {
        self.steps.iter().filter_map(|step| match &step.op {
            Op::Output { name, .. } => Some((name.as_str(), step.ty)),
            _ => None,
        })
    }
}
