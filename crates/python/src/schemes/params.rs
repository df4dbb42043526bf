//! Parameters of the three schemes.

use std::fmt::Display;

use evaluate::circuit::{Bfv, arithmetic};
use program::circuit::Arithmetic;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use schemes::{ExactSizes, bfv, bgv, ckks, scheme_of};

use super::InScheme;
use super::one_of::{OneOf, each};
use crate::error::{SecurityError, UsageError};
use crate::guard::guard;
use crate::security;

pub(crate) use super::one_of::Scheme;

/// Checked parameters of a scheme.
#[pyclass(frozen, module = "palladion._native")]
#[derive(Clone)]
pub(crate) struct SchemeParams(pub(super) Scheme);

impl SchemeParams {
    /// Parameters of CKKS.
    pub(crate) fn of_ckks(params: &::ckks::Params) -> PyResult<Self> {
        Ok(Self(OneOf::Ckks(ckks::Params::of_raw(params).or_raise()?)))
    }

    /// Parameters of BGV.
    pub(crate) fn of_bgv(params: &::bgv::Params) -> PyResult<Self> {
        Ok(Self(OneOf::Bgv(bgv::Params::of_raw(params).or_raise()?)))
    }

    pub(crate) fn scheme(&self) -> &Scheme {
        &self.0
    }

    pub(crate) fn ckks(&self) -> PyResult<&ckks::Params> {
        match &self.0 {
            OneOf::Ckks(params) => Ok(params),
            _ => Err(self.other_scheme("ckks")),
        }
    }

    pub(super) fn bfv(&self) -> PyResult<&bfv::Params> {
        match &self.0 {
            OneOf::Bfv(params) => Ok(params),
            _ => Err(self.other_scheme("bfv")),
        }
    }

    /// The arithmetic of circuits for these parameters.
    pub(crate) fn arithmetic(&self) -> Arithmetic {
        match &self.0 {
            OneOf::Ckks(p) => arithmetic(p.evaluator().params()),
            OneOf::Bfv(p) => arithmetic(&Bfv(p.exact().params().clone())),
            OneOf::Bgv(p) => arithmetic(p.exact().params()),
        }
    }

    pub(crate) fn other_scheme(&self, expected: &str) -> PyErr {
        UsageError::new_err(format!("parameters of {self}, expected {expected}"))
    }

    /// Checks that an object with the parameters `found` is for these parameters.
    pub(crate) fn check(&self, what: &str, found: &Self) -> PyResult<()> {
        let made_for = |params: &Self| each!(&params.0, p => *p.made_for());
        if made_for(self) == made_for(found) {
            return Ok(());
        }
        Err(self.mismatch(what, found))
    }

    /// The exception for an object of other parameters.
    pub(super) fn mismatch(&self, what: &str, found: &Self) -> PyErr {
        let words = format!("the {what} is of other parameters: {found}, expected {self}");
        UsageError::new_err(words)
    }

    /// The highest level of a ciphertext.
    pub(crate) fn max_level(&self) -> usize {
        each!(&self.0, p => p.max_level())
    }
}

impl Display for SchemeParams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        each!(&self.0, p => p.fmt(f))
    }
}

/// Calls the function of BFV or of BGV.
macro_rules! of_exact {
    ($scheme:expr, $name:ident($($argument:expr),*)) => {
        match $scheme {
            "bfv" => OneOf::Bfv(bfv::Params::$name($($argument),*).or_raise()?),
            "bgv" => OneOf::Bgv(bgv::Params::$name($($argument),*).or_raise()?),
            other => {
                let words = format!("scheme {other:?}, expected bfv or bgv");
                return Err(UsageError::new_err(words));
            }
        }
    };
}

#[pymethods]
impl SchemeParams {
    #[staticmethod]
    #[pyo3(signature = (log_n, levels, special, digit_limbs, log_scale, insecure))]
    fn ckks_of_sizes(
        py: Python<'_>,
        log_n: u32,
        levels: Vec<Vec<u32>>,
        special: Vec<u32>,
        digit_limbs: Option<usize>,
        log_scale: f64,
        insecure: bool,
    ) -> PyResult<Self> {
        let sizes = ckks::Sizes {
            log_n,
            levels,
            special,
            digit_limbs,
            log_scale,
        };
        let params = guard(py, || match insecure {
            true => ckks::Params::new_insecure(&sizes),
            false => ckks::Params::new(&sizes),
        });
        Ok(Self(OneOf::Ckks(params?)))
    }

