//! Functions that write a circuit.

use super::ir::{Circuit, Op, Parameters, Type, ValueId};
use trace::{Constant, ConstantId};

impl Circuit {
    /// Makes a circuit without steps.
    pub fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            constants: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// Returns the index of a constant. Equal constants are stored once.
    pub fn define(&mut self, constant: Constant) -> ConstantId {
        let known = self.constants.iter().position(|known| *known == constant);
        known.unwrap_or_else(|| {
            self.constants.push(constant);
            self.constants.len() - 1
        })
    }

    /// Appends an operation. [`Circuit::verify`] checks it.
    pub fn push(&mut self, op: Op) -> ValueId {
        self.steps.push(op);
        self.steps.len() - 1
    }

    /// Appends the first three steps of a bootstrapping: key switch, modulus switch and blind
    /// rotation.
    pub fn rotated(&mut self, value: ValueId, test: ConstantId, drop: u32) -> ValueId {
        let value = self.push(Op::KeySwitch { value });
        let value = self.push(Op::ModulusSwitch { value, drop });
        self.push(Op::BlindRotation { value, test })
    }
}

impl Op {
    /// Name of the operation, as in the text form.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Input { .. } => "input",
            Self::Combine { .. } => "combine",
            Self::KeySwitch { .. } => "key_switch",
            Self::ModulusSwitch { .. } => "modulus_switch",
            Self::BlindRotation { .. } => "blind_rotation",
            Self::Extraction { .. } => "extract",
            Self::Output { .. } => "output",
        }
    }

    /// Type of the operation's result.
    pub fn ty(&self) -> Type {
        match self {
            Self::Input { .. }
            | Self::Combine { .. }
            | Self::Extraction { .. }
            | Self::Output { .. } => Type::Sample,
            Self::KeySwitch { .. } => Type::Small,
            Self::ModulusSwitch { .. } => Type::Exponents,
            Self::BlindRotation { .. } => Type::Ring,
        }
    }

    /// Type of the operation's operands.
    pub fn operand_ty(&self) -> Type {
        match self {
            Self::Input { .. }
            | Self::Combine { .. }
            | Self::KeySwitch { .. }
            | Self::Output { .. } => Type::Sample,
            Self::ModulusSwitch { .. } => Type::Small,
            Self::BlindRotation { .. } => Type::Exponents,
            Self::Extraction { .. } => Type::Ring,
        }
    }

    /// The operands, in order.
    pub fn operands(&self) -> Vec<ValueId> {
        match self {
            Self::Input { .. } => Vec::new(),
            Self::Combine { terms, .. } => terms.iter().map(|&(_, value)| value).collect(),
            Self::KeySwitch { value }
            | Self::ModulusSwitch { value, .. }
            | Self::BlindRotation { value, .. }
            | Self::Extraction { value, .. }
            | Self::Output { value } => vec![*value],
        }
    }
}
