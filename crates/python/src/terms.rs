//! The terms of a program, for Python.

use exchange::{Exchange, Profile, files};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::UsageError;
use crate::guard::{guard, guard_bytes};
use crate::program::{Program, hex};
use crate::traces::Trace;

/// The terms of a program, without the program: all that a client needs.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct Terms {
    pub(crate) exchange: Exchange,
}

impl Terms {
    pub(crate) fn of(exchange: &Exchange) -> Self {
        Self {
            exchange: exchange.clone(),
        }
    }
}

#[pymethods]
impl Terms {
    /// Shapes, parameters, their security, and the sizes of keys.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        of_client(py, &self.exchange)
    }

    /// The part of the interface that a client must know about the network's input and output, as
    /// JSON. `None` for a program that was not compiled from a network.
    fn interface(&self) -> Option<String> {
        let interface = self.exchange.terms().interface.as_ref();
        interface.map(ToString::to_string)
    }

    /// The ciphertexts of an answer: moduli, pairs of the image and the coefficient or slot of each
    /// output, the bits of the flood if there is one, and true if there are parts of outputs.
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let terms = self.exchange.terms();
        let outputs = terms.outputs.iter().map(|outputs| {
            let entry = PyDict::new(py);
            entry.set_item("moduli", &terms.parameters.q[..=outputs.level])?;
            let rows = outputs.rows.iter().map(|row| row.image);
            let shown: Vec<_> = rows.zip(outputs.at.iter().copied()).collect();
            entry.set_item("shown", shown)?;
            entry.set_item("flood", outputs.flood.map(|flood| flood.bits))?;
            entry.set_item("parts", terms.has_parts(outputs))?;
            Ok(entry)
        });
        outputs.collect()
    }

    /// Identity of the program: 64 hexadecimal digits. Its answers carry it.
    #[getter]
    fn program_id(&self) -> String {
        hex(self.exchange.fingerprint())
    }

    /// Identity of the input layout: 64 hexadecimal digits. Queries carry it.
    #[getter]
    fn layout_id(&self) -> String {
        hex(&self.exchange.input_layout())
    }

    /// Identity of the profile of the evaluation keys: 64 hexadecimal digits. Keys carry it.
    #[getter]
    fn profile_id(&self) -> String {
        hex(&self.exchange.profile().id())
    }

    /// The profile of the evaluation keys, as JSON.
    fn profile(&self) -> String {
        self.exchange.profile().to_json()
    }

    /// The number of evaluation keys that the program needs beyond some profiles, given as JSON, and
    /// their bytes in a file. Raises if their parameters are others, so that no key serves.
    #[pyo3(signature = (*profiles))]
    fn missing_keys(&self, py: Python<'_>, profiles: Vec<String>) -> PyResult<(usize, usize)> {
        guard(py, || {
            let needed = self.exchange.profile();
            let mut missing = needed.needs();
            for profile in &profiles {
                let held = Profile::from_json(profile)?;
                held.check_parameters(needed)?;
                missing = missing.without(&held.needs());
            }
            let count = missing.each().count();
            let bytes = match count {
                0 => 0,
                _ => files::keys_file_len(self.exchange.params(), &missing)?,
            };
            Ok::<_, exchange::Error>((count, bytes))
        })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || Ok::<_, PyErr>(files::terms_to_bytes(&self.exchange)))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let exchange = guard(py, || files::terms_from_bytes(data))?;
        Ok(Self { exchange })
    }
}

/// The facts of a program that a client knows: shapes, parameters, their security, and the sizes of
/// keys.
pub(crate) fn of_client<'py>(py: Python<'py>, exchange: &Exchange) -> PyResult<Bound<'py, PyDict>> {
    let (terms, params, needs) = (exchange.terms(), exchange.params(), &exchange.needs());
    let (parameters, small) = (&terms.parameters, params.small());
    let facts = PyDict::new(py);
    facts.set_item("network", &terms.name)?;
    facts.set_item("batch", terms.batch)?;
    facts.set_item("input_shape", terms.input.to_vec())?;
    facts.set_item("ciphertexts", terms.inputs())?;
    facts.set_item("classes", terms.classes)?;
    let floods = terms.outputs.iter().map(|outputs| outputs.flood);
    let answers = floods.map(|flood| flood.map_or(0, |flood| flood.answers));
    facts.set_item(
        "flooded_answers",
        answers.min().filter(|&answers| answers > 0),
    )?;
    let promise = terms.public_inputs.map(|promise| promise.log2_failure);
    facts.set_item("public_log2_failure", promise)?;
    let security = params.security();
    facts.set_item("security", crate::security::to_dict(py, &security)?)?;
    facts.set_item("security_bits", crate::security::bits(&security))?;
    facts.set_item("log_n", parameters.n.ilog2())?;
    facts.set_item("log_q", parameters.log_q(parameters.q.len() - 1))?;
    facts.set_item("log_qp", parameters.log_qp())?;
    facts.set_item("plaintext_modulus", parameters.t)?;
    facts.set_item("limbs", parameters.q.len())?;
    let moduli = parameters.q.iter().chain(&parameters.p);
    let largest = moduli.map(|q| 64 - q.leading_zeros()).max();
    facts.set_item("largest_modulus_bits", largest)?;
    facts.set_item("special_limbs", parameters.p.len())?;
    facts.set_item("digit_limbs", parameters.digit_limbs)?;
    facts.set_item("lwe_dimension", parameters.lwe_dimension)?;
    facts.set_item("lwe_log_qp", small.log_q())?;
    facts.set_item("rounding_sigma", params.rounding_sigma())?;
    let keys = guard(py, || files::keys_file_len(params, needs))?;
    facts.set_item("predicted_evaluation_key_bytes", keys)?;
    let memory = guard(py, || needs.byte_len(params))?;
    facts.set_item("predicted_key_memory_bytes", memory)?;
    facts.set_item(
        "predicted_writing_memory_bytes",
        needs.writing_byte_len(params),
    )?;
    Ok(facts)
}

/// An argument from which the terms of a program are taken: the terms, the program or its trace.
pub(crate) struct Known(pub(crate) Exchange);

impl<'a, 'py> FromPyObject<'a, 'py> for Known {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(terms) = object.cast::<Terms>() {
            return Ok(Self(terms.get().exchange.clone()));
        }
        if let Ok(program) = object.cast::<Program>() {
            return Ok(Self(program.get().verified.exchange().clone()));
        }
        if let Ok(trace) = object.cast::<Trace>() {
            return Ok(Self(trace.get().exchange.clone()));
        }
        let found = object.get_type().name()?;
        Err(UsageError::new_err(format!(
            "an object of type {found}, expected the terms of a program, a program or a trace"
        )))
    }
}
