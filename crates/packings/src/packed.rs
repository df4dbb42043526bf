//! A layer in a packing: its circuit, and the places of values in slots.

use crate::error::{Result, shape};
use crate::frame::Frame;
use ckks::Complex64;
use program::circuit::Circuit;
use std::collections::BTreeMap;

/// Slots of ciphertexts, or coefficients, by the name of an input or output.
pub type Messages = BTreeMap<String, Vec<Complex64>>;

/// The places of a layer's values in the slots of a ciphertext.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Name of the input or output.
    pub name: String,
    /// For each slot, or coefficient, the number of its value. Slots without a value are zero in an
    /// input, and have no meaning in an output. The list of an input may be shorter than the slots:
    /// then it repeats.
    pub values: Vec<Option<u32>>,
}

/// A layer in a packing.
#[derive(Clone, Debug)]
pub struct Packed {
    /// The circuit. It holds the weights.
    pub circuit: Circuit,
    /// Places of the layer's values in the encrypted inputs.
    pub inputs: Vec<Contents>,
    /// Places of the layer's results in the outputs.
    pub outputs: Vec<Contents>,
    /// Weights that are inputs in plain: constants of circuits have real slots, and the slots of a
    /// polynomial of weights are complex in approximate arithmetic.
    pub plain: Messages,
    /// True if values lie in coefficients and not in slots.
    pub coefficients: bool,
    pub(crate) frame: Frame,
}

impl Packed {
    /// The parameters for which the circuit is written.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// The slots of each encrypted input, for the values of a layer. In exact arithmetic the real
    /// parts are residues modulo `t`.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for too few values.
    pub fn pack(&self, x: &[i64]) -> Result<Messages> {
        let mut out = Messages::new();
        for place in &self.inputs {
            let mut values = Vec::with_capacity(place.values.len());
            for value in &place.values {
                values.push(match value {
                    None => 0,
                    Some(number) => *x.get(*number as usize).ok_or_else(|| {
                        shape(
                            "the number of values",
                            x.len(),
                            format!("more than {number}"),
                        )
                    })?,
                });
            }
            let slots = match self.coefficients {
                true => self.frame.slots_of(&values)?,
                false => self.frame.encoded(&values),
            };
            out.insert(place.name.clone(), slots);
        }
        Ok(out)
    }

    /// The results of the layer, from the slots of all outputs.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for an output that is missing or has fewer slots, and
    /// if a result lies nowhere.
    pub fn unpack(&self, messages: &Messages, results: usize) -> Result<Vec<i64>> {
        let mut found = vec![None; results];
        for place in &self.outputs {
            let slots = messages.get(&place.name);
            let missing = || shape(format!("the output {}", place.name), "missing", "slots");
            let slots = slots.ok_or_else(missing)?;
            let values = match self.coefficients {
                true => self.frame.coefficients_of(slots)?,
                false => self.frame.integers(slots),
            };
            if values.len() < place.values.len() {
                let what = format!("the number of slots of the output {}", place.name);
                return Err(shape(what, values.len(), place.values.len()));
            }
            for (place, value) in place.values.iter().zip(values) {
                if let Some(number) = place {
                    found[*number as usize] = Some(value);
                }
            }
        }
        let all: Option<Vec<i64>> = found.iter().copied().collect();
        let missing = || {
            let lost = found.iter().filter(|value| value.is_none()).count();
            shape("the number of results that lie in no slot", lost, 0)
        };
        all.ok_or_else(missing)
    }
}
