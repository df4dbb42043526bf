//! A client's file.

use crate::error::Result;
use crate::hex;
use exchange::{Exchange, files};
use serde_json::json;
use wasm_bindgen::prelude::wasm_bindgen;

/// The terms of a program, from a client's file: all that a client knows of it, and no weight.
#[wasm_bindgen(js_name = Terms)]
pub struct WebTerms {
    pub(crate) exchange: Exchange,
}

#[wasm_bindgen(js_class = Terms)]
impl WebTerms {
    /// Reads a client's file.
    ///
    /// # Errors
    /// If the bytes are no client's file, or its terms break a rule or are not secure.
    #[wasm_bindgen(constructor)]
    pub fn new(file: &[u8]) -> Result<Self> {
        let exchange = files::terms_from_bytes(file)?;
        Ok(Self { exchange })
    }

    /// The facts as JSON: `name`, `batch`, `shape` (channels, rows, columns), `range` of the
    /// integers of an input, `outputs` (integers of an answer, for each input), `ends` (the interface
    /// of the model, or null), `keys` and `key_bytes` (number of evaluation keys, and bytes of their
    /// file), and the identities `program_id`, `profile_id`, `layout_id` in hexadecimal digits.
    ///
    /// # Errors
    /// If the number of values of a packing is no power of two.
    pub fn facts(&self) -> Result<String> {
        let (terms, needs) = (self.exchange.terms(), self.exchange.needs());
        let key_bytes = files::keys_file_len(self.exchange.params(), &needs)?;
        let facts = json!({
            "name": terms.name,
            "batch": terms.batch,
            "shape": terms.input,
            "range": terms.input_range,
            "outputs": terms.classes,
            "ends": terms.interface,
            "keys": needs.each().count(),
            "key_bytes": key_bytes,
            "program_id": hex(self.exchange.fingerprint()),
            "profile_id": hex(&self.exchange.profile().id()),
            "layout_id": hex(&self.exchange.input_layout()),
        });
        Ok(facts.to_string())
    }
}
