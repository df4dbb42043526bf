//! Inputs and results of a program's trace: keys and query in, the answer out.

use crate::checkpoint::Checkpoint;
use crate::error::Result;
use crate::prepared::Prepared;
use exchange::{EvaluationKeys, Exchange, Query, RawAnswer};
use executor::{
    Limb, Outside, ReplayProgress as Progress, Results, SwitchKeys, execute, limbs_of, no_seed,
    replay,
};
use lower::names;
use ring::sample::Seed;
use ring::{Eval, Poly};
use sim::vector::{Machine, Streams, Work};
use std::borrow::Cow;
use trace::{Counts, Trace, Type};

/// Keys and query of a run, and the results as they are stored.
pub struct RunOutside<'a> {
    keys: &'a EvaluationKeys,
    query: &'a Query,
    from: Option<&'a Checkpoint>,
    results: &'a mut Results,
    saving: Option<Saving<'a>>,
}

/// Takes the bytes of a checkpoint. Returns `false` to stop the run.
pub type Save<'a> = dyn FnMut(Vec<u8>) -> bool + Send + 'a;

struct Saving<'a> {
    prepared: &'a Prepared,
    save: &'a mut Save<'a>,
}

/// Replays the trace of a program on a query. Returns the answer before it is hidden, and the
/// counts of the executed passes and instructions. The answer equals the answer of
/// [`Server::raw_answer`](crate::Server::raw_answer) bit for bit.
///
/// # Errors
/// As [`replay`](executor::replay()), [`exchange::Error::Bytes`] for a query of another program,
/// [`exchange::Error::PublicMasks`] for a query under a public key,
/// and [`Replay`](executor::Error::Replay) for results that the program does not have.
pub fn replay_run(
    exchange: &Exchange,
    trace: &Trace,
    (keys, query): (&EvaluationKeys, &Query),
    observe: impl FnMut(Progress) -> bool,
) -> Result<(RawAnswer, Counts)> {
    query.check_program(exchange)?;
    query.check_seeded()?;
    let mut results = Results::default();
    let mut outside = RunOutside::new(keys, query, &mut results);
    let counts = replay(trace, &mut outside, observe)?;
    Ok((answer_of(&results, exchange, query)?, counts))
}

/// Executes the streams of a schedule of a program's trace on a query: see [`executor::execute`].
/// Returns the answer before it is hidden. It equals that of [`replay_run`].
///
/// # Errors
/// As [`executor::execute`] and [`replay_run`].
pub fn scheduled_run(
    exchange: &Exchange,
    (machine, trace): (&Machine, &Trace),
    (work, streams): (&Work, &Streams),
    (keys, query): (&EvaluationKeys, &Query),
    observe: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<RawAnswer> {
    query.check_program(exchange)?;
    query.check_seeded()?;
    let mut results = Results::default();
    let mut outside = RunOutside::new(keys, query, &mut results);
    execute(machine, (trace, work, streams), &mut outside, observe)?;
    answer_of(&results, exchange, query)
}

/// The answer to a query before it is hidden, of the results that a run of its program has
/// stored.
///
/// # Errors
/// [`Replay`](executor::Error::Replay) for results that the program does not have.
pub fn answer_of(results: &Results, exchange: &Exchange, query: &Query) -> Result<RawAnswer> {
    let mut ciphertexts = Vec::new();
    let rlwe = exchange.params().bfv().rlwe();
    for (index, outputs) in exchange.outputs().iter().enumerate() {
        let ct = results.ciphertext(&index.to_string(), rlwe.basis(outputs.level))?;
        ciphertexts.push(bfv::Ciphertext::new(ct, outputs.factor));
    }
    Ok(RawAnswer {
        query: query.hash(),
        images: query.images,
        ciphertexts,
    })
}

impl<'a> RunOutside<'a> {
    /// Values are loaded from keys and query, and stored into the results. The query must have a
    /// seed: see [`Query::check_seeded`].
    pub fn new(keys: &'a EvaluationKeys, query: &'a Query, results: &'a mut Results) -> Self {
        Self {
            keys,
            query,
            from: None,
            results,
            saving: None,
        }
    }

    /// Values of a checkpoint are loaded too, from which the run goes on.
    #[must_use]
    pub fn resumed(self, from: Option<&'a Checkpoint>) -> Self {
        Self { from, ..self }
    }

    /// Gives the bytes of a checkpoint to `save` after each layer. The trace must be one of
    /// [`Prepared::lower_saving`].
    #[must_use]
    pub fn saving(self, prepared: &'a Prepared, save: &'a mut Save<'a>) -> Self {
        let saving = Some(Saving { prepared, save });
        Self { saving, ..self }
    }

    /// The body of a key or ciphertext, by name.
    fn body(&self, name: &str) -> Option<Cow<'_, Poly<Eval>>> {
        let (seed, index) = name.rsplit_once('/')?;
        let index: usize = index.parse().ok()?;
        if seed == names::QUERY {
            return self
                .query
                .ciphertexts
                .get(index)?
                .rlwe()
                .components()
                .first()
                .map(Cow::Borrowed);
        }
        if seed == names::DIMENSION {
            return self
                .keys
                .switch()
                .ok()?
                .bodies()
                .nth(index)
                .map(Cow::Borrowed);
        }
        if let Some(values) = seed.strip_prefix(names::PACKINGS) {
            let key = self.keys.packing(values.parse().ok()?).ok()?;
            let components = key.ciphertexts().get(index)?.rlwe().components();
            return components.first().map(Cow::Borrowed);
        }
        self.switch_keys().body(seed, index).map(Cow::Owned)
    }

    fn switch_keys(&self) -> SwitchKeys<'_> {
        SwitchKeys {
            relinearization: self.keys.relinearization().ok(),
            galois: self.keys.galois(),
            sparse: None,
            rgsw: None,
        }
    }

    fn seed_of(&self, name: &str) -> Option<Seed> {
        if name == names::QUERY {
            return self.query.seed;
        }
        if name == names::DIMENSION {
            return self.keys.switch().ok().map(|key| *key.seed());
        }
        if let Some(values) = name.strip_prefix(names::PACKINGS) {
            return Some(*self.keys.packing(values.parse().ok()?).ok()?.seed());
        }
        self.switch_keys().seed(name)
    }
}

impl Outside for RunOutside<'_> {
    fn load(&mut self, name: &str, ty: &Type) -> executor::Result<Vec<Limb>> {
        let held = self.from.and_then(|from| from.limbs(name));
        match held.filter(|limbs| limbs.len() == ty.limbs.len()) {
            Some(limbs) => Ok(limbs),
            None => limbs_of(name, self.body(name).as_deref(), ty),
        }
    }

    fn seed(&mut self, name: &str) -> executor::Result<Seed> {
        self.seed_of(name).ok_or_else(|| no_seed(name))
    }

    fn store(&mut self, name: &str, _: &Type, limbs: Vec<Limb>) -> executor::Result<()> {
        self.results.store(name, limbs)
    }

    fn end_step(&mut self) -> executor::Result<()> {
        let Some(Saving { prepared, save }) = &mut self.saving else {
            return Ok(());
        };
        let state = Checkpoint::of_results(prepared, self.query, self.results);
        let state = state.map_err(|error| executor::Error::Other(Box::new(error)))?;
        match state {
            Some(state) if !save(state.to_bytes(prepared)) => {
                let (done, total) = (state.steps(), prepared.program().steps.len());
                Err(executor::Error::Stopped { done, total })
            }
            _ => Ok(()),
        }
    }
}
