//! Runs [circuits](program::circuit) of CKKS, BGV and BFV: in the clear, encrypted, and dry for the precision or the noise of the results.
//!
//! All three walk the same list in order and free a value after its last use. How the encrypted run holds a value (before a
//! relinearisation or a division by the special moduli, or after) is planned once (`plan.rs`), for the run and for the prediction.
//! The schemes differ in how slots become polynomials and in the factors of messages (`scheme.rs`); the run is one.

mod approximate;
mod budget;
mod clear;
mod encrypted;
mod exact;
mod factors;
mod held;
mod keys;
mod matrices;
mod plan;
mod predict;
mod products;
mod record;
mod runner;
mod scheme;
mod sources;
mod table;
mod walk;

pub use budget::Budget;
pub use clear::{Slots, run_clear};
pub use exact::{Bfv, ExactScheme, predict_noise};
pub use keys::needs;
pub use predict::{Predicted, predict};
pub use runner::{Argument, Runner};
pub use scheme::{Scheme, Slot};

use crate::error::{Error, Result};
use program::circuit::{Arithmetic, Circuit};

/// The arithmetic of circuits for `params`: all its levels.
pub fn arithmetic(params: &impl Scheme) -> Arithmetic {
    params.arithmetic()
}

/// Checks that a circuit is one, and was written for these parameters or for their first levels.
///
/// # Errors
/// [`Error::Program`] for a circuit that does not verify, [`Error::Circuit`] for one written for other parameters.
pub fn check(params: &impl Scheme, circuit: &Circuit) -> Result<()> {
    circuit.verify()?;
    let (found, limit) = (circuit.slots, params.slots());
    if found > limit {
        return Err(unfit(
            "the number of slots of the circuit",
            found,
            format!("at most {limit}"),
        ));
    }
    let arithmetic = params.arithmetic();
    let (found, expected) = (kind(&circuit.arithmetic), kind(&arithmetic));
    if found != expected {
        return Err(unfit("the arithmetic of the circuit", found, expected));
    }
    let (found, limit) = (circuit.arithmetic.levels(), arithmetic.levels());
    if found > limit {
        return Err(unfit(
            "the number of levels of the circuit",
            found,
            format!("at most {limit}"),
        ));
    }
    for level in 0..found {
        let [found, expected] = [&circuit.arithmetic, &arithmetic].map(|a| a.divisor(level));
        if found != expected {
            return Err(unfit(
                format!("the modulus of level {level} of the circuit"),
                found,
                expected,
            ));
        }
    }
    Ok(())
}

fn kind(arithmetic: &Arithmetic) -> String {
    match arithmetic {
        Arithmetic::Exact { t, .. } => format!("exact modulo {t}"),
        _ => "approximate".into(),
    }
}

fn unfit(what: impl Into<String>, found: impl ToString, expected: impl ToString) -> Error {
    Error::Circuit {
        what: what.into(),
        found: found.to_string(),
        expected: expected.to_string(),
    }
}
