//! Parameters of TFHE: named sets, and their properties.

use std::fmt::Display;
use std::sync::Arc;

use ::tfhe::{Encoding, KeySwitch, Params, sets};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use ring::torus::Fft;
use rlwe::security::TARGET_BITS;

use super::InScheme;
use crate::error::{SecurityError, UsageError};
use crate::guard::guard;
use crate::schemes::params::asked_for;
use crate::security;

/// Checked parameters of TFHE.
#[pyclass(frozen, module = "palladion._native")]
#[derive(Clone)]
pub(crate) struct TfheParams(Arc<Params>);

impl TfheParams {
    fn new(params: Params) -> PyResult<Self> {
        Fft::new(params.n())
            .map_err(::tfhe::Error::from)
            .or_raise()?;
        Ok(Self(Arc::new(params)))
    }

    pub(crate) fn get(&self) -> &Params {
        &self.0
    }

    /// Checks that an object with the parameters `found` is for these parameters.
    pub(crate) fn check(&self, what: &str, found: &Self) -> PyResult<()> {
        if self.0.fingerprint() == found.0.fingerprint() {
            return Ok(());
        }
        let words = format!("the {what} is of other parameters: {found}, expected {self}");
        Err(UsageError::new_err(words))
    }

    pub(crate) fn multiplier(&self) -> PyResult<Fft> {
        Fft::new(self.0.n()).map_err(::tfhe::Error::from).or_raise()
    }

    fn name(&self) -> Option<&'static str> {
        let named = sets::all().into_iter();
        let mut ours = named.filter(|(_, params)| params.fingerprint() == self.0.fingerprint());
        ours.next().map(|(name, _)| name)
    }
}

impl Display for TfheParams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.name().unwrap_or("tfhe, a set without a name"))?;
        write!(f, ", {} ({})", self.get().security(), self.fingerprint())
    }
}

#[pymethods]
impl TfheParams {
    /// Names of all sets, in the order of the core.
    #[staticmethod]
    fn names() -> Vec<&'static str> {
        sets::all().into_iter().map(|(name, _)| name).collect()
    }

    /// The set with a name. Sets below 128 bits only if `insecure` is set.
    #[staticmethod]
    fn named(name: &str, insecure: bool) -> PyResult<Self> {
        let all = sets::all();
        let Some((_, params)) = all.iter().find(|(found, _)| *found == name) else {
            let known: Vec<_> = all.iter().map(|(name, _)| *name).collect();
            let words = format!("no set {name:?}, expected one of {}", known.join(", "));
            return Err(UsageError::new_err(words));
        };
        let security = params.security();
        if !insecure && !security.is_enough() {
            return Err(SecurityError::new_err(format!(
                "{name} has {security}, expected {TARGET_BITS} bits, or insecure=True with it"
            )));
        }
        Self::new(params.clone())
    }

    /// The fastest set of 128 bits. Without message bits it is one for gates.
    #[staticmethod]
    fn fastest(message_bits: u32, carry_bits: u32, log2_failure: f64) -> PyResult<Self> {
        let encoding = match message_bits {
            0 => Encoding::Gates,
            _ => Encoding::Integers {
                message_bits,
                carry_bits,
            },
        };
        let (_, params) = ::tfhe::fastest(encoding, log2_failure).or_raise()?;
        Self::new(params)
    }

    /// Sizes, security, failures and other properties.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (params, spec) = (self.get(), self.get().spec());
        let (kind, digits) = match spec.key_switch {
            KeySwitch::Lwe(digits) => ("samples", digits),
            KeySwitch::Ring(digits) => ("ring", digits),
        };
        let (layout, message_bits, carry_bits) = match spec.encoding {
            Encoding::Gates => ("gates", 1, 0),
            Encoding::Integers {
                message_bits,
                carry_bits,
            } => ("integers", message_bits, carry_bits),
        };
        let word = spec.word_bits as usize / 8;
        let (n, k, dimension) = (params.n(), params.rank(), params.lwe_dimension());
        let levels = spec.bootstrap.levels() as usize;
        let switch_levels = digits.levels() as usize;
        let rows = dimension * (k + 1) * levels;
        // Prepared polynomials have as many doubles as coefficients. Samples stay words.
        let switch = match spec.key_switch {
            KeySwitch::Lwe(_) => k * n * switch_levels * (dimension + 1) * word,
            KeySwitch::Ring(_) => k * switch_levels * (params.partial_rank() + 1) * n * 8,
        };
        let found = PyDict::new(py);
        found.set_item("scheme", "tfhe")?;
        found.set_item("name", self.name())?;
        found.set_item("layout", layout)?;
        found.set_item("message_bits", message_bits)?;
        found.set_item("carry_bits", carry_bits)?;
        found.set_item("word_bits", spec.word_bits)?;
        found.set_item("lwe_dimension", dimension)?;
        found.set_item("lwe_sigma", spec.lwe_sigma)?;
        found.set_item("rank", k)?;
        found.set_item("log_n", spec.log_n)?;
        found.set_item("ring_sigma", spec.ring_sigma)?;
        let pair = |digits: ring::torus::Decomposition| [digits.base_log(), digits.levels()];
        found.set_item("bootstrap_digits", pair(spec.bootstrap))?;
        found.set_item("key_switch", kind)?;
        found.set_item("key_switch_digits", pair(digits))?;
        found.set_item("max_noise", params.max_noise())?;
        let security = params.security();
        found.set_item("security", security::to_dict(py, &security)?)?;
        found.set_item("security_bits", security.bits())?;
        found.set_item("secure", security.is_enough())?;
        let failure = params.log2_failure();
        found.set_item("log2_failure", failure)?;
        found.set_item("ciphertext_bytes", (k * n + 1) * word)?;
        found.set_item("fresh_bytes", word)?;
        let stored = (rows * n + k * n * switch_levels) * word;
        found.set_item("key_bytes", stored)?;
        found.set_item("key_memory_bytes", rows * (k + 1) * n * 8 + switch)?;
        Ok(found)
    }

    /// log2 of the probability of a failure if `tables` tables share a bootstrapping.
    fn log2_failure_of(&self, tables: usize) -> PyResult<f64> {
        let most = self.get().n() / 2 / self.get().values() as usize;
        if tables == 0 || tables.next_power_of_two() > most {
            let limit = most;
            return Err(::tfhe::Error::Tables {
                found: tables,
                limit,
            })
            .or_raise();
        }
        Ok(self.get().log2_failure_of(tables))
    }

    /// The first bytes of the fingerprint.
    fn fingerprint(&self) -> String {
        let bytes = self.0.fingerprint().iter().take(6);
        bytes.map(|b| format!("{b:02x}")).collect()
    }

    fn __repr__(&self) -> String {
        self.to_string()
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_bytes())
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8], insecure: bool) -> PyResult<Self> {
        guard(py, || {
            let params = if insecure {
                Params::from_bytes_insecure(data)
            } else {
                Params::from_bytes(data)
            };
            Self::new(params.or_raise().map_err(asked_for)?)
        })
    }
}
