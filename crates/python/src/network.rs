//! The integer network: exact evaluation, and evaluation with simulated noise.

use ::network::{Batch, Evaluator, LayerStatistics, NoiseModel, Simulation};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::StoppedError;
use crate::guard::{guard, guard_with};

/// An integer network that is checked and ready to be evaluated.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct IntNetwork {
    network: ::network::IntNetwork,
    evaluator: Evaluator,
}

/// Deviation of simulated noise.
#[derive(FromPyObject)]
enum Sigma {
    /// The same deviation before every table.
    Every(f64),
    /// A deviation for each table.
    Each(Vec<f64>),
}

/// A trace: each layer's accumulators and outputs, as 64-bit integers, and the predicted class.
type Layers<'py> = Vec<Bound<'py, PyBytes>>;

/// Logits and classes, as 64-bit integers, and the findings in each layer.
type Outcome<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Vec<Bound<'py, PyDict>>,
);

#[pymethods]
impl IntNetwork {
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<Self> {
        guard(py, || {
            let network = ::network::IntNetwork::from_json(text)?;
            let evaluator = Evaluator::new(&network)?;
            Ok::<_, ::network::Error>(Self { network, evaluator })
        })
    }

    /// The network in the current format, whatever format it was read from.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        guard(py, || Ok::<_, ::network::Error>(self.network.to_json()))
    }

    /// The shape of each layer's output: channels, height, width.
    fn shapes(&self, py: Python<'_>) -> PyResult<Vec<::network::Shape>> {
        guard(py, || self.network.shapes())
    }

    /// Deviation of the noise before each table, in a run whose samples have the deviation
    /// `sample`.
    fn sigmas(&self, py: Python<'_>, sample: f64) -> PyResult<Vec<f64>> {
        let noise = guard(py, || NoiseModel::of_samples(&self.network, sample))?;
        Ok(noise.sigma_per_layer)
    }

    /// Evaluates one image of 16-bit integers exactly. Returns all integers of every layer.
    fn trace<'py>(
        &self,
        py: Python<'py>,
        image: &[u8],
    ) -> PyResult<(Layers<'py>, Layers<'py>, usize)> {
        let image: Vec<i64> = integers(image).into_iter().map(i64::from).collect();
        let trace = guard(py, || self.evaluator.evaluate(&image))?;
        let pack = |values| PyBytes::new(py, &bytes_of(values, i64::to_ne_bytes));
        let layers = trace.layers.into_iter();
        let (accumulators, outputs) = layers
            .map(|layer| (pack(layer.accumulators), pack(layer.outputs)))
            .unzip();
        Ok((accumulators, outputs, trace.predicted))
    }

    /// Evaluates images of 16-bit integers, exactly or with noise.
    #[pyo3(signature = (images, sigma=None, seed=0, progress=None))]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        images: &[u8],
        sigma: Option<Sigma>,
        seed: u64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Outcome<'py>> {
        let images = integers(images);
        let simulation = sigma.map(|sigma| Simulation {
            noise: match sigma {
                Sigma::Every(sigma) => NoiseModel::uniform(&self.network, sigma),
                Sigma::Each(sigma_per_layer) => NoiseModel { sigma_per_layer },
            },
            seed,
        });
        let batch: Batch = guard_with(
            py,
            |py, done| tell(py, progress.as_ref(), done),
            |line| {
                let heard = |done| line.tell(done);
                self.evaluator
                    .evaluate_batch(&images, simulation.as_ref(), heard)
            },
        )?;
        let names = self.network.layers.iter().map(|layer| &layer.name);
        let layers = names
            .zip(&batch.layers)
            .map(|(name, l)| statistics(py, name, l));
        let layers = layers.collect::<PyResult<Vec<_>>>()?;
        let predicted = batch.predicted.into_iter().map(|class| class as i64);
        let pack = |bytes: Vec<u8>| PyBytes::new(py, &bytes);
        Ok((
            pack(bytes_of(batch.logits, i64::to_ne_bytes)),
            pack(bytes_of(predicted, i64::to_ne_bytes)),
            layers,
        ))
    }
}

/// Calls `progress(done)`. The return value `False` stops the evaluation.
fn tell(py: Python<'_>, progress: Option<&Py<PyAny>>, done: usize) -> PyResult<()> {
    let Some(callback) = progress else {
        return Ok(());
    };
    if callback
        .bind(py)
        .call1((done,))?
        .is(pyo3::types::PyBool::new(py, false))
    {
        return Err(StoppedError::new_err(
            "the progress callback stopped the evaluation",
        ));
    }
    Ok(())
}

fn statistics<'py>(
    py: Python<'py>,
    name: &str,
    found: &LayerStatistics,
) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("name", name)?;
    entry.set_item("smallest", found.smallest)?;
    entry.set_item("largest", found.largest)?;
    entry.set_item("beyond_bound", found.beyond_bound)?;
    entry.set_item("values", found.values)?;
    entry.set_item("changes", &found.changes)?;
    Ok(entry)
}

/// 16-bit integers in this machine's order. An odd byte at the end is ignored.
fn integers(bytes: &[u8]) -> Vec<i16> {
    let (pairs, _) = bytes.as_chunks::<2>();
    pairs.iter().map(|&pair| i16::from_ne_bytes(pair)).collect()
}

/// Integers as bytes, in this machine's order.
fn bytes_of<T, const N: usize>(
    values: impl IntoIterator<Item = T>,
    bytes: impl Fn(T) -> [u8; N],
) -> Vec<u8> {
    values.into_iter().flat_map(bytes).collect()
}
