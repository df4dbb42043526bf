//! Batches of small encrypted integers.

use ::tfhe::{Comparison, Integer, Table};
use client::system_rng;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ring::torus::Torus;

use super::keys::{TfheClient, TfheServer, short};
use super::params::TfheParams;
use super::store::{
    Batch, Batches, Header, Item, check_count, integer_bytes, open, read_integers, seal,
};
use super::{BySize, InScheme, at, broadcast, bytes_of, each, numbers_of, on, taken};
use crate::error::UsageError;
use crate::guard::{guard, guard_bytes};

/// Encrypted integers of a few bits.
#[pyclass(frozen, module = "palladion._native")]
pub(crate) struct TfheIntegers {
    pub(crate) params: TfheParams,
    pub(crate) held: Batches<Integer<u32>, Integer<u64>>,
}

pub(crate) fn comparison_named(name: &str) -> PyResult<Comparison> {
    Ok(match name {
        "<" => Comparison::Less,
        "<=" => Comparison::LessOrEqual,
        "==" => Comparison::Equal,
        "!=" => Comparison::NotEqual,
        ">=" => Comparison::GreaterOrEqual,
        ">" => Comparison::Greater,
        _ => {
            let words = format!("comparison {name:?}, expected one of <, <=, ==, !=, >=, >");
            return Err(UsageError::new_err(words));
        }
    })
}

impl TfheIntegers {
    pub(crate) fn new(params: &TfheParams, held: Batches<Integer<u32>, Integer<u64>>) -> Self {
        Self {
            params: params.clone(),
            held,
        }
    }

    fn with(&self, held: Batches<Integer<u32>, Integer<u64>>) -> PyResult<Self> {
        Ok(Self::new(&self.params, held))
    }
}

/// Combines two batches item by item.
macro_rules! combined {
    ($self:ident, $py:ident, $keys:ident, $other:ident, |$key:ident, $x:ident, $y:ident| $body:expr) => {
        guard($py, || {
            $keys.params.check("left operand", &$self.params)?;
            $keys.params.check("right operand", &$other.params)?;
            $self.with(
                each!($key = $keys.key, left = $self.held, right = $other.held => {
                    let count = broadcast(left.items.len(), right.items.len())?;
                    let all = (0..count).map(|i| {
                        let ($x, $y) = (at(&left.items, i), at(&right.items, i));
                        $body
                    });
                    Batch::of(all.collect::<Result<_, _>>().or_raise()?)
                }),
            )
        })
    };
}

/// Combines a batch with plain numbers, item by item.
macro_rules! with_numbers {
    ($self:ident, $py:ident, $keys:ident, $values:ident, |$key:ident, $x:ident, $y:ident| $body:expr) => {
        guard($py, || {
            $keys.params.check("ciphertext", &$self.params)?;
            let values = numbers_of($values);
            $self.with(each!($key = $keys.key, held = $self.held => {
                let count = broadcast(held.items.len(), values.len())?;
                let all = (0..count).map(|i| {
                    let ($x, $y) = (at(&held.items, i), *at(&values, i));
                    $body
                });
                Batch::of(all.collect::<Result<_, _>>().or_raise()?)
            }))
        })
    };
}

#[pymethods]
impl TfheIntegers {
    #[staticmethod]
    fn encrypt(py: Python<'_>, client: &TfheClient, values: &[u8]) -> PyResult<Self> {
        guard(py, || {
            let values = numbers_of(values);
            let held = each!(key = client.key => {
                Batch::of_fresh(key.compress(&values, &mut system_rng()).or_raise()?)?
            });
            Ok::<_, PyErr>(Self::new(&client.params, held))
        })
    }

    /// Constant values, not encrypted: everyone can read them.
    #[staticmethod]
    fn constant(py: Python<'_>, keys: &TfheServer, values: &[u8]) -> PyResult<Self> {
        guard(py, || {
            let held = each!(key = keys.key => {
                let all = numbers_of(values).into_iter().map(|v| key.constant(v));
                Batch::of(all.collect::<Result<_, _>>().or_raise()?)
            });
            Ok::<_, PyErr>(Self::new(&keys.params, held))
        })
    }

