//! A builder of circuits that chooses levels and scales itself.
//!
//! `operations.rs` has the operations, `parts.rs` has bootstrapping and repeated parts, and
//! `levels.rs` brings operands together.

mod levels;
mod operations;
mod parts;

use super::build::CircuitBuilder;
use super::ir::{Arithmetic, Circuit, ConstantId, Type, ValueId};
use super::linear::shape;
use crate::error::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};

/// An operand, given by a number that names its [`AutoBuilder`], too: the builder's number in the
/// high half, and the operand's in the low half. A clone of a builder has the builder's number.
pub type OperandId = u64;

/// Number of the next builder.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// Content of an operand. A plaintext becomes a value where it is used, at the level and scale of
/// the other operand.
#[derive(Clone, Debug)]
enum Operand {
    Ciphertext(ValueId),
    /// An input in plain.
    Input(String),
    Numbers(ConstantId),
}

/// Writes a circuit with a [`CircuitBuilder`], and chooses levels, scales and rescales itself.
/// Every operation refuses an operand of another builder with [`Error::Shape`]. An operation that
/// equals an earlier one is not written again.
///
/// Every ciphertext has the scale of its level, or the square of that scale. In the second case it
/// is a product that waits for its rescale. It keeps waiting in sums of ciphertexts, in negatives,
/// in products that take no level and, in exact arithmetic, in sums with plaintexts. Then the
/// result waits too. Any other operation rescales it first. A sum of products thus takes one
/// rescale and one relinearisation. In sums and products, the operand of the higher level is
/// brought down to the other one.
///
/// A product takes a level, with two exceptions: a product with a number in exact arithmetic, and a
/// product with a whole number in approximate arithmetic. At level 0, a product in exact arithmetic
/// keeps its level, and the prediction of noise decides whether it decrypts.
///
/// ```
/// use palladion_program::circuit::{Arithmetic, AutoBuilder};
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
/// # Ok::<(), palladion_program::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AutoBuilder {
    /// Number of the builder. Operands with another number belong to other builders and are
    /// refused.
    number: u32,
    b: CircuitBuilder,
    scales: Vec<f64>,
    operands: Vec<Operand>,
    /// Constants of one number, by the number's bits.
    numbers: BTreeMap<u64, OperandId>,
    /// Products that wait for their rescale.
    waiting: BTreeSet<ValueId>,
    /// Values made from a value: by the value, the level, and true for a result that waits for its
    /// rescale.
    made: BTreeMap<(ValueId, usize, bool), ValueId>,
    /// Plaintexts by operand, level and bits of the scale.
    placed: BTreeMap<(OperandId, usize, u64), ValueId>,
}

impl AutoBuilder {
    /// Starts an empty circuit. `scales` has the scale of each level. The scale of level `l - 1` is
    /// the square of that of `l`, divided by the modulus of `l`. In exact arithmetic all scales are
    /// 1.
    ///
    /// # Errors
    /// [`Error::Parameters`], also if the number of scales is not the number of levels.
    pub fn new(name: &str, arithmetic: Arithmetic, slots: usize, scales: Vec<f64>) -> Result<Self> {
        if scales.len() != arithmetic.levels() {
            return Err(Error::Parameters {
                what: "the number of scales",
                found: scales.len().to_string(),
                expected: format!("{}, as of levels", arithmetic.levels()),
            });
        }
        Ok(Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            b: CircuitBuilder::new(name, arithmetic, slots)?.without_repetition(),
            scales,
            operands: Vec::new(),
            numbers: BTreeMap::new(),
            waiting: BTreeSet::new(),
            made: BTreeMap::new(),
            placed: BTreeMap::new(),
        })
    }

    /// Adds an encrypted input at a level.
    ///
    /// # Errors
    /// [`Error::Shape`] for a name that is taken, [`Error::Step`] for a level that does not exist.
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

    /// Adds an input in plain. It is encoded wherever it is used.
    ///
    /// # Errors
    /// [`Error::Shape`] for a name that is taken.
    pub fn plain_input(&mut self, name: &str) -> Result<OperandId> {
        self.check_name(name)?;
        Ok(self.operand(Operand::Input(name.into())))
    }

    /// Adds numbers that repeat. Their count is a power of two. They are encoded wherever they are
    /// used.
    ///
    /// # Errors
    /// [`Error::CircuitConstant`], as for [`CircuitBuilder::constant`].
    pub fn constant(&mut self, name: &str, values: &[f64]) -> Result<OperandId> {
        let id = self.b.numbers(name, values)?;
        Ok(self.operand(Operand::Numbers(id)))
    }

    /// Adds one number that is in every slot.
    ///
    /// # Errors
    /// [`Error::CircuitConstant`], as for [`CircuitBuilder::constant`].
    pub fn number(&mut self, value: f64) -> Result<OperandId> {
        if let Some(&known) = self.numbers.get(&value.to_bits()) {
            return Ok(known);
        }
        let made = self.constant(&value.to_string(), &[value])?;
        self.numbers.insert(value.to_bits(), made);
        Ok(made)
    }

    /// Level of a ciphertext after the rescale for which it waits. `None` for a plaintext.
    ///
    /// # Errors
    /// [`Error::Shape`] for an operand of another builder.
    pub fn level(&self, x: OperandId) -> Result<Option<usize>> {
        let level = |value| self.b.ty(value).level - usize::from(self.waiting.contains(&value));
        Ok(self.value(x)?.map(level))
    }

    /// Outputs a ciphertext under a name.
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

    /// Returns the circuit. Steps that its outputs do not need are left out. More can be written
    /// afterwards.
    ///
    /// # Errors
    /// [`Error::Parameters`] if there is no output.
    pub fn finish(&self) -> Result<Circuit> {
        let mut whole = self.clone();
        for (index, operand) in self.operands.iter().enumerate() {
            if matches!(operand, Operand::Input(_)) {
                whole.place(self.id(index), (0, self.scales[0]))?;
            }
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
        self.id(self.operands.len() - 1)
    }

    fn id(&self, index: usize) -> OperandId {
        u64::from(self.number) << 32 | index as u64
    }

    /// The content of an operand.
    fn get(&self, x: OperandId) -> Result<&Operand> {
        let index = (x & u64::from(u32::MAX)) as usize;
        let own = x >> 32 == u64::from(self.number);
        let operand = self.operands.get(index).filter(|_| own);
        operand.ok_or_else(|| {
            shape(
                "an operand",
                "one of another builder",
                "one of this builder",
            )
        })
    }

    fn result(&mut self, value: ValueId, waits: bool) -> OperandId {
        if waits {
            self.waiting.insert(value);
        }
        self.operand(Operand::Ciphertext(value))
    }
}

const NEW_NAME: &str = "a name that is not taken";
