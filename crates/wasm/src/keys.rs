//! Evaluation keys, as bytes that JavaScript receives part by part.

use js_sys::{Function, Uint8Array};
use std::io::{self, Write};
use wasm_bindgen::JsValue;

/// Hands its bytes to a function of JavaScript.
pub(crate) struct Sink<'a> {
    take: &'a Function,
    /// The error that the function has thrown.
    pub(crate) thrown: &'a mut Option<JsValue>,
}

impl<'a> Sink<'a> {
    /// A sink that calls `take` with each part. `thrown` keeps what it throws.
    pub(crate) fn new(take: &'a Function, thrown: &'a mut Option<JsValue>) -> Self {
        Self { take, thrown }
    }
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let part = Uint8Array::from(bytes);
        match self.take.call1(&JsValue::NULL, &part) {
            Ok(_) => Ok(bytes.len()),
            Err(error) => {
                *self.thrown = Some(error);
                Err(io::Error::other("the receiver of the keys has failed"))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
