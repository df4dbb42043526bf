//! Ciphertexts of BFV and BGV.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use schemes::{Bfv, Bgv, Ciphertext, ExactOptions, Packing, rng};

use super::InScheme;
use super::keys::{SchemeKeys, SchemePublic, SchemeSecret};
use super::one_of::OneOf;
use super::params::SchemeParams;
use super::switch::SchemeSwitch;
use super::table::BfvTable;
use crate::guard::{guard, guard_bytes};

/// A ciphertext of BFV or BGV. Only Python knows if it holds slots or coefficients.
#[pyclass(frozen, module = "palladion._native")]
pub(crate) struct ExactCiphertext(pub(super) Exact);

pub(super) enum Exact {
    Bfv(Ciphertext<Bfv>),
    Bgv(Ciphertext<Bgv>),
}

/// A ciphertext that `work` computes from another one, in the same scheme.
macro_rules! compute {
    ($py:expr, $x:expr, |$one:ident| $work:expr) => {
        match &$x.0 {
            Exact::Bfv($one) => Ok(Self(Exact::Bfv(guard($py, || $work)?))),
            Exact::Bgv($one) => Ok(Self(Exact::Bgv(guard($py, || $work)?))),
        }
    };
}

/// As `compute`, of a ciphertext and an object of the same scheme. `what` names the object in an
/// error.
macro_rules! compute_with {
    ($py:expr, $x:expr, ($kind:ident, $what:expr, $other:expr), |$one:ident, $two:ident| $work:expr) => {
        match (&$x.0, &$other.0) {
            (Exact::Bfv($one), $kind::Bfv($two)) => Ok(Self(Exact::Bfv(guard($py, || $work)?))),
            (Exact::Bgv($one), $kind::Bgv($two)) => Ok(Self(Exact::Bgv(guard($py, || $work)?))),
            _ => Err($x.params_of().mismatch($what, &$other.params_of())),
        }
    };
}

impl ExactCiphertext {
    /// A ciphertext of the layer below.
    pub(crate) fn new(params: &SchemeParams, ct: ::exact::Ciphertext) -> PyResult<Self> {
        Ok(Self(match &params.0 {
            OneOf::Bfv(params) => Exact::Bfv(Ciphertext::of_raw(params, ct).or_raise()?),
            OneOf::Bgv(params) => Exact::Bgv(Ciphertext::of_raw(params, ct).or_raise()?),
            OneOf::Ckks(_) => return Err(params.other_scheme("bfv or bgv")),
        }))
    }

    /// The ciphertext of the layer below.
    pub(crate) fn ct(&self) -> &::exact::Ciphertext {
        match &self.0 {
            Exact::Bfv(x) => x.raw(),
            Exact::Bgv(x) => x.raw(),
        }
    }
}

fn packing(coefficients: bool) -> Packing {
    match coefficients {
        true => Packing::Coefficients,
        false => Packing::Slots,
    }
}

/// 64-bit integers.
fn integers(bytes: &[u8]) -> Vec<i64> {
    let (integers, _) = bytes.as_chunks::<8>();
    integers
        .iter()
        .map(|&bytes| i64::from_ne_bytes(bytes))
        .collect()
}

