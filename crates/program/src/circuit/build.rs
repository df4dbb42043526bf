//! The builder of circuits.

use super::equal::Written;
use super::infer::{Problem, same_scale};
use super::ir::{Arithmetic, Circuit, Constant, ConstantId, FORMAT, Step, Type, ValueId};
use super::op::Op;
use crate::error::{Error, Result};

/// Writes a circuit, operation by operation. Each operation is checked when it is written. If its
/// result would not decrypt, the error names the operation, the wrong value, and the values that
/// are allowed.
///
/// ```
/// use palladion_program::circuit::{Arithmetic, CircuitBuilder, Type};
///
/// // 3 x^2 in 8 slots, from level 2 down to 0.
/// let moduli = [40.0, 28.0, 28.0].map(f64::exp2).to_vec();
/// let mut b = CircuitBuilder::new("three squares", Arithmetic::Approximate { moduli }, 8)?;
/// let x = b.input("x", Type { encrypted: true, level: 2, scale: 28f64.exp2() })?;
/// let square = b.mul(x, x)?;
/// let square = b.rescale(square)?;
/// let y = b.scaled(square, 3.0)?;
/// b.output("y", y)?;
/// let circuit = b.finish()?;
/// assert_eq!(circuit.keys().relinearization, Some(2));
/// # Ok::<(), palladion_program::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CircuitBuilder {
    pub(super) circuit: Circuit,
    /// The operations by which equal ones are found, if none is to be written twice.
    written: Option<Written>,
}

impl CircuitBuilder {
    /// Starts an empty circuit on `slots` slots.
    ///
    /// # Errors
    /// [`Error::Parameters`] for a number of slots that is not a power of two up to `2^16`, and for
    /// an arithmetic whose plaintext modulus or moduli are out of range.
    pub fn new(name: &str, arithmetic: Arithmetic, slots: usize) -> Result<Self> {
        let circuit = Circuit {
            format: FORMAT.into(),
            name: name.into(),
            arithmetic,
            slots,
            bootstrapping: None,
            bodies: Vec::new(),
            constants: Vec::new(),
            steps: Vec::new(),
        };
        circuit.verify_parameters()?;
        Ok(Self {
            circuit,
            written: None,
        })
    }

    /// This builder, with repetitions removed. An operation on ciphertexts that equals an earlier
    /// one is not written: its value is the value of the earlier operation.
    #[must_use]
    pub fn without_repetition(self) -> Self {
        Self {
            written: Some(Written::default()),
            ..self
        }
    }

    /// The arithmetic that [`CircuitBuilder::new`] was given.
    pub fn arithmetic(&self) -> &Arithmetic {
        &self.circuit.arithmetic
    }

    /// Number of slots of every value.
    pub fn slots(&self) -> usize {
        self.circuit.slots
    }

    /// Number of slots of a row. Rotations are cyclic in each row.
    pub fn row(&self) -> usize {
        self.circuit.row()
    }

    /// The type of a value.
    ///
    /// # Panics
    /// If there is no such value.
    pub fn ty(&self, value: ValueId) -> Type {
        self.circuit.ty(value)
    }

    /// The circuit written so far. [`CircuitBuilder::finish`] verifies it.
    pub(super) fn written(&self) -> &Circuit {
        &self.circuit
    }

    /// Adds an input.
    ///
    /// # Errors
    /// [`Error::Step`] for a level that does not exist, or a scale that it does not hold.
    pub fn input(&mut self, name: &str, ty: Type) -> Result<ValueId> {
        self.push(Op::Input { name: name.into() }, ty)
    }

    /// Adds real numbers that repeat: their count is a power of two, at most the number of slots.
    /// In exact arithmetic they are integers from `1 - t` to `t - 1`.
    ///
    /// # Errors
    /// [`Error::CircuitConstant`] for another count or another number, and [`Error::Step`] as for
    /// an input.
    pub fn constant(&mut self, name: &str, values: &[f64], at: (usize, f64)) -> Result<ValueId> {
        let id = self.numbers(name, values)?;
        self.place(id, at)
    }

