//! The build of the core and the machine it runs on.

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use crate::guard::guard;

/// The kernels chosen and available, and the number of threads.
#[pyfunction]
pub(crate) fn info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let (chosen, available, threads) = guard(py, || -> Result<_, PyErr> {
        let available: Vec<_> = kernels::available().iter().map(|k| k.name()).collect();
        let threads = rayon::current_num_threads();
        Ok((kernels::kernels().name(), available, threads))
    })?;
    let found = PyDict::new(py);
    found.set_item("kernels", chosen)?;
    found.set_item("kernels_available", available)?;
    found.set_item("threads", threads)?;
    Ok(found)
}

/// For each kind of pass, seconds that this machine takes for one second of the machine on which
/// predictions were measured. The first call takes about a tenth of a second.
#[pyfunction]
pub(crate) fn machine_factors(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let factors = guard(py, || Ok::<_, PyErr>(timing::machine_factors()))?;
    factors.all().into_py_dict(py)
}
