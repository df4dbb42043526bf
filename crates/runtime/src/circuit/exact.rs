//! BGV, for circuits.

use super::budget::{self, Budget};
use super::clear::residues;
use super::factors::Factors;
use super::plan::Plan;
use super::scheme::Scheme;
use super::{check, unfit};
use crate::error::Result;
use bgv::{Ciphertext, Params, Plaintext};
use circuits::approximate::Diagonal;
use program::circuit::{Arithmetic, Circuit, Type};
use program::recording::Message;
use ring::{Eval, Poly};
use std::collections::BTreeMap;

/// Predicts the noise of every output of a circuit, encrypted inputs being fresh under the secret key. It depends on no message:
/// plaintexts among the inputs count as uniform residues, constants as what they are.
///
/// # Errors
/// [`Error::Program`](crate::Error::Program) for a circuit that does not verify, [`Error::Circuit`](crate::Error::Circuit) for one written for other
/// parameters and for one whose noise reaches its modulus at some step.
pub fn predict_noise(params: &Params, circuit: &Circuit) -> Result<BTreeMap<String, Budget>> {
    check(params, circuit)?;
    let plan = Plan::new(circuit);
    let factors = Factors::exact(params, circuit)?;
    budget::predict(params, circuit, &plan, &factors)
}

/// The message with these slots, two rows, which repeat in its rows.
pub(super) fn plaintext(params: &Params, slots: &[u64]) -> Result<Plaintext> {
    let (row, own) = (params.n() / 2, slots.len() / 2);
    let place = |slot: usize| slots[slot / row * own + slot % own];
    let all: Vec<u64> = (0..params.n()).map(place).collect();
    Ok(params.encoder().encode_slots(&all)?)
}

/// BFV's name `mu` of a factor: `f = -Q mu`.
fn mu(params: &Params, level: usize, factor: u64) -> u64 {
    let t = params.t();
    let q = t.inv(params.q_mod_t(level));
    let q = q.expect("the moduli are units modulo t");
    t.neg(t.mul(factor, q))
}

impl Scheme for Params {
    type Slot = u64;
    type Plaintext = Plaintext;
    type Ciphertext = Ciphertext;

    fn arithmetic(&self) -> Arithmetic {
        let (t, basis) = (self.t().value(), self.rlwe().basis(self.rlwe().max_level()));
        let moduli = basis.values().iter().map(|&q| q as f64).collect();
        Arithmetic::Exact { t, moduli }
    }

    fn rlwe(&self) -> &rlwe::Params {
        self.rlwe()
    }

    fn ring_level(&self, level: usize) -> usize {
        level
    }

    fn slots(&self) -> usize {
        self.n()
    }

    fn rotation(&self, steps: usize) -> usize {
        self.encoder().rotation_element(steps as isize)
    }

    fn reflection(&self) -> usize {
        self.encoder().swap_element()
    }

    fn prepare(&self, circuit: &Circuit, plan: &Plan) -> Result<Factors> {
        let factors = Factors::exact(self, circuit)?;
        budget::predict(self, circuit, plan, &factors)?;
        Ok(factors)
    }

    fn encode(&self, slots: &[u64], _: Type) -> Result<Plaintext> {
        plaintext(self, slots)
    }

    fn factor(&self, slots: &[u64], ty: Type) -> Result<Poly<Eval>> {
        let basis = self.rlwe().basis(ty.level);
        Ok(self.encoder().lift(&plaintext(self, slots)?, basis))
    }

    fn diagonal(&self, slots: &[u64], ty: Type) -> Result<Diagonal> {
        let plaintext = plaintext(self, slots)?;
        let coefficients = plaintext.coefficients().iter();
        let centred: Vec<i64> = coefficients.map(|&c| self.t().center(c)).collect();
        Ok(Diagonal::of_integers(self.rlwe(), &centred, ty.level))
    }

    /// What a noiseless ciphertext of factor 1 has in its first component, of the message times the factor.
    fn term(&self, slots: &[u64], ty: Type, factor: u64) -> Result<Poly<Eval>> {
        let slots: Vec<u64> = residues(self.t(), slots, factor);
        let ct = bgv::trivial(self, &plaintext(self, &slots)?, ty.level)?;
        Ok(ct.exact().rlwe().components()[0].clone())
    }

    /// Components are those of the literature divided by `t`.
    fn unit(&self) -> Option<u64> {
        Some(self.t().value())
    }

    fn message(&self, ty: Type, factor: u64) -> Message {
        let t = self.t().value();
        let factor = mu(self, ty.level, factor);
        Message::Modulo { t, factor }
    }

    fn open<'a>(&self, name: &str, ct: &'a Ciphertext, ty: Type) -> Result<&'a rlwe::Ciphertext> {
        let what = format!("the input {name}");
        if ct.params() != self {
            let (found, expected) = (format!("{:?}", ct.params()), format!("{self:?}"));
            return Err(unfit(what, found, expected));
        }
        let (level, degree, factor) = (ct.level(), ct.degree(), ct.factor());
        if (level, degree, factor) == (ty.level, 1, 1) {
            return Ok(ct.exact().rlwe());
        }
        let found = format!("of degree {degree}, level {level}, factor {factor}");
        let expected = format!("of degree 1, level {}, factor 1", ty.level);
        Err(unfit(what, found, expected))
    }

    fn close(&self, inner: rlwe::Ciphertext, ty: Type, factor: u64) -> Result<Ciphertext> {
        let exact = bfv::Ciphertext::new(inner, mu(self, ty.level, factor));
        Ok(Ciphertext::from_exact(self, exact)?)
    }
}
