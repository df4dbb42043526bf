//! Batches of encrypted bits.

use ::tfhe::{Bit, Compressed, Gate};
use client::system_rng;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::keys::{TfheClient, TfheServer, short};
use super::params::TfheParams;
use super::store::{Batch, Batches, Header, Item, check_count, open, seal};
use super::{BySize, InScheme, at, broadcast, each, on, taken};
use crate::error::UsageError;
use crate::guard::{guard, guard_bytes};

/// Encrypted bits.
#[pyclass(frozen, module = "palladion._native")]
pub(crate) struct TfheBits {
    pub(crate) params: TfheParams,
    pub(crate) held: Batches<Bit<u32>, Bit<u64>>,
}

fn gate_named(name: &str) -> PyResult<Gate> {
    let lower = |gate: &Gate| format!("{gate:?}").to_lowercase();
    let known = || Gate::ALL.iter().map(lower).collect::<Vec<_>>().join(", ");
    let found = Gate::ALL.into_iter().find(|gate| lower(gate) == name);
    found.ok_or_else(|| UsageError::new_err(format!("gate {name:?}, expected one of {}", known())))
}

#[pymethods]
impl TfheBits {
    /// Encrypts one bit per byte. Zero is false.
    #[staticmethod]
    fn encrypt(py: Python<'_>, client: &TfheClient, values: &[u8]) -> PyResult<Self> {
        guard(py, || {
            let bits: Vec<bool> = values.iter().map(|&v| v != 0).collect();
            let held = each!(key = client.key => {
                Batch::of_fresh_bits(key.compress_bits(&bits, &mut system_rng()).or_raise()?)?
            });
            let params = client.params.clone();
            Ok::<_, PyErr>(Self { params, held })
        })
    }

    /// Constant bits, not encrypted: everyone can read them.
    #[staticmethod]
    fn constant(py: Python<'_>, keys: &TfheServer, values: &[u8]) -> PyResult<Self> {
        guard(py, || {
            let held = each!(key = keys.key => {
                let all = values.iter().map(|&v| key.constant_bit(v != 0));
                Batch::of(all.collect::<Result<_, _>>().or_raise()?)
            });
            let params = keys.params.clone();
            Ok::<_, PyErr>(Self { params, held })
        })
    }

    /// Decrypts to one byte per bit.
    fn decrypt<'py>(&self, py: Python<'py>, client: &TfheClient) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || {
            client.params.check("ciphertext", &self.params)?;
            let bits = on!(key = client.key, held = self.held => {
                ring::par_map(held.items.len(), |i| key.decrypt_bit(&held.items[i]))
                    .into_iter()
                    .collect::<Result<Vec<_>, _>>()
                    .or_raise()?
            });
            Ok::<_, PyErr>(bits.into_iter().map(u8::from).collect::<Vec<_>>())
        })
    }

    fn params_of(&self) -> TfheParams {
        self.params.clone()
    }

    fn count(&self) -> usize {
        on!(held = self.held => held.items.len())
    }

    fn negate(&self, py: Python<'_>, keys: &TfheServer) -> PyResult<Self> {
        guard(py, || {
            keys.params.check("ciphertext", &self.params)?;
            self.with(each!(key = keys.key, held = self.held => {
                let all = held.items.iter().map(|x| key.not(x));
                Batch::of(all.collect::<Result<_, _>>().or_raise()?)
            }))
        })
    }

    /// Applies a gate, given by its name, bit by bit. A single bit is combined with all bits of the
    /// other operand.
    fn gate(&self, py: Python<'_>, keys: &TfheServer, gate: &str, other: &Self) -> PyResult<Self> {
        let gate = gate_named(gate)?;
        guard(py, || {
            keys.params.check("left operand", &self.params)?;
            keys.params.check("right operand", &other.params)?;
            self.with(each!(key = keys.key, x = self.held, y = other.held => {
                let count = broadcast(x.items.len(), y.items.len())?;
                let jobs: Vec<_> = (0..count)
                    .map(|i| (gate, at(&x.items, i), at(&y.items, i)))
                    .collect();
                Batch::of(key.gates(&jobs).or_raise()?)
            }))
        })
    }

    /// `x` where a bit is set, otherwise `y`.
    fn mux(&self, py: Python<'_>, keys: &TfheServer, x: &Self, y: &Self) -> PyResult<Self> {
        guard(py, || {
            keys.params.check("condition", &self.params)?;
            keys.params.check("first choice", &x.params)?;
            keys.params.check("second choice", &y.params)?;
            self.with(
                each!(key = keys.key, c = self.held, x = x.held, y = y.held => {
                    let count = broadcast(x.items.len(), y.items.len())?;
                    let count = broadcast(count, c.items.len())?;
                    let all = ring::par_map(count, |i| {
                        key.mux(at(&c.items, i), at(&x.items, i), at(&y.items, i))
                    });
                    Batch::of(all.into_iter().collect::<Result<_, _>>().or_raise()?)
                }),
            )
        })
    }

    /// The bits at the given positions.
    fn take(&self, places: Vec<usize>) -> PyResult<Self> {
        self.with(each!(held = self.held => Batch::of(taken(&held.items, &places)?)))
    }

    /// These bits, then the others.
    fn join(&self, other: &Self) -> PyResult<Self> {
        self.params.check("right operand", &other.params)?;
        self.with(each!(x = self.held, y = other.held => {
            Batch::of(x.items.iter().chain(&y.items).cloned().collect())
        }))
    }

    fn to_bytes<'py>(&self, py: Python<'py>, single: bool) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || {
            let header = Header {
                item: Item::Bits,
                single,
                blocks: 1,
            };
            let (fresh, inner) = on!(held = self.held => match &held.fresh {
                Some(fresh) => (true, fresh.to_bytes()),
                None => (false, Bit::to_bytes(self.params.get(), &held.items).or_raise()?),
            });
            Ok::<_, PyErr>(seal(&self.params, &header, fresh, &inner))
        })
    }

    /// The bits, and true for a single bit without a dimension.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, params: &TfheParams, data: &[u8]) -> PyResult<(Self, bool)> {
        guard(py, || {
            let (header, fresh, inner) = open(params, Item::Bits, data)?;
            let held = if short(params) {
                BySize::Short(read(params, fresh, inner)?)
            } else {
                BySize::Long(read(params, fresh, inner)?)
            };
            let found = Self {
                params: params.clone(),
                held,
            };
            check_count(&header, found.count())?;
            Ok::<_, PyErr>((found, header.single))
        })
    }
}

fn read<T: ring::torus::Torus>(
    params: &TfheParams,
    fresh: bool,
    inner: &[u8],
) -> PyResult<Batch<Bit<T>, T>> {
    if fresh {
        return Batch::of_fresh_bits(Compressed::from_bytes(params.get(), inner).or_raise()?);
    }
    Bit::from_bytes(params.get(), inner)
        .or_raise()
        .map(Batch::of)
}

impl TfheBits {
    pub(crate) fn new(params: &TfheParams, held: Batches<Bit<u32>, Bit<u64>>) -> Self {
        Self {
            params: params.clone(),
            held,
        }
    }

    fn with(&self, held: Batches<Bit<u32>, Bit<u64>>) -> PyResult<Self> {
        Ok(Self::new(&self.params, held))
    }
}
