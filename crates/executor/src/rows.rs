//! Backends with a store of rows: GPUs, TPUs, several of them.
//!
//! A trace becomes a [plan](waves::Plan) of waves. [`run_plan`] walks over the waves, and a
//! [`RowMachine`] does the work of each: it writes rows, runs instructions on them, and reads rows.

use crate::error::{Error, Result};
use crate::executor::{Executor, Progress, check_queries};
use crate::kept::Kept;
use crate::outside::{Outside, type_of};
use crate::replay::Sources;
use std::ops::Range;
use std::sync::Arc;
use trace::{Op, Trace};
use waves::{Kernel, Move, Plan, Wave, What};

/// Share of the work after which progress is reported. The machine is waited for then.
const REPORTED: f64 = 0.01;

/// A machine with a store of rows of `N` words of 32 bits, for each of its queries.
///
/// Row [`Plan::ZERO`] is zero, and stays so. Machines may work ahead: they must have finished when
/// [`RowMachine::wait`] and [`RowMachine::read`] return.
pub trait RowMachine {
    /// Number of queries, each with a store of its own.
    fn queries(&self) -> usize {
        1
    }

    /// Begins a run: makes the stores.
    ///
    /// # Errors
    /// The errors of the machine.
    fn begin(&mut self) -> Result<()>;

    /// Writes a value into its rows, which are those of `plan.loads[load]`. `words` has the words
    /// of all rows, one row after the other, for each query; or once, if they are the same for all.
    ///
    /// # Errors
    /// The errors of the machine.
    fn write(&mut self, load: usize, words: &[Vec<u32>]) -> Result<()>;

    /// Writes a value that the machine kept from an earlier run with the same keys. Returns false if
    /// it did not keep it: then [`RowMachine::write`] follows. Only keys and constants are asked for.
    /// Keeps nothing by default.
    ///
    /// # Errors
    /// The errors of the machine.
    fn recall(&mut self, _load: usize) -> Result<bool> {
        Ok(false)
    }

    /// Runs instructions of a stage. They do not depend on each other.
    ///
    /// # Errors
    /// The errors of the machine.
    fn run(&mut self, stage: usize, instructions: Range<usize>) -> Result<()>;

    /// Reads the rows of `plan.stores[store]`: their words, one row after the other, for each
    /// query.
    ///
    /// # Errors
    /// The errors of the machine.
    fn read(&mut self, store: usize) -> Result<Vec<Vec<u32>>>;