    #[staticmethod]
    fn ckks_for_depth(py: Python<'_>, log_n: u32, depth: usize, scale_bits: u32) -> PyResult<Self> {
        let params = guard(py, || ckks::Params::for_depth(log_n, depth, scale_bits));
        Ok(Self(OneOf::Ckks(params?)))
    }

    #[staticmethod]
    #[pyo3(signature = (scheme, log_n, levels, special, digit_limbs, t, insecure))]
    #[expect(
        clippy::too_many_arguments,
        reason = "one line of Python calls it, by keywords"
    )]
    fn exact_of_sizes(
        py: Python<'_>,
        scheme: &str,
        log_n: u32,
        levels: Vec<u32>,
        special: Vec<u32>,
        digit_limbs: Option<usize>,
        t: u64,
        insecure: bool,
    ) -> PyResult<Self> {
        let sizes = ExactSizes {
            log_n,
            levels,
            special,
            digit_limbs,
            t,
        };
        guard(py, || {
            Ok::<_, PyErr>(Self(match insecure {
                true => of_exact!(scheme, new_insecure(&sizes)),
                false => of_exact!(scheme, new(&sizes)),
            }))
        })
    }

    #[staticmethod]
    fn exact_for_depth(
        py: Python<'_>,
        scheme: &str,
        log_n: u32,
        depth: usize,
        t: u64,
    ) -> PyResult<Self> {
        guard(py, || {
            Ok::<_, PyErr>(Self(of_exact!(scheme, for_depth(log_n, depth, t))))
        })
    }

    /// Degree, moduli, security and other properties.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rlwe = each!(&self.0, p => p.rlwe());
        let found = PyDict::new(py);
        found.set_item("scheme", self.name())?;
        found.set_item("log_n", rlwe.log_n())?;
        found.set_item("moduli", each!(&self.0, p => p.moduli()))?;
        found.set_item("special", each!(&self.0, p => p.special()))?;
        found.set_item("slots", self.slots())?;
        found.set_item("log_q", rlwe.log_q(rlwe.max_level()))?;
        found.set_item("log_qp", rlwe.log_qp())?;
        found.set_item("digits", rlwe.digits(rlwe.max_level()).count())?;
        found.set_item("security", security::to_dict(py, &rlwe.security())?)?;
        found.set_item("security_bits", security::bits(&rlwe.security()))?;
        match &self.0 {
            OneOf::Ckks(p) => found.set_item("scale", p.scale())?,
            OneOf::Bfv(p) => found.set_item("t", p.t())?,
            OneOf::Bgv(p) => found.set_item("t", p.t())?,
        }
        Ok(found)
    }

    fn name(&self) -> &'static str {
        match &self.0 {
            OneOf::Ckks(_) => "ckks",
            OneOf::Bfv(_) => "bfv",
            OneOf::Bgv(_) => "bgv",
        }
    }

    /// The number of values of one ciphertext.
    pub(crate) fn slots(&self) -> usize {
        each!(&self.0, p => p.slots())
    }

    /// The first bytes of the fingerprint.
    fn fingerprint(&self) -> String {
        each!(&self.0, p => p.fingerprint())
    }

    fn __repr__(&self) -> String {
        self.to_string()
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &each!(&self.0, p => p.to_bytes()))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8], insecure: bool) -> PyResult<Self> {
        guard(py, || {
            let params = match (scheme_of(data)?, insecure) {
                ("ckks", false) => OneOf::Ckks(ckks::Params::from_bytes(data)?),
                ("ckks", true) => OneOf::Ckks(ckks::Params::from_bytes_insecure(data)?),
                ("bfv", false) => OneOf::Bfv(bfv::Params::from_bytes(data)?),
                ("bfv", true) => OneOf::Bfv(bfv::Params::from_bytes_insecure(data)?),
                (_, false) => OneOf::Bgv(bgv::Params::from_bytes(data)?),
                (_, true) => OneOf::Bgv(bgv::Params::from_bytes_insecure(data)?),
            };
            Ok::<_, schemes::Error>(Self(params))
        })
        .map_err(asked_for)
    }
}

/// Adds the remedy to the error for a file whose parameters are not secure.
pub(crate) fn asked_for(error: PyErr) -> PyErr {
    Python::attach(|py| {
        if error.is_instance_of::<SecurityError>(py) {
            let words = format!("{}, or insecure=True with it", error.value(py));
            return SecurityError::new_err(words);
        }
        error
    })
}