    /// Adds the numbers of a constant that is used several times. [`CircuitBuilder::place`] makes
    /// values of them.
    ///
    /// # Errors
    /// [`Error::CircuitConstant`], as for [`CircuitBuilder::constant`].
    pub fn numbers(&mut self, name: &str, values: &[f64]) -> Result<ConstantId> {
        let id = self.circuit.constants.len();
        let constant = Constant {
            name: name.into(),
            values: values.into(),
        };
        self.circuit.verify_constant(id, &constant)?;
        self.circuit.constants.push(constant);
        Ok(id)
    }

    /// Makes a value of a constant's numbers, at a level and scale.
    ///
    /// # Errors
    /// [`Error::Step`] for a constant that does not exist, and as for an input.
    pub fn place(&mut self, id: ConstantId, (level, scale): (usize, f64)) -> Result<ValueId> {
        let encrypted = false;
        let ty = Type {
            encrypted,
            level,
            scale,
        };
        self.push(Op::Constant { constant: id }, ty)
    }

    /// `left + right`.
    ///
    /// # Errors
    /// [`Error::Step`] if levels or scales differ, or the left term is a plaintext.
    pub fn add(&mut self, left: ValueId, right: ValueId) -> Result<ValueId> {
        self.computed(Op::Add { left, right })
    }

    /// `left - right`.
    ///
    /// # Errors
    /// As [`CircuitBuilder::add`].
    pub fn sub(&mut self, left: ValueId, right: ValueId) -> Result<ValueId> {
        self.computed(Op::Sub { left, right })
    }

    /// The negative of every slot. It takes no level and no key, and adds no noise.
    ///
    /// # Errors
    /// [`Error::Step`] for a plaintext.
    pub fn negate(&mut self, value: ValueId) -> Result<ValueId> {
        self.computed(Op::Negate { value })
    }

    /// `left right`. The scales multiply.
    ///
    /// # Errors
    /// [`Error::Step`] if levels differ, the left factor is a plaintext, or the level does not hold
    /// the scale.
    pub fn mul(&mut self, left: ValueId, right: ValueId) -> Result<ValueId> {
        self.dot(&[[left, right]])
    }

    /// A sum of products in one operation. Products of ciphertexts are relinearised once.
    ///
    /// # Errors
    /// As [`CircuitBuilder::mul`], and if scales of products differ or right factors are not all
    /// plaintexts or all ciphertexts.
    pub fn dot(&mut self, terms: &[[ValueId; 2]]) -> Result<ValueId> {
        let terms = terms.to_vec();
        self.computed(Op::Mul { terms })
    }

    /// Rescales `value`: it is one level lower, and its scale is divided by the level's modulus. In
    /// exact arithmetic its noise is divided instead.
    ///
    /// # Errors
    /// [`Error::Step`] at level 0, for a plaintext, and for a scale that would fall below 1.
    pub fn rescale(&mut self, value: ValueId) -> Result<ValueId> {
        self.computed(Op::Rescale { value })
    }

    /// Brings `value` to a lower level. If it is already there, it stays as it is.
    ///
    /// # Errors
    /// [`Error::Step`] for a higher level, a plaintext, and a scale that the level does not hold.
    pub fn drop_to(&mut self, value: ValueId, level: usize) -> Result<ValueId> {
        let stated = self.stated(&Op::Drop { value });
        if stated.level == level {
            return Ok(value);
        }
        self.push(Op::Drop { value }, Type { level, ..stated })
    }

    /// `factor value`. The factor is taken into the scale, so this costs nothing.
    ///
    /// # Errors
    /// [`Error::Step`] for a plaintext, and for a factor that is not positive or leads to a scale
    /// that does not fit.
    pub fn read(&mut self, value: ValueId, factor: f64) -> Result<ValueId> {
        let op = Op::Read { value };
        let stated = self.stated(&op);
        let scale = stated.scale / factor;
        self.push(op, Type { scale, ..stated })
    }

    /// Rotates the slots of each [row](Circuit::row) to the left by `steps`, or to the right if it
    /// is negative. If this moves nothing, returns `value` as it is.
    ///
    /// # Errors
    /// [`Error::Step`] for a plaintext.
    pub fn rotate(&mut self, value: ValueId, steps: isize) -> Result<ValueId> {
        match steps.rem_euclid(self.circuit.row() as isize) as usize {
            0 => Ok(value),
            steps => self.computed(Op::Rotate { value, steps }),
        }
    }