    /// Returns when everything that was asked for is done. Does nothing by default.
    ///
    /// # Errors
    /// The errors of the machine.
    fn wait(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Runs a plan of a trace on a machine, wave after wave. `end_wave` is called after each wave with
/// its number, for profiles.
///
/// # Errors
/// The errors of [`Executor::run`] and of the machine.
///
/// # Panics
/// If the plan is that of another trace.
pub fn run_plan<M: RowMachine>(
    trace: &Trace,
    plan: &Plan,
    machine: &mut M,
    outsides: &mut [&mut dyn Outside],
    observe: &mut dyn FnMut(Progress) -> bool,
    end_wave: &mut dyn FnMut(&mut M, usize) -> Result<()>,
) -> Result<()> {
    check_queries(outsides.len(), machine.queries())?;
    let sources = Sources::new(trace)?;
    let total: f64 = plan.waves.iter().map(|wave| cost(plan, wave)).sum();
    let (mut done, mut reported) = (0.0, 0.0);
    machine.begin()?;
    for (index, wave) in plan.waves.iter().enumerate() {
        let instructions = wave.first..wave.first + wave.count;
        match wave.what {
            What::Load => {
                for load in instructions {
                    if lasts(trace, &plan.loads[load]) && machine.recall(load)? {
                        continue;
                    }
                    let words = loaded(&sources, trace, &plan.loads[load], outsides)?;
                    machine.write(load, &words)?;
                }
            }
            What::Store => {
                for store in instructions {
                    let words = machine.read(store)?;
                    give(trace, plan, &plan.stores[store], &words, outsides)?;
                }
            }
            What::Run(stage) => machine.run(stage, instructions)?,
        }
        end_wave(machine, index)?;
        done += cost(plan, wave);
        let next = plan.waves.get(index + 1);
        let step_ends = next.is_none_or(|next| next.step != wave.step);
        if !step_ends && done - reported <= total * REPORTED {
            continue;
        }
        reported = done;
        machine.wait()?;
        let step = &plan.steps[wave.step];
        if !observe(Progress { step, done, total }) {
            let steps = (wave.step, plan.steps.len());
            return Err(Error::Stopped {
                done: steps.0,
                total: steps.1,
            });
        }
        if step_ends {
            outsides.iter_mut().try_for_each(|one| one.end_step())?;
        }
    }
    Ok(())
}

/// Work of a wave, about in passes over rows.
pub fn cost(plan: &Plan, wave: &Wave) -> f64 {
    let each = match wave.what {
        What::Load => {
            let loads = &plan.loads[wave.first..wave.first + wave.count];
            return loads.iter().map(|load| 2 * load.rows.len()).sum::<usize>() as f64;
        }
        What::Store => 1,
        What::Run(stage) => {
            let shape = plan.stages[stage].shape;
            match shape.kernel {
                Kernel::Ntt | Kernel::Intt => plan.n.ilog2() as usize + 1,
                Kernel::Convert | Kernel::Combine => shape.reads * shape.writes,
                _ => shape.reads + shape.writes,
            }
        }
    };
    (wave.count * each) as f64
}

/// The words of a value, for each query; or once, if it is the same for all of them.
fn loaded(
    sources: &Sources,
    trace: &Trace,
    load: &Move,
    outsides: &mut [&mut dyn Outside],
) -> Result<Vec<Vec<u32>>> {
    let instruction = load.origin.of(trace);
    let asked = match &instruction.op {
        Op::Load { name, .. } if of_query(name) => outsides.len(),
        Op::Sample { seed, .. } if of_query(seed) => outsides.len(),
        _ => 1,
    };
    let words = outsides[..asked].iter_mut().map(|outside| {
        let limbs = sources.value(instruction, outside)?;
        let words = limbs.iter().flat_map(|limb| limb.iter());
        Ok(words.map(|&word| word as u32).collect())
    });
    words.collect()
}

/// Returns true if a value is the same in every run with the same keys: a key or a constant.
fn lasts(trace: &Trace, load: &Move) -> bool {
    match &load.origin.of(trace).op {
        Op::Load { name, .. } | Op::Sample { seed: name, .. } => {
            name.starts_with(lower::names::KEYS)
        }
        _ => true,
    }
}

/// Returns true if a value with this name belongs to a query, and not to keys or constants.
fn of_query(name: &str) -> bool {
    name.split('/').next() == Some(lower::names::QUERY)
}

/// Gives the words of stored rows to the outsides.
fn give(
    trace: &Trace,
    plan: &Plan,
    store: &Move,
    words: &[Vec<u32>],
    outsides: &mut [&mut dyn Outside],
) -> Result<()> {
    let Op::Store { name, value } = &store.origin.of(trace).op else {
        unreachable!("the origin of a store is one")
    };
    let ty = type_of(trace, *value);
    check_queries(words.len(), outsides.len())?;
    for (words, outside) in words.iter().zip(outsides) {
        let expected = plan.n * store.rows.len();
        if words.len() != expected {
            return Err(Error::Replay {
                what: format!("the number of words of {name}"),
                found: words.len().to_string(),
                expected: expected.to_string(),
            });
        }
        let limbs = words.chunks(plan.n);
        let limbs = limbs.map(|limb| Arc::new(limb.iter().map(|&word| word.into()).collect()));
        outside.store(name, ty, limbs.collect())?;
    }
    Ok(())
}

/// The executor of a kind of row machines.
pub struct Rows<F> {
    name: String,
    window: usize,
    new_machine: F,
}

impl<M: RowMachine, F: Fn(&Plan) -> Result<M>> Rows<F> {
    /// An executor whose machines are made by `new_machine` for a plan: tables are brought to the
    /// device there, and kernels compiled.
    pub fn new(name: &str, new_machine: F) -> Self {
        let (name, window) = (name.to_owned(), Plan::WINDOW);
        Self {
            name,
            window,
            new_machine,
        }
    }

    /// Plans with another window than [`Plan::WINDOW`].
    #[must_use]
    pub fn window(self, window: usize) -> Self {
        Self { window, ..self }
    }
}

/// A trace for a row machine: its plan, the machine, and the values that it keeps.
pub struct OnRows<M> {
    trace: Arc<Trace>,
    plan: Plan,
    machine: M,
    kept: Kept,
}

impl<M> OnRows<M> {
    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}

impl<M: RowMachine, F: Fn(&Plan) -> Result<M>> Executor for Rows<F> {
    type Loaded = OnRows<M>;

    fn name(&self) -> &str {
        &self.name
    }

    fn load(&self, trace: Arc<Trace>) -> Result<OnRows<M>> {
        let plan = Plan::new(&trace, self.window)?;
        let machine = (self.new_machine)(&plan)?;
        let kept = Kept::default();
        Ok(OnRows {
            trace,
            plan,
            machine,
            kept,
        })
    }

    fn memory(&self, loaded: &OnRows<M>) -> u64 {
        let store = 4 * loaded.plan.n as u64 * loaded.plan.rows as u64;
        loaded.machine.queries() as u64 * store + loaded.kept.bytes()
    }

    fn keep(
        &self,
        loaded: &mut OnRows<M>,
        outside: &mut dyn Outside,
        lasting: &dyn Fn(&str) -> bool,
    ) -> Result<()> {
        loaded.kept = Kept::of(&loaded.trace, outside, lasting)?;
        Ok(())
    }

    fn run(
        &self,
        loaded: &mut OnRows<M>,
        outsides: &mut [&mut dyn Outside],
        observe: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<()> {
        let OnRows {
            trace,
            plan,
            machine,
            kept,
        } = loaded;
        let mut before: Vec<_> = outsides.iter_mut().map(|one| kept.before(*one)).collect();
        let mut before: Vec<&mut dyn Outside> = before
            .iter_mut()
            .map(|one| one as &mut dyn Outside)
            .collect();
        let mut end_wave = |_: &mut M, _: usize| Ok(());
        run_plan(trace, plan, machine, &mut before, observe, &mut end_wave)
    }
}
