//! Runs [circuits](program::circuit) of CKKS, BGV and BFV: in the clear, encrypted, and dry for the
//! precision or the noise of the results.
//!
//! All three runs are folds over the same list of steps (`fold.rs`). Each run only defines the
//! effect of an operation on its values: slots, ciphertexts, errors, noise.
//!
//! The encrypted run may hold a value before or after a relinearisation or a division by the
//! special moduli. `plan.rs` decides this once, for the run and for the prediction. The schemes
//! differ in the encoding of slots as polynomials and in the factors of messages (`scheme.rs`); the
//! rest of the run is the same.

mod approximate;
mod border;
mod budget;
mod chains;
mod clear;
mod encrypted;
mod errors;
mod exact;
mod expected;
mod factors;
mod fold;
mod held;
mod keys;
mod matrices;
mod meeting;
mod plan;
mod predict;
mod products;
mod record;
mod refreshed;
mod runner;
mod scheme;
mod sources;
mod table;

pub use border::Border;
pub use budget::Budget;
pub use clear::{Slots, run_clear};
pub use exact::{Bfv, ExactScheme, predict_noise, predict_noise_within};
pub use keys::needs;
pub use meeting::Meeting;
pub use predict::{Predicted, predict, predict_within};
pub use runner::{Argument, Runner};
pub use scheme::{Scheme, Slot};

use crate::error::{Error, Result};
use program::MAX_LOG2_FAILURE;
use program::circuit::{Arithmetic, Bootstrapping, Circuit};

/// The arithmetic of circuits with parameters `params`, with all levels.
pub fn arithmetic(params: &impl Scheme) -> Arithmetic {
    params.arithmetic()
}

/// Checks that a run of a circuit is wrong with a probability of at most `2^limit`, as far as the
/// probability does not depend on messages. The check needs no keys and encodes nothing.
///
/// In exact arithmetic the probability depends on the noise at every step. In approximate
/// arithmetic it depends on the multiples of `q_0` that a bootstrapping reduces. [`predict`] checks
/// that the caller's messages and their noise fit the modulus.
///
/// # Errors
/// The errors of [`check`]. [`Error::Circuit`] for a larger probability, and for a limit above
/// [`MAX_LOG2_FAILURE`].
pub fn check_failure<S: Scheme>(params: &S, circuit: &Circuit, limit: f64) -> Result<()> {
    check(params, circuit)?;
    let circuit = circuit.unrolled();
    params
        .prepare(&circuit, &plan::Plan::new(&circuit), limit)
        .map(drop)
}

/// Checks that a caller's limit is at most [`MAX_LOG2_FAILURE`].
fn check_limit(limit: f64) -> Result<()> {
    if limit <= MAX_LOG2_FAILURE {
        return Ok(());
    }
    let expected = format!("at most {MAX_LOG2_FAILURE}");
    Err(unfit(
        "log2 of the probability of a wrong run",
        limit,
        expected,
    ))
}

/// Verifies a circuit, and checks that it was written for these parameters or for their first
/// levels.
///
/// # Errors
/// [`Error::Program`] for a circuit that does not verify, [`Error::Circuit`] for a circuit written
/// for other parameters.
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
    match &circuit.bootstrapping {
        Some(stated) => check_bootstrapping(params, circuit, stated),
        None => Ok(()),
    }
}

/// Checks that the bootstrapping that a circuit states is that of the parameters, with all levels.
fn check_bootstrapping(
    params: &impl Scheme,
    circuit: &Circuit,
    stated: &Bootstrapping,
) -> Result<()> {
    let (found, expected) = (circuit.arithmetic.levels(), params.arithmetic().levels());
    if found != expected {
        let what = "the number of levels of the circuit, which bootstraps";
        return Err(unfit(what, found, expected));
    }
    let own = params.stated(stated)?;
    if own == *stated {
        return Ok(());
    }
    let words = |b: &Bootstrapping| format!("{b}, {} rotations", b.rotations.len());
    let what = "the bootstrapping of the circuit";
    Err(unfit(
        what,
        words(stated),
        format!("{}, as of the parameters", words(&own)),
    ))
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
