//! `palladion bench`: reports rows as soon as they are measured.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use timing::Row;

use crate::error::UsageError;
use crate::guard::guard_with;
use crate::room::room;

/// Bytes that a measurement of a scheme or of a table takes at most, but for bootstrapping.
const MOST: u64 = 2 << 30;

/// Measures `ntt`, `bfv`, `bgv`, `ckks`, `bootstrap`, `tfhe` or `lut`. `hear` is called with each
/// row. An exception of `hear` stops the measurement.
#[pyfunction]
pub(crate) fn bench(py: Python<'_>, what: &str, samples: usize, hear: Py<PyAny>) -> PyResult<()> {
    let work = match what {
        "ntt" => timing::ntt,
        "bfv" => timing::bfv,
        "bgv" => timing::bgv,
        "ckks" => timing::ckks,
        "bootstrap" => timing::bootstrap,
        "tfhe" => timing::tfhe,
        "lut" => timing::lut,
        other => {
            let words = format!(
                "a benchmark of {other:?}, expected ntt, bfv, bgv, ckks, bootstrap, tfhe or lut"
            );
            return Err(UsageError::new_err(words));
        }
    };
    if what != "ntt" {
        room("this measurement", MOST)?;
    }
    guard_with(
        py,
        |py, row| {
            let row = row_dict(py, &row)?;
            hear.bind(py).call1((row,)).map(|_| ())
        },
        |line| work(samples, &|row| line.tell(row), &|| line.go_on()),
    )
}

fn row_dict<'py>(py: Python<'py>, row: &Row) -> PyResult<Bound<'py, PyDict>> {
    let parameters = PyDict::new(py);
    for (name, value) in &row.parameters {
        parameters.set_item(name, value)?;
    }
    let entry = PyDict::new(py);
    entry.set_item("name", &row.name)?;
    entry.set_item("parameters", parameters)?;
    entry.set_item("threads", row.threads)?;
    entry.set_item("seconds", row.seconds)?;
    entry.set_item("samples", row.samples)?;
    Ok(entry)
}
