//! Runs [circuits](program::circuit) of CKKS: in the clear, encrypted, and dry for the precision of its results.
//!
//! All three walk the same list in order and free a value after its last use. How the encrypted run holds a value (before a
//! relinearisation or a division by the special moduli, or after) is planned once (`plan.rs`), for the run and for the prediction.

mod clear;
mod encrypted;
mod held;
mod keys;
mod plan;
mod predict;
mod runner;
mod walk;

pub use clear::{Slots, run_clear};
pub use keys::Keys;
pub use predict::{Predicted, predict};
pub use runner::{Argument, Runner};

use crate::error::{Error, Result};
use ckks::Params;
use program::circuit::{Arithmetic, Circuit};

/// The arithmetic of circuits for `params`: all its levels.
pub fn arithmetic(params: &Params) -> Arithmetic {
    let levels = 0..=params.max_level();
    let moduli = levels.map(|l| params.level_modulus(l)).collect();
    Arithmetic::Approximate { moduli }
}

/// Whether a circuit is one, and was written for these parameters or for their first levels.
fn check(params: &Params, circuit: &Circuit) -> Result<()> {
    circuit.verify()?;
    let (found, limit) = (circuit.slots, params.slots());
    if found > limit {
        return Err(unfit(
            "the number of slots of the circuit",
            found,
            format!("at most {limit}"),
        ));
    }
    let (found, limit) = (circuit.arithmetic.levels(), params.max_level() + 1);
    if found > limit {
        return Err(unfit(
            "the number of levels of the circuit",
            found,
            format!("at most {limit}"),
        ));
    }
    for level in 0..found {
        let (found, expected) = (
            circuit.arithmetic.divisor(level),
            params.level_modulus(level),
        );
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

fn unfit(what: impl Into<String>, found: impl ToString, expected: impl ToString) -> Error {
    Error::Circuit {
        what: what.into(),
        found: found.to_string(),
        expected: expected.to_string(),
    }
}
