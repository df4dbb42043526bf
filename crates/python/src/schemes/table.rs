//! Tables on slots of BFV.

use pyo3::prelude::*;
use schemes::bfv::Table;

use super::params::SchemeParams;
use crate::guard::guard;

/// A table, as a polynomial.
#[pyclass(frozen, module = "palladion._native")]
pub(crate) struct BfvTable(pub(super) Table);

#[pymethods]
impl BfvTable {
    #[new]
    fn new(py: Python<'_>, params: &SchemeParams, entries: Vec<i64>) -> PyResult<Self> {
        let params = params.bfv()?;
        Ok(Self(guard(py, || Table::new(params, &entries))?))
    }
}