    /// Decrypts to messages, or to values with their carry bits.
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        client: &TfheClient,
        carry: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || {
            client.params.check("ciphertext", &self.params)?;
            let found = on!(key = client.key, held = self.held => {
                ring::par_map(held.items.len(), |i| {
                    let x = &held.items[i];
                    if carry { key.decrypt_with_carry(x) } else { key.decrypt(x) }
                })
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

    /// The largest value that an integer of the batch can have.
    fn largest(&self) -> u64 {
        on!(held = self.held => held.items.iter().map(Integer::max).max().unwrap_or(0))
    }

    /// The largest deviation of noise, in deviations of an output of a bootstrapping.
    fn noise(&self) -> u64 {
        on!(held = self.held => held.items.iter().map(Integer::noise).max().unwrap_or(0))
    }

    fn add(&self, py: Python<'_>, keys: &TfheServer, other: &Self) -> PyResult<Self> {
        combined!(self, py, keys, other, |key, x, y| key.add(x, y))
    }

    fn sub(&self, py: Python<'_>, keys: &TfheServer, other: &Self) -> PyResult<Self> {
        combined!(self, py, keys, other, |key, x, y| key.sub(x, y))
    }

    /// `x 2^message_bits + y`.
    fn pair(&self, py: Python<'_>, keys: &TfheServer, other: &Self) -> PyResult<Self> {
        combined!(self, py, keys, other, |key, x, y| key.pair(x, y))
    }

    fn negate(&self, py: Python<'_>, keys: &TfheServer) -> PyResult<Self> {
        let none = &0u64.to_ne_bytes();
        with_numbers!(self, py, keys, none, |key, x, _zero| key.neg(x))
    }

    fn add_values(&self, py: Python<'_>, keys: &TfheServer, values: &[u8]) -> PyResult<Self> {
        with_numbers!(self, py, keys, values, |key, x, y| key.add_constant(x, y))
    }

    fn scale(&self, py: Python<'_>, keys: &TfheServer, factors: &[u8]) -> PyResult<Self> {
        with_numbers!(self, py, keys, factors, |key, x, y| key.scale(x, y))
    }

    /// The entries of each table at every value. Several tables share a bootstrapping.
    fn apply(
        &self,
        py: Python<'_>,
        keys: &TfheServer,
        tables: Vec<Vec<u64>>,
    ) -> PyResult<Vec<Self>> {
        guard(py, || {
            keys.params.check("ciphertext", &self.params)?;
            let by_table = match (&keys.key, &self.held) {
                (BySize::Short(key), BySize::Short(held)) => {
                    let table = Table::new(self.params.get(), &tables).or_raise()?;
                    let jobs: Vec<_> = held.items.iter().map(|x| (x, &table)).collect();
                    columns(key.apply_all(&jobs).or_raise()?, tables.len())
                        .map(BySize::Short)
                        .collect::<Vec<_>>()
                }
                (BySize::Long(key), BySize::Long(held)) => {
                    let table = Table::new(self.params.get(), &tables).or_raise()?;
                    let jobs: Vec<_> = held.items.iter().map(|x| (x, &table)).collect();
                    columns(key.apply_all(&jobs).or_raise()?, tables.len())
                        .map(BySize::Long)
                        .collect()
                }
                _ => return Err(super::two_sizes()),
            };
            by_table.into_iter().map(|held| self.with(held)).collect()
        })
    }

    /// Looks up each value in a table of its own.
    fn apply_each(
        &self,
        py: Python<'_>,
        keys: &TfheServer,
        tables: Vec<Vec<u64>>,
    ) -> PyResult<Self> {
        guard(py, || {
            keys.params.check("ciphertext", &self.params)?;
            self.with(each!(key = keys.key, held = self.held => {
                let (found, expected) = (tables.len(), held.items.len());
                if found != expected {
                    let words = format!("{found} tables, expected one for each of {expected} values");
                    return Err(UsageError::new_err(words));
                }
                let tables = tables
                    .into_iter()
                    .map(|t| Table::new(self.params.get(), &[t]))
                    .collect::<Result<Vec<_>, _>>()
                    .or_raise()?;
                let jobs: Vec<_> = held.items.iter().zip(&tables).collect();
                let found = key.apply_all(&jobs).or_raise()?;
                Batch::of(found.into_iter().flatten().collect())
            }))
        })
    }

    /// The results of comparing two messages: 1 or 0.
    fn compare(
        &self,
        py: Python<'_>,
        keys: &TfheServer,
        comparison: &str,
        other: &Self,
    ) -> PyResult<Self> {
        let comparison = comparison_named(comparison)?;
        guard(py, || {
            keys.params.check("left operand", &self.params)?;
            keys.params.check("right operand", &other.params)?;
            self.with(each!(key = keys.key, x = self.held, y = other.held => {
                let count = broadcast(x.items.len(), y.items.len())?;
                let all = ring::par_map(count, |i| {
                    key.compare(comparison, at(&x.items, i), at(&y.items, i))
                });
                Batch::of(all.into_iter().collect::<Result<_, _>>().or_raise()?)
            }))
        })
    }

    /// The integers at the given positions.
    fn take(&self, places: Vec<usize>) -> PyResult<Self> {
        self.with(each!(held = self.held => Batch::of(taken(&held.items, &places)?)))
    }

    /// These integers, then the others.
    fn join(&self, other: &Self) -> PyResult<Self> {
        self.params.check("right operand", &other.params)?;
        self.with(each!(x = self.held, y = other.held => {
            Batch::of(x.items.iter().chain(&y.items).cloned().collect())
        }))
    }

    fn to_bytes<'py>(&self, py: Python<'py>, single: bool) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || {
            let header = Header {
                item: Item::Integers,
                single,
                blocks: 1,
            };
            let (fresh, inner) = on!(held = self.held => {
                let fresh = held.fresh.as_ref();
                (fresh.is_some(), integer_bytes(&self.params, &held.items, fresh)?)
            });
            Ok::<_, PyErr>(seal(&self.params, &header, fresh, &inner))
        })
    }

    /// The integers, and true for a single integer without a dimension.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, params: &TfheParams, data: &[u8]) -> PyResult<(Self, bool)> {
        guard(py, || {
            let (header, fresh, inner) = open(params, Item::Integers, data)?;
            let held = if short(params) {
                BySize::Short(read_integers(params, fresh, inner)?)
            } else {
                BySize::Long(read_integers(params, fresh, inner)?)
            };
            let found = Self::new(params, held);
            check_count(&header, found.count())?;
            Ok::<_, PyErr>((found, header.single))
        })
    }
}

/// Converts rows with one entry for each table to one batch for each table.
fn columns<T: Torus>(
    rows: Vec<Vec<Integer<T>>>,
    tables: usize,
) -> impl Iterator<Item = Batch<Integer<T>, T>> {
    let mut columns: Vec<Vec<_>> = (0..tables)
        .map(|_| Vec::with_capacity(rows.len()))
        .collect();
    for row in rows {
        columns.iter_mut().zip(row).for_each(|(c, x)| c.push(x));
    }
    columns.into_iter().map(Batch::of)
}
