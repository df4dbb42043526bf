//! Vector machines, and the time and energy that programs take on them, for Python.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sim::vector::{
    self, Component, Eviction, Machine, Options, Order, Report, Schedule, Series, Together,
    Traffic, Work,
};
use sim::{Error, Family};
use std::sync::Arc;
use trace::Trace;

use crate::error::UsageError;
use crate::guard::{guard, guard_bytes, guard_with};
use crate::program::{News, tell};
use crate::streams::Streams;

/// Name, family, sizes and areas of a machine, from its file. The machine may be of either family.
#[pyfunction]
pub(crate) fn machine_summary<'py>(py: Python<'py>, machine: &str) -> PyResult<Bound<'py, PyDict>> {
    let family = guard(py, || Family::from_toml(machine))?;
    let found = PyDict::new(py);
    found.set_item("family", family.name())?;
    match family {
        Family::Spatial(machine) => {
            found.set_item("name", machine.name())?;
            found.set_item("tiles", machine.tiles())?;
        }
        Family::Vector(machine) => {
            found.set_item("name", machine.name())?;
            found.set_item("word_bits", machine.word_bits())?;
            found.set_item("max_n", machine.max_n())?;
            found.set_item("clusters", machine.clusters().len())?;
            let units = machine.units().iter().map(|unit| unit.name.clone());
            found.set_item("units", units.collect::<Vec<_>>())?;
            let lanes = machine.units().iter();
            let lanes: Vec<_> = lanes.map(|unit| (unit.name.as_str(), unit.lanes)).collect();
            found.set_item("unit_lanes", dict(py, lanes)?)?;
            found.set_item("scratchpad_bytes", machine.scratchpad_bytes())?;
            found.set_item("bytes_per_second", machine.bytes_per_second())?;
            found.set_item("area_mm2", dict(py, machine.areas())?)?;
        }
    }
    Ok(found)
}

/// The file of a vector machine with the integers in `changes`, and with the areas and energies
/// that follow from them.
#[pyfunction]
pub(crate) fn machine_varied(
    py: Python<'_>,
    machine: &str,
    changes: Vec<(String, i64)>,
) -> PyResult<String> {
    guard(py, || vector::varied(machine, &changes))
}

/// The rule by which areas and watts grow with a machine's integers, in words: the integers and
/// their exponents.
#[pyfunction]
pub(crate) fn machine_scaling(py: Python<'_>, machine: &str) -> PyResult<String> {
    guard(py, || vector::scaling(machine))
}

/// The instructions on limbs of a trace, to be run on machines.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct Workload {
    pub(crate) work: Arc<Work>,
}

impl Workload {
    /// Verifies a trace.
    pub(crate) fn of(py: Python<'_>, trace: &Trace) -> PyResult<Self> {
        let work = guard(py, || Work::new(trace))?;
        Ok(Self {
            work: Arc::new(work),
        })
    }
}

#[pymethods]
impl Workload {
    /// Reads and verifies the text of a trace.
    #[new]
    fn new(py: Python<'_>, trace: &str) -> PyResult<Self> {
        let trace = guard(py, || Trace::parse(trace))?;
        Self::of(py, &trace)
    }

    /// A checked schedule on a machine. `passes` are the order of operations and the rule of
    /// eviction.
    #[pyo3(signature = (machine, passes, progress=None))]
    fn simulate(
        &self,
        py: Python<'_>,
        machine: &str,
        passes: (&str, &str),
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Simulation> {
        let options = options(passes)?;
        guard_with(
            py,
            |py, news| tell(py, progress.as_ref(), None, news),
            |line| -> Result<_, Error> {
                let machine = Machine::from_toml(machine)?;
                let mut go_on = |done: usize, all: usize| {
                    line.tell(News::Progress {
                        step: "schedule".into(),
                        done: done as f64,
                        total: all as f64,
                    })
                };
                let schedule = vector::schedule(&machine, &self.work, options, &mut go_on)?;
                vector::check(&machine, &self.work, &schedule)?;
                let work = self.work.clone();
                Ok(Simulation {
                    machine,
                    work,
                    schedule,
                })
            },
        )
    }
}

/// A checked schedule of a program on a machine.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct Simulation {
    machine: Machine,
    work: Arc<Work>,
    schedule: Schedule,
}

