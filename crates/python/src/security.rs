//! Estimated security in the form of reports.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rlwe::security::{Security, TARGET_BITS, max_log_qp, sparse, uniform};

/// The fields of `palladion.schemes.security.Security`.
pub(crate) fn to_dict<'py>(py: Python<'py>, security: &Security) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("bits", security.bits())?;
    found.set_item("model", security.model().to_string())?;
    found.set_item("adps16", security.adps16())?;
    found.set_item("basis", security.rests_on())?;
    found.set_item("enough", security.is_enough())?;
    found.set_item("text", security.to_string())?;
    Ok(found)
}

/// Bits of security, or `None` if they are not enough.
pub(crate) fn bits(security: &Security) -> Option<f64> {
    security.bits().filter(|_| security.is_enough())
}

/// The bits that parameters must have, the largest log2(QP) that has them for a degree, and the
/// estimate for moduli of `log_qp` bits: for a uniform secret, or for one with `weight` nonzero
/// coefficients.
#[pyfunction]
#[pyo3(signature = (log_n, log_qp=None, weight=None))]
pub(crate) fn security_of<'py>(
    py: Python<'py>,
    log_n: u32,
    log_qp: Option<f64>,
    weight: Option<usize>,
) -> PyResult<(u32, Option<u32>, Option<Bound<'py, PyDict>>)> {
    let n = 1usize.checked_shl(log_n).unwrap_or(0);
    let estimate = log_qp.map(|log_qp| match weight {
        None => uniform(n, log_qp),
        Some(weight) => sparse(n, weight, log_qp),
    });
    let estimate = estimate.map(|security| to_dict(py, &security));
    Ok((TARGET_BITS, max_log_qp(n), estimate.transpose()?))
}
