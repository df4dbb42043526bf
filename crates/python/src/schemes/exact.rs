//! Ciphertexts of BFV and BGV. The two schemes differ in encryption and products.

use ::exact::{Ciphertext, Evaluator, Plaintext};
use client::system_rng;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ring::sample::{Masks, Seed};
use rlwe::bytes::BytesError;
use rlwe::store;

use super::InScheme;
use super::keys::{SchemeKeys, SchemePublic, SchemeSecret};
use super::params::{Scheme, SchemeParams};
use crate::error::{LevelError, UsageError};
use crate::guard::{guard, guard_bytes};

/// A ciphertext of BFV or BGV.
#[pyclass(frozen, module = "palladion._native")]
pub(crate) struct ExactCiphertext {
    params: SchemeParams,
    ct: Ciphertext,
    /// Seed of the mask, if the ciphertext is fresh.
    seed: Option<Seed>,
}

impl ExactCiphertext {
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

    fn made(
        &self,
        py: Python<'_>,
        make: impl FnOnce(&Evaluator) -> ::exact::Result<Ciphertext> + Send,
    ) -> PyResult<Self> {
        guard(py, || {
            let ct = make(&self.params.exact()?).or_raise()?;
            Ok::<_, PyErr>(Self::new(&self.params, ct))
        })
    }
}

/// Encodes 64-bit integers in the plaintext space, in slots or as coefficients.
fn encode(params: &SchemeParams, values: &[u8], coefficients: bool) -> PyResult<Plaintext> {
    let exact = params.exact()?;
    let encoder = exact.params().encoder();
    let residues = residues(encoder.modulus().value(), values);
    let mut residues = residues.map_err(UsageError::new_err)?;
    encoder.check(&residues).or_raise()?;
    if coefficients {
        residues.resize(params.rlwe().n(), 0);
        return Ok(encoder.from_residues(residues));
    }
    encoder.encode_slots(&residues).or_raise()
}

/// 64-bit integers of the plaintext space, as residues. An error says what is wrong with one of
/// them.
pub(crate) fn residues(t: u64, values: &[u8]) -> Result<Vec<u64>, String> {
    let (values, _) = values.as_chunks::<8>();
    let t = t as i64;
    let least = -(t / 2);
    let residues = values.iter().enumerate().map(|(index, &bytes)| {
        let value = i64::from_ne_bytes(bytes);
        if (least..t).contains(&value) {
            return Ok(value.rem_euclid(t) as u64);
        }
        let most = t - 1;
        Err(format!(
            "value {index} is {value}, expected {least} to {most}"
        ))
    });
    residues.collect()
}

/// Brings two ciphertexts to one level and factor.
fn align(e: &Evaluator, a: &Ciphertext, b: &Ciphertext) -> ::exact::Result<[Ciphertext; 2]> {
    let (mut a, mut b) = (a.clone(), b.clone());
    let level = a.level().min(b.level());
    e.switch_to(&mut a, level)?;
    e.switch_to(&mut b, level)?;
    e.match_factors(&mut a, &mut b)?;
    Ok([a, b])
}

#[pymethods]
impl ExactCiphertext {
    #[staticmethod]
    fn encrypt(
        py: Python<'_>,
        secret: &SchemeSecret,
        values: &[u8],
        coefficients: bool,
        level: Option<usize>,
    ) -> PyResult<Self> {
        guard(py, || {
            let (params, mut rng) = (&secret.params, system_rng());
            let message = encode(params, values, coefficients)?;
            let level = params.level(level)?;
            let mut masks = Masks::random(&mut rng);
            let exact = params.exact()?;
            let (p, at) = (exact.params(), &mut masks);
            let ct = match params.scheme() {
                Scheme::Bgv(_) => bgv::encrypt(p, &secret.key, &message, level, at, &mut rng)
                    .or_raise()?
                    .into_exact(),
                _ => ::exact::encrypt(p, &secret.key, &message, level, at, &mut rng).or_raise()?,
            };
            Ok::<_, PyErr>(Self {
                params: params.clone(),
                ct,
                seed: Some(*masks.seed()),
            })
        })
    }

