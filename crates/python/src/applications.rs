//! Programs that papers measure, as traces.

use applications::{Benchmarks, Written};
use evaluate::circuit::Runner;
use program::recording::Recording;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;

use crate::circuit::written::Circuit;
use crate::error::UsageError;
use crate::guard::guard;
use crate::schemes::params::SchemeParams;
use crate::traces::counts_dict;

/// Names of the benchmarks, each with its summary.
#[pyfunction]
pub(crate) fn benchmark_names() -> Vec<(&'static str, &'static str)> {
    let all = Benchmarks::ALL.into_iter();
    all.map(|benchmark| (benchmark.name, benchmark.summary))
        .collect()
}

/// The trace of a benchmark whose digits of key switching have `digit_limbs` limbs, and its
/// parameters and counts.
#[pyfunction]
pub(crate) fn benchmark_trace<'py>(
    py: Python<'py>,
    name: &str,
    digit_limbs: usize,
) -> PyResult<(String, Bound<'py, PyDict>)> {
    let written = guard(py, || Benchmarks::named(name)?.write(digit_limbs))?;
    let (text, counts) = guard(py, || -> evaluate::Result<_> {
        let trace = lower::lower(&recorded(&written)?)?;
        Ok((trace.to_string(), trace.counts()))
    })?;
    let rlwe = written.rlwe();
    let found = PyDict::new(py);
    found.set_item("log_n", rlwe.log_n())?;
    found.set_item("limbs", rlwe.max_level() + 1)?;
    found.set_item("special_limbs", rlwe.special().len())?;
    found.set_item("digit_limbs", rlwe.spec().digit_limbs)?;
    found.set_item("log_qp", rlwe.log_qp())?;
    let security = rlwe.security();
    found.set_item("security", crate::security::to_dict(py, &security)?)?;
    found.set_item("counts", counts_dict(py, &counts)?)?;
    Ok((text, found))
}

/// A benchmark as a circuit, and its parameters.
#[pyfunction]
pub(crate) fn benchmark_circuit(
    py: Python<'_>,
    name: &str,
    digit_limbs: usize,
) -> PyResult<(SchemeParams, Circuit)> {
    let written = guard(py, || Benchmarks::named(name)?.write(digit_limbs))?;
    match written {
        Written::Approximate(params, circuit) => {
            Ok((SchemeParams::of_ckks(&params)?, Circuit { circuit }))
        }
        Written::Exact(params, circuit) => {
            Ok((SchemeParams::of_bgv(&params)?, Circuit { circuit }))
        }
        Written::Bootstrapping(_) => Err(UsageError::new_err(format!(
            "the benchmark {name} is no circuit of slots, expected another one"
        ))),
    }
}

fn recorded(written: &Written) -> evaluate::Result<Recording> {
    match written {
        Written::Approximate(params, circuit) => {
            Runner::new(params, circuit)?.record(&BTreeMap::new())
        }
        Written::Exact(params, circuit) => Runner::new(params, circuit)?.record(&BTreeMap::new()),
        Written::Bootstrapping(bootstrap) => Ok(bootstrap.record(1)?),
    }
}
