//! Errors as Python's exceptions, whose classes are in `palladion.errors`.

use pyo3::PyErr;

pyo3::import_exception!(palladion.errors, InternalError);
pyo3::import_exception!(palladion.errors, NetworkError);
pyo3::import_exception!(palladion.errors, UsageError);

/// An error of a crate beneath, or an exception that a callback raised.
pub(crate) trait ToPython {
    fn to_python(self) -> PyErr;
}

impl ToPython for PyErr {
    fn to_python(self) -> PyErr {
        self
    }
}

impl ToPython for ::network::Error {
    fn to_python(self) -> PyErr {
        NetworkError::new_err(self.to_string())
    }
}
