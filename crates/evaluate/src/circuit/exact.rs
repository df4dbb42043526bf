//! BGV and BFV as schemes of circuits, with one implementation.
//!
//! Ciphertexts of BGV and BFV only differ in the factor `f` of a fresh message in its residual
//! ([`bgv`]): 1 for BGV, and `-Q` modulo `t` for BFV. BFV therefore runs like BGV. Its products are
//! products of residuals, each followed by a modulus switch.

use super::budget::{self, Budget};
use super::clear::residues;
use super::factors::Factors;
use super::plan::Plan;
use super::scheme::{Scheme, sealed::Sealed};
use super::{check, check_limit, unfit};
use crate::error::Result;
use bgv::{Params, Plaintext};
use circuits::approximate::Diagonal;
use program::MAX_LOG2_FAILURE;
use program::circuit::{Arithmetic, Circuit, Type};
use program::recording::Message;
use ring::{Eval, Poly};
use std::collections::BTreeMap;

/// Predicts the noise of every output of a circuit. Encrypted inputs are fresh, under the secret
/// key. The prediction does not depend on messages: plaintexts among the inputs count as uniform
/// residues, constants by their values.
///
/// # Errors
/// [`Error::Program`](crate::Error::Program) for a circuit that does not verify.
/// [`Error::Circuit`](crate::Error::Circuit) for a circuit written for other parameters, and for a
/// circuit whose results would be wrong with a probability above `2^MAX_LOG2_FAILURE`.
pub fn predict_noise(
    scheme: &impl ExactScheme,
    circuit: &Circuit,
) -> Result<BTreeMap<String, Budget>> {
    predict_noise_within(scheme, circuit, MAX_LOG2_FAILURE)
}

/// Predicts noise as [`predict_noise`] does, for a circuit that may be wrong with a probability of
/// at most `2^limit`.
///
/// # Errors
/// The errors of [`predict_noise`], and [`Error::Circuit`](crate::Error::Circuit) for a limit above
/// [`MAX_LOG2_FAILURE`].
pub fn predict_noise_within(
    scheme: &impl ExactScheme,
    circuit: &Circuit,
    limit: f64,
) -> Result<BTreeMap<String, Budget>> {
    check_limit(limit)?;
    check(scheme, circuit)?;
    let circuit = &*circuit.unrolled();
    let plan = Plan::new(circuit);
    let factors = Factors::exact(scheme, circuit)?;
    budget::predict(scheme.params(), circuit, (&plan, &factors), limit)
}

/// A scheme of exact arithmetic: [`bgv::Params`] for BGV, [`Bfv`] for BFV.
pub trait ExactScheme: Clone + Sync + Sealed {
    /// A ciphertext of the scheme.
    type Read: PartialEq;

    /// The parameters.
    fn params(&self) -> &Params;

    /// The factor `f`, modulo `t`, that residuals have for messages that this scheme reads with
    /// factor 1.
    fn unit_factor(&self, level: usize) -> u64;

    /// Returns the ciphertext if it belongs to these parameters.
    ///
    /// # Errors
    /// The parameters to which the ciphertext belongs, in words.
    fn exact<'a>(&self, ct: &'a Self::Read) -> std::result::Result<&'a bfv::Ciphertext, String>;

    /// Converts a ciphertext to one of this scheme.
    ///
    /// # Errors
    /// Errors of the scheme. None occurs if the components belong to the scheme.
    fn read(&self, ct: bfv::Ciphertext) -> Result<Self::Read>;
}

impl ExactScheme for Params {
    type Read = bgv::Ciphertext;

    fn params(&self) -> &Params {
        self
    }

    fn unit_factor(&self, _: usize) -> u64 {
        1
    }

    fn exact<'a>(
        &self,
        ct: &'a bgv::Ciphertext,
    ) -> std::result::Result<&'a bfv::Ciphertext, String> {
        match ct.params() == self {
            true => Ok(ct.exact()),
            false => Err(format!("{:?}", ct.params())),
        }
    }

    fn read(&self, ct: bfv::Ciphertext) -> Result<bgv::Ciphertext> {
        Ok(bgv::Ciphertext::from_exact(self, ct)?)
    }
}

/// BFV, identified by its parameters.
#[derive(Clone, Debug)]
pub struct Bfv(pub Params);

impl ExactScheme for Bfv {
    type Read = bfv::Ciphertext;

    fn params(&self) -> &Params {
        &self.0
    }

    fn unit_factor(&self, level: usize) -> u64 {
        residual_factor(&self.0, level, 1)
    }

    fn exact<'a>(
        &self,
        ct: &'a bfv::Ciphertext,
    ) -> std::result::Result<&'a bfv::Ciphertext, String> {
        let (rlwe, basis) = (self.0.rlwe(), ct.rlwe().components()[0].basis());
        match ct.level() <= rlwe.max_level() && rlwe.basis(ct.level()) == basis {
            true => Ok(ct),
            false => Err(format!("{} limbs of N = {}", basis.len(), basis.n())),
        }
    }

    fn read(&self, ct: bfv::Ciphertext) -> Result<bfv::Ciphertext> {
        Ok(ct)
    }
}

