//! Builds a plan from a trace.

use crate::error::Result;
use crate::order::{Batch, order};
use crate::plan::{Move, Plan, Stage, Wave, What};
use crate::rows::{Rows, rows};
use crate::work::{Instruction, Task, Work, Writer};
use trace::Trace;

/// Name of the step for instructions before the trace's first step.
const BEFORE: &str = "before the first step";

pub(crate) fn build(trace: &Trace, window: usize) -> Result<Plan> {
    let Writer { work, tables, .. } = Writer::write(trace)?;
    let batches = order(&work, window);
    let rows = rows(&work, &batches);
    let names = trace.steps.iter().map(|step| step.name.clone());
    let stage = |&shape| Stage {
        shape,
        reads: Vec::new(),
        writes: Vec::new(),
        arguments: Vec::new(),
    };
    let mut plan = Plan {
        n: trace.n,
        primes: trace.moduli.iter().map(|&q| q as u32).collect(),
        rows: rows.count,
        stages: work.shapes.iter().map(stage).collect(),
        waves: Vec::with_capacity(batches.len()),
        steps: std::iter::once(BEFORE.to_owned()).chain(names).collect(),
        loads: Vec::new(),
        stores: Vec::new(),
        tables: tables.tables,
    };
    for batch in &batches {
        plan.add(&work, &rows, batch);
    }
    Ok(plan)
}

impl Plan {
    /// Adds a wave.
    fn add(&mut self, work: &Work, rows: &Rows, batch: &Batch) {
        let instructions = batch.instructions.iter();
        let instructions = instructions.map(|&index| &work.instructions[index as usize]);
        let (what, first) = match batch.task {
            Task::Load => (What::Load, self.loads.len()),
            Task::Store => (What::Store, self.stores.len()),
            Task::Run(stage) => {
                let stage = stage as usize;
                let all = &self.stages[stage];
                (What::Run(stage), all.writes.len() / all.shape.writes)
            }
        };
        for instruction in instructions {
            let reads = work.reads(instruction).iter().map(|&limb| rows.of(limb));
            let writes = instruction.makes.clone().map(|limb| rows.of(limb));
            match what {
                What::Load => self.loads.push(moved(work, instruction, writes)),
                What::Store => self.stores.push(moved(work, instruction, reads)),
                What::Run(stage) => {
                    let stage = &mut self.stages[stage];
                    let length = stage.writes.len() + stage.shape.writes;
                    stage.reads.extend(reads);
                    stage.writes.extend(writes);
                    stage.writes.resize(length, Plan::SPARE);
                    let words = &instruction.words;
                    let words = &work.words[words.start as usize..words.end as usize];
                    stage.arguments.extend(words);
                }
            }
        }
        self.waves.push(Wave {
            what,
            first,
            count: batch.instructions.len(),
            step: batch.step as usize,
        });
    }
}

fn moved(work: &Work, instruction: &Instruction, rows: impl Iterator<Item = u32>) -> Move {
    Move {
        origin: work.origins[instruction.words.start as usize],
        rows: rows.collect(),
    }
}
