//! Writing a circuit without a word on levels and scales.

use super::build::CircuitBuilder;
use super::infer::same_scale;
use super::ir::{Arithmetic, Circuit, ConstantId, Type, ValueId};
use super::linear::{shape, sum_strided};
use crate::error::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};

/// Most products that one operation sums.
const MOST_TERMS: usize = 1 << 10;
/// Scales that differ from their level's by less count as it. Far below what two operands of a sum may differ by.
const EXACT_SCALE: f64 = 1e-13;

/// An operand: its number among those of an [`AutoBuilder`].
pub type OperandId = usize;

/// What an operand is. Plaintexts become values where they are used: at the level and scale of the other operand.
#[derive(Clone, Debug)]
enum Operand {
    Ciphertext(ValueId),
    /// An input in plain.
    Input(String),
    Numbers(ConstantId),
}

/// Writes a circuit over a [`CircuitBuilder`], and chooses levels, scales and rescales itself.
///
/// Every ciphertext has the scale of its level, or its square: the latter is a product that waits for its rescale. A product waits
/// until something other than a sum, a number or a result that waits too reads it; so a sum of products takes one rescale, and one
/// relinearisation. In sums and products the operand of the higher level comes down to the other one.
///
/// A product takes a level, but for two: with a number in exact arithmetic, and with a whole number in approximate arithmetic. At
/// level 0 a product of exact arithmetic keeps its level, and the prediction of noise decides whether it decrypts.
///
/// ```
/// use program::circuit::{Arithmetic, AutoBuilder};
///
/// // x^2 + x, from level 2 to level 1.
/// let moduli = [40.0, 28.0, 28.0].map(f64::exp2).to_vec();
/// let scales = vec![28f64.exp2(); 3];
/// let mut b = AutoBuilder::new("polynomial", Arithmetic::Approximate { moduli }, 8, scales)?;
/// let x = b.input("x", 2)?;
/// let square = b.mul(x, x)?;
/// let y = b.add(square, x)?;
/// b.output("y", y)?;
/// assert_eq!(b.finish()?.outputs().next().map(|(_, ty)| ty.level), Some(1));
/// # Ok::<(), program::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AutoBuilder {
    b: CircuitBuilder,
    scales: Vec<f64>,
    operands: Vec<Operand>,
    /// Numbers that stand for themselves, by their bits.
    numbers: BTreeMap<u64, OperandId>,
    /// Products that wait for their rescale.
    waiting: BTreeSet<ValueId>,
    /// What was made of a value at a level, waiting or not.
    made: BTreeMap<(ValueId, usize, bool), ValueId>,
    /// Plaintexts by operand, level and bits of the scale.
    placed: BTreeMap<(OperandId, usize, u64), ValueId>,
}

impl AutoBuilder {
    /// An empty circuit. `scales` has the scale of each level, that of level `l - 1` being the square of that of `l` divided by the
    /// modulus of `l`; 1 for all levels of exact arithmetic.
    ///
    /// # Errors
    /// [`Error::Parameters`], also for a number of scales that is not the number of levels.
    pub fn new(name: &str, arithmetic: Arithmetic, slots: usize, scales: Vec<f64>) -> Result<Self> {
        if scales.len() != arithmetic.levels() {
            return Err(Error::Parameters {
                what: "the number of scales",
                found: scales.len().to_string(),
                expected: format!("{}, as of levels", arithmetic.levels()),
            });
        }
        Ok(Self {
            b: CircuitBuilder::new(name, arithmetic, slots)?,
            scales,
            operands: Vec::new(),
            numbers: BTreeMap::new(),
            waiting: BTreeSet::new(),
            made: BTreeMap::new(),
            placed: BTreeMap::new(),
        })
    }

    /// An encrypted input at a level.
    ///
    /// # Errors
    /// [`Error::Shape`] for a name that is taken, [`Error::Step`] for a level that is not there.
    pub fn input(&mut self, name: &str, level: usize) -> Result<OperandId> {
        self.check_name(name)?;
        let ty = Type {
            encrypted: true,
            level,
            scale: self.scales.get(level).copied().unwrap_or(1.0),
        };
        let value = self.b.input(name, ty)?;
        Ok(self.operand(Operand::Ciphertext(value)))
    }

    /// An input in plain: encoded wherever it is used.
    ///
    /// # Errors
    /// [`Error::Shape`] for a name that is taken.
    pub fn plain_input(&mut self, name: &str) -> Result<OperandId> {
        self.check_name(name)?;
        Ok(self.operand(Operand::Input(name.into())))
    }

    /// Numbers that repeat, a power of two of them: encoded wherever they are used.
    ///
    /// # Errors
    /// [`Error::CircuitConstant`].
    pub fn constant(&mut self, name: &str, values: &[f64]) -> Result<OperandId> {
        let id = self.b.numbers(name, values)?;
        Ok(self.operand(Operand::Numbers(id)))
    }

