//! Inputs and results of a program's trace: keys and query in, the answer out.

use super::outside::{Results, SwitchKeys, limbs_of, no_seed};
use super::{Limb, Outside, replay};
use crate::checkpoint::Checkpoint;
use crate::error::Result;
use crate::replay::Progress;
use exchange::{EvaluationKeys, Exchange, Query, RawAnswer};
use lower::names;
use ring::sample::Seed;
use ring::{Eval, Poly};
use trace::{Counts, Trace, Type};

/// Keys and query of a run, and the results as they are stored.
pub struct RunOutside<'a> {
    keys: &'a EvaluationKeys,
    query: &'a Query,
    from: Option<&'a Checkpoint>,
    results: &'a mut Results,
}

/// Replays the trace of a program on a query. Returns its answer before it is hidden, which equals
/// that of [`Server::raw_answer`](crate::Server::raw_answer) bit for bit, and the counts of what was
/// executed.
///
/// # Errors
/// As [`replay`](super::replay), [`exchange::Error::Bytes`] for a query of another program, and
/// [`Error::Replay`](crate::Error::Replay) for results that the program does not have.
pub fn replay_run(
    exchange: &Exchange,
    trace: &Trace,
    (keys, query): (&EvaluationKeys, &Query),
    observe: impl FnMut(Progress) -> bool,
) -> Result<(RawAnswer, Counts)> {
    query.check_program(exchange)?;
    let mut results = Results::default();
    let mut outside = RunOutside::new(keys, query, &mut results);
    let counts = replay(trace, &mut outside, observe)?;
    Ok((results.answer(exchange, query)?, counts))
}

impl Results {
    /// The answer to a query before it is hidden, of the results that a run of its program has
    /// stored.
    ///
    /// # Errors
    /// [`Error::Replay`](crate::Error::Replay) for results that the program does not have.
    pub fn answer(&self, exchange: &Exchange, query: &Query) -> Result<RawAnswer> {
        let mut ciphertexts = Vec::new();
        let rlwe = exchange.params().bfv().rlwe();
        for (index, outputs) in exchange.outputs().iter().enumerate() {
            let ct = self.ciphertext(&index.to_string(), rlwe.basis(outputs.level))?;
            ciphertexts.push(bfv::Ciphertext::new(ct, 1));
        }
        Ok(RawAnswer {
            query: query.hash(),
            images: query.images,
            ciphertexts,
        })
    }
}

impl<'a> RunOutside<'a> {
    /// Values are loaded from keys and query, and stored into the results.
    pub fn new(keys: &'a EvaluationKeys, query: &'a Query, results: &'a mut Results) -> Self {
        Self {
            keys,
            query,
            from: None,
            results,
        }
    }

    /// Values of a checkpoint are loaded too, from which the run goes on.
    #[must_use]
    pub fn resumed(self, from: Option<&'a Checkpoint>) -> Self {
        Self { from, ..self }
    }

    /// The body of a key or ciphertext, by name.
    fn body(&self, name: &str) -> Option<&Poly<Eval>> {
        let (seed, index) = name.rsplit_once('/')?;
        let index: usize = index.parse().ok()?;
        if seed == names::QUERY {
            return self
                .query
                .ciphertexts
                .get(index)?
                .rlwe()
                .components()
                .first();
        }
        if seed == names::DIMENSION {
            return self.keys.switch().ok()?.bodies().nth(index);
        }
        if let Some(values) = seed.strip_prefix(names::PACKINGS) {
            let key = self.keys.packing(values.parse().ok()?).ok()?;
            return key.ciphertexts().get(index)?.rlwe().components().first();
        }
        self.switch_keys().body(seed, index)
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
            return Some(self.query.seed);
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
    fn load(&mut self, name: &str, ty: &Type) -> Result<Vec<Limb>> {
        let held = self.from.and_then(|from| from.limbs(name));
        match held.filter(|limbs| limbs.len() == ty.limbs.len()) {
            Some(limbs) => Ok(limbs),
            None => limbs_of(name, self.body(name), ty),
        }
    }

    fn seed(&mut self, name: &str) -> Result<Seed> {
        self.seed_of(name).ok_or_else(|| no_seed(name))
    }

    fn store(&mut self, name: &str, _: &Type, limbs: Vec<Limb>) -> Result<()> {
        self.results.store(name, limbs)
    }
}
