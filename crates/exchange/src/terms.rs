//! The terms on which client and server exchange files, for one program.

use crate::error::{Error, Result};
use crate::needs::Needs;
use crate::params::LoopParams;
use crate::profile::Profile;
use crate::query::Query;
use bfv::noise::Model;
use program::{Outputs, PublicInputs, Terms};
use rlwe::bytes::{Fingerprint, fingerprint};
use rlwe::noise::log2_sum;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The terms on which client and server exchange files: parameters, keys, where inputs and outputs
/// lie, and the fingerprint of the program. This is all that a client needs. Cheap to clone.
///
/// Evaluation keys are bound to a [`Profile`], a query to an [input layout](Self::input_layout),
/// and an answer to the program and the query.
#[derive(Clone)]
pub struct Exchange(Arc<Inner>);

struct Inner {
    bound: Bound,
    params: LoopParams,
    profile: Profile,
    input_layout: Fingerprint,
}

/// Terms with the fingerprint of their program, as they are written to JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bound {
    #[serde(with = "crate::hex")]
    fingerprint: Fingerprint,
    terms: Terms,
}

impl Exchange {
    fn new(bound: Bound) -> Result<Self> {
        let params = LoopParams::of(&bound.terms.parameters)?;
        let profile = Profile::new(&params, &needs(&bound.terms));
        let input_layout = input_layout(&bound.terms);
        Ok(Self(Arc::new(Inner {
            bound,
            params,
            profile,
            input_layout,
        })))
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

    /// The profile of the keys that the server needs. A set of keys of another profile serves the
    /// program if that profile covers this one.
    pub fn profile(&self) -> &Profile {
        &self.0.profile
    }

    /// Identity of the input layout: a hash of what encrypting an input depends on, which is the
    /// modulus of the query, the shape and the range of an input, how the model's numbers become
    /// integers, and their places. Programs of one layout take the same queries.
    pub fn input_layout(&self) -> Fingerprint {
        self.0.input_layout
    }

    /// The fingerprint of the program, which its answers carry.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.0.bound.fingerprint
    }

    /// Parameters.
    pub fn params(&self) -> &LoopParams {
        &self.0.params
    }

    /// The evaluation keys that the server needs. The public key is that of the answer.
    pub fn needs(&self) -> Needs {
        needs(self.terms())
    }

    /// Largest number of images in one run.
    pub fn batch(&self) -> usize {
        self.terms().batch
    }

    /// Number of ciphertexts of a query.
    pub fn inputs(&self) -> usize {
        self.terms().inputs()
    }

    /// Level of a query's ciphertexts.
    pub fn input_level(&self) -> usize {
        self.terms().input_level
    }

    /// The promise of the program for inputs under a public key.
    ///
    /// # Errors
    /// [`Error::PublicInputs`] if there is none.
    pub fn public_inputs(&self) -> Result<&PublicInputs> {
        let promise = self.terms().public_inputs.as_ref();
        promise.ok_or(Error::PublicInputs)
    }

    /// Bound of the predicted noise of a ciphertext of the answer to `query`: log2 of the root mean
    /// square of the residuals at its outputs.
    ///
    /// # Errors
    /// [`Error::PublicInputs`] for a query under a public key, if the program promises nothing of
    /// such queries.
    pub fn answer_noise_bits(&self, outputs: &Outputs, query: &Query) -> Result<f64> {
        let rise = match query.is_public() && outputs.flood.is_none() {
            true => self.public_inputs()?.rise_bits,
            false => 0,
        };
        let noise_bits = f64::from(outputs.noise_bits) + f64::from(rise);
        let public = Model::new(self.params().bfv()).fresh_public();
        Ok(log2_sum(2.0 * noise_bits, 2.0 * public.bits()) / 2.0)
    }

    /// The ciphertexts of an answer, in order.
    pub fn outputs(&self) -> &[Outputs] {
        &self.terms().outputs
    }
}

fn needs(terms: &Terms) -> Needs {
    let keys = &terms.keys;
    let mut needs = Needs::new(keys.relinearization, &keys.galois, &keys.packing);
    if let Some(level) = terms.outputs.iter().map(|outputs| outputs.level).max() {
        needs.public(level);
    }
    needs
}

fn input_layout(terms: &Terms) -> Fingerprint {
    let p = &terms.parameters;
    // The meaning of an answer does not matter for a query.
    let part = |name: &str| terms.interface.as_ref().and_then(|ends| ends.get(name));
    let takes = part("interface").and_then(|ends| ends.get("takes"));
    let modulus = (p.n, p.t, &p.q[..=terms.input_level]);
    let image = (
        terms.batch,
        terms.input,
        terms.input_range,
        part("input"),
        takes,
    );
    let layout = ("palladion-layout/1", modulus, image, &terms.placement);
    let text = serde_json::to_string(&layout).expect("a layout has no keys that are not strings");
    fingerprint(text.as_bytes())
}
