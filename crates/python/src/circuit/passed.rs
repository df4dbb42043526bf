//! Values that Python passes to circuits, and schemes that take them.

use std::collections::BTreeMap;

use ckks::Complex64;
use evaluate::circuit::{self, Argument, Bfv};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::error::UsageError;
use crate::schemes::InScheme;
use crate::schemes::ckks::{CkksCiphertext, complex};
use crate::schemes::exact::{ExactCiphertext, residues};
use crate::schemes::params::SchemeParams;

/// A value that Python passes for an input.
#[derive(FromPyObject)]
pub(crate) enum Given {
    Ckks(Py<CkksCiphertext>),
    Exact(Py<ExactCiphertext>),
    Plain(PyBackedBytes),
}

/// A result.
#[derive(IntoPyObject)]
pub(crate) enum Made {
    Ckks(CkksCiphertext),
    Exact(ExactCiphertext),
}

impl Given {
    /// The parameters of a ciphertext.
    pub(crate) fn params(&self) -> Option<SchemeParams> {
        match self {
            Self::Ckks(ct) => Some(ct.get().params_of()),
            Self::Exact(ct) => Some(ct.get().params_of()),
            Self::Plain(_) => None,
        }
    }
}

/// A scheme whose values Python passes.
pub(super) trait Passed: circuit::Scheme {
    /// The slots in a plaintext's bytes.
    fn parsed(&self, bytes: &[u8]) -> Result<Vec<Self::Slot>, String>;
    /// The ciphertext, if it is one of this scheme.
    fn taken(&self, given: &Given) -> PyResult<Option<Self::Ciphertext>>;
    /// A result for Python.
    fn made(params: &SchemeParams, ct: Self::Ciphertext) -> PyResult<Made>;
}

impl Passed for ckks::Params {
    fn parsed(&self, bytes: &[u8]) -> Result<Vec<Complex64>, String> {
        finite(bytes)
    }

    fn taken(&self, given: &Given) -> PyResult<Option<ckks::Ciphertext>> {
        Ok(match given {
            Given::Ckks(ct) => Some(ct.get().ct().clone()),
            _ => None,
        })
    }

    fn made(params: &SchemeParams, ct: ckks::Ciphertext) -> PyResult<Made> {
        Ok(Made::Ckks(CkksCiphertext::new(params, ct)?))
    }
}

impl Passed for Bfv {
    fn parsed(&self, bytes: &[u8]) -> Result<Vec<u64>, String> {
        residues(self.0.t().value(), bytes)
    }

    fn taken(&self, given: &Given) -> PyResult<Option<bfv::Ciphertext>> {
        Ok(match given {
            Given::Exact(ct) => Some(ct.get().ct().clone()),
            _ => None,
        })
    }

    fn made(params: &SchemeParams, ct: bfv::Ciphertext) -> PyResult<Made> {
        Ok(Made::Exact(ExactCiphertext::new(params, ct)?))
    }
}

impl Passed for bgv::Params {
    fn parsed(&self, bytes: &[u8]) -> Result<Vec<u64>, String> {
        residues(self.t().value(), bytes)
    }

    fn taken(&self, given: &Given) -> PyResult<Option<bgv::Ciphertext>> {
        match given {
            Given::Exact(ct) => {
                let ct = bgv::Ciphertext::from_exact(self, ct.get().ct().clone());
                ct.or_raise().map(Some)
            }
            _ => Ok(None),
        }
    }

    fn made(params: &SchemeParams, ct: bgv::Ciphertext) -> PyResult<Made> {
        Ok(Made::Exact(ExactCiphertext::new(params, ct.into_exact())?))
    }
}

/// Calls a function with the parameters of the scheme.
macro_rules! in_scheme {
    ($params:expr, |$scheme:ident| $work:expr) => {
        match $params.scheme() {
            Scheme::Ckks(p) => {
                let $scheme = p.evaluator().params();
                $work
            }
            Scheme::Bfv(p) => {
                let $scheme = &Bfv(p.exact().params().clone());
                $work
            }
            Scheme::Bgv(p) => {
                let $scheme = p.exact().params();
                $work
            }
        }
    };
}

/// Inputs of a circuit in a scheme's types.
pub(super) struct Inputs<S: circuit::Scheme> {
    plain: BTreeMap<String, Vec<S::Slot>>,
    ciphertexts: BTreeMap<String, S::Ciphertext>,
}

impl<S: Passed> Inputs<S> {
    pub(super) fn new(scheme: &S, inputs: &BTreeMap<String, Given>) -> PyResult<Self> {
        let (mut plain, mut ciphertexts) = (BTreeMap::new(), BTreeMap::new());
        for (name, given) in inputs {
            if let Given::Plain(bytes) = given {
                let slots = scheme
                    .parsed(bytes)
                    .map_err(|words| in_input(name, words))?;
                plain.insert(name.clone(), slots);
            } else if let Some(ct) = scheme.taken(given)? {
                ciphertexts.insert(name.clone(), ct);
            }
        }
        Ok(Self { plain, ciphertexts })
    }

    pub(super) fn arguments(&self) -> BTreeMap<&str, Argument<'_, S>> {
        let plain = self.plain.iter();
        let plain = plain.map(|(name, slots)| (name.as_str(), Argument::Plain(slots)));
        let ciphertexts = self.ciphertexts.iter();
        let ciphertexts = ciphertexts.map(|(name, ct)| (name.as_str(), Argument::Ciphertext(ct)));
        plain.chain(ciphertexts).collect()
    }
}

/// The results for Python.
pub(super) fn made<S: Passed>(
    params: &SchemeParams,
    found: BTreeMap<String, S::Ciphertext>,
) -> PyResult<BTreeMap<String, Made>> {
    let found = found.into_iter();
    found
        .map(|(name, ct)| Ok((name, S::made(params, ct)?)))
        .collect()
}

/// Complex slots. All numbers must be finite.
pub(super) fn finite(bytes: &[u8]) -> Result<Vec<Complex64>, String> {
    let slots = complex(bytes);
    match slots.iter().position(|v| !v.is_finite()) {
        Some(index) => {
            let found = slots[index];
            Err(format!(
                "value {index} is {found}, expected a finite number"
            ))
        }
        None => Ok(slots),
    }
}

/// An error in an input.
pub(super) fn in_input(name: &str, words: String) -> PyErr {
    UsageError::new_err(format!("input {name}: {words}"))
}

pub(super) use in_scheme;
