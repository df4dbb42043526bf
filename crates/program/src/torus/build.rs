//! Functions that write a circuit.

use super::ir::{Circuit, Op, Parameters, ValueId};
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
