//! The order of waves: instructions that are ready at the same time run together.
//!
//! Instructions enter a window in the order of the trace. An instruction is ready once its operands
//! are computed. Each wave runs all ready instructions of one task: of the task with the largest
//! share of ready instructions in the window, since its other instructions will need a further
//! wave. Of equal shares, the task with the oldest ready instruction goes first.
//!
//! The window bounds memory: no limb is computed more than one window's length of instructions
//! before the trace needs it. The window always moves on, because its oldest instruction is ready.
//! A window ends at the border of a step, so that a run can stop there.

use crate::work::{Instruction, Task, Work};
use std::collections::BTreeMap;

/// A wave before its rows are assigned: instructions of one task, by index, in the order of the
/// trace.
pub(crate) struct Batch {
    pub(crate) task: Task,
    pub(crate) step: u32,
    pub(crate) instructions: Vec<u32>,
}

/// Orders all instructions in waves. `window` is its length in instructions.
pub(crate) fn order(work: &Work, window: usize) -> Vec<Batch> {
    let makers = makers(work);
    let mut batches = Vec::new();
    let mut first = 0;
    let steps = work.instructions.chunk_by(|a, b| a.step == b.step);
    for instructions in steps {
        let end = first + instructions.len();
        Window::new(work, &makers, first..end).run(window.max(1), &mut batches);
        first = end;
    }
    batches
}

/// The index of the instruction that computes each limb. Limbs of zeros have `u32::MAX`.
fn makers(work: &Work) -> Vec<u32> {
    let mut makers = vec![u32::MAX; work.limbs as usize];
    for (index, instruction) in work.instructions.iter().enumerate() {
        for limb in instruction.makes.clone() {
            makers[limb as usize] = index as u32;
        }
    }
    makers
}

/// The instructions of one task that are in the window.
#[derive(Default)]
struct Waiting {
    ready: Vec<u32>,
    /// Instructions in the window, ready or not.
    all: usize,
}

/// The window over the instructions of one step.
struct Window<'a> {
    work: &'a Work,
    range: std::ops::Range<usize>,
    /// The readers of each instruction's results, by index in the step, instruction after
    /// instruction.
    readers: Vec<u32>,
    /// Start of each instruction's readers in `readers`; the last entry is the number of all
    /// readers.
    starts: Vec<u32>,
    /// For each instruction, the number of operands of this step that are not computed yet.
    missing: Vec<u32>,
    done: Vec<bool>,
    /// First instruction that has not entered the window.
    next: usize,
    tasks: BTreeMap<Task, Waiting>,
}

impl<'a> Window<'a> {
    fn new(work: &'a Work, makers: &[u32], range: std::ops::Range<usize>) -> Self {
        let of_step = |limb: &u32| {
            let maker = makers[*limb as usize] as usize;
            range.contains(&maker).then(|| maker - range.start)
        };
        let count = range.len();
        let (mut starts, mut missing) = (vec![0u32; count + 1], vec![0u32; count]);
        let instructions = &work.instructions[range.clone()];
        for (reader, instruction) in instructions.iter().enumerate() {
            for maker in work.reads(instruction).iter().filter_map(of_step) {
                starts[maker + 1] += 1;
                missing[reader] += 1;
            }
        }
        for i in 0..count {
            starts[i + 1] += starts[i];
        }
        let mut free = starts.clone();
        let mut readers = vec![0u32; starts[count] as usize];
        for (reader, instruction) in instructions.iter().enumerate() {
            for maker in work.reads(instruction).iter().filter_map(of_step) {
                readers[free[maker] as usize] = reader as u32;
                free[maker] += 1;
            }
        }
        Self {
            work,
            next: 0,
            range,
            readers,
            starts,
            missing,
            done: vec![false; count],
            tasks: BTreeMap::new(),
        }
    }

    fn instruction(&self, at: usize) -> &'a Instruction {
        &self.work.instructions[self.range.start + at]
    }

    fn run(mut self, length: usize, batches: &mut Vec<Batch>) {
        let count = self.range.len();
        let mut oldest = 0;
        loop {
            while oldest < count && self.done[oldest] {
                oldest += 1;
            }
            if oldest == count {
                return;
            }
            while self.next < count.min(oldest + length) {
                self.enter(self.next);
                self.next += 1;
            }
            let task = self.chosen();
            let waiting = self
                .tasks
                .get_mut(&task)
                .expect("it was chosen among these");
            let mut instructions = std::mem::take(&mut waiting.ready);
            waiting.all -= instructions.len();
            instructions.sort_unstable();
            for &instruction in &instructions {
                self.finish(instruction as usize);
            }
            let start = self.range.start as u32;
            batches.push(Batch {
                task,
                step: self.instruction(oldest).step,
                instructions: instructions.iter().map(|at| start + at).collect(),
            });
        }
    }

    fn enter(&mut self, at: usize) {
        let waiting = self.tasks.entry(self.instruction(at).task).or_default();
        waiting.all += 1;
        if self.missing[at] == 0 {
            waiting.ready.push(at as u32);
        }
    }

    /// Counts an instruction as done. Its readers may become ready.
    fn finish(&mut self, at: usize) {
        self.done[at] = true;
        for place in self.starts[at]..self.starts[at + 1] {
            let reader = self.readers[place as usize] as usize;
            self.missing[reader] -= 1;
            if self.missing[reader] == 0 && reader < self.next {
                let task = self.instruction(reader).task;
                let waiting = self.tasks.get_mut(&task).expect("the reader has entered");
                waiting.ready.push(reader as u32);
            }
        }
    }

    /// The task whose ready instructions are the largest share of its instructions in the window.
    fn chosen(&self) -> Task {
        let ready = self.tasks.iter().filter(|(_, w)| !w.ready.is_empty());
        let best = ready.max_by(|(_, a), (_, b)| {
            let shares = (a.ready.len() * b.all).cmp(&(b.ready.len() * a.all));
            let oldest = |w: &Waiting| w.ready.iter().copied().min();
            shares.then_with(|| oldest(b).cmp(&oldest(a)))
        });
        *best.expect("the oldest instruction is ready").0
    }
}
