//! The integer network's exact evaluation.

use network::IntNetwork;
use pyo3::prelude::*;

use crate::guard::guard;

/// One list of integers per layer.
type PerLayer = Vec<Vec<i64>>;

/// Each layer's accumulators and outputs, and the predicted class.
#[pyfunction]
pub(crate) fn evaluate(
    py: Python<'_>,
    network_json: &str,
    image: Vec<i64>,
) -> PyResult<(PerLayer, PerLayer, usize)> {
    let trace = guard(py, || IntNetwork::from_json(network_json)?.evaluate(&image))?;
    let layers = trace.layers.into_iter();
    let (accumulators, outputs) = layers.map(|l| (l.accumulators, l.outputs)).unzip();
    Ok((accumulators, outputs, trace.predicted))
}
