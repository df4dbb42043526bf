//! A trace flattened to instructions on single limbs.

mod flatten;
mod inputs;
mod operations;
#[cfg(test)]
mod tests;

use super::machine::Operation;
use trace::Passes;

pub use inputs::{Input, Source};

/// The operation of an instruction: any operation of a machine but [`Operation::Sample`].
pub type Kind = Operation;

/// Largest number of terms of one instruction. A longer sum becomes several instructions, each of
/// which adds to the result of the one before. No instruction then needs more limbs on the machine
/// at once.
pub const MAX_TERMS: usize = 16;

/// The number that stands for "no limb".
pub(crate) const NONE: u32 = u32::MAX;

/// Instructions on limbs of `N` words, in an order in which every limb is produced before it is
/// read.
///
/// Instruction `i` produces limb `i`. Limbs from outside follow: limb `instructions() + j` is
/// [input](Work::inputs) `j`. Limbs never change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    pub(super) n: usize,
    /// Bits of the largest modulus.
    pub(super) bits: u32,
    pub(super) kinds: Vec<Kind>,
    /// For each instruction its number of terms: passes over its units.
    pub(super) terms: Vec<u16>,
    /// For each instruction, the index of its result's modulus in the trace's table of moduli.
    pub(super) moduli: Vec<u16>,
    /// For each instruction, the result of the instruction whose sum it continues, or `NONE`.
    pub(super) continues: Vec<u32>,
    /// For each instruction, the index of its first operand in `pool`. Instructions may share
    /// operands there, as the rows of a combination do.
    pub(super) first: Vec<u32>,
    pub(super) count: Vec<u32>,
    pub(super) pool: Vec<u32>,
    /// For each instruction, the index of the instruction of the trace's main body from which it
    /// comes.
    pub(super) groups: Vec<u32>,
    /// For each instruction, the number of the instruction of the trace from which it comes, and
    /// the row of a combination that it computes.
    pub(super) ops: Vec<u32>,
    pub(super) rows: Vec<u32>,
    /// For each store, the number of its instruction of the trace, and its limbs.
    pub(super) stores: Vec<(u32, Vec<u32>)>,
    /// For each step of the trace, the index of its first instruction in the main body.
    pub(super) step_starts: Vec<u32>,
    /// Names of the steps.
    pub(super) steps: Vec<String>,
    pub(super) inputs: Vec<Input>,
    /// Output limbs, each once.
    pub(super) outputs: Vec<u32>,
    /// Names of the key-switch hints, by the numbers that inputs have for them.
    pub(super) hints: Vec<String>,
    /// Passes of the trace that no instruction makes: limbs that are loaded, taken from constants,
    /// expanded from seeds, and stored, where repeated limbs count each time, and the scalings and
    /// quotients of conversions from one modulus.
    pub(super) ends: Passes,
}

/// The instruction of a trace from which an instruction on limbs comes, and its part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Number of the instruction, where those of all bodies are counted on: the sub-traces in
    /// order, then the main body.
    pub op: usize,
    /// Row of the matrix, for a combination; 0 for all others.
    pub row: usize,
    /// Number of terms of the sum in the instructions before this one.
    pub first_term: usize,
    /// True if the first operand is the sum of the instructions before this one.
    pub continues: bool,
}

impl Work {
    /// The instruction of the trace from which an instruction comes.
    pub fn origin(&self, instruction: usize) -> Origin {
        let before = std::iter::successors(Some(instruction), |&i| {
            let sum = self.continues[i];
            (sum != NONE).then_some(sum as usize)
        });
        Origin {
            op: self.ops[instruction] as usize,
            row: self.rows[instruction] as usize,
            first_term: before.skip(1).map(|i| self.terms(i)).sum(),
            continues: self.continues[instruction] != NONE,
        }
    }

