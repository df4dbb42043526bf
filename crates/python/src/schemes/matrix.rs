//! Matrices times encrypted vectors of CKKS.

use pyo3::prelude::*;
use schemes::ckks::Matrix;

use super::ckks::{CkksCiphertext, complex};
use super::keys::SchemeKeys;
use super::params::SchemeParams;
use crate::guard::guard;

/// A matrix, with its encodings.
#[pyclass(frozen, module = "palladion._native")]
pub(crate) struct CkksMatrix(Matrix);

#[pymethods]
impl CkksMatrix {
    /// A matrix of complex doubles, row by row.
    #[new]
    fn new(
        py: Python<'_>,
        params: &SchemeParams,
        columns: usize,
        entries: &[u8],
    ) -> PyResult<Self> {
        let (params, entries) = (params.ckks()?, complex(entries));
        let rows: Vec<&[_]> = entries.chunks_exact(columns.max(1)).collect();
        Ok(Self(guard(py, || Matrix::new(params, &rows))?))
    }

    fn rotations(&self) -> Vec<isize> {
        self.0.rotations()
    }

    fn mul(
        &self,
        py: Python<'_>,
        x: &CkksCiphertext,
        keys: &SchemeKeys,
    ) -> PyResult<CkksCiphertext> {
        let x = x.0.with_keys(x.keys(keys)?);
        Ok(CkksCiphertext(guard(py, || self.0.mul(&x))?))
    }
}
