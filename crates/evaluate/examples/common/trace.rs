//! Traces of an application's circuits.

use crate::common::{Result, timed};
use kernels::Counted;
use program::recording::Recording;
use trace::{Counts, Op, Trace};

/// The counting kernels if `--replay` is on the command line. Counting starts here.
pub(crate) fn counted() -> Result<Option<&'static Counted>> {
    if !std::env::args().any(|a| a == "--replay") {
        return Ok(None);
    }
    let counted = Counted::install().ok_or("kernels were in use before they are counted")?;
    Ok(Some(counted))
}

/// Lowers a recording to a trace, and prints its counts.
///
/// # Errors
/// Errors of lowering.
pub(crate) fn lowered(recording: &Recording) -> Result<Trace> {
    let trace = timed("lowered", || Ok(lower::lower(recording)?))?;
    println!(
        "{} operations, {} instructions and {} sub-traces\n{}",
        recording.steps.len(),
        trace.main.instructions.len(),
        trace.subs.len(),
        trace.counts()
    );
    Ok(trace)
}

/// Checks that a replay executed what its trace counts, and that a run with the same results took
/// as many transforms.
///
/// # Errors
/// If not.
pub(crate) fn agrees(trace: &Trace, counts: &Counts, run: [u64; 2]) -> Result<()> {
    if *counts != trace.counts() {
        return Err("the replay executed other instructions than the trace counts".into());
    }
    let passes = counts.passes;
    let expected = [passes.ntt - of_constants(trace), passes.intt];
    if expected != run {
        let text =
            format!("the run took {run:?} transforms and inverse ones, the trace {expected:?}");
        return Err(text.into());
    }
    let [forward, backward] = run;
    println!("the same words; {forward} transforms and {backward} inverse ones, as in the trace");
    Ok(())
}

/// Number of transforms of limbs of constants.
fn of_constants(trace: &Trace) -> u64 {
    let instructions = &trace.main.instructions;
    let mut values = Vec::new();
    for instruction in instructions {
        values.extend(instruction.types.iter().map(|_| &instruction.op));
    }
    let transforms = instructions.iter().filter_map(|instruction| {
        let Op::Ntt(of) = instruction.op else {
            return None;
        };
        let of = match values[of] {
            Op::Scale { value, .. } => values[*value],
            other => other,
        };
        let limbs = instruction.types[0].limbs.len() as u64;
        matches!(of, Op::Constant { .. }).then_some(limbs)
    });
    transforms.sum()
}
