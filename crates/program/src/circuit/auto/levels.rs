//! Brings the operands of an operation to one level and scale.

use super::{AutoBuilder, Operand, OperandId};
use crate::circuit::build::CircuitBuilder;
use crate::circuit::infer::same_scale;
use crate::circuit::ir::{Type, ValueId};
use crate::circuit::linear::shape;
use crate::error::Result;

/// A scale whose relative difference from its level's scale is below this counts as equal to it.
/// This is far below the difference that two operands of a sum may have.
const EXACT_SCALE: f64 = 1e-13;

impl AutoBuilder {
    /// The value of a ciphertext. `None` for a plaintext.
    pub(super) fn value(&self, x: OperandId) -> Result<Option<ValueId>> {
        Ok(match *self.get(x)? {
            Operand::Ciphertext(value) => Some(value),
            _ => None,
        })
    }

    pub(super) fn ciphertext(&self, what: &'static str, x: OperandId) -> Result<ValueId> {
        self.value(x)?
            .ok_or_else(|| shape(what, "a plaintext", "a ciphertext"))
    }

    /// Returns true if a product with this plaintext takes no level.
    pub(super) fn is_free(&self, x: OperandId) -> bool {
        let Ok(&Operand::Numbers(id)) = self.get(x) else {
            return false;
        };
        match self.b.written().constants[id].values.as_slice() {
            [number] => self.is_exact() || number.fract() == 0.0,
            _ => false,
        }
    }

    /// Makes a value of a plaintext, at a level and scale.
    pub(super) fn place(&mut self, x: OperandId, (level, scale): (usize, f64)) -> Result<ValueId> {
        let key = (x, level, scale.to_bits());
        if let Some(&value) = self.placed.get(&key) {
            return Ok(value);
        }
        let value = match self.get(x)?.clone() {
            Operand::Ciphertext(value) => value,
            Operand::Numbers(id) => self.b.place(id, (level, scale))?,
            Operand::Input(name) => {
                let ty = Type {
                    encrypted: false,
                    level,
                    scale,
                };
                self.b.input(&name, ty)?
            }
        };
        self.placed.insert(key, value);
        Ok(value)
    }

    pub(super) fn with_plaintext(
        &mut self,
        value: ValueId,
        plaintext: OperandId,
        operation: impl Fn(&mut CircuitBuilder, ValueId, ValueId) -> Result<ValueId>,
    ) -> Result<OperandId> {
        // At the square of a scale, a plaintext would need more bits than a double has.
        let value = match self.is_exact() {
            true => value,
            false => self.settled(value)?,
        };
        let Type { level, scale, .. } = self.b.ty(value);
        let plaintext = self.place(plaintext, (level, scale))?;
        let made = operation(&mut self.b, value, plaintext)?;
        Ok(self.result(made, self.waiting.contains(&value)))
    }

    pub(super) fn settled_operation(
        &mut self,
        what: &'static str,
        x: OperandId,
        operation: impl Fn(&mut CircuitBuilder, ValueId) -> Result<ValueId>,
    ) -> Result<OperandId> {
        let value = self.ciphertext(what, x)?;
        let value = self.settled(value)?;
        let made = operation(&mut self.b, value)?;
        Ok(self.result(made, false))
    }

    /// Returns a value after the rescale for which it waits.
    pub(super) fn settled(&mut self, value: ValueId) -> Result<ValueId> {
        if !self.waiting.contains(&value) {
            return Ok(value);
        }
        let level = self.b.ty(value).level - 1;
        if let Some(&made) = self.made.get(&(value, level, false)) {
            return Ok(made);
        }
        let mut rescaled = self.b.rescale(value)?;
        // Differences of scales double with every level.
        let off = self.b.ty(rescaled).scale / self.scales[level];
        if (off - 1.0).abs() > EXACT_SCALE && same_scale(off, 1.0) {
            rescaled = self.b.read(rescaled, off)?;
        }
        self.made.insert((value, level, false), rescaled);
        Ok(rescaled)
    }

    pub(super) fn settled_at(&mut self, value: ValueId, level: usize) -> Result<ValueId> {
        let value = self.settled(value)?;
        self.at(value, level, false)
    }

    /// Brings two terms of a sum to one level and scale. Also returns true if the terms wait for a
    /// rescale.
    pub(super) fn alike(&mut self, a: ValueId, b: ValueId) -> Result<([ValueId; 2], bool)> {
        let level = self.b.ty(a).level.min(self.b.ty(b).level);
        let waits = [a, b]
            .iter()
            .any(|v| self.b.ty(*v).level == level && self.waiting.contains(v));
        Ok((
            [self.at(a, level, waits)?, self.at(b, level, waits)?],
            waits,
        ))
    }

    /// Brings a value to its own level or a lower one. If `waits` is true, the result has the scale
    /// of a value that waits for its rescale. A value that waits is already at that level, or above
    /// it.
    pub(super) fn at(&mut self, value: ValueId, level: usize, waits: bool) -> Result<ValueId> {
        let value = match self.b.ty(value).level > level {
            true => self.settled(value)?,
            false => value,
        };
        let here = self.b.ty(value).level == level;
        if here && (self.is_exact() || self.waiting.contains(&value) == waits) {
            return Ok(value);
        }
        if let Some(&made) = self.made.get(&(value, level, waits)) {
            return Ok(made);
        }
        let scale = self.scales[level];
        let made = if waits && !self.is_exact() {
            let dropped = self.b.drop_to(value, level)?;
            let one = self.number(1.0)?;
            let with = scale.powi(2) / self.b.ty(value).scale;
            let one = self.place(one, (level, with))?;
            self.b.mul(dropped, one)?
        } else {
            self.b.scaled_to(value, 1.0, (level, scale))?
        };
        self.made.insert((value, level, waits), made);
        Ok(made)
    }
}
