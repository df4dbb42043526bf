//! Values, and the engine that runs circuits on them.

mod drops;
mod products;
mod sums;
mod value;

pub(crate) use self::products::{factor_at, product_factor};
pub use self::value::{DryValue, EncryptedValue, Known, Product, Value, ValueOf};

use crate::counts::Counts;
use crate::error::Result;
use crate::operations::{Dry, Operations, Run};
use crate::passes::Sizes;
use crate::residual::Residual;
use bfv::Params;
use bfv::noise::Model;
use exchange::{EvaluationKeys, Needs, SLACK_BITS};
use rlwe::noise::{log2_sum, log2_two_sided_tail};
use std::sync::{Mutex, MutexGuard, PoisonError};
use trace::Passes;

/// log2 of the smallest probability that is reported. Smaller ones are reported as this.
pub const LEAST_LOG2_FAILURE: f64 = -9999.0;

/// Runs circuits in a mode. The engine keeps the records that are the same in all modes: levels,
/// factors, noise, counts, keys.
pub struct Engine<O> {
    operations: O,
    params: Params,
    model: Model,
    slack_bits: f64,
    log: Mutex<Log>,
}

/// Notes of an engine on the operations run so far.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) counts: Counts,
    pub(crate) needs: Needs,
    /// log2 of the probability that a value was wrong since this was last read.
    failure: f64,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            counts: Counts::default(),
            needs: Needs::default(),
            failure: f64::NEG_INFINITY,
        }
    }
}

impl<'k> Engine<Run<'k>> {
    /// Makes an engine on ciphertexts.
    pub fn new(params: &Params, keys: &'k EvaluationKeys) -> Self {
        Self::of(params, Run::new(params, keys))
    }
}

impl Engine<Dry> {
    /// Makes an engine that only predicts levels, noise, counts and the keys that will be needed.
    pub fn dry(params: &Params) -> Self {
        Self::of(params, Dry)
    }
}

impl<O: Operations> Engine<O> {
    /// Makes an engine in the mode of `operations`.
    pub fn of(params: &Params, operations: O) -> Self {
        Self {
            operations,
            params: params.clone(),
            model: Model::new(params),
            slack_bits: SLACK_BITS,
            log: Mutex::default(),
        }
    }

    /// Returns this engine with another slack: noise up to `bits` bits above a rounding's is
    /// carried on.
    #[must_use]
    pub fn with_slack(self, bits: f64) -> Self {
        Self {
            slack_bits: bits,
            ..self
        }
    }

    /// Makes a dry engine with the same parameters and slack.
    pub(crate) fn to_dry(&self) -> Engine<Dry> {
        Engine::dry(&self.params).with_slack(self.slack_bits)
    }

    /// Parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The operations of the engine's mode.
    pub fn operations(&self) -> &O {
        &self.operations
    }

    /// Noise formulas.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Operations run so far.
    pub fn counts(&self) -> Counts {
        self.log().counts
    }

    /// Keys used so far, with the highest level of each.
    pub fn needs(&self) -> Needs {
        self.log().needs.clone()
    }

    /// `work(0), .., work(count - 1)`: up to `together` at once on several threads if operations
    /// take time, and in order if they are written down or predicted.
    pub(crate) fn each<T: Send>(
        &self,
        count: usize,
        together: usize,
        work: impl Fn(usize) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        if !O::COMPUTES {
            return (0..count).map(work).collect();
        }
        let mut results = Vec::with_capacity(count);
        for first in (0..count).step_by(together.max(1)) {
            let some = together.min(count - first);
            for result in ring::par_map(some, |index| work(first + index)) {
                results.push(result?);
            }
        }
        Ok(results)
    }

    /// `a()` and `b()`: side by side if operations take time, and in order otherwise.
    pub(crate) fn join<A: Send, B: Send>(
        &self,
        a: impl FnOnce() -> A + Send,
        b: impl FnOnce() -> B + Send,
    ) -> (A, B) {
        match O::COMPUTES {
            true => ring::join(a, b),
            false => (a(), b()),
        }
    }

    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns log2 of a bound on the probability that an operation since the last call gave a
    /// wrong value. It is the sum over all values made and all calls of
    /// [`note_failure`](Self::note_failure).
    pub fn take_failure(&self) -> f64 {
        std::mem::replace(&mut self.log().failure, f64::NEG_INFINITY)
    }

    /// Adds the probability `2^log2` of a wrong value.
    pub fn note_failure(&self, log2: f64) {
        let failure = &mut self.log().failure;
        *failure = log2_sum(*failure, log2);
    }

    /// Returns a value made by an operation, and notes the probability that its residual reaches
    /// half of the modulus in any coefficient. Each coefficient is a Gaussian of at most the peak's
    /// deviation. Single points, at which products are much larger than on average, are counted
    /// separately.
    pub(super) fn made(&self, value: ValueOf<O>) -> ValueOf<O> {
        self.note_residual(value.level, value.residual);
        value
    }

    pub(super) fn note_residual(&self, level: usize, residual: Residual) {
        let rlwe = self.params().rlwe();
        let deviations = (rlwe.log_q(level) - 1.0 - residual.peak.bits()).exp2();
        self.note_failure((rlwe.n() as f64).log2() + log2_two_sided_tail(deviations));
        self.note_failure(residual.log2_beyond(&self.model, rlwe.n(), rlwe.log_q(level)));
    }

    pub(super) fn sizes(&self, level: usize) -> Sizes {
        Sizes::new(self.params().rlwe(), level)
    }

    pub(super) fn count(&self, passes: Passes) {
        self.log().counts.passes += passes;
    }
}

/// log2 of the sum of the probabilities that steps are wrong. It is at least
/// [`LEAST_LOG2_FAILURE`], so that it can be printed as a number.
pub fn total_failure(steps: &[f64]) -> f64 {
    let total = steps.iter().copied().fold(f64::NEG_INFINITY, log2_sum);
    total.max(LEAST_LOG2_FAILURE)
}
