//! A client at work: keys, encryption, decryption.

use crate::error::{Failure, Kind, Result};
use crate::keys::Sink;
use crate::secret::WebSecret;
use crate::terms::WebTerms;
use crate::{hex, now};
use client::system_rng;
use exchange::{Needs, Profile, files};
use js_sys::Function;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// A secret at work for a program.
#[wasm_bindgen(js_name = Client)]
pub struct WebClient {
    client: client::Client,
}

#[wasm_bindgen(js_class = Client)]
impl WebClient {
    /// Makes a client of an open secret.
    ///
    /// # Errors
    /// If the secret is sealed, or does not fit the parameters of the program.
    #[wasm_bindgen(constructor)]
    pub fn new(terms: &WebTerms, secret: &WebSecret) -> Result<Self> {
        let client = client::Client::new(&terms.exchange, secret.open()?)?;
        Ok(Self { client })
    }

    /// Bytes of the file of the evaluation keys that the program needs beyond those of the profiles
    /// `have`, 0 if none is missing. Profiles are the JSON in files of keys. Those of other
    /// parameters are passed over: their keys do not serve.
    ///
    /// # Errors
    /// If a text is no profile.
    #[wasm_bindgen(js_name = missingKeyBytes)]
    pub fn missing_key_bytes(&self, have: Vec<String>) -> Result<f64> {
        let needs = self.needs(&have)?;
        match needs.each().count() {
            0 => Ok(0.0),
            _ => Ok(files::keys_file_len(self.client.exchange().params(), &needs)? as f64),
        }
    }

    /// Makes these keys one at a time and hands the bytes of their file to `sink`, part by part: a
    /// function of a `Uint8Array`. Returns the digest of the file: SHA-256 in hexadecimal digits.
    ///
    /// # Errors
    /// If the life of the secret has ended, and whatever `sink` throws, which ends the work.
    #[wasm_bindgen(js_name = writeKeys)]
    pub fn write_keys(
        &self,
        have: Vec<String>,
        sink: &Function,
    ) -> std::result::Result<String, JsValue> {
        self.check_life()?;
        let needs = self.needs(&have)?;
        let mut thrown = None;
        let out = Sink::new(sink, &mut thrown);
        let written = self
            .client
            .write_evaluation_keys(&needs, &mut system_rng(), out);
        match (written, thrown) {
            (Ok(digest), _) => Ok(hex(&digest)),
            (Err(_), Some(error)) => Err(error),
            (Err(error), None) => Err(Failure::from(error).into()),
        }
    }

    /// Encrypts inputs of the network: integers in the order channel, row, column, one input behind
    /// the other. Returns the bytes of the query, which decryption needs.
    ///
    /// # Errors
    /// If the life of the secret has ended, for a wrong number of integers or of inputs, and for an
    /// integer out of range.
    pub fn encrypt(&self, integers: &[i32]) -> Result<Vec<u8>> {
        self.check_life()?;
        let values: usize = self.client.exchange().terms().input.iter().product();
        if !integers.len().is_multiple_of(values) {
            let found = integers.len();
            let words = format!("{found} integers of inputs, expected a multiple of {values}");
            return Err(Failure::new(Kind::Usage, words));
        }
        let inputs = integers.chunks(values);
        let inputs: Vec<Vec<i64>> = inputs
            .map(|input| input.iter().copied().map(i64::from).collect())
            .collect();
        Ok(files::query_to_bytes(&self.client.encrypt(&inputs)?))
    }

    /// Decrypts the answer to a query.
    ///
    /// # Errors
    /// If the bytes are no answer and no query of this program, do not belong together or belong to
    /// another secret, and if no noise margin is left.
    pub fn decrypt(&self, answer: &[u8], query: &[u8]) -> Result<Decrypted> {
        let exchange = self.client.exchange();
        let answer = files::answer_from_bytes(exchange, answer)?;
        let query = files::query_from_bytes(exchange, query)?;
        let decrypted = self.client.decrypt(&answer, &query)?;
        let integers = decrypted.logits.into_iter().flatten();
        Ok(Decrypted {
            integers: integers.map(|integer| integer as f64).collect(),
            margin_bits: decrypted.margin_bits,
        })
    }
}

impl WebClient {
    /// The keys that the program needs beyond some profiles.
    fn needs(&self, have: &[String]) -> Result<Needs> {
        let own = self.client.exchange().profile();
        let mut needs = own.needs();
        for text in have {
            let profile = Profile::from_json(text)?;
            if profile.check_parameters(own).is_ok() {
                needs = needs.without(&profile.needs());
            }
        }
        Ok(needs)
    }

    fn check_life(&self) -> Result<()> {
        let label = self.client.secret().label();
        Ok(label.check("the secret", now())?)
    }
}

/// A decrypted answer.
#[wasm_bindgen]
pub struct Decrypted {
    integers: Vec<f64>,
    margin_bits: f64,
}

#[wasm_bindgen]
impl Decrypted {
    /// The integers of the network's outputs, one input behind the other.
    #[wasm_bindgen(getter)]
    pub fn integers(&self) -> Vec<f64> {
        self.integers.clone()
    }

    /// Bits of noise margin that were left.
    #[wasm_bindgen(getter, js_name = marginBits)]
    pub fn margin_bits(&self) -> f64 {
        self.margin_bits
    }
}
