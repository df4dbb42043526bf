//! Ciphertexts of CKKS.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use schemes::ckks::{Ciphertext, Complex64, EvaluationKeys, Options, Series};
use schemes::rng;

use super::InScheme;
use super::keys::{SchemeKeys, SchemePublic, SchemeSecret};
use super::one_of::OneOf;
use super::params::SchemeParams;
use super::switch::SchemeSwitch;
use crate::guard::{guard, guard_bytes};

/// A ciphertext of CKKS.
#[pyclass(frozen, module = "palladion._native")]
pub(crate) struct CkksCiphertext(pub(super) Ciphertext);

impl CkksCiphertext {
    /// A ciphertext of the layer below.
    pub(crate) fn new(params: &SchemeParams, ct: ::ckks::Ciphertext) -> PyResult<Self> {
        Ok(Self(Ciphertext::of_raw(params.ckks()?, ct).or_raise()?))
    }

    /// The ciphertext of the layer below.
    pub(crate) fn ct(&self) -> &::ckks::Ciphertext {
        self.0.raw()
    }

    fn compute(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Ciphertext) -> schemes::Result<Ciphertext> + Send,
    ) -> PyResult<Self> {
        Ok(Self(guard(py, || work(&self.0))?))
    }

    /// As `compute`, with keys.
    fn with_keys(
        &self,
        py: Python<'_>,
        keys: &SchemeKeys,
        work: impl FnOnce(&Ciphertext) -> schemes::Result<Ciphertext> + Send,
    ) -> PyResult<Self> {
        let x = self.0.with_keys(self.keys(keys)?);
        Ok(Self(guard(py, || work(&x))?))
    }

    pub(super) fn keys<'k>(&self, keys: &'k SchemeKeys) -> PyResult<&'k EvaluationKeys> {
        match &keys.0 {
            OneOf::Ckks(keys) => Ok(keys),
            _ => Err(self
                .params_of()
                .mismatch("evaluation keys", &keys.params_of())),
        }
    }
}

#[pymethods]
impl CkksCiphertext {
    #[staticmethod]
    fn encrypt(
        py: Python<'_>,
        secret: &SchemeSecret,
        values: &[u8],
        level: Option<usize>,
        scale: Option<f64>,
    ) -> PyResult<Self> {
        let (values, options) = (complex(values), Options { level, scale });
        let OneOf::Ckks(key) = &secret.0 else {
            return Err(secret.params_of().other_scheme("ckks"));
        };
        Ok(Self(guard(py, || {
            key.encrypt_with(&values, &options, &mut rng())
        })?))
    }

    #[staticmethod]
    fn encrypt_public(
        py: Python<'_>,
        key: &SchemePublic,
        values: &[u8],
        level: Option<usize>,
        scale: Option<f64>,
    ) -> PyResult<Self> {
        let (values, options) = (complex(values), Options { level, scale });
        let OneOf::Ckks(key) = &key.0 else {
            return Err(key.params_of().other_scheme("ckks"));
        };
        Ok(Self(guard(py, || {
            key.encrypt_with(&values, &options, &mut rng())
        })?))
    }

