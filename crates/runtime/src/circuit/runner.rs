//! A circuit made ready for ciphertexts.

use super::clear::{check_names, repeated};
use super::encrypted::Run;
use super::held::{Encoded, Held};
use super::keys::Keys;
use super::plan::{Form, Plan};
use super::walk::walk;
use super::{check, unfit};
use crate::error::Result;
use ckks::{Ciphertext, Complex64, Evaluator, Params, Plaintext};
use program::circuit::{Circuit, Op, ValueId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What an input is given.
#[derive(Clone, Copy)]
pub enum Argument<'a> {
    /// A ciphertext of the input's level and scale.
    Ciphertext(&'a Ciphertext),
    /// Slots, a power of two of them, which repeat.
    Plain(&'a [Complex64]),
}

/// A circuit made ready for parameters: its constants are encoded once, for any number of runs.
pub struct Runner<'c> {
    pub(super) circuit: &'c Circuit,
    pub(super) evaluator: Evaluator,
    pub(super) plan: Plan,
    pub(super) constants: BTreeMap<ValueId, Arc<Encoded>>,
}

impl<'c> Runner<'c> {
    /// Plans the run and encodes the constants.
    ///
    /// # Errors
    /// [`Error::Program`](crate::Error::Program) for a circuit that does not verify, [`Error::Circuit`](crate::Error::Circuit) for one written for other
    /// parameters, and those of [`Plaintext::encode`].
    pub fn new(params: &Params, circuit: &'c Circuit) -> Result<Self> {
        check(params, circuit)?;
        let plan = Plan::new(circuit);
        let mut constants = BTreeMap::new();
        for (index, step) in circuit.steps.iter().enumerate() {
            if let Op::Constant { constant } = step.op {
                let values = circuit.constants[constant].values.iter();
                let slots: Vec<Complex64> = values.map(|&v| v.into()).collect();
                let uses = (plan.narrow[index], plan.extended[index]);
                let encoded = Encoded::new(params, &slots, step.ty, uses)?;
                constants.insert(index, Arc::new(encoded));
            }
        }
        Ok(Self {
            circuit,
            evaluator: Evaluator::new(params),
            plan,
            constants,
        })
    }

    /// Bytes of the encoded constants.
    pub fn byte_len(&self) -> usize {
        self.constants.values().map(|c| c.byte_len()).sum()
    }

    /// Encodes slots for an encrypted input, at its level and scale. They repeat after their number, a power of two.
    ///
    /// # Errors
    /// [`Error::Circuit`](crate::Error::Circuit) for a name or a number of slots that is none, and those of [`Plaintext::encode`].
    pub fn encode(&self, name: &str, slots: &[Complex64]) -> Result<Plaintext> {
        let input = self.circuit.inputs().find(|(input, _)| *input == name);
        let (_, ty) =
            input.ok_or_else(|| unfit("an input", format!("{name:?}"), "one of the circuit"))?;
        repeated(self.circuit, name, slots)?;
        Ok(Plaintext::encode(
            self.evaluator.params(),
            slots,
            ty.level,
            ty.scale,
        )?)
    }

    /// Runs the circuit: results by name. Threads are those of the [pool](ring::in_pool) it is called in.
    ///
    /// # Errors
    /// [`Error::Circuit`](crate::Error::Circuit) for an input that is missing, is none, or has another type; and for a missing key.
    pub fn run(
        &self,
        inputs: &BTreeMap<&str, Argument>,
        keys: &Keys,
    ) -> Result<BTreeMap<String, Ciphertext>> {
        check_names(self.circuit, inputs.keys().copied())?;
        let mut run = Run::new(self, keys);
        let outputs = walk(self.circuit, |index, values| {
            let made = run.step(index, values, inputs)?;
            let made = match self.plan.forms[index] {
                Form::Pair => Held::Ciphertext(run.pair(made, self.circuit.ty(index))?),
                _ => made,
            };
            run.forget(index);
            Ok(made)
        })?;
        let outputs = outputs.into_iter().map(|(name, held)| match held {
            Held::Ciphertext(ct) => (name, ct.into_owned()),
            _ => unreachable!("outputs are ciphertexts of two components"),
        });
        Ok(outputs.collect())
    }
}
