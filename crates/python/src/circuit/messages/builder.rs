//! The builder of circuits of TFHE.

use std::sync::{Mutex, PoisonError};

use program::message::{Builder, Gate, Messages, Value};
use pyo3::prelude::*;

use super::written::MessageCircuit;
use crate::error::UsageError;
use crate::guard::guard;
use crate::tfhe::TfheParams;

/// Builds a circuit. Operands are numbers that its methods return.
#[pyclass(frozen, module = "palladion._native")]
pub(crate) struct MessageBuilder {
    params: TfheParams,
    state: Mutex<State>,
}

struct State {
    builder: Builder,
    /// The operands. Their numbers are indices into this list.
    values: Vec<Value>,
}

impl State {
    fn value(&self, operand: usize) -> evaluate::Result<Value> {
        let found = self.values.get(operand).copied();
        found.ok_or_else(|| evaluate::Error::Circuit {
            what: "an operand".into(),
            found: operand.to_string(),
            expected: format!("below {}", self.values.len()),
        })
    }

    fn add(&mut self, value: Value) -> usize {
        self.values.push(value);
        self.values.len() - 1
    }
}

impl MessageBuilder {
    fn write<T: Send>(
        &self,
        py: Python<'_>,
        write: impl FnOnce(&mut State) -> evaluate::Result<T> + Send,
    ) -> PyResult<T> {
        guard(py, || {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            write(&mut state).map_err(|error| match error {
                // A circuit that is being built is not a file, so the error is not one of a file.
                evaluate::Error::Program(error) => crate::error::ToPython::to_python(error),
                other => crate::error::ToPython::to_python(other),
            })
        })
    }
}

#[pymethods]
impl MessageBuilder {
    #[new]
    fn new(py: Python<'_>, params: &TfheParams, name: &str) -> PyResult<Self> {
        let params = params.clone();
        guard(py, || {
            let builder = Builder::new(name, evaluate::torus::messages(params.get()))?;
            let values = Vec::new();
            Ok::<_, program::Error>(Self {
                params,
                state: Mutex::new(State { builder, values }),
            })
        })
    }

    /// The messages of an input. Without a count it has one.
    #[pyo3(signature = (name, count, bits))]
    fn input(
        &self,
        py: Python<'_>,
        name: &str,
        count: Option<usize>,
        bits: u32,
    ) -> PyResult<Vec<usize>> {
        self.write(py, |s| {
            let made = s.builder.input(name, count, bits)?;
            Ok(made.into_iter().map(|value| s.add(value)).collect())
        })
    }

    fn constant(&self, py: Python<'_>, value: i64) -> PyResult<usize> {
        self.write(py, |s| Ok(s.add(Value::Constant(value))))
    }

    fn negate(&self, py: Python<'_>, x: usize) -> PyResult<usize> {
        self.write(py, |s| {
            let made = s.builder.not(s.value(x)?)?;
            Ok(s.add(made))
        })
    }

    /// A gate by its name.
    fn gate(&self, py: Python<'_>, gate: &str, x: usize, y: usize) -> PyResult<usize> {
        let gate = Gate::ALL.into_iter().find(|known| known.name() == gate);
        let gate = gate.ok_or_else(|| {
            let known = Gate::ALL.map(Gate::name).join(", ");
            UsageError::new_err(format!("no such gate, expected one of {known}"))
        })?;
        self.write(py, |s| {
            let (x, y) = (s.value(x)?, s.value(y)?);
            let made = s.builder.gate(gate, x, y)?;
            Ok(s.add(made))
        })
    }

    fn choose(&self, py: Python<'_>, condition: usize, x: usize, y: usize) -> PyResult<usize> {
        self.write(py, |s| {
            let (condition, x, y) = (s.value(condition)?, s.value(x)?, s.value(y)?);
            let made = s.builder.choose(condition, x, y)?;
            Ok(s.add(made))
        })
    }

    /// The sum of a constant and of terms, each a factor and an integer.
    fn sum(&self, py: Python<'_>, constant: i64, terms: Vec<(i64, usize)>) -> PyResult<usize> {
        self.write(py, |s| {
            let terms = terms
                .into_iter()
                .map(|(factor, x)| Ok((factor, s.value(x)?)));
            let terms: Vec<(i64, Value)> = terms.collect::<evaluate::Result<_>>()?;
            let made = s.builder.sum(constant, &terms)?;
            Ok(s.add(made))
        })
    }

    /// The smallest and the largest integer that an operand can be.
    fn range(&self, py: Python<'_>, x: usize) -> PyResult<(i64, i64)> {
        self.write(py, |s| {
            let range = s.builder.range(s.value(x)?)?;
            Ok((range.least, range.largest))
        })
    }

    /// Looks up `x` in each table. Each table has one entry for each integer of the range.
    fn lookup(&self, py: Python<'_>, x: usize, tables: Vec<Vec<i64>>) -> PyResult<Vec<usize>> {
        self.write(py, |s| {
            evaluate::torus::check_tables(self.params.get(), tables.len())?;
            let made = s.builder.lookup(s.value(x)?, &tables)?;
            Ok(made.into_iter().map(|value| s.add(value)).collect())
        })
    }

    /// Declares values as an output. A single value has no dimension.
    fn output(&self, py: Python<'_>, name: &str, single: bool, values: Vec<usize>) -> PyResult<()> {
        self.write(py, |s| {
            let values = values.into_iter().map(|x| s.value(x));
            let values: Vec<Value> = values.collect::<evaluate::Result<_>>()?;
            Ok(s.builder.output(name, single, &values)?)
        })
    }

    /// The circuit with all steps that its outputs need.
    fn finish(&self, py: Python<'_>) -> PyResult<MessageCircuit> {
        self.write(py, |s| {
            let circuit = s.builder.finish()?;
            Ok(MessageCircuit { circuit })
        })
    }
}

/// The contents of ciphertexts, in words.
pub(super) fn kind(messages: Messages) -> &'static str {
    match messages {
        Messages::Bits => "bits",
        Messages::Integers { .. } => "integers",
    }
}
