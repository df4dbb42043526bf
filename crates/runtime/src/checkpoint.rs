//! The state of a run between two steps, and its byte form. With it, a run of hours survives the
//! end of its process.
//!
//! A checkpoint holds the values that later steps read, and nothing that is available elsewhere:
//! the images are in the query, levels and noise in the program. It is sealed like every file, and
//! bound to the query by its hash. Everything in it is encrypted.

use crate::error::Result;
use crate::prepared::Prepared;
use crate::server::StepResult;
use circuits::Value;
use exchange::Query;
use exchange::files::{kind, read_hash};
use executor::{Limb, Results};
use lower::names::{self, Held};
use program::{Op, Program, Type};
use rlwe::bytes::{BytesError, Fingerprint, Kind, Reader, Writer};
use rlwe::lwe::LweBatch;
use std::collections::BTreeMap;
use std::sync::Arc;

const CHECKPOINT: Kind = kind(b"CKPT", "a checkpoint", 1);

/// The values that a run holds after some of its steps.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    fingerprint: Fingerprint,
    /// Hash of the query.
    pub(crate) query: Fingerprint,
    /// Number of steps done.
    pub(crate) done: usize,
    /// Results of these steps that are read later, and outputs, by step.
    pub(crate) held: BTreeMap<usize, StepResult>,
}

impl Checkpoint {
    /// The checkpoint before the first step.
    pub(crate) fn start(prepared: &Prepared, query: &Query) -> Self {
        Self {
            fingerprint: *prepared.fingerprint(),
            query: query.hash(),
            done: 0,
            held: BTreeMap::new(),
        }
    }

    /// Number of steps done.
    pub fn steps(&self) -> usize {
        self.done
    }

    /// Returns this checkpoint if it belongs to a run of this program on this query.
    ///
    /// # Errors
    /// [`exchange::Error::Bytes`] for a checkpoint of another program, and
    /// [`exchange::Error::OtherQuery`] for one of another query.
    pub fn of_run(self, prepared: &Prepared, query: &Query) -> Result<Self> {
        if self.fingerprint != *prepared.fingerprint() {
            let (found, expected) = (&self.fingerprint, prepared.fingerprint());
            return Err(BytesError::other_program(CHECKPOINT.words, found, expected).into());
        }
        let expected = query.hash();
        if self.query == expected {
            return Ok(self);
        }
        let what = "this checkpoint";
        Err(exchange::Error::other_query(what, &self.query, &expected).into())
    }

    /// Returns the byte form of the checkpoint.
    ///
    /// # Panics
    /// If it belongs to a run of another program.
    pub fn to_bytes(&self, prepared: &Prepared) -> Vec<u8> {
        assert_eq!(
            self.fingerprint,
            *prepared.fingerprint(),
            "a checkpoint of this program"
        );
        let mut w = Writer::new();
        w.block(&self.query);
        w.u64(self.done as u64);
        for id in kept(prepared.program(), self.done) {
            w.u64(id as u64);
            match &self.held[&id] {
                StepResult::Ciphertext(value) => {
                    let ct = value.ciphertext();
                    w.u64(ct.level() as u64);
                    w.u64(ct.factor());
                    w.ciphertext(ct.rlwe());
                }
                StepResult::Samples(batch) => w.lwe_batch(batch),
            }
        }
        w.seal(&CHECKPOINT, &self.fingerprint)
    }

    /// Reads a checkpoint. It must hold exactly the values that the program needs from there on,
    /// each as its step declares it.
    ///
    /// # Errors
    /// If the bytes are no checkpoint of this program.
    pub fn from_bytes(prepared: &Prepared, bytes: &[u8]) -> Result<Self> {
        let mut r = Reader::open(bytes, &CHECKPOINT, prepared.fingerprint())?;
        let (program, params) = (prepared.program(), prepared.params());
        let (rlwe, t) = (params.bfv().rlwe(), params.bfv().t().value());
        let query = read_hash(&mut r)?;
        let done = r.bounded(
            "the number of steps done",
            1..=program.steps.len().saturating_sub(1),
        )?;
        let mut held = BTreeMap::new();
        for id in kept(program, done) {
            r.bounded("the step of a value", id..=id)?;
            let value = match (program.ty(id), prepared.rehearsed(id)) {
                (&Type::Ciphertext { level, .. }, Some(rehearsed)) => {
                    r.bounded("the level of a value", level..=level)?;
                    let factor = r.bounded("the factor of a value", 1..=t as usize - 1)?;
                    let ct = bfv::Ciphertext::new(r.ciphertext(rlwe, level, 2)?, factor as u64);
                    let value = Value::encrypted(ct, rehearsed.noise());
                    StepResult::Ciphertext(Box::new(value))
                }
                _ => {
                    let batch = r.lwe_batch(rlwe.n(), params.dimension(), t)?;
                    StepResult::Samples(Box::new(batch))
                }
            };
            held.insert(id, value);
        }
        r.end()?;
        Ok(Self {
            fingerprint: *prepared.fingerprint(),
            query,
            done,
            held,
        })
    }
}

