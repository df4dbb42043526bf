//! The server's half: runs a program on ciphertexts.

use crate::ahead::Ahead;
use crate::checkpoint::{Checkpoint, last_uses};
use crate::error::{Error, Result};
use crate::prepared::{Prepared, work};
use crate::record::step_name;
use circuits::operations::Run;
use circuits::steps::StepValue;
use circuits::{Engine, Stop, Value, engine_stopped_by};
use exchange::{Answer, EvaluationKeys, Query, RawAnswer};
use program::Op;
use ring::sample::SecretRng;
use ring::{Reuse, Span, Timer};
use rlwe::bytes::Fingerprint;
use rlwe::lwe::LweBatch;

/// Runs one program with one client's evaluation keys. It holds no secret.
pub struct Server<'a> {
    prepared: &'a Prepared,
    keys: &'a EvaluationKeys,
    stop: Stop<'a>,
}

/// The result of a step.
pub type StepResult = StepValue<bfv::Ciphertext, LweBatch>;

/// An event of a run.
#[derive(Debug)]
pub enum Event<'e> {
    /// Step `step` begins.
    Begin {
        /// Number of the step.
        step: usize,
    },
    /// Step `step` has ended.
    End {
        /// Number of the step.
        step: usize,
        /// Result of the step.
        value: &'e StepResult,
    },
}

/// Summary of the steps of one layer and one operation in a finished run.
#[derive(Clone, Debug, PartialEq)]
pub struct StepReport {
    /// Layer and operation.
    pub name: String,
    /// Number of steps.
    pub count: usize,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// The part of `seconds` that unlimited threads would take, in [`ring::with_span`]; else all.
    pub span_seconds: f64,
    /// Predicted seconds on one thread.
    pub predicted_seconds: f64,
}

/// Summary of a finished run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Wall-clock seconds of this process. Steps done before a checkpoint are not included.
    pub seconds: f64,
    /// The part of `seconds` that unlimited threads would take, in [`ring::with_span`]; else all.
    pub span_seconds: f64,
    /// Number of steps that were resumed from a checkpoint.
    pub resumed: usize,
    /// [`RawAnswer::digest`]: runs of one query with the same keys have the same. It is not for
    /// clients.
    pub raw_digest: Fingerprint,
    /// The other steps by layer and operation, in the order in which these first occurred.
    pub steps: Vec<StepReport>,
}

impl<'a> Server<'a> {
    /// Makes a server for `prepared` with a client's keys.
    pub fn new(prepared: &'a Prepared, keys: &'a EvaluationKeys) -> Self {
        Self {
            prepared,
            keys,
            stop: &|| false,
        }
    }

    /// The same server. A run ends within a step, before its next operation, once `stop` returns true.
    #[must_use]
    pub fn stopped_by(self, stop: Stop<'a>) -> Self {
        Self { stop, ..self }
    }

