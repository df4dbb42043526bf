//! The terms on which client and server exchange files.

use crate::error::{Error, Result};
use crate::needs::Needs;
use crate::params::LoopParams;
use program::{KeyNeeds, Op, Parameters, Program, Type};
use rlwe::ParamsSpec;
use rlwe::bytes::Fingerprint;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The terms on which client and server exchange files: parameters, keys, the shapes of queries and
/// answers, and the fingerprint that binds all of them to one program. Cheap to clone.
#[derive(Clone)]
pub struct Exchange(Arc<Inner>);

struct Inner {
    terms: Terms,
    params: LoopParams,
}

/// The terms as they are written to JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Terms {
    #[serde(with = "hex")]
    fingerprint: Fingerprint,
    parameters: Parameters,
    keys: KeyNeeds,
    /// Largest number of images in one run.
    batch: usize,
    /// Number of the client's ciphertexts, and their level.
    inputs: usize,
    input_level: usize,
    /// Levels of the results.
    output_levels: Vec<usize>,
}

impl Exchange {
    fn new(terms: Terms) -> Result<Self> {
        let p = &terms.parameters;
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
        Ok(Self(Arc::new(Inner { terms, params })))
    }

    /// Returns the terms of a verified program whose files carry the given fingerprint.
    pub(crate) fn of(program: &Program, fingerprint: Fingerprint) -> Result<Self> {
        let level = |ty: Type| match ty {
            Type::Ciphertext { level, .. } => Some(level),
            Type::Samples => None,
        };
        let steps = || program.steps.iter();
        let is_input = |op: &Op| matches!(op, Op::Input { .. });
        let is_output = |op: &Op| matches!(op, Op::Output { .. });
        let input = steps().find(|step| is_input(&step.op));
        let outputs = steps().filter(|step| is_output(&step.op));
        Self::new(Terms {
            fingerprint,
            parameters: program.parameters.clone(),
            keys: program.keys.clone(),
            batch: program.batch,
            inputs: program.placement.len(),
            input_level: input.and_then(|step| level(step.ty)).unwrap_or(0),
            output_levels: outputs.filter_map(|step| level(step.ty)).collect(),
        })
    }

    /// The terms as JSON, in one line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.0.terms).expect("terms have no keys that are not strings")
    }

    /// Reads terms.
    ///
    /// # Errors
    /// If the text is not JSON of this form, a level is not one of the chain's, or the parameters
    /// are not secure.
    pub fn from_json(text: &str) -> Result<Self> {
        let terms: Terms =
            serde_json::from_str(text).map_err(|e| program::Error::Json(e.to_string()))?;
        let top = terms.parameters.q.len().saturating_sub(1);
        let levels = terms.output_levels.iter().chain([&terms.input_level]);
        let keys = terms.keys.galois.iter().chain(&terms.keys.packing);
        let levels = levels.chain(keys.map(|(_, level)| level));
        if let Some(level) = levels
            .chain(&terms.keys.relinearization)
            .find(|&&l| l > top)
        {
            return Err(Error::Shape {
                what: "the level of a key or a ciphertext",
                found: level.to_string(),
                expected: format!("at most {top}"),
            });
        }
        Self::new(terms)
    }

    /// The fingerprint, which binds keys and ciphertexts to one program.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.0.terms.fingerprint
    }

    /// Parameters.
    pub fn params(&self) -> &LoopParams {
        &self.0.params
    }

    /// The keys that the program uses.
    pub fn needs(&self) -> Needs {
        let keys = &self.0.terms.keys;
        Needs::new(keys.relinearization, &keys.galois, &keys.packing)
    }

    /// Largest number of images in one run.
    pub fn batch(&self) -> usize {
        self.0.terms.batch
    }

    /// Number of ciphertexts of a query.
    pub fn inputs(&self) -> usize {
        self.0.terms.inputs
    }

    /// Level of a query's ciphertexts.
    pub fn input_level(&self) -> usize {
        self.0.terms.input_level
    }

    /// Levels of an answer's ciphertexts.
    pub fn output_levels(&self) -> &[usize] {
        &self.0.terms.output_levels
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