/// The message with these slots in two rows. Fewer slots than a row repeat in each row.
pub(super) fn plaintext(params: &Params, slots: &[u64]) -> Result<Plaintext> {
    let (row, own) = (params.n() / 2, slots.len() / 2);
    let place = |slot: usize| slots[slot / row * own + slot % own];
    let all: Vec<u64> = (0..params.n()).map(place).collect();
    Ok(params.encoder().encode_slots(&all)?)
}

impl<E: ExactScheme> Scheme for E {
    type Slot = u64;
    type Plaintext = Plaintext;
    type Ciphertext = E::Read;

    fn arithmetic(&self) -> Arithmetic {
        let (t, rlwe) = (self.params().t().value(), self.params().rlwe());
        let basis = rlwe.basis(rlwe.max_level());
        let moduli = basis.values().iter().map(|&q| q as f64).collect();
        Arithmetic::Exact { t, moduli }
    }

    fn rlwe(&self) -> &rlwe::Params {
        self.params().rlwe()
    }

    fn ring_level(&self, level: usize) -> usize {
        level
    }

    fn slots(&self) -> usize {
        self.params().n()
    }

    fn rotation(&self, steps: usize) -> usize {
        self.params().encoder().rotation_element(steps as isize)
    }

    fn reflection(&self) -> usize {
        self.params().encoder().swap_element()
    }

    fn prepare(&self, circuit: &Circuit, plan: &Plan, limit: f64) -> Result<Factors> {
        check_limit(limit)?;
        let factors = Factors::exact(self, circuit)?;
        budget::predict(self.params(), circuit, (plan, &factors), limit)?;
        Ok(factors)
    }

    fn encode(&self, slots: &[u64], _: Type) -> Result<Plaintext> {
        plaintext(self.params(), slots)
    }

    fn factor(&self, slots: &[u64], ty: Type) -> Result<Poly<Eval>> {
        let params = self.params();
        let basis = params.rlwe().basis(ty.level);
        Ok(params.encoder().lift(&plaintext(params, slots)?, basis))
    }

    fn diagonal(&self, slots: &[u64], ty: Type) -> Result<Diagonal> {
        let params = self.params();
        let plaintext = plaintext(params, slots)?;
        let coefficients = plaintext.coefficients().iter();
        let centred: Vec<i64> = coefficients.map(|&c| params.t().center(c)).collect();
        Ok(Diagonal::of_integers(params.rlwe(), &centred, ty.level))
    }

    /// The first component of a noiseless ciphertext of factor 1 whose message is `factor` times
    /// the message of the slots.
    fn term(&self, slots: &[u64], ty: Type, factor: u64) -> Result<Poly<Eval>> {
        let params = self.params();
        let slots: Vec<u64> = residues(params.t(), slots, factor);
        let ct = bgv::trivial(params, &plaintext(params, &slots)?, ty.level)?;
        Ok(ct.exact().rlwe().components()[0].clone())
    }

    /// The components are the literature's, divided by `t`.
    fn unit(&self) -> Option<u64> {
        Some(self.params().t().value())
    }

    fn message(&self, ty: Type, factor: u64) -> Message {
        let t = self.params().t().value();
        let factor = mu(self.params(), ty.level, factor);
        Message::Modulo { t, factor }
    }

    fn open<'a>(&self, name: &str, ct: &'a E::Read, ty: Type) -> Result<&'a rlwe::Ciphertext> {
        let what = format!("the input {name}");
        let ct = match self.exact(ct) {
            Ok(ct) => ct,
            Err(found) => return Err(unfit(what, found, format!("{:?}", self.params()))),
        };
        let (level, degree, t) = (ct.level(), ct.degree(), self.params().t());
        let factor = residual_factor(self.params(), level, ct.factor());
        let unit = t.inv(self.unit_factor(level));
        let factor = t.mul(factor, unit.expect("moduli are units modulo t"));
        if (level, degree, factor) == (ty.level, 1, 1) {
            return Ok(ct.rlwe());
        }
        let found = format!("of degree {degree}, level {level}, factor {factor}");
        let expected = format!("of degree 1, level {}, factor 1", ty.level);
        Err(unfit(what, found, expected))
    }

    fn close(&self, inner: rlwe::Ciphertext, ty: Type, factor: u64) -> Result<E::Read> {
        let mu = mu(self.params(), ty.level, factor);
        self.read(bfv::Ciphertext::new(inner, mu))
    }
}

/// The factor of a residual: `f = -Q mu`.
fn residual_factor(params: &Params, level: usize, mu: u64) -> u64 {
    let t = params.t();
    t.neg(t.mul(params.q_mod_t(level), mu))
}

/// The inverse of [`residual_factor`]: `mu` of a residual whose factor is `f`.
fn mu(params: &Params, level: usize, f: u64) -> u64 {
    let t = params.t();
    let minus_q = t.inv(residual_factor(params, level, 1));
    t.mul(f, minus_q.expect("moduli are units modulo t"))
}
