//! Batches as bytes: the ciphertexts in the core's form, and a header that describes the batch.

use ::tfhe::{Bit, Compressed, Integer};
use pyo3::prelude::*;
use ring::torus::Torus;
use rlwe::bytes::{BytesError, Kind, Reader, Writer};

use super::params::TfheParams;
use super::{BySize, InScheme};
use crate::error::ToPython;

const BATCH: Kind = Kind {
    tag: *b"TBAT",
    words: "a batch of TFHE",
    version: 1,
};

/// The kind of items of a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Item {
    Bits,
    Integers,
    Numbers,
}

/// The header before the ciphertexts.
pub(crate) struct Header {
    pub(crate) item: Item,
    /// True for a single value that is not a batch of one.
    pub(crate) single: bool,
    /// Digits of a number.
    pub(crate) blocks: usize,
}

/// Ciphertexts, and their seeded form if they are still as encrypted.
pub(crate) struct Batch<C, T> {
    pub(crate) items: Vec<C>,
    pub(crate) fresh: Option<Compressed<T>>,
}

impl<C, T> Batch<C, T> {
    /// A batch of computed ciphertexts.
    pub(crate) fn of(items: Vec<C>) -> Self {
        Self { items, fresh: None }
    }
}

impl<T: Torus> Batch<Bit<T>, T> {
    pub(crate) fn of_fresh_bits(fresh: Compressed<T>) -> PyResult<Self> {
        Ok(Self {
            items: fresh.bits().or_raise()?,
            fresh: Some(fresh),
        })
    }
}

impl<T: Torus> Batch<Integer<T>, T> {
    pub(crate) fn of_fresh(fresh: Compressed<T>) -> PyResult<Self> {
        Ok(Self {
            items: fresh.integers().or_raise()?,
            fresh: Some(fresh),
        })
    }
}

/// A batch with words of either size.
pub(crate) type Batches<S, L> = BySize<Batch<S, u32>, Batch<L, u64>>;

/// Seals a batch. `inner` are the ciphertexts' own bytes, seeded if they are `fresh`.
pub(crate) fn seal(params: &TfheParams, header: &Header, fresh: bool, inner: &[u8]) -> Vec<u8> {
    let mut w = Writer::new();
    w.u64(header.item as u64);
    w.u64(header.single.into());
    w.u64(header.blocks as u64);
    w.u64(fresh.into());
    w.block(inner);
    w.seal(&BATCH, params.get().fingerprint())
}

/// The header, true if the ciphertexts are seeded, and their bytes.
pub(crate) fn open<'a>(
    params: &TfheParams,
    expected: Item,
    data: &'a [u8],
) -> PyResult<(Header, bool, &'a [u8])> {
    let read = || -> Result<_, BytesError> {
        let mut r = Reader::open(data, &BATCH, params.get().fingerprint())?;
        let found = r.bounded("the kind of a batch", 0..=2)?;
        let item = [Item::Bits, Item::Integers, Item::Numbers][found];
        if item != expected {
            return Err(BytesError::Kind {
                found: format!("a batch of {item:?} of TFHE").to_lowercase(),
                expected: format!("{expected:?}").to_lowercase(),
            });
        }
        let single = r.bounded("the mark of a single value", 0..=1)? == 1;
        let blocks = r.bounded("the digits of a number", 1..=1 << 16)?;
        let fresh = r.bounded("the mark of seeds", 0..=1)? == 1;
        let inner = r.block("ciphertexts")?;
        r.end()?;
        let header = Header {
            item,
            single,
            blocks,
        };
        Ok((header, fresh, inner))
    };
    read().map_err(::tfhe::Error::from).or_raise()
}

/// Bytes of integers, seeded if they are still as encrypted.
pub(crate) fn integer_bytes<T: Torus>(
    params: &TfheParams,
    items: &[Integer<T>],
    fresh: Option<&Compressed<T>>,
) -> PyResult<Vec<u8>> {
    match fresh {
        Some(fresh) => Ok(fresh.to_bytes()),
        None => Integer::to_bytes(params.get(), items).or_raise(),
    }
}

/// The inverse of [`integer_bytes`].
pub(crate) fn read_integers<T: Torus>(
    params: &TfheParams,
    fresh: bool,
    inner: &[u8],
) -> PyResult<Batch<Integer<T>, T>> {
    if fresh {
        return Batch::of_fresh(Compressed::from_bytes(params.get(), inner).or_raise()?);
    }
    Integer::from_bytes(params.get(), inner)
        .or_raise()
        .map(Batch::of)
}

/// Checks that a single value has one ciphertext.
pub(crate) fn check_count(header: &Header, found: usize) -> PyResult<()> {
    if header.single && found != 1 {
        let error = BytesError::Value {
            what: "a single value's number of ciphertexts",
            found: found as u64,
            expected: "1".to_owned(),
        };
        return Err(::tfhe::Error::from(error).to_python());
    }
    Ok(())
}
