//! The runner: a circuit prepared for runs on ciphertexts.

use super::border::Border;
use super::clear::{check_names, constant_slots, repeated};
use super::encrypted::Run;
use super::factors::Factors;
use super::fold::{effect, fold};
use super::held::{Encoded, Held, Uses};
use super::plan::Plan;
use super::scheme::Scheme;
use super::table::table;
use super::unfit;
use crate::error::Result;
use circuits::approximate::Bootstrapper;
use circuits::operations::{BlockMatrix, RingOperations, RunRing};
use exchange::circuit::Keys;
use program::MAX_LOG2_FAILURE;
use program::circuit::{Circuit, Effect, Op, ValueId};
use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

/// The value of an input: encrypted or in plain.
pub enum Argument<'a, S: Scheme = ckks::Params> {
    /// A ciphertext of the input's level and scale. In exact arithmetic it must be fresh or have
    /// factor 1.
    Ciphertext(&'a S::Ciphertext),
    /// Slots. Their number is a power of two. Fewer slots than the circuit's repeat.
    Plain(&'a [S::Slot]),
}

impl<S: Scheme> Clone for Argument<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Scheme> Copy for Argument<'_, S> {}

/// A circuit prepared for a scheme's parameters. Its constants are encoded once, for any number of
/// runs.
pub struct Runner<'c, S: Scheme = ckks::Params> {
    border: Border<'c, S>,
    pub(super) plan: Plan,
    pub(super) uses: Vec<Uses>,
    pub(super) constants: BTreeMap<ValueId, Arc<Encoded>>,
    pub(super) tables: Vec<BlockMatrix>,
    pub(super) bootstrapper: Option<Bootstrapper>,
}

impl<'c, S: Scheme> Deref for Runner<'c, S> {
    type Target = Border<'c, S>;

    fn deref(&self) -> &Border<'c, S> {
        &self.border
    }
}

impl<'c, S: Scheme> Runner<'c, S> {
    /// Plans the run and encodes the constants.
    ///
    /// # Errors
    /// [`Error::Program`](crate::Error::Program) for a circuit that does not verify.
    /// [`Error::Circuit`](crate::Error::Circuit) for a circuit written for other parameters, and
    /// for a circuit that is wrong with a probability above `2^MAX_LOG2_FAILURE`. Also the errors
    /// of [`Scheme::encode`].
    pub fn new(params: &S, circuit: &'c Circuit) -> Result<Self> {
        Self::within(params, circuit, MAX_LOG2_FAILURE)
    }