#[pymethods]
impl Simulation {
    /// Time, energy, traffic, and the activity of each part of the machine.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (machine, work, schedule) = (&self.machine, &self.work, &self.schedule);
        let (report, components) = guard(py, || -> Result<_, Error> {
            let report = Report::new(machine, work, schedule);
            Ok((report, Component::all(machine, work, schedule)))
        })?;
        let found = PyDict::new(py);
        found.set_item("machine", machine.name())?;
        found.set_item("cycles", report.cycles)?;
        found.set_item("seconds", report.seconds)?;
        found.set_item("joules", report.energy())?;
        found.set_item("edp", report.edp())?;
        found.set_item("edap", report.edap())?;
        found.set_item("area_mm2", report.area())?;
        found.set_item("area_mm2_by_component", dict(py, report.areas.clone())?)?;
        found.set_item("joules_by_component", dict(py, report.joules.clone())?)?;
        found.set_item("accesses", dict(py, report.accesses.clone())?)?;
        found.set_item("traffic_bytes", traffic(py, &report.traffic)?)?;
        found.set_item("traffic_total", report.traffic.total())?;
        found.set_item("traffic_compulsory", report.traffic.compulsory())?;
        found.set_item("utilisation", dict(py, report.utilisation.clone())?)?;
        found.set_item("stalls", dict(py, report.stalls.clone())?)?;
        found.set_item("instructions", dict(py, report.instructions.clone())?)?;
        let works = |of: &Together| dict(py, report.kinds.iter().zip(of.works.clone()));
        found.set_item("works_cycles", works(&report.together)?)?;
        found.set_item("together_cycles", report.together.together)?;
        let bound = report.bound;
        let bounds = [
            ("critical path", bound.critical_path),
            ("busiest unit", bound.busiest_unit),
            ("compulsory traffic", bound.compulsory_traffic),
        ];
        found.set_item("lower_bounds", dict(py, bounds)?)?;
        found.set_item("gap", report.gap())?;
        found.set_item("tight_bound", bound.tightest())?;
        found.set_item("tight_gap", report.tight_gap())?;
        let steps = report.steps.iter().map(|step| {
            let entry = PyDict::new(py);
            entry.set_item("name", &step.name)?;
            entry.set_item("cycles", step.cycles)?;
            entry.set_item("seconds", step.seconds)?;
            entry.set_item("joules", step.joules)?;
            entry.set_item("instructions", step.instructions)?;
            entry.set_item("traffic_bytes", traffic(py, &step.traffic)?)?;
            entry.set_item("begins", step.begins)?;
            entry.set_item("ends", step.ends)?;
            entry.set_item("works_cycles", works(&step.together)?)?;
            entry.set_item("together_cycles", step.together.together)?;
            entry.set_item("overlap_cycles", step.overlap)?;
            Ok(entry)
        });
        found.set_item("steps", steps.collect::<PyResult<Vec<_>>>()?)?;
        let components = components.iter().map(|component| {
            let entry = PyDict::new(py);
            entry.set_item("name", &component.name)?;
            entry.set_item("instructions", component.instructions)?;
            entry.set_item("busy_cycles", component.busy)?;
            entry.set_item("stalls", component.stalls)?;
            entry.set_item("stall_cycles", component.stalled)?;
            entry.set_item("longest_stall", component.longest)?;
            Ok(entry)
        });
        found.set_item("components", components.collect::<PyResult<Vec<_>>>()?)?;
        Ok(found)
    }

    /// The instruction streams, with rows and registers.
    fn streams(&self, py: Python<'_>) -> PyResult<Streams> {
        Streams::of(py, (&self.machine, &self.work), &self.schedule)
    }

    /// Shares of time by equal parts of the run: `cycles` of a part, `busy` by kind of unit,
    /// `works` by kind of clusters, `limbs` in the scratchpad.
    fn series<'py>(&self, py: Python<'py>, parts: usize) -> PyResult<Bound<'py, PyDict>> {
        let series = guard(py, || -> Result<_, Error> {
            let (machine, work) = (&self.machine, &self.work);
            Ok(Series::new(machine, work, &self.schedule, parts))
        })?;
        let found = PyDict::new(py);
        found.set_item("cycles", series.cycles)?;
        found.set_item("busy", dict(py, series.busy)?)?;
        found.set_item("works", dict(py, series.works)?)?;
        found.set_item("limbs", series.limbs)?;
        let capacity = self.machine.scratchpad_limbs(self.work.n());
        found.set_item("capacity", capacity)?;
        Ok(found)
    }

    /// A file for Perfetto: of a window of cycles, or of all of them.
    #[pyo3(signature = (window=None))]
    fn timeline<'py>(
        &self,
        py: Python<'py>,
        window: Option<(u64, u64)>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let window = window.map(|(first, end)| first..end);
        guard_bytes(py, || {
            vector::timeline(&self.machine, &self.work, &self.schedule, window)
        })
    }
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

fn traffic<'py>(py: Python<'py>, traffic: &Traffic) -> PyResult<Bound<'py, PyDict>> {
    dict(py, traffic.all())
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

/// The components of a vector machine: names, square millimetres, and watts if they are always
/// busy.
#[pyfunction]
pub(crate) fn machine_parts(py: Python<'_>, machine: &str) -> PyResult<Vec<(String, f64, f64)>> {
    let machine = guard(py, || Machine::from_toml(machine))?;
    let watts = machine.unit_watts();
    let units = machine.units().iter().enumerate().map(|(place, unit)| {
        let clusters = machine.clusters().iter();
        let count: usize = clusters.map(|cluster| cluster.units[place]).sum();
        (unit.name.as_str(), watts[place] * count as f64)
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
