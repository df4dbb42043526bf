//! Ciphertexts of CKKS.

use ckks::{Ciphertext, Complex64, Plaintext};
use client::system_rng;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ring::sample::{Masks, Seed};
use rlwe::bytes::BytesError;
use rlwe::store;

use super::InScheme;
use super::keys::{SchemeKeys, SchemePublic, SchemeSecret};
use super::params::SchemeParams;
use crate::guard::{guard, guard_bytes};

/// A ciphertext of CKKS.
#[pyclass(frozen, module = "palladion._native")]
pub(crate) struct CkksCiphertext {
    params: SchemeParams,
    ct: Ciphertext,
    /// Seed of the mask, if the ciphertext is fresh.
    seed: Option<Seed>,
}

impl CkksCiphertext {
    pub(crate) fn new(params: &SchemeParams, ct: Ciphertext) -> Self {
        Self {
            params: params.clone(),
            ct,
            seed: None,
        }
    }

    pub(crate) fn params(&self) -> &SchemeParams {
        &self.params
    }

    pub(crate) fn ct(&self) -> &Ciphertext {
        &self.ct
    }

    /// The result of an operation that changes a copy in place.
    fn changed<E: crate::error::ToPython>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&ckks::Evaluator, &mut Ciphertext) -> Result<(), E> + Send,
    ) -> PyResult<Self> {
        guard(py, || {
            let mut ct = self.ct.clone();
            change(self.params.ckks()?, &mut ct).or_raise()?;
            Ok::<_, PyErr>(Self::new(&self.params, ct))
        })
    }

    /// The result of an operation that returns a new ciphertext.
    fn made(
        &self,
        py: Python<'_>,
        make: impl FnOnce(&ckks::Evaluator) -> ckks::Result<Ciphertext> + Send,
    ) -> PyResult<Self> {
        guard(py, || {
            let ct = make(self.params.ckks()?).or_raise()?;
            Ok::<_, PyErr>(Self::new(&self.params, ct))
        })
    }

    /// A message encoded at the level and scale of this ciphertext.
    fn encoded(&self, e: &ckks::Evaluator, values: &[Complex64]) -> ckks::Result<Plaintext> {
        Plaintext::encode(e.params(), values, e.level(&self.ct)?, self.ct.scale())
    }
}

