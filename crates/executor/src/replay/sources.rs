//! Operations without operands: values from outside, from seeds and from constants.

use super::arithmetic::{Arithmetic, Power};
use super::spare::Spare;
use super::value::Value;
use super::words;
use crate::error::{Error, Result};
use crate::outside::{Limb, Outside};
use kernels::Modulus;
use std::borrow::Cow;
use std::sync::Arc;
use trace::{Constant, ConstantId, Instruction, ModulusId, Op, Trace, Type};

/// The moduli and constants of a trace. With an [`Outside`], these give the values of operations
/// without operands. Other machines than [`replay`](super::replay) get theirs here too.
pub struct Sources<'a> {
    pub(super) n: usize,
    moduli: Vec<Arithmetic>,
    constants: &'a [Constant],
    /// For each constant, the constant that it rotates and the steps to the left. A constant that
    /// is no rotation has itself and 0 steps.
    turns: Vec<(ConstantId, usize)>,
}

impl<'a> Sources<'a> {
    /// Takes a [verified](Trace::verify) trace.
    ///
    /// # Errors
    /// [`Error::Replay`] for a modulus for which there is no arithmetic.
    pub fn new(trace: &'a Trace) -> Result<Self> {
        let primes = trace.moduli.iter().enumerate();
        let primes = primes.map(|(id, &q)| {
            let modulus = Modulus::new(q).ok_or_else(|| not_prime(id, q));
            modulus.map(Arithmetic::Prime)
        });
        let powers = trace.powers.iter();
        let powers = powers.map(|&bits| Ok(Arithmetic::Power(Power::new(bits))));
        Ok(Self {
            n: trace.n,
            moduli: primes.chain(powers).collect::<Result<_>>()?,
            constants: &trace.constants,
            turns: turns(trace),
        })
    }

    /// The limbs of the result of an operation without operands, in the order of its type.
    ///
    /// # Errors
    /// The errors of the outside, and [`Error::Replay`] for loaded words that are no residues.
    ///
    /// # Panics
    /// If the operation has operands.
    pub fn value(
        &self,
        instruction: &Instruction,
        outside: &mut impl Outside,
    ) -> Result<Vec<Limb>> {
        let Instruction { op, types } = instruction;
        let made = self.make(op, &types[0], outside, &Spare::new(self.n))?;
        Ok(made.limbs)
    }

    /// As [`Sources::value`], with memory that is used again.
    pub(super) fn make(
        &self,
        op: &Op,
        ty: &Type,
        outside: &mut impl Outside,
        spare: &Spare,
    ) -> Result<Value> {
        Ok(match op {
            Op::Load { name, ty } => self.load(name, ty, outside)?,
            Op::Constant { constant, .. } => {
                let words = self.words(*constant);
                Value::each(ty, |_, id| {
                    let q = self.arithmetic(id);
                    spare.filled(words.iter().map(|&word| q.residue(word)))
                })
            }
            Op::Zero { ty } => {
                let zero = Arc::new(vec![0; self.n]);
                let limbs = vec![zero; ty.limbs.len()];
                let ty = ty.clone();
                Value { ty, limbs }
            }
            Op::Sample { seed, stream, .. } => {
                let seed = outside.seed(seed)?;
                Value::each(ty, |i, id| {
                    let stream = (u64::from(*stream) << 32) + i as u64;
                    words::sample(&seed, stream, self.modulus(id), self.n)
                })
            }
            Op::Expand {
                seed, stream, skip, ..
            } => {
                let seed = outside.seed(seed)?;
                Value::each(ty, |_, id| {
                    let bits = self.arithmetic(id).largest().count_ones();
                    words::expand(&seed, (*stream, *skip), bits, self.n)
                })
            }
            _ => unreachable!("{} has operands", op.name()),
        })
    }

    pub(super) fn arithmetic(&self, id: ModulusId) -> &Arithmetic {
        &self.moduli[id]
    }

    /// A modulus for products in the evaluation domain.
    pub(super) fn modulus(&self, id: ModulusId) -> &Modulus {
        match &self.moduli[id] {
            Arithmetic::Prime(q) => q,
            Arithmetic::Power(_) => unreachable!("the verifier lets no power of two here"),
        }
    }

    /// The `N` words of a constant.
    ///
    /// # Panics
    /// If the constant is a list, or there is no such constant.
    pub fn words(&self, id: ConstantId) -> Cow<'a, [i64]> {
        let (of, steps) = self.turns[id];
        let mut words: Cow<'a, [i64]> = match &self.constants[of] {
            Constant::Words(words) => words.into(),
            Constant::Sparse(pairs) => {
                let mut words = vec![0; self.n];
                pairs.iter().for_each(|&(place, word)| words[place] = word);
                words.into()
            }
            Constant::Repeat { run, values } => {
                let word = |i| values[i / run % values.len()];
                (0..self.n).map(word).collect()
            }
            Constant::Turn { .. } | Constant::List(_) => {
                unreachable!(
                    "turns are followed to the constant they rotate, and lists are verified"
                )
            }
        };
        if steps > 0 {
            let rows = words.to_mut().chunks_exact_mut(self.n / 2);
            rows.for_each(|row| row.rotate_left(steps));
        }
        words
    }

    /// An integer of a list. 0 beyond its end.
    pub(super) fn listed(&self, list: ConstantId, place: Option<usize>) -> i64 {
        match (&self.constants[list], place) {
            (Constant::List(integers), Some(place)) => integers.get(place).copied().unwrap_or(0),
            _ => 0,
        }
    }
}

pub(super) fn not_prime(id: ModulusId, q: u64) -> Error {
    Error::Replay {
        what: format!("modulus {id}"),
        found: q.to_string(),
        expected: "a prime".into(),
    }
}

fn turns(trace: &Trace) -> Vec<(ConstantId, usize)> {
    let mut turns: Vec<(ConstantId, usize)> = Vec::with_capacity(trace.constants.len());
    for (id, constant) in trace.constants.iter().enumerate() {
        turns.push(match *constant {
            Constant::Turn { of, steps } => {
                let (root, before) = turns[of];
                (root, (before + steps) % (trace.n / 2))
            }
            _ => (id, 0),
        });
    }
    turns
}
