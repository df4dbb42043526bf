//! The byte form of the values of streams, by `postcard`. The type of a value alone decides its
//! form.

use std::io;
use std::marker::PhantomData;
use std::pin::Pin;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_serde::{Deserializer, Serializer};
use tokio_util::bytes::{Bytes, BytesMut};

/// Writes and reads values of one type.
#[derive(Debug)]
pub struct Values<T>(PhantomData<fn() -> T>);

impl<T> Default for Values<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T: Serialize> Serializer<T> for Values<T> {
    type Error = io::Error;

    fn serialize(self: Pin<&mut Self>, value: &T) -> io::Result<Bytes> {
        let bytes = postcard::to_allocvec(value).map_err(invalid)?;
        Ok(bytes.into())
    }
}

impl<T: DeserializeOwned> Deserializer<T> for Values<T> {
    type Error = io::Error;

    /// Bytes after a value are an error.
    fn deserialize(self: Pin<&mut Self>, bytes: &BytesMut) -> io::Result<T> {
        let (value, rest) = postcard::take_from_bytes(bytes).map_err(invalid)?;
        match rest {
            [] => Ok(value),
            _ => Err(invalid("bytes after the value")),
        }
    }
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
