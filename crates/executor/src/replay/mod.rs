//! Replay: executes a trace instruction by instruction, as the definitions say.
//!
//! *Concept.* [`replay`] runs a [`Trace`] on the CPU's kernels, with one call for each limb and
//! without fusing anything. Its results define the meaning of the trace, so other implementations
//! are compared with them. Values come from an [`Outside`] and go to it, by name.
//!
//! *Invariant*: every limb of a value has `N` residues of its modulus. Limbs are shared, so that
//! selecting, joining and calling copy no words. Each value is dropped after its last use.

mod arithmetic;
mod combine;
mod convert;
mod frame;
mod limb;
mod load;
mod machine;
mod operation;
mod scheduled;
mod sources;
mod spare;
mod value;
mod words;

use crate::error::{Error, Result};
use crate::outside::Outside;
use frame::{Frame, Uses};
use machine::Machine;
use trace::{Counts, Op, Trace};

pub use scheduled::execute;
pub use sources::Sources;

/// Progress of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Number of instructions executed. The instructions of a sub-trace count once for each call.
    pub done: u64,
    /// Number of all instructions.
    pub total: u64,
    /// Name of the next operation.
    pub next: &'static str,
}

/// Executes a trace. `observe` is called before every instruction, and stops the replay by
/// returning `false`. The outside is told when a [step](trace::Step) ends. Returns the counts of
/// the executed passes and instructions. The replay counts each pass as it runs, so that tests can
/// compare [`Trace::counts`] with the result.
///
/// # Errors
/// The errors of [`Trace::verify`] and of the outside. [`Error::Replay`] for moduli that are not
/// primes, and for loaded words that are no residues. [`Error::Stopped`] if `observe` returned
/// `false`.
pub fn replay(
    trace: &Trace,
    outside: &mut impl Outside,
    mut observe: impl FnMut(Progress) -> bool,
) -> Result<Counts> {
    trace.verify()?;
    let all = trace.counts().instructions.into_iter();
    let total = all.fold(0u64, u64::saturating_add);
    let mut done = 0;
    let mut machine = Machine::new(trace)?;
    let bodies: Vec<_> = trace.subs.iter().chain([&trace.main]).collect();
    let uses: Vec<Uses> = bodies.iter().map(|body| Uses::of(body)).collect();
    // Calls can nest as deep as the trace has sub-traces. This is deeper than the thread's own
    // stack allows.
    let mut stack = vec![Frame::new(trace.subs.len(), &uses)];
    let mut next_step = 1;
    while let Some(frame) = stack.last_mut() {
        let body = bodies[frame.body];
        if frame.body == trace.subs.len()
            && let Some(step) = trace.steps.get(next_step)
            && step.first == frame.next
        {
            outside.end_step()?;
            next_step += 1;
        }
        let Some(instruction) = body.instructions.get(frame.next) else {
            let results = frame.results(&body.results);
            stack.pop();
            if let Some(caller) = stack.last_mut() {
                caller.add(results, &machine.spare);
            }
            continue;
        };
        let op = &instruction.op;
        let next = op.name();
        if !observe(Progress { done, total, next }) {
            let [done, total] = [done, total].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
            return Err(Error::Stopped { done, total });
        }
        done += 1;
        machine.counts.instructions[op.kind()] += 1;
        if let Op::Call { sub, arguments } = op {
            let arguments = arguments.iter().map(|&v| frame.value(v).clone()).collect();
            frame.end(op, &machine.spare);
            let mut callee = Frame::new(*sub, &uses);
            callee.add(arguments, &machine.spare);
            stack.push(callee);
            continue;
        }
        let made = machine.execute(op, &instruction.types, frame, outside)?;
        frame.end(op, &machine.spare);
        frame.add(made, &machine.spare);
    }
    outside.end_step()?;
    Ok(machine.counts)
}