    /// Index in the trace's table of moduli of the modulus of a limb.
    pub fn modulus_of(&self, limb: u32) -> usize {
        match self.input(limb) {
            Some(input) => usize::from(input.modulus),
            None => self.modulus(limb as usize),
        }
    }

    /// The stores of the trace in order: the [number](Origin::op) of each, and its limbs.
    pub fn stores(&self) -> &[(u32, Vec<u32>)] {
        &self.stores
    }

    /// Ring degree.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Bits of the largest modulus of the trace.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Number of instructions.
    pub fn instructions(&self) -> usize {
        self.kinds.len()
    }

    /// Number of limbs: results and inputs together.
    pub fn limbs(&self) -> usize {
        self.kinds.len() + self.inputs.len()
    }

    /// The operation of an instruction.
    pub fn kind(&self, instruction: usize) -> Kind {
        self.kinds[instruction]
    }

    /// Number of passes of an instruction over its units: the terms of a sum, the limbs from which
    /// an extraction gathers, and 1 for all others.
    pub fn terms(&self, instruction: usize) -> usize {
        usize::from(self.terms[instruction])
    }

    /// Index of the modulus of an instruction's result in the trace's table of moduli.
    pub fn modulus(&self, instruction: usize) -> usize {
        usize::from(self.moduli[instruction])
    }

    /// Index of the instruction of the trace's main body from which an instruction comes.
    pub fn group(&self, instruction: usize) -> usize {
        self.groups[instruction] as usize
    }

    /// Names of the steps of the program, in order. A name may occur twice. A trace without named
    /// steps has one step.
    pub fn steps(&self) -> &[String] {
        &self.steps
    }

    /// Index in [`Work::steps`] of the step to which an instruction belongs.
    pub fn step(&self, instruction: usize) -> usize {
        let group = self.groups[instruction];
        self.step_starts.partition_point(|&first| first <= group) - 1
    }

    /// Limbs that an instruction reads. A limb that is read twice may be listed twice.
    pub fn operands(&self, instruction: usize) -> impl Iterator<Item = u32> + '_ {
        let sum = self.continues[instruction];
        let first = self.first[instruction] as usize;
        let rest = &self.pool[first..first + self.count[instruction] as usize];
        (sum != NONE)
            .then_some(sum)
            .into_iter()
            .chain(rest.iter().copied())
    }

    /// Limbs from outside.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The input with the number of a limb, or `None` if the limb is a result.
    pub fn input(&self, limb: u32) -> Option<&Input> {
        (limb as usize)
            .checked_sub(self.kinds.len())
            .map(|place| &self.inputs[place])
    }

    /// Output limbs.
    pub fn outputs(&self) -> &[u32] {
        &self.outputs
    }

    /// Name of a key-switch hint, by its number in [`Input::hint`].
    pub fn hint(&self, number: u32) -> &str {
        &self.hints[number as usize]
    }

    /// Passes over limbs, counted from the instructions. The counts equal those of the trace.
    pub fn passes(&self) -> Passes {
        let mut passes = self.ends;
        for (place, kind) in self.kinds.iter().enumerate() {
            let terms = u64::from(self.terms[place]);
            match kind {
                Kind::Ntt => passes.ntt += 1,
                Kind::Intt => passes.intt += 1,
                Kind::Add => passes.additions += 1,
                Kind::Mul => passes.products += 1,
                Kind::Dot => passes.dot_terms += terms,
                Kind::Scale => passes.scalings += 1,
                Kind::Combine => passes.combination_terms += terms,
                Kind::Permute => passes.permutations += 1,
                Kind::Extract => passes.permutations += u64::from(self.continues[place] == NONE),
                Kind::Quotient => passes.quotients += u64::from(self.continues[place] == NONE),
                Kind::Convert => passes.conversion_terms += terms,
                Kind::Round => passes.roundings += 1,
                Kind::Digit => passes.digits += 1,
                Kind::Sample => passes.sampled += 1,
            }
        }
        passes
    }
}
