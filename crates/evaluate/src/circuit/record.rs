//! Circuits as recordings and traces, and the replay of traces on ciphertexts.

use super::clear::check_names;
use super::held::Held;
use super::runner::{Argument, Runner};
use super::scheme::Scheme;
use crate::error::Result;
use circuits::operations::{RecordRing, Recorder};
use exchange::circuit::Keys;
use executor::{CircuitOutside, ReplayProgress as Progress, Results, SwitchKeys, replay};
use program::recording::{Recording, recorded_name};
use std::collections::BTreeMap;
use trace::{Counts, Trace};

impl<S: Scheme> Runner<'_, S> {
    /// Records the operations of a run on ciphertexts, in order. `plain` has the inputs in plain.
    ///
    /// # Errors
    /// The errors of [`Runner::run`] for the inputs in plain, and errors of the circuits for
    /// plaintexts whose coefficients have more than 124 bits.
    pub fn record(&self, plain: &BTreeMap<&str, &[S::Slot]>) -> Result<Recording> {
        let (circuit, params) = (&*self.circuit, &self.params);
        let encrypted = circuit.inputs().filter(|(_, ty)| ty.encrypted);
        let all = encrypted.map(|(name, _)| name).chain(plain.keys().copied());
        check_names(circuit, all)?;
        let message = |index: usize| params.message(circuit.ty(index), self.factors.of[index]);
        let recorder = Recorder::new(params.recorded());
        let operations = RecordRing::new(&recorder, params.rlwe(), message(0));
        let begin = |index: usize| operations.begin_step(index, message(index));
        let input = |index: usize, name: &str| match plain.get(name) {
            Some(slots) => self.plain_input(index, name, slots),
            None => {
                let level = params.ring_level(circuit.ty(index).level);
                Ok(Held::of(operations.given(&recorded_name(name), level)))
            }
        };
        let outputs = self.run_steps(&operations, &begin, &input)?;
        for (name, _) in circuit.outputs() {
            recorder.output(&recorded_name(name), &outputs[name]);
        }
        Ok(recorder.finish(&self.key_needs()))
    }

    /// The keys that a run needs, by Galois element and ring level.
    fn key_needs(&self) -> program::KeyNeeds {
        let (needs, params) = (self.circuit.keys(), &self.params);
        let rotations = needs.rotations.iter();
        let rotations = rotations.map(|(&k, &level)| (params.rotation(k), level));
        let reflection = needs.conjugation.map(|level| (params.reflection(), level));
        let galois = rotations.chain(reflection);
        program::KeyNeeds {
            relinearization: needs.relinearization.map(|level| params.ring_level(level)),
            galois: galois
                .map(|(g, level)| (g, params.ring_level(level)))
                .collect(),
            packing: Vec::new(),
        }
    }

    /// Lowers a run to its trace: instructions on limbs.
    ///
    /// # Errors
    /// The errors of [`Runner::record`] and of lowering.
    pub fn lower(&self, plain: &BTreeMap<&str, &[S::Slot]>) -> Result<Trace> {
        self.lower_recording(&self.record(plain)?)
    }

    /// Lowers a recording that [`Runner::record`] has returned.
    ///
    /// # Errors
    /// The errors of lowering.
    pub fn lower_recording(&self, recording: &Recording) -> Result<Trace> {
        let steps = &self.circuit.steps;
        let name = |step: usize| match steps.get(step) {
            Some(known) => format!("{step}: {}", known.op.name()),
            None => step.to_string(),
        };
        Ok(lower::lower_named(recording, name)?)
    }

    /// Replays a trace of [`Runner::lower`] on the encrypted inputs. Returns the results, which are
    /// word for word the results of [`Runner::run`], and the counts of executed instructions.
    /// [`replay`](executor::replay()) describes `observe`.
    ///
    /// # Errors
    /// The errors of [`Runner::run`] and [`replay`](executor::replay()), and
    /// [`Replay`](executor::Error::Replay) for a trace that asks for an unknown value or lacks a
    /// result.
    pub fn replay(
        &self,
        trace: &Trace,
        inputs: &BTreeMap<&str, Argument<S>>,
        keys: &Keys,
        observe: impl FnMut(Progress) -> bool,
    ) -> Result<(BTreeMap<String, S::Ciphertext>, Counts)> {
        let ciphertexts = self.given(inputs)?;
        let meeting = self.meet(inputs, keys)?;
        let (keys, mut results) = (SwitchKeys::from(keys), Results::default());
        let mut outside = CircuitOutside::new(ciphertexts, keys, &mut results);
        let counts = replay(trace, &mut outside, observe)?;
        Ok((self.outputs(&results, &meeting)?, counts))
    }
}
