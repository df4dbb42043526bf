//! The schemes over arrays: CKKS, and BFV and BGV with shared code.
//!
//! Numbers are passed as bytes in this machine's order: complex doubles for CKKS, 64-bit integers
//! for the others.

mod bootstrap;
pub(crate) mod ckks;
pub(crate) mod exact;
pub(crate) mod keys;
pub(crate) mod params;

use crate::error::ToPython;
use pyo3::prelude::*;

/// Adds the classes to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<params::SchemeParams>()?;
    module.add_class::<keys::SchemeSecret>()?;
    module.add_class::<keys::SchemePublic>()?;
    module.add_class::<keys::SchemeKeys>()?;
    module.add_class::<ckks::CkksCiphertext>()?;
    module.add_class::<exact::ExactCiphertext>()?;
    module.add_class::<bootstrap::CkksBootstrapper>()?;
    module.add_function(wrap_pyfunction!(crate::security::security_of, module)?)
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
