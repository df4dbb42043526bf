//! The candidates that the compiler compared, for Python.

use compiler::{Candidate, Choices, Cost, LayerChoices};
use pyo3::prelude::*;
use pyo3::types::PyDict;

pub(crate) fn choices<'py>(py: Python<'py>, found: &Choices) -> PyResult<Bound<'py, PyDict>> {
    let layers = found.layers.iter().map(|one| layer(py, one));
    let cuts = list(py, &found.cuts, |entry, cut, _| {
        entry.set_item("limbs", cut.limbs)?;
        entry.set_item("special_limbs", cut.special_limbs)?;
        entry.set_item("digit_limbs", cut.digit_limbs)?;
        entry.set_item("log_qp", cut.log_qp)
    })?;
    let entry = PyDict::new(py);
    entry.set_item("trial_limbs", found.trial_limbs)?;
    entry.set_item("layers", layers.collect::<PyResult<Vec<_>>>()?)?;
    entry.set_item("cuts", cuts)?;
    Ok(entry)
}

fn layer<'py>(py: Python<'py>, found: &LayerChoices) -> PyResult<Bound<'py, PyDict>> {
    let forms = list(py, &found.forms, |entry, form, cost| {
        entry.set_item("form", if form.slots { "slots" } else { "coefficients" })?;
        entry.set_item("values", form.values)?;
        entry.set_item("ciphertexts", form.ciphertexts)?;
        entry.set_item("zeros", form.zeros)?;
        entry.set_item("products", form.products)?;
        entry.set_item("table_seconds", cost.map(|cost| cost.table_seconds))?;
        entry.set_item("reading_seconds", cost.map(|cost| cost.reading_seconds))
    })?;
    let tables = list(py, &found.tables, |entry, shape, cost| {
        entry.set_item("segments", shape.segments)?;
        entry.set_item("digits", shape.digits)?;
        entry.set_item("start_level", cost.map(|cost| cost.start_level))?;
        entry.set_item("products", cost.map(|cost| cost.products))
    })?;
    let entry = PyDict::new(py);
    entry.set_item("name", &found.name)?;
    entry.set_item("forms", forms)?;
    entry.set_item("tables", tables)?;
    Ok(entry)
}

/// Candidates as dictionaries: the entries of `describe`, and the entries that all candidates have.
fn list<'py, T, C: Cost>(
    py: Python<'py>,
    candidates: &[Candidate<T, C>],
    describe: impl Fn(&Bound<'py, PyDict>, &T, Option<&C>) -> PyResult<()>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let candidates = candidates.iter().map(|candidate| {
        let entry = PyDict::new(py);
        let cost = candidate.cost.as_ref();
        describe(&entry, &candidate.option, cost.ok())?;
        entry.set_item("seconds", cost.map(Cost::seconds).ok())?;
        entry.set_item("refused", cost.err())?;
        entry.set_item("chosen", candidate.chosen)?;
        Ok(entry)
    });
    candidates.collect()
}
