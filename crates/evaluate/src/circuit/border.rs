//! The border of a circuit: its inputs and outputs, as ciphertexts.

use super::clear::check_names;
use super::factors::Factors;
use super::meeting::Meeting;
use super::plan::Plan;
use super::runner::Argument;
use super::scheme::Scheme;
use super::{check, unfit};
use crate::error::Result;
use executor::Results;
use program::MAX_LOG2_FAILURE;
use program::circuit::{Circuit, Op};
use program::recording::recorded_name;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The inputs and outputs of a circuit, for any executor of its trace. A border has no tables and
/// no encoded constants.
pub struct Border<'c, S: Scheme = ckks::Params> {
    /// The circuit with every iteration written out.
    pub(super) circuit: Cow<'c, Circuit>,
    pub(super) params: S,
    pub(super) factors: Factors,
}

impl<'c, S: Scheme> Border<'c, S> {
    /// Checks a circuit and prepares its border.
    ///
    /// # Errors
    /// [`Error::Program`](crate::Error::Program) for a circuit that does not verify.
    /// [`Error::Circuit`](crate::Error::Circuit) for a circuit written for other parameters, and
    /// for a circuit that is wrong with a probability above `2^MAX_LOG2_FAILURE`.
    pub fn new(params: &S, circuit: &'c Circuit) -> Result<Self> {
        Self::planned(params, circuit, MAX_LOG2_FAILURE).map(|(border, _)| border)
    }

    /// The border, with the limit `2^limit` for the probability of a wrong run, and the plan of a
    /// run.
    pub(super) fn planned(params: &S, circuit: &'c Circuit, limit: f64) -> Result<(Self, Plan)> {
        check(params, circuit)?;
        let circuit = circuit.unrolled();
        let plan = Plan::new(&circuit);
        let border = Self {
            factors: params.prepare(&circuit, &plan, limit)?,
            params: params.clone(),
            circuit,
        };
        Ok((border, plan))
    }

    /// The circuit with every iteration written out.
    pub fn circuit(&self) -> &Circuit {
        &self.circuit
    }

    /// The ciphertexts that a trace of the circuit loads, by their names in the trace. Inputs in
    /// plain are constants of the trace.
    ///
    /// # Errors
    /// [`Error::Circuit`](crate::Error::Circuit) for an input that is missing, unknown, or has
    /// another type.
    pub fn given<'a>(
        &self,
        inputs: &BTreeMap<&str, Argument<'a, S>>,
    ) -> Result<BTreeMap<String, &'a rlwe::Ciphertext>> {
        check_names(&self.circuit, inputs.keys().copied())?;
        let mut ciphertexts = BTreeMap::new();
        for (index, step) in self.circuit.steps.iter().enumerate() {
            if let Op::Input { name } = &step.op
                && let Argument::Ciphertext(ct) = inputs[name.as_str()]
            {
                let ct = self.encrypted_input(index, name, ct)?;
                ciphertexts.insert(recorded_name(name), ct);
            }
        }
        Ok(ciphertexts)
    }

    /// The outputs of the circuit, from the results that its trace has stored and from the
    /// [`meeting`](Border::meet) of its inputs.
    ///
    /// # Errors
    /// [`Replay`](executor::Error::Replay) for a result that is missing or has other limbs.
    pub fn outputs(
        &self,
        results: &Results,
        meeting: &Meeting,
    ) -> Result<BTreeMap<String, S::Ciphertext>> {
        let params = &self.params;
        let outputs = self.circuit.outputs().map(|(name, ty)| {
            let basis = params.rlwe().basis(params.ring_level(ty.level));
            let ct = results.ciphertext(&recorded_name(name), basis)?;
            Ok((name.to_owned(), ct))
        });
        self.close(outputs.collect::<Result<_>>()?, meeting)
    }

    /// The ciphertexts of the scheme, from the ring ciphertexts of all outputs.
    pub(super) fn close(
        &self,
        mut outputs: BTreeMap<String, rlwe::Ciphertext>,
        meeting: &Meeting,
    ) -> Result<BTreeMap<String, S::Ciphertext>> {
        let mut closed = BTreeMap::new();
        for (step, &factor) in self.circuit.steps.iter().zip(&self.factors.of) {
            if let Op::Output { name, .. } = &step.op {
                let ct = outputs.remove(name).expect("every output is given");
                let ct = ct.of_key(meeting.key);
                let ct = self.params.close(ct, step.ty, factor)?;
                let ct = match meeting.sizes.get(name) {
                    Some(&size) => self.params.sized(ct, size),
                    None => ct,
                };
                closed.insert(name.clone(), ct);
            }
        }
        Ok(closed)
    }

    /// The ring ciphertext of an encrypted input.
    pub(super) fn encrypted_input<'a>(
        &self,
        index: usize,
        name: &str,
        ct: &'a S::Ciphertext,
    ) -> Result<&'a rlwe::Ciphertext> {
        let ty = self.circuit.ty(index);
        if !ty.encrypted {
            return Err(unfit(format!("the input {name}"), "encrypted", "in plain"));
        }
        self.params.open(name, ct, ty)
    }
}
