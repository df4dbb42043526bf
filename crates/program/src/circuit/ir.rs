//! The types of a circuit.

use super::bootstrapping::Bootstrapping;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Format written, and the only one read.
pub(crate) const FORMAT: &str = "palladion-circuit/1";

/// A value: the number of the step that makes it.
pub type ValueId = usize;

/// A constant: its place in [`Circuit::constants`].
pub type ConstantId = usize;

/// The body of a repeated part: its place in [`Circuit::bodies`].
pub type BodyId = usize;

/// What slots hold, and what a level is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub enum Arithmetic {
    /// Complex numbers, approximately: CKKS.
    Approximate {
        /// By level, the product of the moduli that a rescale from there divides by; those of level 0 stay to the end.
        moduli: Vec<f64>,
    },
    /// Integers modulo `t`, exactly: BGV and BFV. Every scale is 1, and a rescale is a modulus switch, which divides noise alone. Slots
    /// are two rows of half of them each.
    Exact {
        /// Plaintext modulus.
        t: u64,
        /// As of approximate arithmetic.
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

    /// What a rescale from `level` divides the modulus by.
    ///
    /// # Panics
    /// If there is no such level.
    pub fn divisor(&self, level: usize) -> f64 {
        self.moduli()[level]
    }

    /// What a rescale from `level` divides a scale by: a factor of this scale leaves the scale of a rescaled product as it was.
    /// It is 1 for exact arithmetic.
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
    /// A ciphertext, else a plaintext.
    pub encrypted: bool,
    /// Rescales left.
    pub level: usize,
    /// Factor from the message to the integers that are computed with; 1 for exact arithmetic.
    pub scale: f64,
}

/// An operation. A first or left operand is always a ciphertext.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Op {
    /// A value from outside, encrypted or not, as its type says.
    Input {
        /// Its name, alone among encrypted inputs. Plaintexts of one name are one input, encoded at several levels or scales.
        name: String,
    },
    /// A plaintext that is part of the circuit.
    Constant {
        /// Its numbers.
        constant: ConstantId,
    },
    /// Sum with a ciphertext or plaintext of the same level and scale.
    Add {
        /// Left term.
        left: ValueId,
        /// Right term.
        right: ValueId,
    },
    /// Difference of two such.
    Sub {
        /// What is subtracted from.
        left: ValueId,
        /// What is subtracted.
        right: ValueId,
    },
    /// Sum of products, slot by slot; the scales multiply. Right factors are all ciphertexts, whose sum of products is
    /// relinearised once, or all plaintexts.
    Mul {
        /// The factors of each product.
        terms: Vec<[ValueId; 2]>,
    },
    /// Division of scale and modulus by the last level's; of noise and modulus for exact arithmetic.
    Rescale {
        /// What is rescaled.
        value: ValueId,
    },
    /// Level drop: the same message and scale at the lower level that the type says.
    Drop {
        /// What is dropped.
        value: ValueId,
    },
    /// The same integers, read at the scale that the type says: the message times the old scale over the new, at no cost.
    Read {
        /// What is read.
        value: ValueId,
    },
    /// Rotation of the slots to the left, in each row of them.
    Rotate {
        /// What is rotated.
        value: ValueId,
        /// By how many, from 1 to the [slots of a row](Circuit::row) less 1.
        steps: usize,
    },
    /// Complex conjugate of every slot, in approximate arithmetic.
    Conjugate {
        /// What is conjugated.
        value: ValueId,
    },
    /// The two rows of slots swapped, in exact arithmetic.
    SwapRows {
        /// Whose rows are swapped.
        value: ValueId,
    },
    /// The same message at a high level, in approximate arithmetic: [`Bootstrapping`] says at which level and scale. The operand may be
    /// at any level.
    Bootstrap {
        /// What is bootstrapped.
        value: ValueId,
    },
    /// A part that is done several times, one iteration after the other. Each iteration starts from what the one before it ended with.
    /// Only a [`Result`](Op::Result) reads it.
    Repeat {
        /// The body. Its first encrypted inputs are the carried values, its others are given anew in each iteration. Its outputs are the
        /// carried values after an iteration, of the same levels and scales.
        body: BodyId,
        /// The carried values before the first iteration.
        carried: Vec<ValueId>,
        /// For each iteration the values of the body's other inputs, in their order.
        each: Vec<Vec<ValueId>>,
    },
    /// A carried value after the last iteration.
    Result {
        /// The repeated part.
        repeat: ValueId,
        /// Which of its carried values.
        index: usize,
    },
    /// A result; no operation reads it.
    Output {
        /// Its name, alone among outputs.
        name: String,
        /// The result.
        value: ValueId,
    },
}

