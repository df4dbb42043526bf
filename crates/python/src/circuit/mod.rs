//! Circuits of homomorphic operations: builder, predictions and runs.
//!
//! Numbers are passed as in [`schemes`](crate::schemes).

mod builder;
mod messages;
pub(crate) mod passed;
pub(crate) mod run;
pub(crate) mod written;

use pyo3::prelude::*;

/// Adds the classes to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<builder::CircuitBuilder>()?;
    module.add_class::<messages::MessageBuilder>()?;
    module.add_class::<messages::MessageCircuit>()?;
    module.add_class::<written::CircuitTrace>()?;
    module.add_class::<written::Circuit>()
}
