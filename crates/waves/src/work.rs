//! A trace written out: instructions on single limbs, without calls.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Shape};
use crate::tables::Collector;
use kernels::{Modulus, is_prime};
use std::collections::HashMap;
use std::ops::Range;
use trace::{Body, Op, Trace, Type};

/// The number of a limb. One instruction computes it. Limb [`ZERO`] is zero.
pub(crate) type Limb = u32;

/// The limb of zeros.
pub(crate) const ZERO: Limb = 0;

/// Largest number of instructions and passes of a trace.
const LIMIT: u64 = 1 << 29;
/// Largest depth of calls within calls: lowering has five.
const DEPTH: u64 = 64;
/// Bits of the largest modulus.
const WORD_BITS: u32 = 32;

/// An instruction of a trace, by its body and its index there. The main body is the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Index of the body.
    pub body: usize,
    /// Index of the instruction.
    pub instruction: usize,
}

/// The job of an instruction on limbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Task {
    /// Fetches a value of the caller, or a constant, into rows.
    Load,
    /// Hands a value to the caller.
    Store,
    /// Runs the kernel of the shape with this index.
    Run(u32),
}

/// An instruction on limbs.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub(crate) task: Task,
    /// The operands, as a range of [`Work::pool`].
    pub(crate) reads: Range<u32>,
    /// The limbs of the result.
    pub(crate) makes: Range<Limb>,
    /// The instruction's own words, as a range of [`Work::words`]. For loads and stores: the index
    /// in [`Work::origins`].
    pub(crate) words: Range<u32>,
    /// Index of the step of the program.
    pub(crate) step: u32,
}

/// Instructions on limbs. Every limb is computed before it is read.
#[derive(Default)]
pub(crate) struct Work {
    pub(crate) shapes: Vec<Shape>,
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) pool: Vec<Limb>,
    pub(crate) words: Vec<u32>,
    /// The instructions of the trace that load and store.
    pub(crate) origins: Vec<Origin>,
    pub(crate) limbs: u32,
}

impl Work {
    pub(crate) fn reads(&self, instruction: &Instruction) -> &[Limb] {
        let Range { start, end } = instruction.reads;
        &self.pool[start as usize..end as usize]
    }
}

/// A value of the caller or a constant, loaded when an instruction first reads it.
struct Source {
    origin: Origin,
    makes: Range<Limb>,
}

/// The pass that writes out a trace, with the work written so far.
pub(crate) struct Writer<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) work: Work,
    pub(crate) tables: Collector<'a>,
    shapes: HashMap<Shape, u32>,
    sources: Vec<Source>,
    known: HashMap<(Op, Type), Range<Limb>>,
    /// For each limb that is not loaded yet, the index of its source.
    waiting: HashMap<Limb, usize>,
    step: u32,
}

impl<'a> Writer<'a> {
    /// Writes out a trace.
    ///
    /// # Errors
    /// The errors of [`Trace::verify`]; [`Error::Power`], [`Error::Wide`] and [`Error::NotPrime`]
    /// for moduli that rows cannot hold; and [`Error::TooLong`].
    pub(crate) fn write(trace: &'a Trace) -> Result<Self> {
        trace.verify()?;
        let moduli = moduli(trace)?;
        check_length(trace)?;
        let work = Work {
            limbs: ZERO + 1,
            ..Work::default()
        };
        let mut writer = Self {
            trace,
            work,
            tables: Collector::new(trace, moduli),
            shapes: HashMap::new(),
            sources: Vec::new(),
            known: HashMap::new(),
            waiting: HashMap::new(),
            step: 0,
        };
        writer.body(trace.subs.len(), Vec::new());
        Ok(writer)
    }

    /// Writes out a body whose parameters have the limbs `parameters`. Returns the limbs of its
    /// results.
    fn body(&mut self, index: usize, parameters: Vec<Vec<Limb>>) -> Vec<Vec<Limb>> {
        let trace = self.trace;
        let body: &Body = trace.subs.get(index).unwrap_or(&trace.main);
        let mut values = parameters;
        let mut types: Vec<&Type> = body.parameters.iter().collect();
        let mut steps = trace.steps.iter().peekable();
        for (place, instruction) in body.instructions.iter().enumerate() {
            if index == trace.subs.len() && steps.next_if(|step| step.first == place).is_some() {
                self.step += 1;
            }
            if let Op::Call { sub, arguments } = &instruction.op {
                let arguments = arguments.iter().map(|&value| values[value].clone());
                let results = self.body(*sub, arguments.collect());
                values.extend(results);
            } else {
                let origin = Origin {
                    body: index,
                    instruction: place,
                };
                self.operation(origin, instruction, &types, &mut values);
            }
            types.extend(&instruction.types);
        }
        let results = body.results.iter();
        results.map(|&value| values[value].clone()).collect()
    }

