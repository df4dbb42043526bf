//! Data that instructions need besides their operands: moduli, transform tables, constants,
//! conversions.

use super::arithmetic::Arithmetic;
use super::convert::Conversion;
use super::sources::{Sources, not_prime};
use super::spare::Spare;
use crate::error::Result;
use kernels::{Modulus, NttTable, is_prime};
use std::collections::HashMap;
use std::sync::Arc;
use trace::{Body, Counts, Limbs, ModulusId, Op, Trace, Type};

/// The tables of one trace, and the counts of the passes that the replay has executed.
pub(super) struct Machine<'a> {
    pub(super) sources: Sources<'a>,
    /// Transform tables, for the moduli whose limbs are transformed.
    tables: Vec<Option<NttTable>>,
    conversions: HashMap<(Limbs, Limbs), Arc<Conversion>>,
    pub(super) spare: Spare,
    pub(super) counts: Counts,
}

impl<'a> Machine<'a> {
    /// Makes the tables of a verified trace.
    pub(super) fn new(trace: &'a Trace) -> Result<Self> {
        let sources = Sources::new(trace)?;
        let converted = converted(trace);
        let used = transformed(trace);
        for (id, &q) in trace.moduli.iter().enumerate() {
            if (used[id] || converted[id]) && !is_prime(q) {
                return Err(not_prime(id, q));
            }
        }
        let tables = ring::par_map(trace.moduli.len(), |id| {
            used[id].then(|| NttTable::new(*sources.modulus(id), trace.n))
        });
        let tables = tables
            .into_iter()
            .enumerate()
            .map(|(id, table)| match table {
                Some(None) => Err(not_prime(id, trace.moduli[id])),
                table => Ok(table.flatten()),
            });
        Ok(Self {
            tables: tables.collect::<Result<_>>()?,
            conversions: HashMap::new(),
            spare: Spare::new(trace.n),
            counts: Counts::default(),
            sources,
        })
    }

    pub(super) fn n(&self) -> usize {
        self.sources.n
    }

    pub(super) fn arithmetic(&self, id: ModulusId) -> &Arithmetic {
        self.sources.arithmetic(id)
    }

    pub(super) fn modulus(&self, id: ModulusId) -> &Modulus {
        self.sources.modulus(id)
    }

    pub(super) fn table(&self, id: ModulusId) -> &NttTable {
        let table = self.tables[id].as_ref();
        table.expect("tables of all transformed limbs are made at the beginning")
    }

    /// The tables of a conversion. They are made on first use.
    pub(super) fn conversion(&mut self, from: &Limbs, to: &Limbs) -> Arc<Conversion> {
        let moduli = |limbs: &Limbs| {
            let moduli = limbs.iter().map(|id| *self.sources.arithmetic(id));
            moduli.collect::<Vec<_>>()
        };
        let make = || Arc::new(Conversion::new(&moduli(from), moduli(to)));
        let key = (from.clone(), to.clone());
        self.conversions.entry(key).or_insert_with(make).clone()
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
