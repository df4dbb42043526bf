//! Batches of encrypted numbers of several digits.

use ::tfhe::{Compressed, Integer, Radix};
use client::system_rng;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ring::torus::Torus;
use rlwe::bytes::BytesError;

use super::integers::{TfheIntegers, comparison_named};
use super::keys::{TfheClient, TfheServer, short};
use super::params::TfheParams;
use super::store::{
    Batch, Batches, Header, Item, check_count, integer_bytes, open, read_integers, seal,
};
use super::{BySize, InScheme, at, broadcast, bytes_of, each, numbers_of, on, taken};
use crate::error::ToPython;
use crate::guard::{guard, guard_bytes};

/// Encrypted numbers of one length.
#[pyclass(frozen, module = "palladion._native")]
pub(crate) struct TfheNumbers {
    params: TfheParams,
    blocks: usize,
    held: Batches<Radix<u32>, Radix<u64>>,
}

impl TfheNumbers {
    fn with(&self, held: Batches<Radix<u32>, Radix<u64>>) -> PyResult<Self> {
        Ok(Self {
            params: self.params.clone(),
            blocks: self.blocks,
            held,
        })
    }

    fn check(&self, keys: &TfheServer, other: &Self) -> PyResult<()> {
        keys.params.check("left operand", &self.params)?;
        keys.params.check("right operand", &other.params)
    }
}

/// Numbers whose blocks stand one after another.
fn assemble<T: Torus>(
    integers: Batch<Integer<T>, T>,
    blocks: usize,
) -> PyResult<Batch<Radix<T>, T>> {
    let Batch { items, fresh } = integers;
    let mut numbers = Vec::with_capacity(items.len() / blocks);
    let mut items = items.into_iter().peekable();
    while items.peek().is_some() {
        numbers.push(Radix::new(items.by_ref().take(blocks).collect()).or_raise()?);
    }
    Ok(Batch {
        items: numbers,
        fresh,
    })
}

/// The digits of numbers of `blocks` blocks, in the order of encryption.
fn digits(values: &[u64], blocks: usize, bits: u32) -> PyResult<Vec<u64>> {
    let all = (blocks as u64).saturating_mul(bits.into());
    let limit = if all < 64 { (1 << all) - 1 } else { u64::MAX };
    if let Some(&found) = values.iter().find(|&&v| v > limit) {
        return Err(::tfhe::Error::Message { found, limit }.to_python());
    }
    let digit = |v: u64, i: usize| {
        let shift = (i as u32).saturating_mul(bits);
        v.checked_shr(shift).unwrap_or(0) & ((1 << bits) - 1)
    };
    let all = values.iter();
    Ok(all
        .flat_map(|&v| (0..blocks).map(move |i| digit(v, i)))
        .collect())
}

#[pymethods]
impl TfheNumbers {
    #[staticmethod]
    fn encrypt(
        py: Python<'_>,
        client: &TfheClient,
        values: &[u8],
        blocks: usize,
    ) -> PyResult<Self> {
        guard(py, || {
            let bits = client.params.get().messages().ilog2();
            let digits = digits(&numbers_of(values), blocks, bits)?;
            let held = each!(key = client.key => {
                let fresh: Compressed<_> = key.compress(&digits, &mut system_rng()).or_raise()?;
                assemble(Batch::of_fresh(fresh)?, blocks)?
            });
            let params = client.params.clone();
            Ok::<_, PyErr>(Self {
                params,
                blocks,
                held,
            })
        })
    }

    /// Constant numbers, not encrypted: everyone can read them.
    #[staticmethod]
    fn constant(py: Python<'_>, keys: &TfheServer, values: &[u8], blocks: usize) -> PyResult<Self> {
        guard(py, || {
            let held = each!(key = keys.key => {
                let all = numbers_of(values).into_iter();
                let all = all.map(|v| key.constant_radix(v, blocks));
                Batch::of(all.collect::<Result<_, _>>().or_raise()?)
            });
            let params = keys.params.clone();
            Ok::<_, PyErr>(Self {
                params,
                blocks,
                held,
            })
        })
    }

