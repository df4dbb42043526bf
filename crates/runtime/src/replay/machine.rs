//! Data that instructions need besides their operands: moduli, transform tables, constants,
//! conversions.

use super::arithmetic::{Arithmetic, Power};
use super::convert::Conversion;
use super::spare::Spare;
use crate::error::{Error, Result};
use kernels::{Modulus, NttTable, is_prime};
use program::trace::{Body, Constant, ConstantId, Counts, Limbs, ModulusId, Op, Trace, Type};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// The tables of one trace, and the counts of what was executed.
pub(super) struct Machine<'a> {
    pub(super) n: usize,
    moduli: Vec<Arithmetic>,
    /// Transform tables, for the moduli whose limbs are transformed.
    tables: Vec<Option<NttTable>>,
    constants: &'a [Constant],
    /// For each constant, the constant that it rotates and the steps to the left. A constant that
    /// is no rotation has itself and 0 steps.
    turns: Vec<(ConstantId, usize)>,
    conversions: HashMap<(Limbs, Limbs), Arc<Conversion>>,
    pub(super) spare: Spare,
    pub(super) counts: Counts,
}

impl<'a> Machine<'a> {
    /// Makes the tables of a verified trace.
    pub(super) fn new(trace: &'a Trace) -> Result<Self> {
        let converted = converted(trace);
        let used = transformed(trace);
        let prime = |(id, &q): (usize, &u64)| match Modulus::new(q) {
            Some(modulus) if is_prime(q) || !(used[id] || converted[id]) => Ok(modulus),
            _ => Err(not_prime(id, q)),
        };
        let primes: Vec<Modulus> = trace
            .moduli
            .iter()
            .enumerate()
            .map(prime)
            .collect::<Result<_>>()?;
        let tables = ring::par_map(primes.len(), |id| {
            used[id].then(|| NttTable::new(primes[id], trace.n))
        });
        let powers = trace.powers.iter();
        let powers = powers.map(|&bits| Arithmetic::Power(Power::new(bits)));
        let tables = tables
            .into_iter()
            .enumerate()
            .map(|(id, table)| match table {
                Some(None) => Err(not_prime(id, trace.moduli[id])),
                table => Ok(table.flatten()),
            });
        Ok(Self {
            n: trace.n,
            tables: tables.collect::<Result<_>>()?,
            moduli: primes
                .into_iter()
                .map(Arithmetic::Prime)
                .chain(powers)
                .collect(),
            constants: &trace.constants,
            turns: turns(trace),
            conversions: HashMap::new(),
            spare: Spare::new(trace.n),
            counts: Counts::default(),
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

    pub(super) fn table(&self, id: ModulusId) -> &NttTable {
        let table = self.tables[id].as_ref();
        table.expect("tables of all transformed limbs are made at the beginning")
    }

    /// The `N` words of a constant.
    pub(super) fn words(&self, id: ConstantId) -> Cow<'a, [i64]> {
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

    /// The tables of a conversion. They are made on first use.
    pub(super) fn conversion(&mut self, from: &Limbs, to: &Limbs) -> Arc<Conversion> {
        let moduli = |limbs: &Limbs| limbs.iter().map(|id| self.moduli[id]).collect::<Vec<_>>();
        let make = || Arc::new(Conversion::new(&moduli(from), moduli(to)));
        let key = (from.clone(), to.clone());
        self.conversions.entry(key).or_insert_with(make).clone()
    }
}

fn not_prime(id: ModulusId, q: u64) -> Error {
    Error::Replay {
        what: format!("modulus {id}"),
        found: q.to_string(),
        expected: "a prime".into(),
    }
}

/// The moduli whose limbs are transformed.
fn transformed(trace: &Trace) -> Vec<bool> {
    let mut used = vec![false; trace.moduli.len()];
    let bodies = trace.subs.iter().chain([&trace.main]);
    for instruction in bodies.flat_map(|body: &Body| &body.instructions) {
        if let Op::Ntt(_) | Op::Intt(_) = instruction.op {
            let limbs = instruction.types[0].limbs.iter();
            limbs.for_each(|id| used[id] = true);
        }
    }
    used
}

/// The moduli that are one of several in a conversion's source. They have inverses modulo each
/// other.
fn converted(trace: &Trace) -> Vec<bool> {
    let mut used = vec![false; trace.moduli.len()];
    for body in trace.subs.iter().chain([&trace.main]) {
        let mut types: Vec<&Type> = body.parameters.iter().collect();
        for instruction in &body.instructions {
            if let Op::Convert { value, .. } = instruction.op
                && types[value].limbs.len() > 1
            {
                types[value].limbs.iter().for_each(|id| used[id] = true);
            }
            types.extend(&instruction.types);
        }
    }
    used
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
