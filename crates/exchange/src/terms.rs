//! The terms on which client and server exchange files, for one program.

use crate::error::Result;
use crate::needs::Needs;
use crate::params::LoopParams;
use bfv::noise::Model;
use program::{Outputs, Terms};
use rlwe::ParamsSpec;
use rlwe::bytes::Fingerprint;
use rlwe::noise::log2_sum;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The terms on which client and server exchange files: parameters, keys, where inputs and outputs
/// lie, and the fingerprint that binds all of them to one program. This is all that a client needs.
/// Cheap to clone.
#[derive(Clone)]
pub struct Exchange(Arc<Inner>);

struct Inner {
    bound: Bound,
    params: LoopParams,
}

/// Terms with the fingerprint of their program, as they are written to JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bound {
    #[serde(with = "hex")]
    fingerprint: Fingerprint,
    terms: Terms,
}

impl Exchange {
    fn new(bound: Bound) -> Result<Self> {
        let p = &bound.terms.parameters;
        let spec = ParamsSpec {
            n: p.n,
            q: p.q.clone(),
            p: p.p.clone(),
            digit_limbs: p.digit_limbs,
        };
        let bfv = bfv::Params::new(&spec, p.t)?;
        let params = LoopParams::new(&bfv, p.lwe_dimension, p.lwe_digit_bits)?;
        let params = params
            .with_slack(p.slack_bits)
            .with_baby_steps(p.baby_steps)?;
        Ok(Self(Arc::new(Inner { bound, params })))
    }

    /// Returns the terms of a verified program whose files carry the given fingerprint.
    pub(crate) fn of(terms: Terms, fingerprint: Fingerprint) -> Result<Self> {
        Self::new(Bound { fingerprint, terms })
    }

    /// The terms as JSON, in one line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.0.bound).expect("terms have no keys that are not strings")
    }

    /// Reads terms.
    ///
    /// # Errors
    /// [`Error::Program`](crate::Error::Program) if the text is not JSON of this form, or breaks a
    /// rule of [`Terms::verify`], and errors of parameters that are not secure.
    pub fn from_json(text: &str) -> Result<Self> {
        let bound: Bound =
            serde_json::from_str(text).map_err(|e| program::Error::Json(e.to_string()))?;
        bound.terms.verify()?;
        Self::new(bound)
    }

    /// The terms of the program: all that a client must know of it.
    pub fn terms(&self) -> &Terms {
        &self.0.bound.terms
    }

    /// The fingerprint, which binds keys and ciphertexts to one program.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.0.bound.fingerprint
    }

    /// Parameters.
    pub fn params(&self) -> &LoopParams {
        &self.0.params
    }

    /// The evaluation keys that the server needs. The public key is that of the answer.
    pub fn needs(&self) -> Needs {
        let keys = &self.terms().keys;
        let mut needs = Needs::new(keys.relinearization, &keys.galois, &keys.packing);
        if let Some(level) = self.outputs().iter().map(|outputs| outputs.level).max() {
            needs.public(level);
        }
        needs
    }

    /// Largest number of images in one run.
    pub fn batch(&self) -> usize {
        self.terms().batch
    }

    /// Number of ciphertexts of a query.
    pub fn inputs(&self) -> usize {
        self.terms().placement.len()
    }

    /// Level of a query's ciphertexts.
    pub fn input_level(&self) -> usize {
        self.terms().input_level
    }

    /// Bound of the predicted noise of a ciphertext of an answer: log2 of the root mean square of
    /// the residuals at its outputs.
    pub fn answer_noise_bits(&self, outputs: &Outputs) -> f64 {
        let public = Model::new(self.params().bfv()).fresh_public();
        log2_sum(2.0 * f64::from(outputs.noise_bits), 2.0 * public.bits()) / 2.0
    }

    /// The ciphertexts of an answer, in order.
    pub fn outputs(&self) -> &[Outputs] {
        &self.terms().outputs
    }
}

/// A fingerprint as 64 hexadecimal digits.
mod hex {
    use rlwe::bytes::Fingerprint;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &Fingerprint, to: S) -> Result<S::Ok, S::Error> {
        let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
        to.serialize_str(&digits.collect::<String>())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Fingerprint, D::Error> {
        let digits = String::deserialize(from)?;
        let wrong = || D::Error::custom("a fingerprint has 64 hexadecimal digits");
        let mut bytes = Fingerprint::default();
        if digits.len() != 2 * bytes.len() {
            return Err(wrong());
        }
        for (index, byte) in bytes.iter_mut().enumerate() {
            let pair = digits.get(2 * index..2 * index + 2).ok_or_else(wrong)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
        }
        Ok(bytes)
    }
}