    /// Prepares a circuit as [`Runner::new`] does. The circuit may be wrong with a probability of
    /// at most `2^limit`, computed as in [`check_failure`](super::check_failure).
    ///
    /// # Errors
    /// The errors of [`Runner::new`], and [`Error::Circuit`](crate::Error::Circuit) for a limit
    /// above [`MAX_LOG2_FAILURE`].
    pub fn within(params: &S, circuit: &'c Circuit, limit: f64) -> Result<Self> {
        let (border, plan) = Border::planned(params, circuit, limit)?;
        let circuit = border.circuit();
        let uses = uses(circuit, &plan, &border.factors);
        // Each iteration of a repeated part has its constants again.
        let (mut constants, mut encoded) = (BTreeMap::new(), BTreeMap::new());
        for (index, step) in circuit.steps.iter().enumerate() {
            if let Op::Constant { constant } = step.op {
                let at = (step.ty.level, step.ty.scale.to_bits());
                let known = match encoded.entry((constant, at, &uses[index])) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(place) => {
                        let slots = constant_slots::<S::Slot>(circuit, constant)?;
                        let new = Encoded::new(params, &slots, step.ty, &uses[index])?;
                        place.insert(Arc::new(new))
                    }
                };
                constants.insert(index, Arc::clone(known));
            }
        }
        drop(encoded);
        let tables = plan.batches.iter();
        let tables = tables.map(|batch| table(params, circuit, &plan, batch));
        let tables = tables.collect::<Result<_>>()?;
        let stated = circuit.bootstrapping.as_ref();
        let bootstrapper = stated
            .map(|stated| params.bootstrapper(stated))
            .transpose()?;
        Ok(Self {
            border,
            uses,
            constants,
            tables,
            bootstrapper,
            plan,
        })
    }

    /// Size of the encoded constants and of the tables of bootstrapping, in bytes.
    pub fn byte_len(&self) -> usize {
        let mut counted = BTreeSet::new();
        let constants = self.constants.values();
        let alone = constants.filter(|c| counted.insert(Arc::as_ptr(c)));
        let alone: usize = alone.map(|c| c.byte_len()).sum();
        let bootstrapping = self.bootstrapper.as_ref().map_or(0, Bootstrapper::byte_len);
        alone + self.tables.iter().map(BlockMatrix::byte_len).sum::<usize>() + bootstrapping
    }

    /// Encodes slots for an encrypted input, at its level and scale. Their number is a power of
    /// two. Fewer slots than the circuit's repeat.
    ///
    /// # Errors
    /// [`Error::Circuit`](crate::Error::Circuit) for an unknown name or a wrong number of slots,
    /// and the errors of [`Scheme::encode`].
    pub fn encode(&self, name: &str, slots: &[S::Slot]) -> Result<S::Plaintext> {
        let input = self.circuit.inputs().find(|(input, _)| *input == name);
        let (_, ty) =
            input.ok_or_else(|| unfit("an input", format!("{name:?}"), "one of the circuit"))?;
        let slots = repeated(&self.circuit, name, slots)?;
        self.params.encode(&slots, ty)
    }

    /// Runs the circuit and returns its results by name. The run uses the threads of the
    /// [pool](ring::in_pool) of its caller.
    ///
    /// # Errors
    /// [`Error::Circuit`](crate::Error::Circuit) for an input that is missing, unknown, or has
    /// another type, and for a message that does not fit, as far as sizes are known. An error for a
    /// missing key, and for inputs and keys of different secrets.
    pub fn run(
        &self,
        inputs: &BTreeMap<&str, Argument<S>>,
        keys: &Keys,
    ) -> Result<BTreeMap<String, S::Ciphertext>> {
        self.run_observed(inputs, keys, |_| {})
    }

    /// Runs the circuit as [`Runner::run`] does. `begin` is called with the index of each step of
    /// [`Border::circuit`] before the step runs.
    ///
    /// # Errors
    /// The errors of [`Runner::run`].
    pub fn run_observed(
        &self,
        inputs: &BTreeMap<&str, Argument<S>>,
        keys: &Keys,
        begin: impl Fn(usize),
    ) -> Result<BTreeMap<String, S::Ciphertext>> {
        check_names(&self.circuit, inputs.keys().copied())?;
        let meeting = self.meet(inputs, keys)?;
        let relinearization = keys.relinearization.as_ref();
        let mut operations = RunRing::new(self.params.rlwe(), relinearization, &keys.galois);
        if let Some(sparse) = &keys.sparse {
            operations.add_sparse(sparse);
        }
        let input = |index: usize, name: &str| match inputs[name] {
            Argument::Plain(slots) => self.plain_input(index, name, slots),
            Argument::Ciphertext(ct) => {
                let ct = self.encrypted_input(index, name, ct)?;
                Ok(Held::Ciphertext(Cow::Borrowed(ct)))
            }
        };
        let outputs = self.run_steps(&operations, &begin, &input)?;
        self.close(outputs, &meeting)
    }

    /// Runs the steps with the ring operations of a mode and returns the outputs by name. `begin`
    /// is called with the index of each step before the step runs.
    pub(super) fn run_steps<'a, O: RingOperations>(
        &'a self,
        operations: &'a O,
        begin: &'a dyn Fn(usize),
        input: &'a dyn Fn(usize, &str) -> Result<Held<'a, O>>,
    ) -> Result<BTreeMap<String, O::Ciphertext>> {
        let mut run = Run::new(self, operations, begin, input);
        let outputs = fold(&self.circuit, &mut run)?;
        let ciphertext = |(name, held)| match held {
            Held::Ciphertext(ct) => (name, Cow::into_owned(ct)),
            _ => unreachable!("outputs are ciphertexts of two components"),
        };
        Ok(outputs.into_iter().map(ciphertext).collect())
    }

    /// The plaintext of an input in plain.
    pub(super) fn plain_input<O: RingOperations>(
        &self,
        index: usize,
        name: &str,
        slots: &[S::Slot],
    ) -> Result<Held<'static, O>> {
        let ty = self.circuit.ty(index);
        if ty.encrypted {
            return Err(unfit(format!("the input {name}"), "in plain", "encrypted"));
        }
        let slots = repeated(&self.circuit, name, slots)?;
        let encoded = Encoded::new(&self.params, &slots, ty, &self.uses[index])?;
        Ok(Held::Plaintext(Arc::new(encoded)))
    }
}

/// The uses of each plaintext.
fn uses(circuit: &Circuit, plan: &Plan, factors: &Factors) -> Vec<Uses> {
    let mut uses = vec![Uses::default(); circuit.steps.len()];
    for (index, uses) in uses.iter_mut().enumerate() {
        uses.narrow = plan.narrow[index];
        uses.extended = plan.extended[index];
    }
    for step in &circuit.steps {
        if let Effect::Sum { left, right, .. } = effect(&step.op)
            && plan.terms[right]
        {
            uses[right].terms.insert(factors.of[left]);
        }
    }
    uses
}
