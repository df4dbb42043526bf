//! The operations of a circuit: each one's name, its operands, and its effect on messages.
//!
//! An operation is declared here, and passes over circuits ask for its [`Effect`]. A pass names an
//! operation only where the pass makes an exception to the effect.

use super::ir::{BodyId, ConstantId, Type, ValueId};
use serde::{Deserialize, Serialize};

/// An operation. A first or left operand is always a ciphertext.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Op {
    /// A value from outside. Its type says if it is encrypted.
    Input {
        /// Name of the input. Encrypted inputs have different names. Plaintexts with the same name
        /// are one input, encoded at several levels or scales.
        name: String,
    },
    /// A plaintext that is part of the circuit.
    Constant {
        /// The constant with its numbers.
        constant: ConstantId,
    },
    /// Sum with a ciphertext or plaintext of the same level and scale.
    Add {
        /// Left term.
        left: ValueId,
        /// Right term.
        right: ValueId,
    },
    /// Difference of a ciphertext and such an operand.
    Sub {
        /// The value from which is subtracted.
        left: ValueId,
        /// The value that is subtracted.
        right: ValueId,
    },
    /// The negative of every slot, at no level and without noise.
    Negate {
        /// The ciphertext.
        value: ValueId,
    },
    /// Sum of products, slot by slot. The scales multiply. Right factors are all ciphertexts or all
    /// plaintexts. A sum of products of ciphertexts is relinearised once.
    Mul {
        /// The factors of each product.
        terms: Vec<[ValueId; 2]>,
    },
    /// Divides scale and modulus by the last level's. In exact arithmetic it divides noise and
    /// modulus.
    Rescale {
        /// The ciphertext.
        value: ValueId,
    },
    /// Level drop: the same message and scale at the lower level that the type states.
    Drop {
        /// The ciphertext.
        value: ValueId,
    },
    /// Reads the same integers at the scale that the type states. The message is multiplied by the
    /// old scale over the new one. This costs nothing.
    Read {
        /// The ciphertext.
        value: ValueId,
    },
    /// Rotation of the slots to the left, in each row.
    Rotate {
        /// The ciphertext.
        value: ValueId,
        /// Number of slots, from 1 to the [slots of a row](super::Circuit::row) minus 1.
        steps: usize,
    },
    /// Complex conjugate of every slot, in approximate arithmetic.
    Conjugate {
        /// The ciphertext.
        value: ValueId,
    },
    /// Swap of the two rows of slots, in exact arithmetic.
    SwapRows {
        /// The ciphertext.
        value: ValueId,
    },
    /// The same message at a high level, in approximate arithmetic.
    /// [`Bootstrapping`](super::Bootstrapping) says at which level and scale. The operand may be at
    /// any level.
    Bootstrap {
        /// The ciphertext.
        value: ValueId,
    },
    /// A part that is repeated, one iteration after the other. Each iteration starts from the
    /// results of the one before. Only a [`Result`](Op::Result) reads it.
    Repeat {
        /// The body. Its first encrypted inputs are the carried values. Each iteration states the
        /// values of its other inputs. Its outputs are the carried values after an iteration, with
        /// the same levels and scales.
        body: BodyId,
        /// The carried values before the first iteration.
        carried: Vec<ValueId>,
        /// For each iteration, the values of the body's other inputs, in their order.
        each: Vec<Vec<ValueId>>,
    },
    /// A carried value after the last iteration.
    Result {
        /// The repeated part.
        repeat: ValueId,
        /// Index of the carried value.
        index: usize,
    },
    /// An output. No operation reads it.
    Output {
        /// Name of the output. Outputs have different names.
        name: String,
        /// The result.
        value: ValueId,
    },
}

/// The message of an operation's result, in terms of the messages of its operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect<'o> {
    /// An input of the circuit.
    Input {
        /// Name of the input.
        name: &'o str,
    },
    /// A constant.
    Constant {
        /// The constant with its numbers.
        constant: ConstantId,
    },
    /// `left + right` or `left - right`, slot by slot. The right term may be a plaintext.
    Sum {
        /// Left term.
        left: ValueId,
        /// Right term.
        right: ValueId,
        /// True for the difference.
        minus: bool,
    },
    /// The sum of products, slot by slot. Right factors are all ciphertexts or all plaintexts.
    Products {
        /// The factors of each product.
        terms: &'o [[ValueId; 2]],
    },
    /// The message of one ciphertext, changed.
    Unary {
        /// The ciphertext.
        value: ValueId,
        /// Change of the message.
        change: Change,
    },
}

/// The change of a message by an operation with one operand. The message, and the noise with it,
/// has its slots [permuted](Change::permutation) or [multiplied](Change::multiplier) by a number,
/// and stays as it is otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// The same message and noise, perhaps at a lower level.
    Kept,
    /// The same message. Modulus and noise are divided by the last modulus of the operand's level.
    Divided,
    /// The same message at another level, with the noise of a bootstrapping.
    Refreshed,
    /// The message is multiplied by a number.
    Multiplied(Multiplier),
    /// The slots are permuted, by an automorphism and a key switch.
    Permuted(Permutation),
}

/// The number by which an operation multiplies a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multiplier {
    /// The operand's scale over the result's: the integers stay as they are.
    ScaleRatio,
    /// A whole number, by which the integers are multiplied.
    Integer(i64),
}