    /// The complex conjugate of every slot.
    ///
    /// # Errors
    /// [`Error::Step`] for a plaintext, and in exact arithmetic.
    pub fn conjugate(&mut self, value: ValueId) -> Result<ValueId> {
        self.computed(Op::Conjugate { value })
    }

    /// Swaps the two rows of slots.
    ///
    /// # Errors
    /// [`Error::Step`] for a plaintext, and in approximate arithmetic.
    pub fn swap_rows(&mut self, value: ValueId) -> Result<ValueId> {
        self.computed(Op::SwapRows { value })
    }

    /// `factor value`, one level lower and with the same scale.
    ///
    /// # Errors
    /// As [`CircuitBuilder::rescale`].
    pub fn scaled(&mut self, value: ValueId, factor: f64) -> Result<ValueId> {
        let ty = self.stated(&Op::Rescale { value });
        self.scaled_to(value, factor, (ty.level.saturating_sub(1), ty.scale))
    }

    /// `factor value` at a lower level and a given scale. With this, operands of sums that were
    /// divided by different moduli get equal scales. With factor 1 and an unchanged scale it is a
    /// level drop.
    ///
    /// # Errors
    /// [`Error::Step`] unless the level is lower, or if the scale does not fit.
    pub fn scaled_to(
        &mut self,
        value: ValueId,
        factor: f64,
        (level, scale): (usize, f64),
    ) -> Result<ValueId> {
        // Multiplying by the modulus of a rescale and dividing by it again keeps the message.
        if factor == 1.0 && same_scale(self.ty(value).scale, scale) {
            return self.drop_to(value, level);
        }
        let top = level + 1;
        let value = self.drop_to(value, top)?;
        let with = scale * self.circuit.arithmetic.factor_scale(top) / self.ty(value).scale;
        let factor = self.constant(&format!("{factor}"), &[factor], (top, with))?;
        let product = self.mul(value, factor)?;
        self.rescale(product)
    }

    /// Outputs a value under a name.
    ///
    /// # Errors
    /// [`Error::Step`] for a plaintext.
    pub fn output(&mut self, name: &str, value: ValueId) -> Result<()> {
        let name = name.into();
        self.computed(Op::Output { name, value }).map(drop)
    }

    /// Returns the circuit.
    ///
    /// # Errors
    /// The errors of [`Circuit::verify`]: names that occur twice, values without a use, no output.
    pub fn finish(self) -> Result<Circuit> {
        self.circuit.verify()?;
        Ok(self.circuit)
    }

    /// The type of an operation's first operand, from which the result's type is inferred. A
    /// default type if there is no operand.
    fn stated(&self, op: &Op) -> Type {
        let first = op
            .operands()
            .first()
            .and_then(|&v| self.circuit.steps.get(v));
        first.map_or(
            Type {
                encrypted: true,
                level: 0,
                scale: 1.0,
            },
            |s| s.ty,
        )
    }

    pub(super) fn computed(&mut self, op: Op) -> Result<ValueId> {
        let stated = self.stated(&op);
        self.push(op, stated)
    }

    pub(super) fn push(&mut self, op: Op, stated: Type) -> Result<ValueId> {
        let step = self.circuit.steps.len();
        let ty = self.circuit.infer(step, &op, stated);
        let ty = ty.map_err(|problem| refused(step, &op, problem))?;
        if let Some(written) = &mut self.written {
            if let Some(equal) = written.find(&self.circuit.steps, &op, ty) {
                return Ok(equal);
            }
            written.note(&op, step);
        }
        self.circuit.steps.push(Step { op, ty });
        Ok(step)
    }
}

/// The error for a step that breaks a rule.
pub(super) fn refused(step: usize, op: &Op, problem: Problem) -> Error {
    Error::Step {
        step,
        op: op.name(),
        what: problem.what,
        found: problem.found,
        expected: problem.expected,
    }
}
