//! The flattening of a trace: calls are expanded to their bodies.

use super::inputs::{Inputs, OUTSIDE};
use super::{Kind, MAX_TERMS, NONE, Work};
use crate::error::{Error, Result};
use trace::{Body, Op, Trace, Type};

/// Largest number of instructions and limbs from outside. Schedules number both in 30 bits.
const LIMIT: u64 = 1 << 29;
/// Name of the only step of a trace without named steps.
const WHOLE: &str = "the whole program";
/// Name of the part before the first named step.
const BEFORE: &str = "before the first step";
/// Largest depth of nested calls. Lowering needs five.
const DEPTH: u64 = 64;

/// Work under construction.
pub(super) struct Flattener<'a> {
    trace: &'a Trace,
    pub(super) work: Work,
    pub(super) inputs: Inputs,
    /// Index of the current instruction of the main body.
    group: u32,
    /// For each body, the number of instructions of the bodies before it.
    bases: Vec<u32>,
    /// Number of the current instruction of the trace: see [`Origin::op`](super::Origin::op).
    pub(super) op: u32,
    /// Row of the current combination; 0 outside of combinations.
    pub(super) row: u32,
}

impl Work {
    /// Flattens a [verified](Trace::verify) trace.
    ///
    /// # Errors
    /// [`Error::TooLong`] for more than 2^29 instructions, terms or calls, for more than 65,535
    /// moduli, and for calls nested deeper than 64.
    pub fn new(trace: &Trace) -> Result<Self> {
        check_length(trace)?;
        let moduli = trace.moduli.iter().map(|q| u64::BITS - q.leading_zeros());
        let (step_starts, steps) = steps(trace);
        let work = Self {
            n: trace.n,
            step_starts,
            steps,
            bits: moduli
                .chain(trace.powers.iter().copied())
                .max()
                .unwrap_or(0),
            ..Self::default()
        };
        let mut bases = vec![0];
        for body in &trace.subs {
            bases.push(bases[bases.len() - 1] + body.instructions.len() as u32);
        }
        let mut flattener = Flattener {
            trace,
            work,
            inputs: Inputs::default(),
            group: 0,
            bases,
            op: 0,
            row: 0,
        };
        flattener.body(trace.subs.len(), Vec::new());
        let mut work = flattener.work;
        let instructions = work.instructions() as u32;
        let stored = work.stores.iter_mut().flat_map(|(_, limbs)| limbs);
        for limb in work.pool.iter_mut().chain(&mut work.outputs).chain(stored) {
            if *limb & OUTSIDE != 0 {
                *limb = (*limb & !OUTSIDE) + instructions;
            }
        }
        work.outputs.sort_unstable();
        work.outputs.dedup();
        Ok(work)
    }
}

/// The first instructions of all steps, and the names of the steps. The first step begins at the
/// first instruction.
fn steps(trace: &Trace) -> (Vec<u32>, Vec<String>) {
    let named = trace.steps.iter();
    let mut steps: Vec<(u32, String)> = named
        .map(|step| (step.first as u32, step.name.clone()))
        .collect();
    if steps.first().is_none_or(|&(first, _)| first > 0) {
        let name = if steps.is_empty() { WHOLE } else { BEFORE };
        steps.insert(0, (0, name.to_owned()));
    }
    steps.into_iter().unzip()
}

fn check_length(trace: &Trace) -> Result<()> {
    let counts = trace.counts();
    let passes = counts
        .passes
        .all()
        .iter()
        .fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
    let all = counts
        .instructions
        .iter()
        .fold(passes, |sum, count| sum.saturating_add(*count));
    if all > LIMIT {
        return Err(Error::TooLong {
            what: "instructions and passes",
            found: all,
            limit: LIMIT,
        });
    }
    let moduli = trace.moduli.len() + trace.powers.len();
    if moduli > usize::from(u16::MAX) {
        return Err(Error::TooLong {
            what: "moduli",
            found: moduli as u64,
            limit: u64::from(u16::MAX),
        });
    }
    let mut depths: Vec<u64> = Vec::with_capacity(trace.subs.len());
    for body in trace.subs.iter().chain([&trace.main]) {
        let called = body
            .instructions
            .iter()
            .filter_map(|instruction| match instruction.op {
                Op::Call { sub, .. } => Some(depths[sub]),
                _ => None,
            });
        let depth = 1 + called.max().unwrap_or(0);
        if depth > DEPTH {
            return Err(Error::TooLong {
                what: "levels of calls",
                found: depth,
                limit: DEPTH,
            });
        }
        depths.push(depth);
    }
    Ok(())
}

impl Flattener<'_> {
    /// Flattens the body with an index; the main body is the last. `parameters` has the limbs of
    /// each parameter. Returns the limbs of each result.
    fn body(&mut self, index: usize, parameters: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
        let trace = self.trace;
        let body: &Body = trace.subs.get(index).unwrap_or(&trace.main);
        let mut values = parameters;
        let mut types: Vec<&Type> = body.parameters.iter().collect();
        for (place, instruction) in body.instructions.iter().enumerate() {
            if index == trace.subs.len() {
                self.group = place as u32;
            }
            self.op = self.bases[index] + place as u32;
            if let Op::Call { sub, arguments } = &instruction.op {
                let arguments = arguments
                    .iter()
                    .map(|&value| values[value].clone())
                    .collect();
                let results = self.body(*sub, arguments);
                values.extend(results);
            } else {
                self.operation(instruction, &types, &mut values);
            }
            types.extend(&instruction.types);
        }
        body.results
            .iter()
            .map(|&value| values[value].clone())
            .collect()
    }

    /// Appends operands to the pool. Returns the index of the first one, and their number.
    pub(super) fn operands(&mut self, limbs: impl IntoIterator<Item = u32>) -> (u32, u32) {
        let first = self.work.pool.len();
        self.work.pool.extend(limbs);
        (first as u32, (self.work.pool.len() - first) as u32)
    }

    /// Adds an instruction of one pass. Returns the limb that it produces.
    pub(super) fn push(
        &mut self,
        kind: Kind,
        modulus: usize,
        operands: impl IntoIterator<Item = u32>,
    ) -> u32 {
        let operands = self.operands(operands);
        self.push_terms((kind, 1), modulus, NONE, operands)
    }

    /// Adds an instruction of `terms` terms that continues the sum `sum`, or begins one if that is
    /// `NONE`. Returns the limb that it produces.
    pub(super) fn push_terms(
        &mut self,
        (kind, terms): (Kind, usize),
        modulus: usize,
        sum: u32,
        (first, count): (u32, u32),
    ) -> u32 {
        let work = &mut self.work;
        work.kinds.push(kind);
        work.terms.push(terms as u16);
        work.moduli.push(modulus as u16);
        work.continues.push(sum);
        work.first.push(first);
        work.count.push(count);
        work.groups.push(self.group);
        work.ops.push(self.op);
        work.rows.push(self.row);
        (work.kinds.len() - 1) as u32
    }

    /// Adds a sum of `terms` terms with `width` operands each, which begin at index `first` of the
    /// pool. Returns the limb of the sum.
    pub(super) fn sum(
        &mut self,
        kind: Kind,
        modulus: usize,
        (first, terms): (u32, usize),
        width: usize,
    ) -> u32 {
        let mut sum = NONE;
        for start in (0..terms).step_by(MAX_TERMS) {
            let some = (terms - start).min(MAX_TERMS);
            let operands = (first + (start * width) as u32, (some * width) as u32);
            sum = self.push_terms((kind, some), modulus, sum, operands);
        }
        sum
    }
}
