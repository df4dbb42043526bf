//! The builder of circuits.

use std::sync::{Mutex, PoisonError};

use circuits::approximate::{BootstrapSpec, Bootstrapper};
use program::Error;
use program::circuit::{AutoBuilder, OperandId};
use pyo3::prelude::*;

use super::written::Circuit;
use crate::error::UsageError;
use crate::guard::guard;
use crate::schemes::InScheme;
use crate::schemes::params::{Scheme, SchemeParams};

/// Builds a circuit. Operands are numbers that its methods return.
#[pyclass(frozen, module = "palladion._native")]
pub(crate) struct CircuitBuilder {
    params: SchemeParams,
    slots: usize,
    builder: Mutex<AutoBuilder>,
}

impl CircuitBuilder {
    fn write<T: Send>(
        &self,
        py: Python<'_>,
        write: impl FnOnce(&mut AutoBuilder) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        guard(py, || {
            // A refused operation leaves the builder unchanged, except for constants that nothing
            // uses.
            let mut builder = self.builder.lock().unwrap_or_else(PoisonError::into_inner);
            write(&mut builder)
        })
    }
}

#[pymethods]
impl CircuitBuilder {
    #[new]
    fn new(py: Python<'_>, params: &SchemeParams, name: &str, slots: usize) -> PyResult<Self> {
        let most = params.slots();
        if slots > most {
            let words = format!("a circuit of {slots} slots, expected at most {most}");
            return Err(UsageError::new_err(words));
        }
        let of = params.clone();
        guard(py, || {
            let (arithmetic, levels) = (params.arithmetic(), params.max_level() + 1);
            let scales = match params.scheme() {
                Scheme::Ckks(p) => {
                    let params = p.evaluator().params();
                    (0..levels).map(|l| params.scale_at(l)).collect()
                }
                _ => vec![1.0; levels],
            };
            let builder = AutoBuilder::new(name, arithmetic, slots, scales)?;
            Ok::<_, Error>(Self {
                params: of,
                slots,
                builder: Mutex::new(builder),
            })
        })
    }

    fn input(&self, py: Python<'_>, name: &str, level: usize) -> PyResult<OperandId> {
        self.write(py, |b| b.input(name, level))
    }

    fn plain_input(&self, py: Python<'_>, name: &str) -> PyResult<OperandId> {
        self.write(py, |b| b.plain_input(name))
    }

    /// A constant: a power of two of doubles, which repeat.
    fn constant(&self, py: Python<'_>, name: &str, values: &[u8]) -> PyResult<OperandId> {
        let (values, _) = values.as_chunks::<8>();
        let values: Vec<f64> = values.iter().map(|&v| f64::from_ne_bytes(v)).collect();
        self.write(py, |b| b.constant(name, &values))
    }

    /// Operands of numbers. One call makes all of them, since a call takes as long as fifty.
    fn numbers(&self, py: Python<'_>, values: Vec<f64>) -> PyResult<Vec<OperandId>> {
        self.write(py, |b| values.into_iter().map(|v| b.number(v)).collect())
    }

    fn add(&self, py: Python<'_>, left: OperandId, right: OperandId) -> PyResult<OperandId> {
        self.write(py, |b| b.add(left, right))
    }

    fn sub(&self, py: Python<'_>, left: OperandId, right: OperandId) -> PyResult<OperandId> {
        self.write(py, |b| b.sub(left, right))
    }

    fn negate(&self, py: Python<'_>, x: OperandId) -> PyResult<OperandId> {
        self.write(py, |b| b.negate(x))
    }

    fn mul(&self, py: Python<'_>, left: OperandId, right: OperandId) -> PyResult<OperandId> {
        self.write(py, |b| b.mul(left, right))
    }

    fn dot(&self, py: Python<'_>, terms: Vec<[OperandId; 2]>) -> PyResult<OperandId> {
        self.write(py, |b| b.dot(&terms))
    }

    fn pow(&self, py: Python<'_>, x: OperandId, exponent: u64) -> PyResult<OperandId> {
        self.write(py, |b| b.pow(x, exponent))
    }

    fn rotate(&self, py: Python<'_>, x: OperandId, steps: isize) -> PyResult<OperandId> {
        self.write(py, |b| b.rotate(x, steps))
    }

    fn conjugate(&self, py: Python<'_>, x: OperandId) -> PyResult<OperandId> {
        self.write(py, |b| b.conjugate(x))
    }

    fn swap_rows(&self, py: Python<'_>, x: OperandId) -> PyResult<OperandId> {
        self.write(py, |b| b.swap_rows(x))
    }

    fn sum(&self, py: Python<'_>, x: OperandId, at: (isize, usize)) -> PyResult<OperandId> {
        self.write(py, |b| b.sum(x, at))
    }

    /// Declares the bootstrapping that these parameters have for the circuit's slots.
    fn state_bootstrapping(&self, py: Python<'_>) -> PyResult<()> {
        let slots = self.slots;
        let stated = guard(py, || {
            let params = self.params.ckks()?.evaluator();
            let spec = match slots == params.params().slots() {
                true => BootstrapSpec::default(),
                false => BootstrapSpec::for_slots(slots),
            };
            Bootstrapper::stated(params.params(), &spec).or_raise()
        })?;
        self.write(py, |b| b.set_bootstrapping(stated))
    }

    fn bootstrap(&self, py: Python<'_>, x: OperandId) -> PyResult<OperandId> {
        self.write(py, |b| b.bootstrap(x))
    }

    /// The carried values after the iterations of a body, one iteration for each list of `each`.
    fn repeat(
        &self,
        py: Python<'_>,
        body: &Circuit,
        carried: Vec<OperandId>,
        each: Vec<Vec<OperandId>>,
    ) -> PyResult<Vec<OperandId>> {
        let body = &body.circuit;
        self.write(py, |b| {
            if let Some(stated) = &body.bootstrapping {
                b.set_bootstrapping(stated.clone())?;
            }
            b.repeat(body, &carried, &each)
        })
    }

    fn rescale(&self, py: Python<'_>, x: OperandId) -> PyResult<OperandId> {
        self.write(py, |b| b.rescale(x))
    }

    fn drop_to(&self, py: Python<'_>, x: OperandId, level: usize) -> PyResult<OperandId> {
        self.write(py, |b| b.drop_to(x, level))
    }

    /// The level of a ciphertext. `None` for a plaintext.
    fn level(&self, py: Python<'_>, x: OperandId) -> PyResult<Option<usize>> {
        self.write(py, |b| b.level(x))
    }

    fn output(&self, py: Python<'_>, name: &str, x: OperandId) -> PyResult<()> {
        self.write(py, |b| b.output(name, x))
    }

    /// The circuit with all steps that its outputs need.
    fn finish(&self, py: Python<'_>) -> PyResult<Circuit> {
        let circuit = self.write(py, |b| b.finish())?;
        Ok(Circuit { circuit })
    }
}
