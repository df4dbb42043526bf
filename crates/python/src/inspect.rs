//! Encrypted runs compared with the integer network, step by step, with the secret.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ::network::{Evaluator, IntNetwork};
use inspect::{Exact, LayerFindings, StepNoise};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use runtime::{Prepared, Report, Server};

use crate::guard::guard_with;
use crate::keys::{EvaluationKeys, SecretKey};
use crate::program::{Clock, Program, check_keys, check_program, report_dict, tell};

/// The integer network with which runs are compared.
struct Integers {
    network: IntNetwork,
    evaluator: Evaluator,
}

impl Integers {
    fn from_json(text: &str) -> ::network::Result<Self> {
        let network = IntNetwork::from_json(text)?;
        let evaluator = Evaluator::new(&network)?;
        Ok(Self { network, evaluator })
    }
}

impl Exact for Integers {
    fn layers(&self) -> usize {
        self.network.layers.len()
    }

    fn accumulate(&self, layer: usize, image: &[i64], outputs: &[Vec<i64>]) -> Option<Vec<i64>> {
        self.evaluator.accumulate_from(layer, image, outputs).ok()
    }

    fn activate(&self, layer: usize, accumulator: i64) -> Option<i64> {
        let lut = &self.network.layers.get(layer)?.lut;
        Some(
            lut.as_ref()
                .map_or(accumulator, |lut| lut.apply(accumulator)),
        )
    }

    fn bound(&self, layer: usize) -> i64 {
        self.network.layers.get(layer).map_or(0, |l| l.bound)
    }
}

/// Runs images encrypted and compares every layer with the integer network.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct Inspector {
    client: client::Client,
    prepared: Prepared,
    found: Mutex<inspect::Inspector<Integers>>,
}

/// Logits, noise margin, report.
type Outcome<'py> = (Vec<Vec<i64>>, f64, Bound<'py, PyDict>);

#[pymethods]
impl Inspector {
    #[new]
    fn new(
        py: Python<'_>,
        secret: &SecretKey,
        program: &Program,
        network_json: &str,
    ) -> PyResult<Self> {
        use crate::error::ToPython;
        let exact = Integers::from_json(network_json).map_err(ToPython::to_python)?;
        check_program(&program.verified, secret.0.exchange(), "secret keys")?;
        Ok(Self {
            client: secret.0.clone(),
            prepared: program.prepared(py)?.clone(),
            found: Mutex::new(inspect::Inspector::new(&secret.0, &program.verified, exact)),
        })
    }

    /// Encrypts, runs, decrypts and compares. The findings are added to the earlier ones.
    #[pyo3(signature = (keys, images, progress=None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        keys: &EvaluationKeys,
        images: Vec<Vec<i64>>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Outcome<'py>> {
        check_keys(self.client.exchange(), keys)?;
        let (decrypted, report) = guard_with(
            py,
            |py, news| tell(py, progress.as_ref(), None, news),
            |line| -> inspect::Result<_> {
                let mut found = self.found();
                found.begin(&images)?;
                let mut clock = Clock::new(&self.prepared, line);
                let mut misfit = None;
                let query = self.client.encrypt(&images)?;
                let keys = keys.read()?;
                let server = Server::new(&self.prepared, &keys);
                let ran = server.run(&query, |event| {
                    misfit = found.observe(&event).err();
                    misfit.is_none() && clock.observe(&event)
                });
                if let Some(error) = misfit {
                    return Err(error);
                }
                let (answer, report): (_, Report) = ran?;
                let decrypted = self.client.decrypt(&answer, &query)?;
                found.end(&decrypted)?;
                Ok((decrypted, report))
            },
        )?;
        let report = report_dict(py, &report, false)?;
        Ok((decrypted.logits, decrypted.margin_bits, report))
    }

    /// The findings in each layer.
    fn layers<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let found = self.found();
        found.layers().iter().map(|l| layer(py, l)).collect()
    }

    /// Predicted and measured noise of every ciphertext of the first run.
    fn noise<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let found = self.found();
        found.noise().iter().map(|n| noise(py, n)).collect()
    }
}

impl Inspector {
    /// After a panic, some sums lack a run, but they are still valid.
    fn found(&self) -> MutexGuard<'_, inspect::Inspector<Integers>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn layer<'py>(py: Python<'py>, found: &LayerFindings) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    let changed: u64 = found.changes.values().sum();
    let largest = found.changes.keys().map(|d| d.abs()).max();
    let changes = PyDict::new(py);
    for (difference, count) in &found.changes {
        changes.set_item(difference, count)?;
    }
    entry.set_item("name", &found.name)?;
    entry.set_item("values", found.values)?;
    entry.set_item("changed", changed)?;
    entry.set_item("largest_change", largest.unwrap_or(0))?;
    entry.set_item("changes", changes)?;
    entry.set_item("slots", found.slots)?;
    entry.set_item("wrong_slots", found.wrong)?;
    entry.set_item("accumulators", found.noise.count)?;
    entry.set_item("beyond_bound", found.beyond_bound)?;
    entry.set_item("noise_mean", found.noise.mean())?;
    entry.set_item("noise_sigma", found.noise.sigma())?;
    entry.set_item("noise_largest", found.noise.largest)?;
    Ok(entry)
}

fn noise<'py>(py: Python<'py>, found: &StepNoise) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("name", &found.name)?;
    entry.set_item("predicted_bits", found.predicted_bits)?;
    entry.set_item("measured_bits", found.measured_bits)?;
    entry.set_item("margin_bits", found.margin_bits)?;
    Ok(entry)
}
