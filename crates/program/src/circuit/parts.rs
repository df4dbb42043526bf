//! Writing bootstrappings, and parts that repeat.

use super::bootstrapping::Bootstrapping;
use super::build::CircuitBuilder;
use super::ir::{Circuit, ValueId};
use super::op::Op;
use crate::error::{Error, Result};

impl CircuitBuilder {
    /// States the bootstrapping of the circuit. A runtime computes it from parameters.
    ///
    /// # Errors
    /// [`Error::Parameters`] for a bootstrapping that no parameters have, in exact arithmetic, and
    /// if another one was stated.
    pub fn set_bootstrapping(&mut self, bootstrapping: Bootstrapping) -> Result<()> {
        if self
            .circuit
            .bootstrapping
            .as_ref()
            .is_some_and(|other| *other != bootstrapping)
        {
            return Err(Error::Parameters {
                what: "the bootstrapping",
                found: "another one again".into(),
                expected: "one for all of the circuit".into(),
            });
        }
        bootstrapping.verify(&self.circuit)?;
        self.circuit.bootstrapping = Some(bootstrapping);
        Ok(())
    }

    /// Bootstraps `value` to the level of the circuit's
    /// [bootstrapping](CircuitBuilder::set_bootstrapping).
    ///
    /// Slots of an operand at the default scale must be below 1. To bootstrap larger slots,
    /// [read](CircuitBuilder::read) them smaller before and larger afterwards.
    ///
    /// # Errors
    /// [`Error::Step`] for a plaintext, if no bootstrapping was stated, and for a scale that is too
    /// large for it.
    pub fn bootstrap(&mut self, value: ValueId) -> Result<ValueId> {
        self.computed(Op::Bootstrap { value })
    }

    /// Repeats `body`, once for each entry of `each`, and returns the `carried` values after the
    /// last iteration. In an iteration, the first encrypted inputs of the body are the carried
    /// values. Its other inputs are the values of the iteration's entry, in order. Its outputs are
    /// the carried values of the next iteration. A body that is given again is stored once.
    ///
    /// # Errors
    /// [`Error::Parameters`] for a body with another arithmetic, number of slots or bootstrapping.
    /// [`Error::Step`] if the inputs and outputs of the body differ from the values in number,
    /// levels or scales.
    pub fn repeat(
        &mut self,
        body: &Circuit,
        carried: &[ValueId],
        each: &[Vec<ValueId>],
    ) -> Result<Vec<ValueId>> {
        let bodies = &mut self.circuit.bodies;
        let known = bodies.iter().position(|other| other == body);
        let id = known.unwrap_or(bodies.len());
        if known.is_none() {
            self.circuit.verify_body(body)?;
            self.circuit.bodies.push(body.clone());
        }
        let (carried, each) = (carried.to_vec(), each.to_vec());
        let count = carried.len();
        let repeat = self.computed(Op::Repeat {
            body: id,
            carried,
            each,
        })?;
        (0..count)
            .map(|index| self.push(Op::Result { repeat, index }, self.ty(repeat)))
            .collect()
    }
}