fn encode(
    params: &SchemeParams,
    values: &[Complex64],
    level: Option<usize>,
    scale: Option<f64>,
) -> PyResult<Plaintext> {
    let level = params.level(level)?;
    let params = params.ckks()?.params();
    let scale = scale.unwrap_or_else(|| params.scale_at(level));
    Plaintext::encode(params, values, level, scale).or_raise()
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
        let values = complex(values);
        guard(py, || {
            let mut rng = system_rng();
            let message = encode(&secret.params, &values, level, scale)?;
            let mut masks = Masks::random(&mut rng);
            Ok::<_, PyErr>(Self {
                params: secret.params.clone(),
                ct: ckks::encrypt(&secret.key, &message, &mut masks, &mut rng).or_raise()?,
                seed: Some(*masks.seed()),
            })
        })
    }

    #[staticmethod]
    fn encrypt_public(
        py: Python<'_>,
        key: &SchemePublic,
        values: &[u8],
        level: Option<usize>,
        scale: Option<f64>,
    ) -> PyResult<Self> {
        let values = complex(values);
        guard(py, || {
            let message = encode(&key.params, &values, level, scale)?;
            let params = key.params.ckks()?.params();
            let ct = ckks::encrypt_public(params, &key.key, &message, &mut system_rng());
            Ok::<_, PyErr>(Self::new(&key.params, ct.or_raise()?))
        })
    }

    /// All slots, and a doubt whether they are right.
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        secret: &SchemeSecret,
    ) -> PyResult<(Bound<'py, PyBytes>, Option<String>)> {
        secret.params.check("ciphertext", &self.params)?;
        let mut doubt = None;
        let bytes = guard_bytes(py, || {
            let params = self.params.ckks()?.params();
            let plain = ckks::decrypt(&secret.key, &self.ct).or_raise()?;
            doubt = plain.doubt().map(|doubt| doubt.to_string());
            let slots = plain.decode(params, params.slots()).or_raise()?;
            let parts = slots.iter().flat_map(|v| [v.re, v.im]);
            Ok::<_, PyErr>(parts.flat_map(f64::to_ne_bytes).collect::<Vec<u8>>())
        })?;
        Ok((bytes, doubt))
    }

    fn level(&self) -> PyResult<usize> {
        self.params.ckks()?.level(&self.ct).or_raise()
    }

    fn scale(&self) -> f64 {
        self.ct.scale()
    }

    fn params_of(&self) -> SchemeParams {
        self.params.clone()
    }

    /// `self + other`, or the difference. Levels and scales are made equal first.
    fn add(&self, py: Python<'_>, other: &Self, subtract: bool) -> PyResult<Self> {
        self.params.check("ciphertext", &other.params)?;
        self.made(py, |e| {
            let [mut a, b] = e.align(&self.ct, &other.ct)?;
            if subtract {
                e.sub_assign(&mut a, &b)?;
            } else {
                e.add_assign(&mut a, &b)?;
            }
            Ok(a)
        })
    }

    fn add_values(&self, py: Python<'_>, values: &[u8]) -> PyResult<Self> {
        let values = complex(values);
        self.changed(py, |e, ct| {
            e.add_plain_assign(ct, &self.encoded(e, &values)?)
        })
    }

    fn add_number(&self, py: Python<'_>, re: f64, im: f64) -> PyResult<Self> {
        self.changed(py, |e, ct| e.add_const_assign(ct, Complex64::new(re, im)))
    }

    fn negate(&self, py: Python<'_>) -> PyResult<Self> {
        self.changed(py, |e, ct| {
            e.neg_assign(ct);
            Ok::<_, ckks::Error>(())
        })
    }

    /// The product, relinearised and rescaled, at the lower of both levels.
    fn mul(&self, py: Python<'_>, other: &Self, keys: &SchemeKeys) -> PyResult<Self> {
        self.params.check("ciphertext", &other.params)?;
        self.params.check("evaluation keys", &keys.params)?;
        let key = keys.relinearization()?;
        self.made(py, |e| {
            let (mut a, mut b) = (self.ct.clone(), other.ct.clone());
            let level = e.level(&a)?.min(e.level(&b)?);
            e.drop_to(&mut a, level)?;
            if std::ptr::eq(self, other) {
                return e.mul_and_rescale(&a, &a, key);
            }
            e.drop_to(&mut b, level)?;
            e.mul_and_rescale(&a, &b, key)
        })
    }

    fn mul_values(&self, py: Python<'_>, values: &[u8]) -> PyResult<Self> {
        let values = complex(values);
        self.changed(py, |e, ct| {
            e.mul_plain_assign(ct, &self.encoded(e, &values)?)?;
            e.rescale(ct)
        })
    }

    fn mul_number(&self, py: Python<'_>, number: f64) -> PyResult<Self> {
        self.changed(py, |e, ct| {
            e.mul_const_assign(ct, number, self.ct.scale())?;
            e.rescale(ct)
        })
    }

    /// The product with an integer. It is exact and costs no level.
    fn mul_integer(&self, py: Python<'_>, integer: f64) -> PyResult<Self> {
        self.changed(py, |e, ct| e.mul_const_assign(ct, integer, 1.0))
    }

    fn rotate(&self, py: Python<'_>, steps: Vec<isize>, keys: &SchemeKeys) -> PyResult<Vec<Self>> {
        self.params.check("evaluation keys", &keys.params)?;
        let mut galois = keys.for_rotation(0)?;
        for &k in &steps {
            galois = keys.for_rotation(k)?;
        }
        guard(py, || {
            let rotated = self.params.ckks()?.rotate_hoisted(&self.ct, &steps, galois);
            let wrap = |ct| Self::new(&self.params, ct);
            Ok::<_, PyErr>(rotated.or_raise()?.into_iter().map(wrap).collect())
        })
    }

    fn conjugate(&self, py: Python<'_>, keys: &SchemeKeys) -> PyResult<Self> {
        self.params.check("evaluation keys", &keys.params)?;
        let galois = keys.for_conjugation("the conjugation")?;
        self.made(py, |e| e.conjugate(&self.ct, galois))
    }

    fn drop_to(&self, py: Python<'_>, level: usize) -> PyResult<Self> {
        self.changed(py, |e, ct| e.drop_to(ct, level))
    }

    /// The same ciphertext, whose slots are said to be at most `bound`.
    fn bounded(&self, py: Python<'_>, bound: f64) -> PyResult<Self> {
        self.made(py, |_| self.ct.clone().bounded(bound))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let (number, made_for) = (self.ct.scale().to_bits(), self.params.made_for());
        guard_bytes(py, || {
            store::ciphertext_to_bytes(self.ct.rlwe(), self.seed.as_ref(), number, made_for)
                .or_raise()
        })
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, params: &SchemeParams, data: &[u8]) -> PyResult<Self> {
        let params = params.clone();
        guard(py, || {
            let stored =
                store::ciphertext_from_bytes(params.rlwe(), params.made_for(), data).or_raise()?;
            params.ckks()?.params().level_of(&stored.ct).or_raise()?;
            let scale = f64::from_bits(stored.number);
            if !(scale.is_finite() && scale > 0.0) {
                let error = BytesError::Value {
                    what: "the scale of a ciphertext, as bits of a double,",
                    found: stored.number,
                    expected: "a finite number above 0".into(),
                };
                return Err(rlwe::Error::from(error)).or_raise();
            }
            Ok::<_, PyErr>(Self {
                ct: Ciphertext::new(stored.ct, scale),
                seed: stored.seed,
                params,
            })
        })
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