    /// All slots, and a doubt if they may be wrong.
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        secret: &SchemeSecret,
    ) -> PyResult<(Bound<'py, PyBytes>, Option<String>)> {
        let OneOf::Ckks(key) = &secret.0 else {
            return Err(secret.params_of().mismatch("ciphertext", &self.params_of()));
        };
        let mut doubt = None;
        let bytes = guard_bytes(py, || {
            let (slots, found) = key.decrypt_with_doubt(&self.0)?;
            doubt = found.map(|doubt| doubt.to_string());
            let parts = slots.iter().flat_map(|v| [v.re, v.im]);
            Ok::<_, schemes::Error>(parts.flat_map(f64::to_ne_bytes).collect::<Vec<u8>>())
        })?;
        Ok((bytes, doubt))
    }

    fn level(&self) -> usize {
        self.0.level()
    }

    fn scale(&self) -> f64 {
        self.0.scale()
    }

    pub(crate) fn params_of(&self) -> SchemeParams {
        SchemeParams(OneOf::Ckks(self.0.params().clone()))
    }

    /// `self + other`, or the difference. Levels and scales are made equal first.
    fn add(&self, py: Python<'_>, other: &Self, subtract: bool) -> PyResult<Self> {
        self.compute(py, |x| match subtract {
            true => x.sub(&other.0),
            false => x.add(&other.0),
        })
    }

    fn add_values(&self, py: Python<'_>, values: &[u8]) -> PyResult<Self> {
        let values = complex(values);
        self.compute(py, |x| x.add(&values))
    }

    fn add_number(&self, py: Python<'_>, re: f64, im: f64) -> PyResult<Self> {
        self.compute(py, |x| x.add(Complex64::new(re, im)))
    }

    fn negate(&self, py: Python<'_>) -> PyResult<Self> {
        self.compute(py, Ciphertext::negate)
    }

    /// The product, relinearised and rescaled, at the lower of both levels.
    fn mul(&self, py: Python<'_>, other: &Self, keys: &SchemeKeys) -> PyResult<Self> {
        self.0
            .params()
            .check("ciphertext", other.0.params())
            .or_raise()?;
        self.with_keys(py, keys, |x| x.mul(&other.0))
    }

    fn mul_values(&self, py: Python<'_>, values: &[u8]) -> PyResult<Self> {
        let values = complex(values);
        self.compute(py, |x| x.mul(&values))
    }

    fn mul_number(&self, py: Python<'_>, number: f64) -> PyResult<Self> {
        self.compute(py, |x| x.mul(number))
    }

    /// The product with an integer. It is exact and costs no level.
    fn mul_integer(&self, py: Python<'_>, integer: i64) -> PyResult<Self> {
        self.compute(py, |x| x.mul(integer))
    }

    fn pow(&self, py: Python<'_>, exponent: usize, keys: &SchemeKeys) -> PyResult<Self> {
        self.with_keys(py, keys, |x| x.pow(exponent))
    }

    /// The sum of the `count` slots that are `stride` apart, from each slot on.
    fn sum(
        &self,
        py: Python<'_>,
        stride: isize,
        count: usize,
        keys: &SchemeKeys,
    ) -> PyResult<Self> {
        self.with_keys(py, keys, |x| x.sum(stride, count))
    }

    /// The value at every slot of a series, with coefficients of Chebyshev's polynomials on the
    /// interval from `a` to `b`.
    fn evaluate(
        &self,
        py: Python<'_>,
        coefficients: Vec<f64>,
        a: f64,
        b: f64,
        keys: &SchemeKeys,
    ) -> PyResult<Self> {
        self.with_keys(py, keys, |x| x.evaluate(&Series::new(coefficients, a, b)?))
    }

    fn polynomial(
        &self,
        py: Python<'_>,
        coefficients: Vec<f64>,
        keys: &SchemeKeys,
    ) -> PyResult<Self> {
        self.with_keys(py, keys, |x| x.polynomial(&coefficients))
    }

    fn rotate(&self, py: Python<'_>, steps: Vec<isize>, keys: &SchemeKeys) -> PyResult<Vec<Self>> {
        let x = self.0.with_keys(self.keys(keys)?);
        let rotated = guard(py, || x.rotations(&steps))?;
        Ok(rotated.into_iter().map(Self).collect())
    }

    fn conjugate(&self, py: Python<'_>, keys: &SchemeKeys) -> PyResult<Self> {
        self.with_keys(py, keys, Ciphertext::conjugate)
    }

    fn drop_to(&self, py: Python<'_>, level: usize) -> PyResult<Self> {
        self.compute(py, |x| x.drop_to(level))
    }

    /// The same message under another secret.
    fn switch_key(&self, py: Python<'_>, key: &SchemeSwitch) -> PyResult<Self> {
        let OneOf::Ckks(key) = &key.0 else {
            return Err(self
                .params_of()
                .mismatch("key to another secret", &key.params_of()));
        };
        self.compute(py, |x| x.switch_key(key))
    }

    /// The same ciphertext, whose slots are said to be at most `bound`.
    fn bounded(&self, py: Python<'_>, bound: f64) -> PyResult<Self> {
        self.compute(py, |x| x.bounded(bound))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || self.0.to_bytes())
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, params: &SchemeParams, data: &[u8]) -> PyResult<Self> {
        let params = params.ckks()?;
        Ok(Self(guard(py, || Ciphertext::from_bytes(params, data))?))
    }
}

/// Pairs of doubles. Bytes at the end that are not a pair are ignored.
pub(crate) fn complex(bytes: &[u8]) -> Vec<Complex64> {
    let (doubles, _) = bytes.as_chunks::<8>();
    let (pairs, _) = doubles.as_chunks::<2>();
    let part = |&bytes: &[u8; 8]| f64::from_ne_bytes(bytes);
    pairs
        .iter()
        .map(|[re, im]| Complex64::new(part(re), part(im)))
        .collect()
}
