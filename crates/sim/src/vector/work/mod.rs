//! A trace flattened to instructions on single limbs.

mod flatten;
mod inputs;
mod operations;
#[cfg(test)]
mod tests;

use super::machine::Operation;
use trace::Passes;

pub use inputs::{Input, Source};

/// What an instruction does to a limb: an operation of a machine that is no sample.
pub type Kind = Operation;

/// Most terms of one instruction: longer sums are several instructions, each of which adds to the last one's result. So
/// many limbs need to be on the machine at once, and no more.
pub const MAX_TERMS: usize = 16;

/// In place of a limb that is not there.
pub(crate) const NONE: u32 = u32::MAX;

/// Instructions on limbs of `N` words, in an order in which every limb is made before it is read.
///
/// Instruction `i` makes the limb `i`. Limbs from outside follow: the limb `instructions() + j` is
/// [input](Work::inputs) `j`. Limbs are never changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    pub(super) n: usize,
    /// Bits of the largest modulus.
    pub(super) bits: u32,
    pub(super) kinds: Vec<Kind>,
    /// Terms: passes of the instruction over its units.
    pub(super) terms: Vec<u16>,
    /// Place in the trace's table of moduli of the limb that is made.
    pub(super) moduli: Vec<u16>,
    /// Result of the instruction whose sum this one goes on with, or `NONE`.
    pub(super) continues: Vec<u32>,
    /// Where the operands begin in `pool`: instructions share them, as rows of a combination do.
    pub(super) first: Vec<u32>,
    pub(super) count: Vec<u32>,
    pub(super) pool: Vec<u32>,
    /// Instruction of the trace's main body that the instruction comes from.
    pub(super) groups: Vec<u32>,
    /// Steps of the trace: for each the first instruction of the main body that is a part of it.
    pub(super) step_starts: Vec<u32>,
    /// Their names.
    pub(super) steps: Vec<String>,
    pub(super) inputs: Vec<Input>,
    /// Limbs that are given to the outside, each once.
    pub(super) outputs: Vec<u32>,
    /// Names of key-switch hints: what an input's number of a hint means.
    pub(super) hints: Vec<String>,
    /// What the trace loads, makes from constants and seeds, and stores: as often as it says so.
    pub(super) ends: Passes,
}

impl Work {
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

    /// Number of limbs: results and inputs.
    pub fn limbs(&self) -> usize {
        self.kinds.len() + self.inputs.len()
    }

    /// What an instruction does.
    pub fn kind(&self, instruction: usize) -> Kind {
        self.kinds[instruction]
    }

    /// Passes of an instruction over its units: terms of sums, limbs that are extracted from, and 1 for others.
    pub fn terms(&self, instruction: usize) -> usize {
        usize::from(self.terms[instruction])
    }

    /// Place in the trace's table of moduli of the limb that an instruction makes.
    pub fn modulus(&self, instruction: usize) -> usize {
        usize::from(self.moduli[instruction])
    }

    /// Instruction of the trace's main body that an instruction comes from.
    pub fn group(&self, instruction: usize) -> usize {
        self.groups[instruction] as usize
    }

    /// Names of the steps of the program, in order; a name may come again. A trace that names none is one step.
    pub fn steps(&self) -> &[String] {
        &self.steps
    }

    /// Place in [`Work::steps`] of the step that an instruction is a part of.
    pub fn step(&self, instruction: usize) -> usize {
        let group = self.groups[instruction];
        self.step_starts.partition_point(|&first| first <= group) - 1
    }

    /// Limbs that an instruction reads. One that is read twice may come twice.
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

    /// The input that a limb is, if it comes from outside.
    pub fn input(&self, limb: u32) -> Option<&Input> {
        (limb as usize)
            .checked_sub(self.kinds.len())
            .map(|place| &self.inputs[place])
    }

    /// Limbs that are given to the outside.
    pub fn outputs(&self) -> &[u32] {
        &self.outputs
    }

    /// Name of a key-switch hint, by its number in [`Input::hint`].
    pub fn hint(&self, number: u32) -> &str {
        &self.hints[number as usize]
    }

    /// Passes over limbs, counted from the instructions. They are those of the trace.
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
