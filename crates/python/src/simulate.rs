//! Simulated machines and their times, for Python.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use ring::torus::garner::published;
use ring::torus::{Decomposition, Garner};
use sim::spatial::{
    Bootstrapped, Bootstrapping, Device, Machine, Multiplier, Parameters, Products,
};

use crate::guard::guard;

/// The names of the machines that come with the package.
#[pyfunction]
pub(crate) fn machine_names() -> Vec<&'static str> {
    sim::names()
}

/// The file of a machine that comes with the package.
#[pyfunction]
pub(crate) fn machine_file(py: Python<'_>, name: &str) -> PyResult<&'static str> {
    guard(py, || sim::built_in(name))
}

/// Time of products of polynomials of `n` coefficients on a multiplier of `elements` elements.
#[pyfunction]
pub(crate) fn simulate_products<'py>(
    py: Python<'py>,
    machine: &str,
    n: usize,
    elements: usize,
) -> PyResult<Bound<'py, PyDict>> {
    products(py, || {
        Products::new(&Machine::from_toml(machine)?, n, elements)
    })
}

/// Time of products of polynomials of `n` coefficients on a pipeline of transforms, for digits of
/// at most `digit` in size.
#[pyfunction]
pub(crate) fn simulate_fft_products<'py>(
    py: Python<'py>,
    machine: &str,
    n: usize,
    digit: u32,
    exact: bool,
) -> PyResult<Bound<'py, PyDict>> {
    products(py, || {
        Products::fft(&Machine::from_toml(machine)?, n, digit, exact)
    })
}

fn products<'py>(
    py: Python<'py>,
    make: impl FnOnce() -> sim::Result<Products> + Send,
) -> PyResult<Bound<'py, PyDict>> {
    let (made, timing) = guard(py, || -> sim::Result<_> {
        let made = make()?;
        let timing = made.simulate()?;
        Ok((made, timing))
    })?;
    let found = PyDict::new(py);
    found.set_item("elements", made.elements())?;
    found.set_item("passes", made.passes())?;
    found.set_item("latency_us", timing.latency)?;
    found.set_item("interval_us", timing.interval)?;
    found.set_item("computing", timing.computing)?;
    Ok(found)
}

/// LWE dimension, rank, ring degree, and bits and number of the digits of external products and of
/// the key switch.
type Sizes = (usize, usize, usize, (u32, u32), (u32, u32));

/// The multipliers that the command line names.
fn multiplier_of(name: &str) -> sim::Result<Multiplier> {
    match name {
        "direct" => Ok(Multiplier::Direct),
        "fft" => Ok(Multiplier::Fft),
        "fft as printed" => Ok(Multiplier::FftAsPrinted),
        found => Err(sim::Error::Key {
            key: "multiplier".into(),
            found: format!("{found:?}"),
            expected: "\"direct\", \"fft\" or \"fft as printed\"".into(),
        }),
    }
}

/// A bootstrapping on a machine.
fn design_of(
    machine: &str,
    (lwe_dimension, rank, n, digits, switch): Sizes,
    multiplier: &str,
    place: Device,
) -> sim::Result<Bootstrapping> {
    let parameters = Parameters {
        lwe_dimension,
        rank,
        n,
        decomposition: Decomposition::new(digits.0, digits.1)?,
    };
    let switch = Decomposition::new(switch.0, switch.1)?;
    let design = (multiplier_of(multiplier)?, place);
    Bootstrapping::new(&Machine::from_toml(machine)?, parameters, switch, design)
}

/// A bootstrapping as source code with words for a run: paths in a folder, and contents.
#[pyfunction]
pub(crate) fn emit_pbs<'py>(
    py: Python<'py>,
    machine: &str,
    sizes: Sizes,
    multiplier: &str,
) -> PyResult<Vec<(String, Bound<'py, PyBytes>)>> {
    let emitted = guard(py, || {
        design_of(machine, sizes, multiplier, Device::Processor)?.emit()
    })?;
    let file = |(path, content): (String, Vec<u8>)| (path, PyBytes::new(py, &content));
    Ok(emitted.files.into_iter().map(file).collect())
}