    /// The limbs of a value that is loaded when an instruction first reads it. Equal values are
    /// loaded once.
    pub(crate) fn source(&mut self, origin: Origin, op: &Op, ty: &Type) -> Vec<Limb> {
        let key = (op.clone(), ty.clone());
        if let Some(makes) = self.known.get(&key) {
            return makes.clone().collect();
        }
        let makes = self.new_limbs(ty.limbs.len());
        self.known.insert(key, makes.clone());
        let source = self.sources.len();
        self.waiting
            .extend(makes.clone().map(|limb| (limb, source)));
        self.sources.push(Source {
            origin,
            makes: makes.clone(),
        });
        makes.collect()
    }

    /// Adds an instruction that hands limbs to the caller.
    pub(crate) fn store(&mut self, origin: Origin, limbs: &[Limb]) {
        let reads = self.pooled(limbs.iter().copied());
        self.push_outside(Task::Store, origin, (reads, 0..0));
    }

    /// Adds an instruction that runs a kernel. Returns the limbs of its results.
    pub(crate) fn run(
        &mut self,
        shape: Shape,
        reads: impl IntoIterator<Item = Limb>,
        results: usize,
        words: &[u32],
    ) -> Range<Limb> {
        let reads = self.pooled(reads);
        let makes = self.new_limbs(results);
        let next = self.shapes.len() as u32;
        let index = *self.shapes.entry(shape).or_insert(next);
        let work = &mut self.work;
        if index == next {
            work.shapes.push(shape);
        }
        let first = work.words.len() as u32;
        work.words.extend(words);
        work.instructions.push(Instruction {
            task: Task::Run(index),
            reads,
            makes: makes.clone(),
            words: first..work.words.len() as u32,
            step: self.step,
        });
        makes
    }

    /// Adds an instruction of a kernel that computes one limb from few limbs.
    pub(crate) fn run_one(&mut self, kernel: Kernel, reads: &[Limb], words: &[u32]) -> Limb {
        let shape = Shape {
            kernel,
            reads: reads.len(),
            writes: 1,
        };
        self.run(shape, reads.iter().copied(), 1, words).start
    }

    fn new_limbs(&mut self, count: usize) -> Range<Limb> {
        let first = self.work.limbs;
        self.work.limbs += count as u32;
        first..self.work.limbs
    }

    /// Puts the operands of an instruction into the pool. Adds loads for operands that are not
    /// loaded yet.
    fn pooled(&mut self, limbs: impl IntoIterator<Item = Limb>) -> Range<u32> {
        let first = self.work.pool.len();
        self.work.pool.extend(limbs);
        for place in first..self.work.pool.len() {
            if let Some(&source) = self.waiting.get(&self.work.pool[place]) {
                let Source { origin, makes } = &self.sources[source];
                let (origin, makes) = (*origin, makes.clone());
                for limb in makes.clone() {
                    self.waiting.remove(&limb);
                }
                self.push_outside(Task::Load, origin, (0..0, makes));
            }
        }
        first as u32..self.work.pool.len() as u32
    }

    fn push_outside(
        &mut self,
        task: Task,
        origin: Origin,
        (reads, makes): (Range<u32>, Range<Limb>),
    ) {
        let at = self.work.origins.len() as u32;
        self.work.origins.push(origin);
        self.work.instructions.push(Instruction {
            task,
            reads,
            makes,
            words: at..at + 1,
            step: self.step,
        });
    }
}

/// The moduli of a trace. Each must be a prime that fits a word of a row.
fn moduli(trace: &Trace) -> Result<Vec<Modulus>> {
    if let Some(&bits) = trace.powers.first() {
        let index = trace.moduli.len();
        return Err(Error::Power { index, bits });
    }
    let checked = trace.moduli.iter().enumerate().map(|(index, &found)| {
        let bits = u64::BITS - found.leading_zeros();
        if bits > WORD_BITS {
            return Err(Error::Wide { index, found, bits });
        }
        let modulus = Modulus::new(found).filter(|_| is_prime(found));
        modulus.ok_or(Error::NotPrime { index, found })
    });
    checked.collect()
}

fn check_length(trace: &Trace) -> Result<()> {
    let counts = trace.counts();
    let passes = counts.passes.all().into_iter().map(|(_, count)| count);
    let all = passes.chain(counts.instructions);
    let found = all.fold(0u64, u64::saturating_add);
    let check = |what, found, limit| match found > limit {
        true => Err(Error::TooLong { what, found, limit }),
        false => Ok(()),
    };
    check("instructions and passes", found, LIMIT)?;
    let mut depths: Vec<u64> = Vec::with_capacity(trace.subs.len());
    for body in trace.subs.iter().chain([&trace.main]) {
        let called = body
            .instructions
            .iter()
            .map(|instruction| match (&instruction.op, &depths) {
                (Op::Call { sub, .. }, depths) => depths[*sub],
                _ => 0,
            });
        let depth = 1 + called.max().unwrap_or(0);
        check("levels of calls", depth, DEPTH)?;
        depths.push(depth);
    }
    Ok(())
}
