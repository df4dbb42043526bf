//! The operations.

use super::{AutoBuilder, OperandId};
use crate::circuit::build::CircuitBuilder;
use crate::circuit::infer::MAX_TERMS;
use crate::circuit::linear::{shape, sum_strided};
use crate::error::{Error, Result};

impl AutoBuilder {
    /// `left + right`.
    ///
    /// # Errors
    /// [`Error::Shape`] for two plaintexts.
    pub fn add(&mut self, left: OperandId, right: OperandId) -> Result<OperandId> {
        match (self.value(left)?, self.value(right)?) {
            (Some(a), Some(b)) => {
                let ([a, b], waits) = self.alike(a, b)?;
                let sum = self.b.add(a, b)?;
                Ok(self.result(sum, waits))
            }
            (Some(a), None) => self.with_plaintext(a, right, CircuitBuilder::add),
            (None, Some(b)) => self.with_plaintext(b, left, CircuitBuilder::add),
            (None, None) => Err(both_plain("the terms of a sum")),
        }
    }

    /// `left - right`.
    ///
    /// # Errors
    /// As [`AutoBuilder::add`].
    pub fn sub(&mut self, left: OperandId, right: OperandId) -> Result<OperandId> {
        match (self.value(left)?, self.value(right)?) {
            (Some(a), Some(b)) => {
                let ([a, b], waits) = self.alike(a, b)?;
                let difference = self.b.sub(a, b)?;
                Ok(self.result(difference, waits))
            }
            (Some(a), None) => self.with_plaintext(a, right, CircuitBuilder::sub),
            (None, Some(_)) => {
                let negative = self.negate(right)?;
                self.add(negative, left)
            }
            (None, None) => Err(both_plain("the terms of a difference")),
        }
    }

    /// The negative of every slot. It takes no level.
    ///
    /// # Errors
    /// [`Error::Shape`] for a plaintext.
    pub fn negate(&mut self, x: OperandId) -> Result<OperandId> {
        let value = self.ciphertext("a negated operand", x)?;
        let negative = self.b.negate(value)?;
        Ok(self.result(negative, self.waiting.contains(&value)))
    }

    /// `left right`.
    ///
    /// # Errors
    /// [`Error::Shape`] for two plaintexts, [`Error::NoLevel`] in approximate arithmetic.
    pub fn mul(&mut self, left: OperandId, right: OperandId) -> Result<OperandId> {
        let (value, number) = match (self.value(left)?, self.value(right)?) {
            (Some(a), None) if self.is_free(right) => (a, right),
            (None, Some(b)) if self.is_free(left) => (b, left),
            _ => return self.dot(&[[left, right]]),
        };
        let number = self.place(number, (self.b.ty(value).level, 1.0))?;
        let product = self.b.mul(value, number)?;
        Ok(self.result(product, self.waiting.contains(&value)))
    }

    /// A sum of products. It takes one rescale and one relinearisation.
    ///
    /// # Errors
    /// As [`AutoBuilder::mul`], and [`Error::Shape`] if there are no products.
    pub fn dot(&mut self, terms: &[[OperandId; 2]]) -> Result<OperandId> {
        let mut level = usize::MAX;
        for &[left, right] in terms {
            let levels = [self.level(left)?, self.level(right)?];
            let lowest = levels.into_iter().flatten().min();
            level = level.min(lowest.ok_or_else(|| both_plain("the factors of a product"))?);
        }
        if terms.is_empty() {
            return Err(shape("the number of products", 0, "at least 1"));
        }
        if level == 0 && !self.is_exact() {
            return Err(Error::NoLevel { op: "a product" });
        }
        let (mut encrypted, mut plain) = (Vec::new(), Vec::new());
        for &[left, right] in terms {
            match (self.value(left)?, self.value(right)?) {
                (Some(a), Some(b)) => {
                    encrypted.push([self.settled_at(a, level)?, self.settled_at(b, level)?]);
                }
                (a, b) => {
                    let value = a.or(b).expect("checked above");
                    let other = if a.is_some() { right } else { left };
                    let value = self.settled_at(value, level)?;
                    let scale = self.scales[level].powi(2) / self.b.ty(value).scale;
                    plain.push([value, self.place(other, (level, scale))?]);
                }
            }
        }
        let mut sum = None;
        for part in [encrypted, plain]
            .iter()
            .flat_map(|all| all.chunks(MAX_TERMS))
        {
            let product = self.b.dot(part)?;
            sum = Some(match sum {
                Some(sum) => self.b.add(sum, product)?,
                None => product,
            });
        }
        let sum = sum.expect("there is a product");
        Ok(self.result(sum, level > 0))
    }

