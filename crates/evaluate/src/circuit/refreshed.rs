//! The error that a bootstrapping adds to a value.

use super::scheme::Scheme;
use super::unfit;
use crate::error::Result;
use circuits::approximate::Bootstrapper;
use ckks::noise::Noise;
use ckks::{Complex64, Params};
use program::circuit::{Circuit, Op};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The bootstrapping of a circuit, with its precision for each scale of its operands.
pub(super) struct Refreshed {
    tables: Bootstrapper,
    /// Error added by the bootstrapping, by the bits of the operand's scale.
    noise: BTreeMap<u64, Noise>,
}

impl Refreshed {
    /// Builds the tables and predictions for a circuit. Returns `None` if the circuit does not
    /// bootstrap.
    pub(super) fn new(params: &Params, circuit: &Circuit) -> Result<Option<Self>> {
        let scales = circuit.steps.iter().filter_map(|step| match step.op {
            Op::Bootstrap { value } => Some(circuit.ty(value).scale),
            _ => None,
        });
        let mut scales = scales.peekable();
        let (Some(stated), Some(_)) = (&circuit.bootstrapping, scales.peek()) else {
            return Ok(None);
        };
        let tables = params.bootstrapper(stated)?;
        let mut noise = BTreeMap::new();
        for scale in scales {
            if let Entry::Vacant(place) = noise.entry(scale.to_bits()) {
                place.insert(tables.precision(scale)?);
            }
        }
        Ok(Some(Self { tables, noise }))
    }

    /// The error that bootstrapping adds to an operand of scale `scale`, without the error of the
    /// sine.
    pub(super) fn noise(&self, scale: f64) -> Noise {
        self.noise[&scale.to_bits()]
    }

    /// The slots after bootstrapping an operand of scale `scale`, without noise.
    ///
    /// # Errors
    /// [`Error::Circuit`](crate::Error::Circuit) for a message that is too large for the reduction.
    pub(super) fn computed(&self, slots: &[Complex64], scale: f64) -> Result<Vec<Complex64>> {
        let coefficients = self.tables.params().encoder().embed(slots)?;
        let largest = coefficients
            .iter()
            .fold(0.0f64, |most, c| most.max(c.abs()));
        let stated = self.tables.as_stated();
        let arithmetic = self.tables.params().arithmetic();
        let limit = stated.log_bound(&arithmetic);
        let bits = (largest * scale * stated.room(&arithmetic, scale)).log2();
        // The tolerance allows for the rounding of doubles.
        if bits.is_nan() || bits > limit + 1e-9 {
            let what = "the largest coefficient of a bootstrapped message at its scale";
            let expected = format!("at most {limit:.2}: read it smaller before, and larger after");
            return Err(unfit(what, format!("{bits:.2} bits"), expected));
        }
        let sine = self.tables.sine_errors(slots, scale)?;
        Ok(slots.iter().zip(sine).map(|(x, e)| x + e).collect())
    }
}