/// Checkpoints of runs of [`Prepared::lower_saving`].
impl Checkpoint {
    /// Takes the last checkpoint whose values a run has stored. `None` if it has stored none since
    /// this was asked before.
    ///
    /// # Errors
    /// [`Replay`](executor::Error::Replay) if a value of it is missing.
    pub fn of_results(
        prepared: &Prepared,
        query: &Query,
        results: &mut Results,
    ) -> Result<Option<Self>> {
        let stored: Vec<Held> = results.names().filter_map(Held::parse).collect();
        let Some(done) = stored.iter().map(|held| held.done).max() else {
            return Ok(None);
        };
        let (program, params) = (prepared.program(), prepared.params());
        let (rlwe, t) = (params.bfv().rlwe(), params.bfv().t().value());
        let mut state = Self {
            done,
            ..Self::start(prepared, query)
        };
        for id in kept(program, done) {
            let mut own = stored
                .iter()
                .filter(|held| (held.done, held.step) == (done, id));
            let (step, factor) = (id, own.next().map_or(1, |held| held.factor));
            let name = Held { done, step, factor }.name();
            let value = match (program.ty(id), prepared.rehearsed(id)) {
                (&Type::Ciphertext { level, .. }, Some(rehearsed)) => {
                    let ct = results.ciphertext(&name, rlwe.basis(level))?;
                    let ct = bfv::Ciphertext::new(ct, factor);
                    let value = Value::encrypted(ct, rehearsed.noise());
                    StepResult::Ciphertext(Box::new(value))
                }
                _ => {
                    let [body, mask] = results.samples(&name, rlwe.n())?;
                    let batch = LweBatch::from_words(t, params.dimension(), body, mask);
                    StepResult::Samples(Box::new(batch))
                }
            };
            state.held.insert(id, value);
        }
        results.retain(|name| Held::parse(name).is_none());
        Ok(Some(state))
    }

    /// The limbs of a value that a run which goes on from here loads by this name.
    pub(crate) fn limbs(&self, name: &str) -> Option<Vec<Limb>> {
        let (name, component) = names::place_of_answer(name)?;
        let held = Held::parse(name).filter(|held| held.done == self.done)?;
        self.part(held.step, component)
    }

    /// The limbs of a component of a value.
    fn part(&self, step: usize, component: usize) -> Option<Vec<Limb>> {
        match self.held.get(&step)? {
            StepResult::Ciphertext(value) => {
                let part = value.ciphertext().rlwe().components().get(component)?;
                let limbs = (0..part.limbs()).map(|i| Arc::new(part.limb(i).to_vec()));
                Some(limbs.collect())
            }
            StepResult::Samples(batch) => {
                Some(vec![Arc::new(batch.words().get(component)?.to_vec())])
            }
        }
    }

    /// The results that a run has stored before this checkpoint.
    ///
    /// # Errors
    /// No error occurs: the names are names of results.
    pub fn results(&self, prepared: &Prepared) -> Result<Results> {
        let mut results = Results::default();
        let steps = &prepared.program().steps;
        let outputs = steps.iter().enumerate();
        let outputs = outputs.filter(|(_, step)| matches!(step.op, Op::Output { .. }));
        for (index, (id, _)) in outputs
            .enumerate()
            .take_while(|(_, (id, _))| *id < self.done)
        {
            for component in 0..2 {
                let limbs = self.part(id, component).unwrap_or_default();
                results.store(&names::answer(&index.to_string(), component), limbs)?;
            }
        }
        Ok(results)
    }
}

/// For each value, the last step that reads it. An output is kept beyond all steps. A value that no
/// step reads has its own step.
pub(crate) fn last_uses(program: &Program) -> Vec<usize> {
    let mut last: Vec<usize> = (0..program.steps.len()).collect();
    for (index, step) in program.steps.iter().enumerate() {
        for operand in step.op.operands() {
            last[operand] = last[operand].max(index);
        }
        if matches!(step.op, Op::Output { .. }) {
            last[index] = program.steps.len();
        }
    }
    last
}

/// Values that a checkpoint after `done` steps holds, in the order of their steps.
pub(crate) fn kept(program: &Program, done: usize) -> Vec<usize> {
    let last_use = last_uses(program);
    (0..done)
        .filter(|&id| last_use[id] >= done)
        .filter(|&id| !matches!(program.steps[id].op, Op::Input { .. }))
        .collect()
}