    /// One number, in every slot.
    ///
    /// # Errors
    /// [`Error::CircuitConstant`].
    pub fn number(&mut self, value: f64) -> Result<OperandId> {
        if let Some(&known) = self.numbers.get(&value.to_bits()) {
            return Ok(known);
        }
        let made = self.constant(&value.to_string(), &[value])?;
        self.numbers.insert(value.to_bits(), made);
        Ok(made)
    }

    /// Level of a ciphertext after the rescale that it waits for; `None` for a plaintext.
    ///
    /// # Panics
    /// If there is no such operand.
    pub fn level(&self, x: OperandId) -> Option<usize> {
        match self.operands[x] {
            Operand::Ciphertext(value) => {
                Some(self.b.ty(value).level - usize::from(self.waiting.contains(&value)))
            }
            _ => None,
        }
    }

    /// `left + right`.
    ///
    /// # Errors
    /// [`Error::Shape`] for two plaintexts.
    pub fn add(&mut self, left: OperandId, right: OperandId) -> Result<OperandId> {
        match (self.value(left), self.value(right)) {
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
        match (self.value(left), self.value(right)) {
            (Some(a), Some(b)) => {
                let ([a, b], waits) = self.alike(a, b)?;
                let difference = self.b.sub(a, b)?;
                Ok(self.result(difference, waits))
            }
            (Some(a), None) => self.with_plaintext(a, right, CircuitBuilder::sub),
            (None, Some(_)) => {
                let minus = self.number(-1.0)?;
                let negative = self.mul(right, minus)?;
                self.add(negative, left)
            }
            (None, None) => Err(both_plain("the terms of a difference")),
        }
    }

    /// `left right`.
    ///
    /// # Errors
    /// [`Error::Shape`] for two plaintexts, [`Error::NoLevel`] in approximate arithmetic.
    pub fn mul(&mut self, left: OperandId, right: OperandId) -> Result<OperandId> {
        let (value, number) = match (self.value(left), self.value(right)) {
            (Some(a), None) if self.is_free(right) => (a, right),
            (None, Some(b)) if self.is_free(left) => (b, left),
            _ => return self.dot(&[[left, right]]),
        };
        let number = self.place(number, (self.b.ty(value).level, 1.0))?;
        let product = self.b.mul(value, number)?;
        Ok(self.result(product, self.waiting.contains(&value)))
    }

    /// The sum of products: one rescale, and one relinearisation.
    ///
    /// # Errors
    /// As [`AutoBuilder::mul`], and [`Error::Shape`] for no products.
    pub fn dot(&mut self, terms: &[[OperandId; 2]]) -> Result<OperandId> {
        let mut level = usize::MAX;
        for &[left, right] in terms {
            let levels = [left, right].map(|x| self.level(x));
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
            match (self.value(left), self.value(right)) {
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
            .flat_map(|all| all.chunks(MOST_TERMS))
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

    /// `x` to a power, in as few levels as squarings and products allow.
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

    /// The slots of each row moved left by `steps`, to the right if negative.
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

    /// The two rows of slots, swapped.
    ///
    /// # Errors
    /// [`Error::Shape`] for a plaintext, [`Error::Step`] in approximate arithmetic.
    pub fn swap_rows(&mut self, x: OperandId) -> Result<OperandId> {
        self.settled_operation("an operand with swapped rows", x, CircuitBuilder::swap_rows)
    }

    /// Slot `j` of the result is the sum of `count` slots `j + i stride`: see [`sum_strided`].
    ///
    /// # Errors
    /// [`Error::Shape`] for a plaintext, and if `count` is no power of two.
    pub fn sum(&mut self, x: OperandId, at: (isize, usize)) -> Result<OperandId> {
        self.settled_operation("a summed operand", x, |b, x| sum_strided(b, x, at))
    }

    /// Takes the rescale that a product waits for. In exact arithmetic any ciphertext is switched down one level.
    ///
    /// # Errors
    /// [`Error::Shape`] for a plaintext, and for one that waits for none in approximate arithmetic; [`Error::NoLevel`].
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

    /// `x` at a lower level, or as it is if it is there.
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

    /// A result.
    ///
    /// # Errors
    /// [`Error::Shape`] for a plaintext and a name that is taken.
    pub fn output(&mut self, name: &str, x: OperandId) -> Result<()> {
        if self.b.written().outputs().any(|(other, _)| other == name) {
            return Err(shape(
                "the name of an output",
                format!("{name:?} again"),
                NEW_NAME,
            ));
        }
        let value = self.ciphertext("an output", x)?;
        let value = self.settled(value)?;
        self.b.output(name, value)
    }

    /// The circuit as far as its outputs need it. More may be written after that.
    ///
    /// # Errors
    /// [`Error::Parameters`] if there is no output.
    pub fn finish(&self) -> Result<Circuit> {
        let mut whole = self.clone();
        let plain =
            (0..self.operands.len()).filter(|&x| matches!(self.operands[x], Operand::Input(_)));
        for input in plain {
            whole.place(input, (0, self.scales[0]))?;
        }
        let circuit = whole.b.written().pruned();
        circuit.verify()?;
        Ok(circuit)
    }

    fn is_exact(&self) -> bool {
        matches!(self.b.arithmetic(), Arithmetic::Exact { .. })
    }

    fn check_name(&self, name: &str) -> Result<()> {
        let plain = |x: &Operand| matches!(x, Operand::Input(other) if other == name);
        let mut encrypted = self.b.written().inputs();
        if self.operands.iter().any(plain) || encrypted.any(|(other, _)| other == name) {
            return Err(shape(
                "the name of an input",
                format!("{name:?} again"),
                NEW_NAME,
            ));
        }
        Ok(())
    }

    fn operand(&mut self, operand: Operand) -> OperandId {
        self.operands.push(operand);
        self.operands.len() - 1
    }

    fn result(&mut self, value: ValueId, waits: bool) -> OperandId {
        if waits {
            self.waiting.insert(value);
        }
        self.operand(Operand::Ciphertext(value))
    }

    /// The value of a ciphertext.
    fn value(&self, x: OperandId) -> Option<ValueId> {
        match self.operands[x] {
            Operand::Ciphertext(value) => Some(value),
            _ => None,
        }
    }

    fn ciphertext(&self, what: &'static str, x: OperandId) -> Result<ValueId> {
        self.value(x)
            .ok_or_else(|| shape(what, "a plaintext", "a ciphertext"))
    }

    /// Whether a product with this plaintext takes no level.
    fn is_free(&self, x: OperandId) -> bool {
        let Operand::Numbers(id) = self.operands[x] else {
            return false;
        };
        match self.b.written().constants[id].values.as_slice() {
            [number] => self.is_exact() || number.fract() == 0.0,
            _ => false,
        }
    }

    /// A plaintext as a value.
    fn place(&mut self, x: OperandId, (level, scale): (usize, f64)) -> Result<ValueId> {
        let key = (x, level, scale.to_bits());
        if let Some(&value) = self.placed.get(&key) {
            return Ok(value);
        }
        let value = match &self.operands[x] {
            Operand::Ciphertext(value) => *value,
            Operand::Numbers(id) => self.b.place(*id, (level, scale))?,
            Operand::Input(name) => {
                let ty = Type {
                    encrypted: false,
                    level,
                    scale,
                };
                self.b.input(name, ty)?
            }
        };
        self.placed.insert(key, value);
        Ok(value)
    }

    fn with_plaintext(
        &mut self,
        value: ValueId,
        plaintext: OperandId,
        operation: impl Fn(&mut CircuitBuilder, ValueId, ValueId) -> Result<ValueId>,
    ) -> Result<OperandId> {
        // At the square of a scale a plaintext would have more bits than a double.
        let value = match self.is_exact() {
            true => value,
            false => self.settled(value)?,
        };
        let Type { level, scale, .. } = self.b.ty(value);
        let plaintext = self.place(plaintext, (level, scale))?;
        let made = operation(&mut self.b, value, plaintext)?;
        Ok(self.result(made, self.waiting.contains(&value)))
    }

    fn settled_operation(
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

    /// A value after the rescale that it waits for.
    fn settled(&mut self, value: ValueId) -> Result<ValueId> {
        if !self.waiting.contains(&value) {
            return Ok(value);
        }
        let level = self.b.ty(value).level - 1;
        if let Some(&made) = self.made.get(&(value, level, false)) {
            return Ok(made);
        }
        let mut rescaled = self.b.rescale(value)?;
        // Differences double with every level.
        let off = self.b.ty(rescaled).scale / self.scales[level];
        if (off - 1.0).abs() > EXACT_SCALE && same_scale(off, 1.0) {
            rescaled = self.b.read(rescaled, off)?;
        }
        self.made.insert((value, level, false), rescaled);
        Ok(rescaled)
    }

    fn settled_at(&mut self, value: ValueId, level: usize) -> Result<ValueId> {
        let value = self.settled(value)?;
        self.at(value, level, false)
    }

    /// Terms of a sum at one level and scale, and whether they wait for a rescale.
    fn alike(&mut self, a: ValueId, b: ValueId) -> Result<([ValueId; 2], bool)> {
        let level = self.b.ty(a).level.min(self.b.ty(b).level);
        let waits = [a, b]
            .iter()
            .any(|v| self.b.ty(*v).level == level && self.waiting.contains(v));
        Ok((
            [self.at(a, level, waits)?, self.at(b, level, waits)?],
            waits,
        ))
    }

    /// A value at a level of its own or below, at the scale of one that `waits` or does not. One that waits is there already, or above.
    fn at(&mut self, value: ValueId, level: usize, waits: bool) -> Result<ValueId> {
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

const NEW_NAME: &str = "a name that is not taken";

fn both_plain(what: &'static str) -> Error {
    shape(what, "two plaintexts", "a ciphertext among them")
}