    /// Runs the program. The answer shows the outputs alone: see [`RawAnswer::hide`]. `observe` is
    /// called for every step, and stops the run by returning `false`.
    ///
    /// # Errors
    /// [`Error::Stopped`] if `observe` returned `false` or the server was
    /// [stopped](Self::stopped_by), [`exchange::Error::Layout`] for a query of another input
    /// layout, [`exchange::Error::PublicInputs`] for a query under a public key if the program
    /// promises nothing of them, [`Error::Query`] for a wrong number of ciphertexts or keys of
    /// other parameters, [`rlwe::Error::KeyMismatch`] for keys and a query of different secrets,
    /// and [`exchange::Error::MissingKeys`].
    pub fn run(
        &self,
        query: &Query,
        observe: impl FnMut(Event<'_>) -> bool,
    ) -> Result<(Answer, Report)> {
        self.resume(query, None, observe, |_| true)
    }

    /// As [`run`](Self::run), but starts from a checkpoint if there is one. After each layer except
    /// the last, `save` is called with the state of the run, and stops the run by returning
    /// `false`. A run that is stopped calls it with the steps that it has done.
    ///
    /// # Errors
    /// As [`run`](Self::run), [`exchange::Error::Bytes`] for a checkpoint of another program, and
    /// [`exchange::Error::OtherQuery`] for a checkpoint of another query.
    pub fn resume(
        &self,
        query: &Query,
        from: Option<Checkpoint>,
        observe: impl FnMut(Event<'_>) -> bool,
        save: impl FnMut(&Checkpoint) -> bool,
    ) -> Result<(Answer, Report)> {
        self.keys.public()?;
        let (raw, report) = self.raw_answer(query, from, observe, save)?;
        let rng = &mut SecretRng::from_os();
        Ok((raw.hide(self.prepared, self.keys, rng)?, report))
    }

    /// As [`resume`](Self::resume), but returns the ciphertexts as the steps leave them. They are
    /// the same, bit for bit, in all runs of a query with the same keys. They show a client more
    /// than the outputs, so they never leave the server.
    ///
    /// # Errors
    /// As [`resume`](Self::resume).
    pub fn raw_answer(
        &self,
        query: &Query,
        from: Option<Checkpoint>,
        mut observe: impl FnMut(Event<'_>) -> bool,
        mut save: impl FnMut(&Checkpoint) -> bool,
    ) -> Result<(RawAnswer, Report)> {
        let _reuse = Reuse::begin();
        let program = self.prepared.program();
        self.check(query)?;
        let mut state = match from {
            Some(checkpoint) => checkpoint.of_run(self.prepared, query)?,
            None => Checkpoint::start(self.prepared, query),
        };
        let engine = engine_stopped_by(self.prepared.params(), self.keys, self.stop);
        let total = program.steps.len();
        let timer = Timer::start();
        let last_use = last_uses(program);
        let resumed = state.done;
        for (index, step) in program.steps[..resumed].iter().enumerate() {
            // The images are in the query, not in a checkpoint.
            if matches!(step.op, Op::Input { .. }) && last_use[index] >= resumed {
                let made = self.step(&engine, query, |id| state.held.get(&id), index)?;
                state.held.insert(index, made);
            }
        }
        let mut steps: Vec<StepReport> = Vec::new();
        let mut ahead = Ahead::default();
        for (index, step) in program.steps.iter().enumerate().skip(resumed) {
            let mut stopped = |state: &Checkpoint| {
                let done = state.done;
                if (resumed + 1..total).contains(&done) {
                    save(state);
                }
                Err(Error::Stopped { done, total })
            };
            if !observe(Event::Begin { step: index }) {
                return stopped(&state);
            }
            let ran = ahead.step((program, index), &state.held, |earlier, step| {
                self.step(&engine, query, |id| earlier.get(id), step)
            });
            let (made, measured) = match ran {
                Err(Error::Circuits(circuits::Error::Stopped)) => return stopped(&state),
                ran => ran?,
            };
            note(&mut steps, step, measured);
            let go_on = observe(Event::End {
                step: index,
                value: &made,
            });
            state.held.insert(index, made);
            state.held.retain(|&id, _| last_use[id] > index);
            state.done = index + 1;
            if !go_on {
                return stopped(&state);
            }
            let next = program.steps.get(index + 1);
            if next.is_some_and(|next| next.layer != step.layer) && !save(&state) {
                let done = state.done;
                return Err(Error::Stopped { done, total });
            }
        }
        // The values that are still held are the results, in the order of their steps.
        let ciphertexts = state.held.into_values().filter_map(|held| match held {
            StepResult::Ciphertext(value) => Some(value.into_ciphertext()),
            StepResult::Samples(_) => None,
        });
        let raw = RawAnswer {
            query: state.query,
            images: query.images,
            ciphertexts: ciphertexts.collect(),
        };
        let measured = timer.stop();
        let report = Report {
            seconds: measured.work,
            span_seconds: measured.span,
            resumed,
            raw_digest: raw.digest(),
            steps,
        };
        Ok((raw, report))
    }

    /// Checks that keys and query belong to this program.
    fn check(&self, query: &Query) -> Result<()> {
        self.check_keys()?;
        query.check_program(self.prepared)?;
        let expected = self.prepared.inputs();
        if query.ciphertexts.len() != expected {
            return Err(Error::Query {
                what: "the number of encrypted inputs",
                found: query.ciphertexts.len().to_string(),
                expected: expected.to_string(),
            });
        }
        // The dimension switch has no identity, so the steps would not find a mismatch.
        let mut id = self.keys.id()?;
        for ct in &query.ciphertexts {
            let joined = id.join("query", ct.rlwe().key());
            id = joined.map_err(rlwe::Error::from)?;
        }
        Ok(())
    }

    /// Checks that the keys have the program's parameters, and that none is missing.
    fn check_keys(&self) -> Result<()> {
        let params = self.prepared.params();
        let rlwe = params.bfv().rlwe();
        let mut main = self
            .keys
            .galois()
            .iter()
            .map(|(_, key)| key.params() == rlwe);
        let packing = self
            .keys
            .packings()
            .values()
            .flat_map(|key| key.ciphertexts());
        let fits = main.all(|fits| fits)
            && self
                .keys
                .relinearization()
                .map_or(true, |key| key.params() == rlwe)
            && self
                .keys
                .switch()
                .map_or(true, |key| key.params() == params.small())
            && packing
                .map(|ct| (ct.level(), ct.rlwe()))
                .all(|(level, ct)| {
                    level <= rlwe.max_level() && ct.components()[0].basis() == rlwe.basis(level)
                });
        if fits {
            return Ok(self.keys.check(&self.prepared.needs())?);
        }
        Err(Error::Query {
            what: "a set of evaluation keys",
            found: "made for other parameters".into(),
            expected: "keys made for this program".into(),
        })
    }

    fn step<'m>(
        &self,
        engine: &Engine<Run<'_>>,
        query: &Query,
        earlier: impl Fn(usize) -> Option<&'m StepResult>,
        index: usize,
    ) -> Result<StepResult> {
        let (program, params) = (self.prepared.program(), self.prepared.params());
        let work = work(program, params, self.prepared.actions(), index);
        let model = engine.model();
        let noise = match query.is_public() {
            true => model.fresh_public(),
            false => model.fresh(),
        };
        let fresh = |index: usize| Value::encrypted(query.ciphertexts[index].clone(), noise);
        Ok(work.run(engine, earlier, fresh)?)
    }
}

/// Adds a step to the report.
fn note(steps: &mut Vec<StepReport>, step: &program::Step, measured: Span) {
    let name = step_name(step);
    let place = steps.iter().rposition(|known| known.name == name);
    let place = place.unwrap_or_else(|| {
        steps.push(StepReport {
            name,
            count: 0,
            seconds: 0.0,
            span_seconds: 0.0,
            predicted_seconds: 0.0,
        });
        steps.len() - 1
    });
    steps[place].count += 1;
    steps[place].seconds += measured.work;
    steps[place].span_seconds += measured.span;
    steps[place].predicted_seconds += step.seconds;
}
