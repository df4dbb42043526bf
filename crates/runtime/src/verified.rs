//! What client and server both know of a program.

use crate::error::{Error, Result};
use circuits::{LoopParams, Needs};
use program::{KeyNeeds, Op, Parameters, Program, Type};
use rlwe::ParamsSpec;
use rlwe::bytes::{Fingerprint, fingerprint};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

/// The terms on which client and server exchange files: parameters, keys, the shapes of queries and answers, and the
/// fingerprint that binds all of them to one program. Cheap to clone.
#[derive(Clone)]
pub struct Exchange(Arc<Inner>);

struct Inner {
    terms: Terms,
    params: LoopParams,
}

/// The terms as data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Terms {
    fingerprint: Fingerprint,
    parameters: Parameters,
    keys: KeyNeeds,
    /// Images in one run, at most.
    batch: usize,
    /// The client's ciphertexts, and their level.
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

    /// Of a verified program whose files bear the given fingerprint.
    fn of(program: &Program, fingerprint: Fingerprint) -> Result<Self> {
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
    /// If the text is no such JSON, levels are not those of the chain, or the parameters are not secure.
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
            return Err(Error::Image {
                what: "the level of a key or a ciphertext",
                found: level.to_string(),
                expected: format!("at most {top}"),
            });
        }
        Self::new(terms)
    }

    /// What binds keys and ciphertexts to one program.
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

    /// Images in one run, at most.
    pub fn batch(&self) -> usize {
        self.0.terms.batch
    }

    /// Ciphertexts of a query.
    pub fn inputs(&self) -> usize {
        self.0.terms.inputs
    }

    /// Their level.
    pub fn input_level(&self) -> usize {
        self.0.terms.input_level
    }

    /// Levels of an answer's ciphertexts.
    pub fn output_levels(&self) -> &[usize] {
        &self.0.terms.output_levels
    }
}

/// A verified program with its parameters, whose security was checked: all that a client needs. Cheap to clone.
///
/// What the steps would do is not looked at: [`Prepared`](crate::Prepared) does.
#[derive(Clone)]
pub struct Verified {
    program: Arc<Program>,
    exchange: Exchange,
}

impl Verified {
    /// Verifies a program and builds its parameters.
    ///
    /// # Errors
    /// If the program breaks a rule, or the parameters are not secure or name no ring.
    pub fn new(program: Program) -> Result<Self> {
        let identity = fingerprint(program.identity().as_bytes());
        Self::of_fingerprint(program, identity)
    }

    /// A program whose files bear another fingerprint than that of its identity.
    pub(crate) fn of_fingerprint(program: Program, fingerprint: Fingerprint) -> Result<Self> {
        program.verify()?;
        let exchange = Exchange::of(&program, fingerprint)?;
        let program = Arc::new(program);
        Ok(Self { program, exchange })
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Standard deviation of the rounding noise of each layer's accumulators, in the order of the
    /// layers that have a table: samples that are added up bring noise each.
    pub fn sigmas(&self) -> Vec<(String, f64)> {
        // A factor of a product is packed more than once, and is the same sum.
        type Sums = BTreeMap<(usize, usize), usize>;
        let mut layers: Vec<(&str, Sums)> = Vec::new();
        for step in &self.program().steps {
            let Op::Pack { values, .. } = &step.op else {
                continue;
            };
            if layers.last().is_none_or(|(name, _)| *name != step.layer) {
                layers.push((&step.layer, BTreeMap::new()));
            }
            if let Some((_, samples)) = layers.last_mut() {
                samples.extend(values.iter().map(|p| ((p.1, p.2), p.3.len())));
            }
        }
        let sigma = self.params().rounding_sigma();
        let layers = layers.into_iter().map(|(name, samples)| {
            let mean = samples.values().sum::<usize>() as f64 / samples.len().max(1) as f64;
            (name.to_owned(), sigma * mean.sqrt())
        });
        layers.collect()
    }

    /// The terms on which files are exchanged.
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }
}

impl Deref for Verified {
    type Target = Exchange;

    fn deref(&self) -> &Exchange {
        &self.exchange
    }
}