/// A permutation of slots that an automorphism makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Permutation {
    /// Rotation of each row to the left.
    Rotation {
        /// Number of slots.
        steps: usize,
    },
    /// The conjugate of every slot, in approximate arithmetic.
    Conjugation,
    /// Swap of the two rows, in exact arithmetic.
    RowSwap,
}

impl Op {
    /// Name in the text form.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Input { .. } => "input",
            Self::Constant { .. } => "constant",
            Self::Add { .. } => "add",
            Self::Sub { .. } => "sub",
            Self::Negate { .. } => "negate",
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

    /// The effect on messages. `None` for a repeated part and its results, which stand for the
    /// operations of a body: [`Circuit::unrolled`](super::Circuit::unrolled) writes these out.
    pub fn effect(&self) -> Option<Effect<'_>> {
        let unary = |&value: &ValueId, change| Effect::Unary { value, change };
        let permuted = |value, permutation| unary(value, Change::Permuted(permutation));
        Some(match self {
            Self::Input { name } => Effect::Input { name },
            &Self::Constant { constant } => Effect::Constant { constant },
            &Self::Add { left, right } => {
                let minus = false;
                Effect::Sum { left, right, minus }
            }
            &Self::Sub { left, right } => {
                let minus = true;
                Effect::Sum { left, right, minus }
            }
            Self::Negate { value } => unary(value, Change::Multiplied(Multiplier::Integer(-1))),
            Self::Mul { terms } => Effect::Products { terms },
            Self::Rescale { value } => unary(value, Change::Divided),
            Self::Drop { value } | Self::Output { value, .. } => unary(value, Change::Kept),
            Self::Read { value } => unary(value, Change::Multiplied(Multiplier::ScaleRatio)),
            Self::Rotate { value, steps } => {
                permuted(value, Permutation::Rotation { steps: *steps })
            }
            Self::Conjugate { value } => permuted(value, Permutation::Conjugation),
            Self::SwapRows { value } => permuted(value, Permutation::RowSwap),
            Self::Bootstrap { value } => unary(value, Change::Refreshed),
            Self::Repeat { .. } | Self::Result { .. } => return None,
        })
    }

    /// Returns true if a run does no work for the operation: its result has the integers of its
    /// operand.
    pub(super) fn is_free(&self) -> bool {
        matches!(self, Self::Read { .. } | Self::Output { .. })
    }

    /// Values that the operation reads. A value that is read twice occurs twice.
    pub fn operands(&self) -> Vec<ValueId> {
        match self {
            Self::Repeat { carried, each, .. } => {
                let all = carried.iter().chain(each.iter().flatten());
                all.copied().collect()
            }
            Self::Result { repeat, .. } => vec![*repeat],
            _ => self.effect().map_or_else(Vec::new, Effect::operands),
        }
    }

    /// Returns the operation with each operand replaced by `other(operand)`.
    pub(super) fn reading(mut self, other: impl Fn(ValueId) -> ValueId) -> Self {
        let replace = |value: &mut ValueId| *value = other(*value);
        match &mut self {
            Self::Input { .. } | Self::Constant { .. } => {}
            Self::Add { left, right } | Self::Sub { left, right } => {
                [left, right].into_iter().for_each(replace);
            }
            Self::Mul { terms } => terms.iter_mut().flatten().for_each(replace),
            Self::Repeat { carried, each, .. } => {
                let all = carried.iter_mut().chain(each.iter_mut().flatten());
                all.for_each(replace);
            }
            Self::Result { repeat: value, .. }
            | Self::Negate { value }
            | Self::Rescale { value }
            | Self::Drop { value }
            | Self::Read { value }
            | Self::Rotate { value, .. }
            | Self::Conjugate { value }
            | Self::SwapRows { value }
            | Self::Bootstrap { value }
            | Self::Output { value, .. } => replace(value),
        }
        self
    }
}

impl Effect<'_> {
    /// The change of the message, if there is one operand.
    pub fn change(self) -> Option<Change> {
        match self {
            Self::Unary { change, .. } => Some(change),
            _ => None,
        }
    }

    fn operands(self) -> Vec<ValueId> {
        match self {
            Self::Input { .. } | Self::Constant { .. } => Vec::new(),
            Self::Sum { left, right, .. } => vec![left, right],
            Self::Products { terms } => terms.concat(),
            Self::Unary { value, .. } => vec![value],
        }
    }
}

impl Change {
    /// The number by which the message is multiplied, from the types of operand and result.
    pub fn multiplier(self, operand: Type, result: Type) -> f64 {
        match self {
            Self::Multiplied(Multiplier::ScaleRatio) => operand.scale / result.scale,
            Self::Multiplied(Multiplier::Integer(number)) => number as f64,
            _ => 1.0,
        }
    }

    /// The permutation of slots, if there is one.
    pub fn permutation(self) -> Option<Permutation> {
        match self {
            Self::Permuted(permutation) => Some(permutation),
            _ => None,
        }
    }
}

impl Permutation {
    /// Number of slots by which it rotates each row to the left. `None` for a reflection: the
    /// conjugation or the swap of rows.
    pub fn rotation(self) -> Option<usize> {
        match self {
            Self::Rotation { steps } => Some(steps),
            _ => None,
        }
    }
}
