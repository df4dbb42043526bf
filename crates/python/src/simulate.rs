//! Machines and what they take, for Python.

use program::trace::Trace;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ring::torus::garner::published;
use ring::torus::{Decomposition, Garner};
use sim::vector::{self, Eviction, Options, Order, Report, Schedule, Work};
use sim::{BlindRotation, Machine, Parameters, Products};

use crate::error::UsageError;
use crate::guard::{guard, guard_with};
use crate::program::{News, tell};

/// Names of the machines that come with the package.
#[pyfunction]
pub(crate) fn machine_names() -> Vec<&'static str> {
    Machine::names()
}

/// The file of a machine that comes with the package.
#[pyfunction]
pub(crate) fn machine_file(py: Python<'_>, name: &str) -> PyResult<&'static str> {
    guard(py, || Machine::file(name))
}

/// Time of products of polynomials of `n` coefficients on a multiplier of `elements`.
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

/// Time and power of a blind rotation: dimension, rank, ring degree, bits of a digit and digits as `sizes`.
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
    let layout = rotation.layout();
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

/// The components of a vector machine: names, square millimetres, and watts if they are always busy.
#[pyfunction]
pub(crate) fn machine_parts(py: Python<'_>, machine: &str) -> PyResult<Vec<(String, f64, f64)>> {
    let machine = guard(py, || vector::Machine::from_toml(machine))?;
    let units = machine.units().iter().enumerate().map(|(place, unit)| {
        let clusters = machine.clusters().iter();
        let count: usize = clusters.map(|cluster| cluster.units[place]).sum();
        (unit.name.as_str(), unit.watts * count as f64)
    });
    let watts: Vec<(&str, f64)> = units.chain(machine.part_watts()).collect();
    let of = |name: &str| watts.iter().find(|(part, _)| *part == name);
    let areas = machine.areas().into_iter();
    Ok(areas
        .map(|(name, area)| {
            let watts = of(&name).map_or(0.0, |(_, watts)| *watts);
            (name, area, watts)
        })
        .collect())
}

/// A trace on a vector machine: what its checked schedule takes. `passes` are the order of operations and the rule of
/// eviction.
#[pyfunction]
#[pyo3(signature = (machine, trace, passes, progress=None))]
pub(crate) fn simulate_trace<'py>(
    py: Python<'py>,
    machine: &str,
    trace: &str,
    passes: (&str, &str),
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = options(passes)?;
    let trace = guard(py, || -> runtime::Result<_> { Ok(Trace::parse(trace)?) })?;
    let (machine, report) = guard_with(
        py,
        |py, news| tell(py, progress.as_ref(), None, news),
        |line| -> Result<_, sim::Error> {
            let machine = vector::Machine::from_toml(machine)?;
            let work = Work::new(&trace)?;
            let mut go_on = |done: usize, all: usize| {
                line.tell(News::Progress {
                    step: "schedule".into(),
                    done: done as f64,
                    total: all as f64,
                })
            };
            let schedule: Schedule = vector::schedule(&machine, &work, options, &mut go_on)?;
            vector::check(&machine, &work, &schedule)?;
            let report = Report::new(&machine, &work, &schedule);
            Ok((machine, report))
        },
    )?;
    let found = PyDict::new(py);
    found.set_item("machine", machine.name())?;
    found.set_item("cycles", report.cycles)?;
    found.set_item("seconds", report.seconds)?;
    found.set_item("joules", report.energy())?;
    found.set_item("edp", report.edp())?;
    found.set_item("area_mm2", report.area_mm2)?;
    found.set_item(
        "joules_by_component",
        dict(py, report.joules.iter().cloned())?,
    )?;
    found.set_item("traffic_bytes", dict(py, report.traffic.all())?)?;
    found.set_item("traffic_total", report.traffic.total())?;
    found.set_item("traffic_compulsory", report.traffic.compulsory())?;
    found.set_item("utilisation", dict(py, report.utilisation.iter().cloned())?)?;
    found.set_item("stalls", dict(py, report.stalls.iter().copied())?)?;
    found.set_item(
        "instructions",
        dict(py, report.instructions.iter().copied())?,
    )?;
    let bound = report.bound;
    let bounds = [
        ("critical path", bound.critical_path),
        ("busiest unit", bound.busiest_unit),
        ("compulsory traffic", bound.compulsory_traffic),
    ];
    found.set_item("lower_bounds", dict(py, bounds)?)?;
    found.set_item("gap", report.gap())?;
    Ok(found)
}

fn options((order, eviction): (&str, &str)) -> PyResult<Options> {
    let wrong = |what: &str, found: &str, expected: &str| {
        UsageError::new_err(format!("the {what} is {found:?}, expected {expected}"))
    };
    let order = match order {
        "hints" => Order::Hints,
        "program" => Order::Program,
        other => return Err(wrong("order", other, "\"hints\" or \"program\"")),
    };
    let eviction = match eviction {
        "belady" => Eviction::Belady,
        "lru" => Eviction::Lru,
        other => return Err(wrong("eviction", other, "\"belady\" or \"lru\"")),
    };
    Ok(Options {
        order,
        eviction,
        ..Options::default()
    })
}

fn dict<'py, K: IntoPyObject<'py>, V: IntoPyObject<'py>>(
    py: Python<'py>,
    entries: impl IntoIterator<Item = (K, V)>,
) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    for (name, value) in entries {
        found.set_item(name, value)?;
    }
    Ok(found)
}

/// A product by the paper's algorithm 2 as it is printed, and the limbs with which it is exact for `rows` and digits
/// up to `digit`.
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
