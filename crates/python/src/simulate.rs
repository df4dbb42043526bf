//! Simulated machines and their times, for Python.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use ring::torus::garner::published;
use ring::torus::{Decomposition, Garner};
use sim::{BlindRotation, Machine, Parameters, Products};

use crate::guard::guard;

/// The names of the machines that come with the package.
#[pyfunction]
pub(crate) fn machine_names() -> Vec<&'static str> {
    Machine::names()
}

/// The file of a machine that comes with the package.
#[pyfunction]
pub(crate) fn machine_file(py: Python<'_>, name: &str) -> PyResult<&'static str> {
    guard(py, || Machine::file(name))
}

/// Time of products of polynomials of `n` coefficients on a multiplier of `elements` elements.
#[pyfunction]
pub(crate) fn simulate_products<'py>(
    py: Python<'py>,
    machine: &str,
    n: usize,
    elements: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let timing = guard(py, || {
        Products::new(&Machine::from_toml(machine)?, n, elements)?.simulate()
    })?;
    let found = PyDict::new(py);
    found.set_item("latency_us", timing.latency)?;
    found.set_item("interval_us", timing.interval)?;
    found.set_item("computing", timing.computing)?;
    Ok(found)
}

/// Time and power of a blind rotation. `sizes` are dimension, rank, ring degree, bits of a digit,
/// and number of digits.
#[pyfunction]
pub(crate) fn simulate_pbs<'py>(
    py: Python<'py>,
    machine: &str,
    sizes: (usize, usize, usize, u32, u32),
) -> PyResult<Bound<'py, PyDict>> {
    let (lwe_dimension, rank, n, base_log, levels) = sizes;
    let (rotation, run) = guard(py, || -> Result<_, sim::Error> {
        let parameters = Parameters {
            lwe_dimension,
            rank,
            n,
            decomposition: Decomposition::new(base_log, levels)?,
        };
        let rotation = BlindRotation::new(&Machine::from_toml(machine)?, parameters)?;
        let run = rotation.simulate()?;
        Ok((rotation, run))
    })?;
    let layout = rotation.floorplan();
    let kinds = layout.kinds().into_iter().map(|kind| {
        let entry = PyDict::new(py);
        entry.set_item("name", kind.name)?;
        entry.set_item("tiles", kind.tiles)?;
        entry.set_item("busy", run.busy.get(kind.name))?;
        entry.set_item("does", kind.does)?;
        Ok(entry)
    });
    let found = PyDict::new(py);
    found.set_item("machine", layout.machine().name())?;
    found.set_item("iterations", run.iterations)?;
    found.set_item("multipliers", layout.multipliers())?;
    found.set_item("elements", layout.elements())?;
    found.set_item("tiles", layout.tiles())?;
    found.set_item("tiles_available", layout.machine().tiles())?;
    found.set_item("channels", layout.channels())?;
    found.set_item("channel_gigabits", layout.machine().channel_gigabits())?;
    found.set_item("key_gigabits", run.key_gigabits)?;
    found.set_item("iteration_us", run.iteration)?;
    found.set_item("latency_ms", run.milliseconds)?;
    found.set_item("static_watts", run.power.static_watts)?;
    found.set_item("tile_watts", run.power.tile_watts)?;
    found.set_item("channel_watts", run.power.channel_watts)?;
    found.set_item("watts", run.power.watts())?;
    found.set_item("energy_mj", run.millijoules())?;
    found.set_item("kinds", kinds.collect::<PyResult<Vec<_>>>()?)?;
    Ok(found)
}

/// A product by the paper's algorithm 2 as printed, and the limbs with which it is exact for `rows`
/// rows and digits up to `digit`.
#[pyfunction]
pub(crate) fn algorithm_2<'py>(
    py: Python<'py>,
    digits: Vec<i32>,
    words: Vec<u32>,
    rows: usize,
    digit: u32,
) -> PyResult<Bound<'py, PyDict>> {
    let (report, exact) = guard(py, || -> Result<_, sim::Error> {
        let exact = Garner::new(words.len(), rows, digit)?;
        Ok((published::multiply(&digits, &words)?, exact))
    })?;
    let found = PyDict::new(py);
    found.set_item("primes", report.primes)?;
    found.set_item("wrong_residues", report.wrong_residues)?;
    found.set_item("wrong_words", report.wrong_words)?;
    found.set_item("rms_error", report.rms)?;
    found.set_item("estimated_rms_error", report.estimated_rms)?;
    found.set_item("spacing", report.spacing)?;
    found.set_item("exact_primes", exact.primes())?;
    found.set_item("exact_limbs", exact.limbs())?;
    found.set_item("exact_bound", exact.rounding_bound())?;
    Ok(found)
}
