//! Engines for the parameters of the loop.

use crate::engine::Engine;
use crate::operations::{Dry, Operations, Run, Stop};
use exchange::{EvaluationKeys, LoopParams};

/// Makes an engine on ciphertexts, with the slack of the parameters.
pub fn engine<'k>(params: &LoopParams, keys: &'k EvaluationKeys) -> Engine<Run<'k>> {
    engine_of(params, Run::new(params.bfv(), keys))
}

/// As [`engine`]. The computation ends with [`Error::Stopped`](crate::Error::Stopped) once `stop`
/// returns true.
pub fn engine_stopped_by<'k>(
    params: &LoopParams,
    keys: &'k EvaluationKeys,
    stop: Stop<'k>,
) -> Engine<Run<'k>> {
    engine_of(params, Run::new(params.bfv(), keys).stopped_by(stop))
}

/// Makes an engine that only predicts, with the slack of the parameters.
pub fn dry_engine(params: &LoopParams) -> Engine<Dry> {
    engine_of(params, Dry)
}

/// Makes an engine in the mode of `operations`, with the slack of the parameters.
pub fn engine_of<O: Operations>(params: &LoopParams, operations: O) -> Engine<O> {
    Engine::of(params.bfv(), operations).with_slack(params.slack_bits())
}
