//! From an integer network to a program over ciphertexts.
//!
//! *Concept.* The compiler writes the program step by step through a `Builder`, which
//! runs every step dry as it is written: a value's level and noise, the keys it needs and its cost come
//! from the very code that will run it. `parameters` chooses the modulus chain and the shape of key
//! switching by building the program for each candidate and keeping the cheapest.
//!
//! *May use* the network, the program, and `circuits` with the layers below it for planning only: no
//! key and no ciphertext is ever made here (`docs/adr/0002-plans-are-dry-runs.md`).

#![forbid(unsafe_code)]

mod builder;
mod choices;
mod error;
mod forms;
mod layers;
mod linear;
mod parameters;
mod products;
mod raster;

pub use choices::{Candidate, Choices, Cost, Cut, FormCost, FormOption, LayerChoices, TableCost};
pub use error::{Error, Result};

use network::IntNetwork;
use program::Program;

/// What a caller may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Images in one run, in the same ciphertexts.
    pub batch: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { batch: 1 }
    }
}

/// Largest batch: every image has its own values in every layer, listed in the program.
const MAX_BATCH: usize = 1 << 15;

/// Compiles `network`.
///
/// # Errors
/// [`Error`] names the layer that cannot be done, what was found and what can be done about it.
pub fn compile(network: &IntNetwork, options: Options) -> Result<Program> {
    compile_with_choices(network, options).map(|(program, _)| program)
}

/// Compiles `network`, and says what was compared on the way.
///
/// # Errors
/// As [`compile`].
pub fn compile_with_choices(network: &IntNetwork, options: Options) -> Result<(Program, Choices)> {
    network.check()?;
    if options.batch == 0 {
        return Err(Error::EmptyBatch);
    }
    if options.batch > MAX_BATCH {
        return Err(Error::Batch {
            batch: options.batch,
            most: MAX_BATCH,
        });
    }
    parameters::choose(network, options)
}