    #[staticmethod]
    fn encrypt_public(
        py: Python<'_>,
        key: &SchemePublic,
        values: &[u8],
        coefficients: bool,
        level: Option<usize>,
    ) -> PyResult<Self> {
        guard(py, || {
            let (params, mut rng) = (&key.params, system_rng());
            let message = encode(params, values, coefficients)?;
            let level = params.level(level)?;
            let exact = params.exact()?;
            let p = exact.params();
            let ct = match params.scheme() {
                Scheme::Bgv(_) => {
                    let ct = bgv::encrypt_public(p, &key.key, &message, level, &mut rng);
                    ct.or_raise()?.into_exact()
                }
                _ => ::exact::encrypt_public(p, &key.key, &message, level, &mut rng).or_raise()?,
            };
            Ok::<_, PyErr>(Self::new(params, ct))
        })
    }

    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        secret: &SchemeSecret,
        coefficients: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        secret.params.check("ciphertext", &self.params)?;
        guard_bytes(py, || {
            let exact = self.params.exact()?;
            let plain = ::exact::decrypt(exact.params(), &secret.key, &self.ct).or_raise()?;
            let values = if coefficients {
                plain.coefficients().to_vec()
            } else {
                exact.params().encoder().slots_of(&plain)
            };
            let bytes = values.iter().flat_map(|&v| (v as i64).to_ne_bytes());
            Ok::<_, PyErr>(bytes.collect::<Vec<u8>>())
        })
    }

    /// The noise budget left, in bits.
    fn budget(&self, py: Python<'_>, secret: &SchemeSecret) -> PyResult<f64> {
        secret.params.check("ciphertext", &self.params)?;
        guard(py, || {
            let exact = self.params.exact()?;
            let (_, budget) = ::exact::measure(exact.params(), &secret.key, &self.ct).or_raise()?;
            Ok::<_, PyErr>(budget)
        })
    }

    fn level(&self) -> usize {
        self.ct.level()
    }

    fn params_of(&self) -> SchemeParams {
        self.params.clone()
    }

    fn add(&self, py: Python<'_>, other: &Self, subtract: bool) -> PyResult<Self> {
        self.params.check("ciphertext", &other.params)?;
        self.made(py, |e| {
            let [mut a, b] = align(e, &self.ct, &other.ct)?;
            if subtract {
                e.sub_assign(&mut a, &b)?;
            } else {
                e.add_assign(&mut a, &b)?;
            }
            Ok(a)
        })
    }

    fn add_values(&self, py: Python<'_>, values: &[u8], coefficients: bool) -> PyResult<Self> {
        let message = encode(&self.params, values, coefficients)?;
        self.made(py, |e| {
            let mut ct = self.ct.clone();
            e.add_plain_assign(&mut ct, &message)?;
            Ok(ct)
        })
    }

    fn mul_values(&self, py: Python<'_>, values: &[u8], coefficients: bool) -> PyResult<Self> {
        let message = encode(&self.params, values, coefficients)?;
        self.made(py, |e| {
            let mut ct = self.ct.clone();
            e.mul_plain_assign(&mut ct, &e.lift(&message, self.ct.level())?)?;
            Ok(ct)
        })
    }

    /// The product with an integer modulo `t`, which is centred first.
    fn mul_number(&self, py: Python<'_>, number: i64) -> PyResult<Self> {
        self.made(py, |e| {
            let mut ct = self.ct.clone();
            let t = e.params().t();
            e.mul_scalar_assign(&mut ct, t.from_i64(number))?;
            Ok(ct)
        })
    }

    /// The product, relinearised. For BGV it is switched down by one limb if one can be spared.
    fn mul(&self, py: Python<'_>, other: &Self, keys: &SchemeKeys) -> PyResult<Self> {
        self.params.check("ciphertext", &other.params)?;
        self.params.check("evaluation keys", &keys.params)?;
        let key = keys.relinearization()?;
        self.made(py, |e| {
            if let Scheme::Bfv(bfv) = self.params.scheme() {
                if self.ct.level() == other.ct.level() {
                    return bfv.mul(&self.ct, &other.ct, key);
                }
                let [a, b] = align(e, &self.ct, &other.ct)?;
                return bfv.mul(&a, &b, key);
            }
            let [a, b] = align(e, &self.ct, &other.ct)?;
            e.mul_and_switch(&a, &b, key, usize::from(a.level() > 0))
        })
    }

    fn rotate(&self, py: Python<'_>, k: isize, keys: &SchemeKeys) -> PyResult<Self> {
        self.params.check("evaluation keys", &keys.params)?;
        let galois = keys.for_rotation(k)?;
        self.made(py, |e| {
            e.automorphism(&self.ct, e.params().encoder().rotation_element(k), galois)
        })
    }

    fn swap_rows(&self, py: Python<'_>, keys: &SchemeKeys) -> PyResult<Self> {
        self.params.check("evaluation keys", &keys.params)?;
        let galois = keys.for_conjugation("the swap of rows")?;
        self.made(py, |e| {
            e.automorphism(&self.ct, e.params().encoder().swap_element(), galois)
        })
    }

    /// Switches the modulus down by `limbs` limbs.
    fn switch_down(&self, py: Python<'_>, limbs: usize) -> PyResult<Self> {
        let have = self.ct.level();
        let Some(level) = have.checked_sub(limbs) else {
            return Err(LevelError::new_err(format!(
                "{limbs} levels needed, the ciphertext has {have} left"
            )));
        };
        self.made(py, |e| {
            let mut ct = self.ct.clone();
            e.switch_to(&mut ct, level)?;
            Ok(ct)
        })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let (number, made_for) = (self.ct.factor(), self.params.made_for());
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
            let t = params.exact()?.params().t().value();
            if !(1..t).contains(&stored.number) {
                let error = BytesError::Value {
                    what: "the factor of a ciphertext",
                    found: stored.number,
                    expected: format!("1 to {}", t - 1),
                };
                return Err(rlwe::Error::from(error)).or_raise();
            }
            Ok::<_, PyErr>(Self {
                ct: Ciphertext::new(stored.ct, stored.number),
                seed: stored.seed,
                params,
            })
        })
    }
}
