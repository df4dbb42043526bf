//! Writing a circuit.

use super::infer::{Problem, same_scale};
use super::ir::{Arithmetic, Circuit, Constant, ConstantId, FORMAT, Op, Step, Type, ValueId};
use crate::error::{Error, Result};

/// Writes a circuit, operation by operation. Each is checked when it is written: what would not decrypt is refused with the
/// operation, what was found, and what was expected.
///
/// ```
/// use program::circuit::{Arithmetic, CircuitBuilder, Type};
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
/// # Ok::<(), program::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CircuitBuilder {
    pub(super) circuit: Circuit,
}

impl CircuitBuilder {
    /// An empty circuit on so many slots.
    ///
    /// # Errors
    /// [`Error::Parameters`].
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
        Ok(Self { circuit })
    }

    /// The arithmetic that [`CircuitBuilder::new`] was given.
    pub fn arithmetic(&self) -> &Arithmetic {
        &self.circuit.arithmetic
    }

    /// Slots of every value.
    pub fn slots(&self) -> usize {
        self.circuit.slots
    }

    /// Slots of a row, in which rotations are cyclic.
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

    /// What is written so far; [`CircuitBuilder::finish`] verifies it.
    pub(super) fn written(&self) -> &Circuit {
        &self.circuit
    }

    /// A value from outside.
    ///
    /// # Errors
    /// [`Error::Step`] for a level that is not there, or a scale that it does not hold.
    pub fn input(&mut self, name: &str, ty: Type) -> Result<ValueId> {
        self.push(Op::Input { name: name.into() }, ty)
    }

    /// Real numbers, which repeat: a power of two of them, at most as many as slots. Integers in exact arithmetic.
    ///
    /// # Errors
    /// [`Error::CircuitConstant`], and [`Error::Step`] as for an input.
    pub fn constant(&mut self, name: &str, values: &[f64], at: (usize, f64)) -> Result<ValueId> {
        let id = self.numbers(name, values)?;
        self.place(id, at)
    }

    /// Numbers for any count of constants: [`CircuitBuilder::place`] makes a value of them.
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

    /// A constant of these numbers at a level and scale.
    ///
    /// # Errors
    /// [`Error::Step`] for numbers that are not there, and as for an input.
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

    /// `left right`; the scales multiply.
    ///
    /// # Errors
    /// [`Error::Step`] if levels differ, the left factor is a plaintext, or the level does not hold the scale.
    pub fn mul(&mut self, left: ValueId, right: ValueId) -> Result<ValueId> {
        self.dot(&[[left, right]])
    }

    /// The sum of products, in one operation: products of ciphertexts are relinearised once.
    ///
    /// # Errors
    /// As [`CircuitBuilder::mul`], and if the scales of products differ or right factors are not all of a kind.
    pub fn dot(&mut self, terms: &[[ValueId; 2]]) -> Result<ValueId> {
        let terms = terms.to_vec();
        self.computed(Op::Mul { terms })
    }

    /// `value`, one level lower, its scale divided by the level's modulus; in exact arithmetic its noise is.
    ///
    /// # Errors
    /// [`Error::Step`] at level 0, for a plaintext, and for a scale that would fall below 1.
    pub fn rescale(&mut self, value: ValueId) -> Result<ValueId> {
        self.computed(Op::Rescale { value })
    }

    /// `value` at a lower level, or as it is if it is there.
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

    /// `factor value`, the factor being taken into the scale: at no cost.
    ///
    /// # Errors
    /// [`Error::Step`] for a plaintext, and for a factor that is not positive or leads to a scale that does not fit.
    pub fn read(&mut self, value: ValueId, factor: f64) -> Result<ValueId> {
        let op = Op::Read { value };
        let stated = self.stated(&op);
        let scale = stated.scale / factor;
        self.push(op, Type { scale, ..stated })
    }

    /// The slots of each [row](Circuit::row) moved left by `steps`, to the right if negative; `value` as it is if that is no move.
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

    /// The two rows of slots, swapped.
    ///
    /// # Errors
    /// [`Error::Step`] for a plaintext, and in approximate arithmetic.
    pub fn swap_rows(&mut self, value: ValueId) -> Result<ValueId> {
        self.computed(Op::SwapRows { value })
    }

    /// `factor value`, a level lower at the scale it had.
    ///
    /// # Errors
    /// As [`CircuitBuilder::rescale`].
    pub fn scaled(&mut self, value: ValueId, factor: f64) -> Result<ValueId> {
        let ty = self.stated(&Op::Rescale { value });
        self.scaled_to(value, factor, (ty.level.saturating_sub(1), ty.scale))
    }

    /// `factor value` at a lower level and a scale: operands of sums that went through other moduli become alike so. With factor 1
    /// and the scale it has, a level drop.
    ///
    /// # Errors
    /// [`Error::Step`] unless the level is lower, or if the scale does not fit.
    pub fn scaled_to(
        &mut self,
        value: ValueId,
        factor: f64,
        (level, scale): (usize, f64),
    ) -> Result<ValueId> {
        // Multiplied by the modulus of a rescale and divided by it again, a message stays as it was.
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

    /// A result.
    ///
    /// # Errors
    /// [`Error::Step`] for a plaintext.
    pub fn output(&mut self, name: &str, value: ValueId) -> Result<()> {
        let name = name.into();
        self.computed(Op::Output { name, value }).map(drop)
    }

    /// The circuit.
    ///
    /// # Errors
    /// Those of [`Circuit::verify`]: names that stand twice, values without a use, no output.
    pub fn finish(self) -> Result<Circuit> {
        self.circuit.verify()?;
        Ok(self.circuit)
    }

    /// The type of an operation's first operand, to start from; that of nothing if there is none.
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
        self.circuit.steps.push(Step { op, ty });
        Ok(step)
    }
}

pub(super) fn refused(step: usize, op: &Op, (what, found, expected): Problem) -> Error {
    Error::Step {
        step,
        op: op.name(),
        what,
        found,
        expected,
    }
}
