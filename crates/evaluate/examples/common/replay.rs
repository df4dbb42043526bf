//! Replays the trace of an application's circuit and compares it with the run.

use crate::common::{Result, timed};
use crate::trace::{agrees, lowered};
use exchange::circuit::Keys;
use palladion_evaluate::circuit::{Argument, Runner, Scheme};
use std::collections::BTreeMap;

/// Lowers the circuit, replays its trace on the inputs of a run, and compares results and
/// transforms.
///
/// # Errors
/// If a word of a result differs, or if the run executed another number of transforms than the
/// trace has without those of its constants. A run encodes constants beforehand.
pub(crate) fn replay<S: Scheme>(
    runner: &Runner<S>,
    (inputs, keys): (&BTreeMap<&str, Argument<S>>, &Keys),
    answer: &BTreeMap<String, S::Ciphertext>,
    run: [u64; 2],
) -> Result<()> {
    let recording = timed("recorded", || Ok(runner.record(&BTreeMap::new())?))?;
    let trace = lowered(&recording)?;
    let (replayed, counts) = timed("replayed", || {
        Ok(runner.replay(&trace, inputs, keys, |_| true)?)
    })?;
    if &replayed != answer {
        return Err("the replayed trace gives other ciphertexts".into());
    }
    agrees(&trace, &counts, run)
}