impl Op {
    /// Name in text.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Input { .. } => "input",
            Self::Constant { .. } => "constant",
            Self::Add { .. } => "add",
            Self::Sub { .. } => "sub",
            Self::Mul { .. } => "mul",
            Self::Rescale { .. } => "rescale",
            Self::Drop { .. } => "drop",
            Self::Read { .. } => "read",
            Self::Rotate { .. } => "rotate",
            Self::Conjugate { .. } => "conjugate",
            Self::SwapRows { .. } => "swap",
            Self::Bootstrap { .. } => "bootstrap",
            Self::Repeat { .. } => "repeat",
            Self::Result { .. } => "result",
            Self::Output { .. } => "output",
        }
    }

    /// The operation on other values in place of those it reads.
    pub(super) fn reading(mut self, other: impl Fn(ValueId) -> ValueId) -> Self {
        match &mut self {
            Self::Input { .. } | Self::Constant { .. } => {}
            Self::Add { left, right } | Self::Sub { left, right } => {
                (*left, *right) = (other(*left), other(*right));
            }
            Self::Mul { terms } => terms.iter_mut().for_each(|term| *term = term.map(&other)),
            Self::Repeat { carried, each, .. } => {
                let all = carried.iter_mut().chain(each.iter_mut().flatten());
                all.for_each(|value| *value = other(*value));
            }
            Self::Result { repeat, .. } => *repeat = other(*repeat),
            Self::Bootstrap { value }
            | Self::Rescale { value }
            | Self::Drop { value }
            | Self::Read { value }
            | Self::Rotate { value, .. }
            | Self::Conjugate { value }
            | Self::SwapRows { value }
            | Self::Output { value, .. } => *value = other(*value),
        }
        self
    }

    /// Values it reads, as often as it does.
    pub fn operands(&self) -> Vec<ValueId> {
        match self {
            Self::Input { .. } | Self::Constant { .. } => Vec::new(),
            Self::Add { left, right } | Self::Sub { left, right } => vec![*left, *right],
            Self::Mul { terms } => terms.concat(),
            Self::Repeat { carried, each, .. } => carried
                .iter()
                .chain(each.iter().flatten())
                .copied()
                .collect(),
            Self::Result { repeat, .. } => vec![*repeat],
            Self::Bootstrap { value }
            | Self::Rescale { value }
            | Self::Drop { value }
            | Self::Read { value }
            | Self::Rotate { value, .. }
            | Self::Conjugate { value }
            | Self::SwapRows { value }
            | Self::Output { value, .. } => vec![*value],
        }
    }
}

/// One step: an operation and the type of its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The operation.
    pub op: Op,
    /// Type of the value it makes.
    pub ty: Type,
}

/// Real numbers in the slots; integers for exact arithmetic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// Name, for people.
    pub name: String,
    /// A power of two of numbers, at most as many as slots: they repeat. Integers below `t` in magnitude for exact arithmetic.
    pub values: Vec<f64>,
}

/// A circuit of homomorphic operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Circuit {
    /// Format; [`CircuitBuilder::new`](super::CircuitBuilder::new) sets it.
    pub format: String,
    /// Name.
    pub name: String,
    /// What slots hold.
    pub arithmetic: Arithmetic,
    /// Slots of every value, a power of two. Ciphertexts of more repeat them.
    pub slots: usize,
    /// Its bootstrapping, which it must state to have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrapping: Option<Bootstrapping>,
    /// Bodies of repeated parts: circuits of the same arithmetic, slots and bootstrapping.
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

    /// The JSON form.
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

    /// Slots of a row, in which rotations are cyclic: all of them, or half for exact arithmetic.
    pub fn row(&self) -> usize {
        match self.arithmetic {
            Arithmetic::Approximate { .. } => self.slots,
            Arithmetic::Exact { .. } => self.slots / 2,
        }
    }

    /// Whether the right factors of a product are ciphertexts.
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