/// Time and power of a bootstrapping: of the blind rotation alone, and of the whole with the key
/// switch on the processor and on the array.
#[pyfunction]
pub(crate) fn simulate_pbs<'py>(
    py: Python<'py>,
    machine: &str,
    sizes: Sizes,
    multiplier: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let make = |place| -> sim::Result<_> {
        let made = design_of(machine, sizes, multiplier, place)?;
        let run = made.simulate()?;
        Ok((made, run))
    };
    let (processor, array, run, placement, placed) = guard(py, || -> sim::Result<_> {
        let processor = make(Device::Processor)?;
        let run = processor.0.rotation().simulate()?;
        let placement = processor.0.rotation().placement()?;
        let placed = processor.0.rotation().simulate_placed(&placement)?;
        // The blind rotation has fitted, so this can only be too little room for the key switch.
        let array = match make(Device::Array) {
            Err(error @ sim::Error::TooSmall { .. }) => Err(error.to_string()),
            other => Ok(other?),
        };
        Ok((processor, array, run, placement, placed))
    })?;
    let layout = processor.0.rotation().floorplan();
    let kinds = layout.kinds().into_iter().map(|kind| {
        let entry = PyDict::new(py);
        entry.set_item("name", kind.name)?;
        entry.set_item("tiles", kind.tiles)?;
        entry.set_item("busy", run.busy.get(kind.name))?;
        entry.set_item("does", kind.does)?;
        Ok(entry)
    });
    let places = PyDict::new(py);
    places.set_item("columns", placement.columns)?;
    places.set_item("rows", placement.rows)?;
    places.set_item("shim_columns", placement.shims())?;
    places.set_item("streams", placement.streams)?;
    places.set_item("neighbours", placement.neighbours)?;
    places.set_item("longest", placement.longest)?;
    places.set_item("latency_ms", placed.milliseconds)?;
    let found = PyDict::new(py);
    found.set_item("placement", places)?;
    found.set_item("machine", layout.machine().name())?;
    found.set_item("iterations", run.iterations)?;
    found.set_item("multipliers", layout.multipliers())?;
    found.set_item("elements", layout.elements())?;
    found.set_item("passes", layout.passes())?;
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
    let [bootstrap, switch] = processor.0.key_bytes();
    found.set_item("bootstrap_key_bytes", bootstrap)?;
    found.set_item("switch_key_bytes", switch)?;
    let memory = layout.machine().memory();
    let peak = memory.peak_megabytes_per_second;
    found.set_item("memory_megabytes_per_second", peak)?;
    let whole = PyDict::new(py);
    whole.set_item("processor", of_whole(py, &processor)?)?;
    match &array {
        Ok(array) => whole.set_item("array", of_whole(py, array)?)?,
        Err(_) => whole.set_item("array", py.None())?,
    }
    whole.set_item("array_refused", array.err())?;
    found.set_item("whole", whole)?;
    Ok(found)
}

/// A whole bootstrapping.
fn of_whole<'py>(
    py: Python<'py>,
    (made, run): &(Bootstrapping, Bootstrapped),
) -> PyResult<Bound<'py, PyDict>> {
    let parts = run.parts.iter().map(|part| {
        let entry = PyDict::new(py);
        entry.set_item("name", part.name)?;
        entry.set_item("at", part.at)?;
        entry.set_item("us", part.microseconds)?;
        Ok(entry)
    });
    let found = PyDict::new(py);
    found.set_item("latency_ms", run.milliseconds())?;
    found.set_item("watts", run.power.watts())?;
    found.set_item("energy_mj", run.millijoules())?;
    found.set_item("tiles", made.tiles())?;
    found.set_item("switch_channels", made.switch_channels())?;
    found.set_item("parts", parts.collect::<PyResult<Vec<_>>>()?)?;
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