/// 64-bit integers of the plaintext space, as residues. An error names the first integer that does
/// not fit.
pub(crate) fn residues(t: u64, values: &[u8]) -> Result<Vec<u64>, String> {
    schemes::residues(t, &integers(values)).map_err(|error| error.to_string())
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
        let (values, packing) = (integers(values), packing(coefficients));
        let options = ExactOptions { level, packing };
        guard(py, || {
            Ok::<_, PyErr>(Self(match &secret.0 {
                OneOf::Bfv(key) => {
                    Exact::Bfv(key.encrypt_with(&values, &options, &mut rng()).or_raise()?)
                }
                OneOf::Bgv(key) => {
                    Exact::Bgv(key.encrypt_with(&values, &options, &mut rng()).or_raise()?)
                }
                OneOf::Ckks(_) => return Err(secret.params_of().other_scheme("bfv or bgv")),
            }))
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
        let (values, packing) = (integers(values), packing(coefficients));
        let options = ExactOptions { level, packing };
        guard(py, || {
            Ok::<_, PyErr>(Self(match &key.0 {
                OneOf::Bfv(key) => {
                    Exact::Bfv(key.encrypt_with(&values, &options, &mut rng()).or_raise()?)
                }
                OneOf::Bgv(key) => {
                    Exact::Bgv(key.encrypt_with(&values, &options, &mut rng()).or_raise()?)
                }
                OneOf::Ckks(_) => return Err(key.params_of().other_scheme("bfv or bgv")),
            }))
        })
    }

    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        secret: &SchemeSecret,
        coefficients: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let packing = packing(coefficients);
        guard_bytes(py, || {
            let values = match (&secret.0, &self.0) {
                (OneOf::Bfv(key), Exact::Bfv(x)) => key.decrypt(&x.of_packing(packing)),
                (OneOf::Bgv(key), Exact::Bgv(x)) => key.decrypt(&x.of_packing(packing)),
                _ => return Err(secret.params_of().mismatch("ciphertext", &self.params_of())),
            };
            let bytes = values.or_raise()?.into_iter().flat_map(i64::to_ne_bytes);
            Ok(bytes.collect::<Vec<u8>>())
        })
    }

    /// The noise budget left, in bits.
    fn budget(&self, py: Python<'_>, secret: &SchemeSecret) -> PyResult<f64> {
        guard(py, || match (&secret.0, &self.0) {
            (OneOf::Bfv(key), Exact::Bfv(x)) => key.budget(x).or_raise(),
            (OneOf::Bgv(key), Exact::Bgv(x)) => key.budget(x).or_raise(),
            _ => Err(secret.params_of().mismatch("ciphertext", &self.params_of())),
        })
    }

    fn level(&self) -> usize {
        self.ct().level()
    }

    pub(crate) fn params_of(&self) -> SchemeParams {
        SchemeParams(match &self.0 {
            Exact::Bfv(x) => OneOf::Bfv(x.params().clone()),
            Exact::Bgv(x) => OneOf::Bgv(x.params().clone()),
        })
    }

    fn add(&self, py: Python<'_>, other: &Self, subtract: bool) -> PyResult<Self> {
        compute_with!(py, self, (Exact, "ciphertext", other), |x, y| {
            let y = y.of_packing(x.packing());
            match subtract {
                true => x.sub(&y),
                false => x.add(&y),
            }
        })
    }

    fn add_values(&self, py: Python<'_>, values: &[u8], coefficients: bool) -> PyResult<Self> {
        let (values, packing) = (integers(values), packing(coefficients));
        compute!(py, self, |x| x.of_packing(packing).add(&values))
    }

    fn mul_values(&self, py: Python<'_>, values: &[u8], coefficients: bool) -> PyResult<Self> {
        let (values, packing) = (integers(values), packing(coefficients));
        compute!(py, self, |x| x.of_packing(packing).mul(&values))
    }

    /// The product with an integer modulo `t`, which is centred first.
    fn mul_number(&self, py: Python<'_>, number: i64) -> PyResult<Self> {
        compute!(py, self, |x| x.mul(number))
    }

    /// The product, relinearised. For BGV it is switched down by one limb if one can be spared.
    fn mul(&self, py: Python<'_>, other: &Self, keys: &SchemeKeys) -> PyResult<Self> {
        let x = self.keyed(keys)?;
        compute_with!(py, x, (Exact, "ciphertext", other), |x, y| {
            x.mul(&y.of_packing(x.packing()))
        })
    }

    fn pow(&self, py: Python<'_>, exponent: usize, keys: &SchemeKeys) -> PyResult<Self> {
        compute!(py, self.keyed(keys)?, |x| x.pow(exponent))
    }

    /// The sum of the `count` slots that are `stride` apart, from each slot on.
    fn sum(
        &self,
        py: Python<'_>,
        stride: isize,
        count: usize,
        keys: &SchemeKeys,
    ) -> PyResult<Self> {
        compute!(py, self.keyed(keys)?, |x| x.sum(stride, count))
    }

    fn rotate(&self, py: Python<'_>, steps: Vec<isize>, keys: &SchemeKeys) -> PyResult<Vec<Self>> {
        Ok(match self.keyed(keys)?.0 {
            Exact::Bfv(x) => {
                let rotated = guard(py, || x.rotations(&steps))?.into_iter();
                rotated.map(|x| Self(Exact::Bfv(x))).collect()
            }
            Exact::Bgv(x) => {
                let rotated = guard(py, || x.rotations(&steps))?.into_iter();
                rotated.map(|x| Self(Exact::Bgv(x))).collect()
            }
        })
    }

    fn swap_rows(&self, py: Python<'_>, keys: &SchemeKeys) -> PyResult<Self> {
        compute!(py, self.keyed(keys)?, |x| x.swap_rows())
    }

    /// Switches the modulus down by `limbs` limbs.
    fn switch_down(&self, py: Python<'_>, limbs: usize) -> PyResult<Self> {
        compute!(py, self, |x| x.switch_down(limbs))
    }

    /// The same message under another secret.
    fn switch_key(&self, py: Python<'_>, key: &SchemeSwitch) -> PyResult<Self> {
        compute_with!(py, self, (OneOf, "key to another secret", key), |x, key| {
            x.switch_key(key)
        })
    }

    /// The entry of a table for each slot, in BFV.
    fn lookup(&self, py: Python<'_>, table: &BfvTable, keys: &SchemeKeys) -> PyResult<Self> {
        let x = self.keyed(keys)?;
        let Exact::Bfv(x) = &x.0 else {
            return Err(self.params_of().other_scheme("bfv"));
        };
        let entries = guard(py, || x.of_packing(Packing::Slots).lookup(&table.0))?;
        Ok(Self(Exact::Bfv(entries)))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || match &self.0 {
            Exact::Bfv(x) => x.to_bytes(),
            Exact::Bgv(x) => x.to_bytes(),
        })
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, params: &SchemeParams, data: &[u8]) -> PyResult<Self> {
        guard(py, || {
            Ok::<_, PyErr>(Self(match &params.0 {
                OneOf::Bfv(params) => Exact::Bfv(Ciphertext::from_bytes(params, data).or_raise()?),
                OneOf::Bgv(params) => Exact::Bgv(Ciphertext::from_bytes(params, data).or_raise()?),
                OneOf::Ckks(_) => return Err(params.other_scheme("bfv or bgv")),
            }))
        })
    }
}

impl ExactCiphertext {
    /// The ciphertext with keys.
    fn keyed(&self, keys: &SchemeKeys) -> PyResult<Self> {
        Ok(Self(match (&self.0, &keys.0) {
            (Exact::Bfv(x), OneOf::Bfv(keys)) => Exact::Bfv(x.with_keys(keys)),
            (Exact::Bgv(x), OneOf::Bgv(keys)) => Exact::Bgv(x.with_keys(keys)),
            _ => {
                return Err(self
                    .params_of()
                    .mismatch("evaluation keys", &keys.params_of()));
            }
        }))
    }
}
