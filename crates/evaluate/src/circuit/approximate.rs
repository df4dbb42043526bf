//! CKKS as a scheme of circuits.

use super::factors::Factors;
use super::plan::Plan;
use super::runner::Argument;
use super::scheme::Scheme;
use super::{check_limit, meeting, unfit};
use crate::error::Result;
use circuits::approximate::{BootstrapSpec, Bootstrapper, Diagonal, arithmetic_of, sparse_params};
use ckks::{Ciphertext, Complex64, Params, Plaintext, Size};
use program::circuit::{Arithmetic, Bootstrapping, Circuit, Op, Type};
use program::recording::Message;
use ring::{Eval, Poly};
use rlwe::noise::log2_sum;
use std::collections::BTreeMap;

impl Scheme for Params {
    type Slot = Complex64;
    type Plaintext = Plaintext;
    type Ciphertext = Ciphertext;

    fn arithmetic(&self) -> Arithmetic {
        arithmetic_of(self)
    }

    fn rlwe(&self) -> &rlwe::Params {
        self.rlwe()
    }

    fn ring_level(&self, level: usize) -> usize {
        self.ring_level(level)
    }

    fn slots(&self) -> usize {
        self.slots()
    }

    fn rotation(&self, steps: usize) -> usize {
        self.encoder().rotation_element(steps as isize)
    }

    fn reflection(&self) -> usize {
        self.encoder().conjugation_element()
    }

    fn stated(&self, stated: &Bootstrapping) -> Result<Bootstrapping> {
        Ok(Bootstrapper::stated(self, &BootstrapSpec::from(stated))?)
    }

    fn bootstrapper(&self, stated: &Bootstrapping) -> Result<Bootstrapper> {
        Ok(Bootstrapper::new(self, &BootstrapSpec::from(stated))?)
    }

    fn sparse(&self) -> Option<rlwe::Params> {
        sparse_params(self).ok()
    }

    /// Counts only the values that a bootstrapping reduces, which do not depend on messages. The
    /// room of a message depends on the message, so [`predict`](super::predict) checks it.
    fn prepare(&self, circuit: &Circuit, _: &Plan, limit: f64) -> Result<Factors> {
        check_limit(limit)?;
        let mut log2 = f64::NEG_INFINITY;
        for (index, step) in circuit.steps.iter().enumerate() {
            if let (Op::Bootstrap { .. }, Some(stated)) = (&step.op, &circuit.bootstrapping) {
                log2 = log2_sum(log2, Bootstrapper::log2_overflow(stated));
                if log2 > limit {
                    let found = format!("such that a run is wrong with 2^{log2:.1}");
                    let expected =
                        format!("at most 2^{limit} in all: a larger range of the reduction");
                    let what =
                        format!("the multiple of q_0 that step %{index} (bootstrap) reduces");
                    return Err(unfit(what, found, expected));
                }
            }
        }
        Ok(Factors::none(circuit))
    }

    fn encode(&self, slots: &[Complex64], ty: Type) -> Result<Plaintext> {
        Ok(Plaintext::encode(self, slots, ty.level, ty.scale)?)
    }

    fn factor(&self, slots: &[Complex64], ty: Type) -> Result<Poly<Eval>> {
        Ok(self.encode(slots, ty)?.poly().clone())
    }

    fn diagonal(&self, slots: &[Complex64], ty: Type) -> Result<Diagonal> {
        Ok(Diagonal::encode(self, slots, ty.level, ty.scale)?)
    }

    fn term(&self, slots: &[Complex64], ty: Type, _: u64) -> Result<Poly<Eval>> {
        self.factor(slots, ty)
    }

    fn unit(&self) -> Option<u64> {
        None
    }

    fn message(&self, ty: Type, _: u64) -> Message {
        Message::Approximate { scale: ty.scale }
    }

    fn open<'a>(&self, name: &str, ct: &'a Ciphertext, ty: Type) -> Result<&'a rlwe::Ciphertext> {
        let level = self.level_of(ct.rlwe())?;
        let same_scale = (ct.scale() / ty.scale - 1.0).abs() <= 1e-12;
        if (level, ct.degree()) == (ty.level, 1) && same_scale {
            return Ok(ct.rlwe());
        }
        let (degree, scale) = (ct.degree(), ct.scale().log2());
        let found = format!("of degree {degree}, level {level}, scale 2^{scale:.6}");
        let (level, scale) = (ty.level, ty.scale.log2());
        let expected = format!("of degree 1, level {level}, scale 2^{scale:.6}");
        Err(unfit(format!("the input {name}"), found, expected))
    }

    fn close(&self, inner: rlwe::Ciphertext, ty: Type, _: u64) -> Result<Ciphertext> {
        Ok(Ciphertext::new(inner, ty.scale))
    }

    fn sizes(
        &self,
        circuit: &Circuit,
        inputs: &BTreeMap<&str, Argument<Self>>,
    ) -> Result<BTreeMap<String, Size>> {
        meeting::sizes(self, circuit, inputs)
    }

    fn sized(&self, mut ct: Ciphertext, size: Size) -> Ciphertext {
        ct.set_size(size);
        ct
    }
}
