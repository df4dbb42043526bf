//! TFHE over batches, for the operators of `palladion.tfhe`.
//!
//! Numbers are passed as bytes in this machine's order: bytes of 0 and 1 for bits, 64-bit integers
//! for the others. Polynomials are multiplied by the [`Fft`] at every set.

mod bits;
mod integers;
mod keys;
mod numbers;
mod params;
mod store;

use crate::error::ToPython;
use ::tfhe::{ClientKey, EvaluationKeys, ServerKey};
use pyo3::prelude::*;
use ring::torus::Fft;

/// A value that has 32-bit words at some sets and 64-bit words at others.
pub(crate) enum BySize<A, B> {
    Short(A),
    Long(B),
}

type Client = BySize<ClientKey<u32>, ClientKey<u64>>;
type Seeded = BySize<EvaluationKeys<u32>, EvaluationKeys<u64>>;
type Server = BySize<ServerKey<u32, Fft>, ServerKey<u64, Fft>>;

/// Runs the same work on either size of words. The result has words of that size.
macro_rules! each {
    ($x:ident = $of:expr => $body:expr) => {
        match &$of {
            BySize::Short($x) => BySize::Short($body),
            BySize::Long($x) => BySize::Long($body),
        }
    };
    ($($x:ident = $of:expr),+ => $body:expr) => {
        match ($(&$of),+) {
            ($(BySize::Short($x)),+) => BySize::Short($body),
            ($(BySize::Long($x)),+) => BySize::Long($body),
            _ => return Err($crate::tfhe::two_sizes()),
        }
    };
}

/// As [`each`], for results that have no words.
macro_rules! on {
    ($x:ident = $of:expr => $body:expr) => {
        match &$of {
            BySize::Short($x) => $body,
            BySize::Long($x) => $body,
        }
    };
    ($($x:ident = $of:expr),+ => $body:expr) => {
        match ($(&$of),+) {
            ($(BySize::Short($x)),+) => $body,
            ($(BySize::Long($x)),+) => $body,
            _ => return Err($crate::tfhe::two_sizes()),
        }
    };
}
pub(crate) use bits::TfheBits;
pub(crate) use integers::TfheIntegers;
pub(crate) use keys::TfheServer;
pub(crate) use params::TfheParams;
pub(crate) use store::Batch;
pub(crate) use {each, on};

/// The error for operands with words of two sizes. Their fingerprints were compared before, so this
/// is a fault of Palladion.
pub(crate) fn two_sizes() -> PyErr {
    crate::error::InternalError::new_err("operands of one fingerprint have words of two sizes")
}

/// Adds the classes to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<params::TfheParams>()?;
    module.add_class::<keys::TfheClient>()?;
    module.add_class::<keys::TfheServer>()?;
    module.add_class::<bits::TfheBits>()?;
    module.add_class::<integers::TfheIntegers>()?;
    module.add_class::<numbers::TfheNumbers>()
}

/// Converts an error of the scheme to an exception, where the caller chose the operands.
trait InScheme<T> {
    fn or_raise(self) -> PyResult<T>;
}

impl<T> InScheme<T> for ::tfhe::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(ToPython::to_python)
    }
}

/// Length of the result of an operation on operands of these lengths. A single item is combined
/// with all of the others.
fn broadcast(left: usize, right: usize) -> PyResult<usize> {
    match (left, right) {
        (left, right) if left == right => Ok(left),
        (1, other) | (other, 1) => Ok(other),
        _ => Err(crate::error::UsageError::new_err(format!(
            "batches of {left} and {right}, expected one length, or a single one"
        ))),
    }
}

/// The item at position `i`. A single item stands at every position.
fn at<C>(items: &[C], i: usize) -> &C {
    if items.len() == 1 {
        &items[0]
    } else {
        &items[i]
    }
}

/// The items at the given positions.
fn taken<C: Clone>(items: &[C], places: &[usize]) -> PyResult<Vec<C>> {
    let found = |&place: &usize| {
        items.get(place).cloned().ok_or_else(|| {
            crate::error::UsageError::new_err(format!(
                "position {place}, expected less than {}",
                items.len()
            ))
        })
    };
    places.iter().map(found).collect()
}

/// Reads 64-bit integers from bytes.
fn numbers_of(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|&w| u64::from_ne_bytes(w)).collect()
}

/// Converts 64-bit integers to bytes.
fn bytes_of(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_ne_bytes()).collect()
}