    fn decrypt<'py>(&self, py: Python<'py>, client: &TfheClient) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || {
            client.params.check("ciphertext", &self.params)?;
            let found = on!(key = client.key, held = self.held => {
                ring::par_map(held.items.len(), |i| key.decrypt_radix(&held.items[i]))
                    .into_iter()
                    .collect::<Result<Vec<_>, _>>()
                    .or_raise()?
            });
            Ok::<_, PyErr>(bytes_of(&found))
        })
    }

    fn params_of(&self) -> TfheParams {
        self.params.clone()
    }

    fn count(&self) -> usize {
        on!(held = self.held => held.items.len())
    }

    /// Number of digits of each number.
    fn blocks(&self) -> usize {
        self.blocks
    }

    /// Sums or differences, modulo the power of two given by the digits.
    fn add(
        &self,
        py: Python<'_>,
        keys: &TfheServer,
        other: &Self,
        subtract: bool,
    ) -> PyResult<Self> {
        guard(py, || {
            self.check(keys, other)?;
            self.with(each!(key = keys.key, x = self.held, y = other.held => {
                let count = broadcast(x.items.len(), y.items.len())?;
                let all = ring::par_map(count, |i| {
                    let (x, y) = (at(&x.items, i), at(&y.items, i));
                    if subtract { key.sub_radix(x, y) } else { key.add_radix(x, y) }
                });
                Batch::of(all.into_iter().collect::<Result<_, _>>().or_raise()?)
            }))
        })
    }

    /// The results of comparing two numbers: 1 or 0.
    fn compare(
        &self,
        py: Python<'_>,
        keys: &TfheServer,
        comparison: &str,
        other: &Self,
    ) -> PyResult<TfheIntegers> {
        let comparison = comparison_named(comparison)?;
        guard(py, || {
            self.check(keys, other)?;
            let held = each!(key = keys.key, x = self.held, y = other.held => {
                let count = broadcast(x.items.len(), y.items.len())?;
                let all = ring::par_map(count, |i| {
                    key.compare_radix(comparison, at(&x.items, i), at(&y.items, i))
                });
                Batch::of(all.into_iter().collect::<Result<_, _>>().or_raise()?)
            });
            Ok::<_, PyErr>(TfheIntegers::new(&self.params, held))
        })
    }

    /// The smaller and the larger number of each pair.
    fn min_max(&self, py: Python<'_>, keys: &TfheServer, other: &Self) -> PyResult<(Self, Self)> {
        guard(py, || {
            self.check(keys, other)?;
            let (smaller, larger) = match (&keys.key, &self.held, &other.held) {
                (BySize::Short(key), BySize::Short(x), BySize::Short(y)) => {
                    let (smaller, larger) =
                        min_max(&x.items, &y.items, |x, y| key.min_max_radix(x, y))?;
                    (BySize::Short(smaller), BySize::Short(larger))
                }
                (BySize::Long(key), BySize::Long(x), BySize::Long(y)) => {
                    let (smaller, larger) =
                        min_max(&x.items, &y.items, |x, y| key.min_max_radix(x, y))?;
                    (BySize::Long(smaller), BySize::Long(larger))
                }
                _ => return Err(super::two_sizes()),
            };
            Ok((self.with(smaller)?, self.with(larger)?))
        })
    }

    /// The numbers at the given positions.
    fn take(&self, places: Vec<usize>) -> PyResult<Self> {
        self.with(each!(held = self.held => Batch::of(taken(&held.items, &places)?)))
    }

    /// These numbers, then the others.
    fn join(&self, other: &Self) -> PyResult<Self> {
        self.params.check("right operand", &other.params)?;
        if self.blocks != other.blocks {
            let (left, right) = (self.blocks, other.blocks);
            return Err(::tfhe::Error::Blocks { left, right }.to_python());
        }
        self.with(each!(x = self.held, y = other.held => {
            Batch::of(x.items.iter().chain(&y.items).cloned().collect())
        }))
    }

    fn to_bytes<'py>(&self, py: Python<'py>, single: bool) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || {
            let header = Header {
                item: Item::Numbers,
                single,
                blocks: self.blocks,
            };
            let (fresh, inner) = on!(held = self.held => {
                let fresh = held.fresh.as_ref();
                let all: Vec<_> = held.items.iter().flat_map(|x| x.blocks().iter().cloned()).collect();
                (fresh.is_some(), integer_bytes(&self.params, &all, fresh)?)
            });
            Ok::<_, PyErr>(seal(&self.params, &header, fresh, &inner))
        })
    }

    /// The numbers, and true for a single number without a dimension.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, params: &TfheParams, data: &[u8]) -> PyResult<(Self, bool)> {
        guard(py, || {
            let (header, fresh, inner) = open(params, Item::Numbers, data)?;
            let held = if short(params) {
                BySize::Short(read(params, (&header, fresh), inner)?)
            } else {
                BySize::Long(read(params, (&header, fresh), inner)?)
            };
            let found = Self {
                params: params.clone(),
                blocks: header.blocks,
                held,
            };
            check_count(&header, found.count())?;
            Ok::<_, PyErr>((found, header.single))
        })
    }
}

/// Reads integers that must be digits without carry. Their count must be that of whole numbers.
fn read<T: Torus>(
    params: &TfheParams,
    (header, fresh): (&Header, bool),
    inner: &[u8],
) -> PyResult<Batch<Radix<T>, T>> {
    let integers = read_integers(params, fresh, inner)?;
    let wrong = |what, found, expected| {
        let error = BytesError::Value {
            what,
            found,
            expected,
        };
        Err(::tfhe::Error::from(error).to_python())
    };
    let found = integers.items.len();
    if !found.is_multiple_of(header.blocks) {
        let expected = format!("a multiple of {}", header.blocks);
        return wrong("the digits of all numbers", found as u64, expected);
    }
    let largest = integers.items.iter().map(Integer::max).max().unwrap_or(0);
    if largest >= params.get().messages() {
        let expected = format!("less than {}", params.get().messages());
        return wrong("the largest digit of a number", largest, expected);
    }
    assemble(integers, header.blocks)
}

type Pairs<T> = (Batch<Radix<T>, T>, Batch<Radix<T>, T>);

fn min_max<T: Torus>(
    left: &[Radix<T>],
    right: &[Radix<T>],
    of: impl Fn(&Radix<T>, &Radix<T>) -> ::tfhe::Result<(Radix<T>, Radix<T>)> + Sync,
) -> PyResult<Pairs<T>> {
    let count = broadcast(left.len(), right.len())?;
    let all = ring::par_map(count, |i| of(at(left, i), at(right, i)));
    let all: Vec<_> = all.into_iter().collect::<Result<_, _>>().or_raise()?;
    let (smaller, larger) = all.into_iter().unzip();
    Ok((Batch::of(smaller), Batch::of(larger)))
}