    /// `x` to a power. It takes as few levels as squarings and products allow.
    ///
    /// # Errors
    /// [`Error::Shape`] for the exponent 0 and a plaintext, and as [`AutoBuilder::mul`].
    pub fn pow(&mut self, x: OperandId, exponent: u64) -> Result<OperandId> {
        if exponent == 0 {
            return Err(shape("the exponent", 0, "at least 1"));
        }
        let (mut square, mut product) = (x, None);
        for bit in 0..=exponent.ilog2() {
            if bit > 0 {
                square = self.mul(square, square)?;
            }
            if (exponent >> bit) & 1 == 1 {
                product = Some(match product {
                    Some(product) => self.mul(square, product)?,
                    None => square,
                });
            }
        }
        Ok(product.expect("a bit of the exponent is set"))
    }

    /// Rotates the slots of each row to the left by `steps`, or to the right if it is negative.
    ///
    /// # Errors
    /// [`Error::Shape`] for a plaintext.
    pub fn rotate(&mut self, x: OperandId, steps: isize) -> Result<OperandId> {
        self.settled_operation("a rotated operand", x, |b, x| b.rotate(x, steps))
    }

    /// The complex conjugate of every slot.
    ///
    /// # Errors
    /// [`Error::Shape`] for a plaintext, [`Error::Step`] in exact arithmetic.
    pub fn conjugate(&mut self, x: OperandId) -> Result<OperandId> {
        self.settled_operation("a conjugated operand", x, CircuitBuilder::conjugate)
    }

    /// Swaps the two rows of slots.
    ///
    /// # Errors
    /// [`Error::Shape`] for a plaintext, [`Error::Step`] in approximate arithmetic.
    pub fn swap_rows(&mut self, x: OperandId) -> Result<OperandId> {
        self.settled_operation("an operand with swapped rows", x, CircuitBuilder::swap_rows)
    }

    /// Slot `j` of the result is the sum of `count` slots `j + i stride`. See [`sum_strided`].
    ///
    /// # Errors
    /// [`Error::Shape`] for a plaintext, and if `count` is 0.
    pub fn sum(&mut self, x: OperandId, at: (isize, usize)) -> Result<OperandId> {
        self.settled_operation("a summed operand", x, |b, x| sum_strided(b, x, at))
    }

    /// Rescales a product that waits for it. In exact arithmetic any ciphertext is switched down
    /// one level.
    ///
    /// # Errors
    /// [`Error::Shape`] for a plaintext, and in approximate arithmetic for a ciphertext that does
    /// not wait. [`Error::NoLevel`] at level 0.
    pub fn rescale(&mut self, x: OperandId) -> Result<OperandId> {
        let value = self.ciphertext("a rescaled operand", x)?;
        let rescaled = if self.waiting.contains(&value) {
            self.settled(value)?
        } else if !self.is_exact() {
            let expected = "a product that was not rescaled";
            return Err(shape(
                "a rescaled operand",
                "at the scale of its level",
                expected,
            ));
        } else if self.b.ty(value).level == 0 {
            return Err(Error::NoLevel { op: "a rescale" });
        } else {
            self.b.rescale(value)?
        };
        Ok(self.result(rescaled, false))
    }

    /// Brings `x` to a lower level. If it is already there, it stays as it is.
    ///
    /// # Errors
    /// [`Error::Shape`] for a plaintext and for a level above that of `x`.
    pub fn drop_to(&mut self, x: OperandId, level: usize) -> Result<OperandId> {
        let value = self.ciphertext("a dropped operand", x)?;
        let value = self.settled(value)?;
        let highest = self.b.ty(value).level;
        if level > highest {
            return Err(shape(
                "the level of a drop",
                level,
                format!("0 to {highest}"),
            ));
        }
        let dropped = self.settled_at(value, level)?;
        Ok(self.result(dropped, false))
    }
}

fn both_plain(what: &'static str) -> Error {
    shape(what, "two plaintexts", "a ciphertext among them")
}
