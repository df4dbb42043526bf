//! The schemes over arrays: conversions and errors for the crate `schemes`.
//!
//! Numbers are passed as bytes in this machine's order: complex doubles for CKKS, 64-bit integers
//! for the others.

mod bootstrap;
pub(crate) mod ckks;
pub(crate) mod exact;
pub(crate) mod keys;
mod matrix;
mod one_of;
pub(crate) mod params;
mod switch;
mod table;

use crate::error::ToPython;
use pyo3::prelude::*;

/// Adds the classes to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<params::SchemeParams>()?;
    module.add_class::<keys::SchemeSecret>()?;
    module.add_class::<keys::SchemePublic>()?;
    module.add_class::<keys::SchemeKeys>()?;
    module.add_class::<switch::SchemeSwitch>()?;
    module.add_class::<ckks::CkksCiphertext>()?;
    module.add_class::<matrix::CkksMatrix>()?;
    module.add_class::<exact::ExactCiphertext>()?;
    module.add_class::<table::BfvTable>()?;
    module.add_class::<bootstrap::CkksBootstrapper>()?;
    module.add_function(wrap_pyfunction!(scheme_sets, module)?)?;
    module.add_function(wrap_pyfunction!(crate::security::security_of, module)?)
}

/// The file of all parameter sets, as JSON.
#[pyfunction]
fn scheme_sets() -> &'static str {
    schemes::sets::JSON
}

/// Converts an error of a scheme to an exception, where the caller chose the operands.
pub(crate) trait InScheme<T> {
    fn or_raise(self) -> PyResult<T>;
}

impl<T, E: ToPython> InScheme<T> for Result<T, E> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(ToPython::to_python)
    }
}
