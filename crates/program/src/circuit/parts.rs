//! Writing bootstrappings, and parts that repeat.

use super::bootstrapping::Bootstrapping;
use super::build::CircuitBuilder;
use super::ir::{Circuit, Op, ValueId};
use crate::error::{Error, Result};

impl CircuitBuilder {
    /// States the bootstrapping of the circuit. A runtime works it out from parameters.
    ///
    /// # Errors
    /// [`Error::Parameters`] for one that no parameters have, in exact arithmetic, and if another one was stated.
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

    /// `value` at the level of the circuit's [bootstrapping](CircuitBuilder::set_bootstrapping).
    ///
    /// Slots must be below 1 for an operand at the default scale. To bootstrap larger ones, [read](CircuitBuilder::read) them smaller
    /// before, and larger after it.
    ///
    /// # Errors
    /// [`Error::Step`] for a plaintext, if no bootstrapping was stated, and for a scale above what it bears.
    pub fn bootstrap(&mut self, value: ValueId) -> Result<ValueId> {
        self.computed(Op::Bootstrap { value })
    }

    /// The `carried` values after as many iterations of `body` as `each` has entries. In an iteration, the first encrypted inputs of the body are
    /// the carried values, its other inputs are the values of the iteration's entry, in order; its outputs are the carried values of the next
    /// iteration. A body that is given again is kept once.
    ///
    /// # Errors
    /// [`Error::Parameters`] for a body of another arithmetic, number of slots or bootstrapping; [`Error::Step`] if the inputs and outputs of the body are not as many, or
    /// not of the same levels and scales, as the values.
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
