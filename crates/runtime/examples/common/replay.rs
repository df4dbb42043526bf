//! The trace of an application's circuit, replayed beside its run.

use crate::common::{Result, timed};
use kernels::Counted;
use program::trace::{Op, Trace};
use runtime::circuit::{Argument, Keys, Runner, Scheme};
use std::collections::BTreeMap;

/// Whether `--replay` is on the command line. What is counted is counted from here on.
pub(crate) fn counted() -> Result<Option<&'static Counted>> {
    if !std::env::args().any(|a| a == "--replay") {
        return Ok(None);
    }
    let counted = Counted::install().ok_or("kernels were in use before they are counted")?;
    Ok(Some(counted))
}

/// Lowers the circuit, replays its trace on the inputs of a run, and compares results and transforms.
///
/// # Errors
/// If a word of a result differs, or the run asked the kernels for another number of transforms than the trace has beside those of
/// its constants, which a run encodes before.
pub(crate) fn replay<S: Scheme>(
    runner: &Runner<S>,
    (inputs, keys): (&BTreeMap<&str, Argument<S>>, &Keys),
    answer: &BTreeMap<String, S::Ciphertext>,
    [forward, backward]: [u64; 2],
) -> Result<()>
where
    S::Ciphertext: PartialEq,
{
    let recording = timed("recorded", || Ok(runner.record(&BTreeMap::new())?))?;
    let trace = timed("lowered", || Ok(lower::lower(&recording)?))?;
    println!(
        "{} operations, {} instructions and {} sub-traces\n{}",
        recording.steps.len(),
        trace.main.instructions.len(),
        trace.subs.len(),
        trace.counts()
    );
    let (replayed, counts) = timed("replayed", || {
        Ok(runner.replay(&trace, inputs, keys, |_| true)?)
    })?;
    if &replayed != answer {
        return Err("the replayed trace gives other ciphertexts".into());
    }
    if counts != trace.counts() {
        return Err("the replay executed other instructions than the trace counts".into());
    }
    let passes = counts.passes;
    let expected = [passes.ntt - of_constants(&trace), passes.intt];
    if expected != [forward, backward] {
        let text = format!(
            "the run took {forward} transforms and {backward} inverse ones, the trace {expected:?}"
        );
        return Err(text.into());
    }
    println!(
        "the same words; {forward} transforms and {backward} inverse ones in the run, as in the trace"
    );
    Ok(())
}

/// Transforms of limbs of constants.
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
