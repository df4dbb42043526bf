//! The bootstrapping that a circuit states.

use super::infer::Problem;
use super::ir::{Arithmetic, Circuit, Type};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Largest range of a reduction modulo `q_0`, and largest number of double angles.
const MAX_RANGE: usize = 1 << 8;
const MAX_DOUBLINGS: usize = 16;
/// Largest number of bits between `q_0` and the coefficients of a message.
const MAX_LOG_RATIO: f64 = 40.0;

/// The bootstrapping of a circuit of approximate arithmetic: the choices that a caller makes, and
/// the levels, scales and keys that follow.
///
/// A runtime with the parameters computes everything from the first five fields, and refuses a
/// circuit that states other values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bootstrapping {
    /// Number of slots of the messages: a power of two, at least that of the circuit. They repeat
    /// in all slots of a ciphertext.
    pub slots: usize,
    /// Range of the reduction modulo `q_0`: it is correct for multiples of `q_0` up to this one, of
    /// either sign.
    pub range: usize,
    /// Number of double angles of the reduction.
    pub doublings: usize,
    /// log2 of the ratio of `q_0` to the largest coefficient of a message times its scale.
    pub log_ratio: f64,
    /// Number of baby steps of the linear transforms.
    pub babies: usize,
    /// Level of the results.
    pub level: usize,
    /// Scale of operands whose result has exactly the scale [`to_scale`](Self::to_scale).
    pub from_scale: f64,
    /// Scale of that result. The scale of any result follows from that of its operand: see
    /// [`Circuit::verify`].
    pub to_scale: f64,
    /// The rotations that need Galois keys. Conjugation and relinearisation need keys too. All keys
    /// are at the highest level.
    pub rotations: BTreeSet<usize>,
}

impl Bootstrapping {
    /// log2 of the largest coefficient that a message may have, multiplied by its scale.
    pub fn log_bound(&self, arithmetic: &Arithmetic) -> f64 {
        arithmetic.divisor(0).log2() - self.log_ratio
    }

    /// The integer by which an operand of the given scale is multiplied first, so that its message
    /// uses all the room. It is below 1 if there is no room.
    pub fn room(&self, arithmetic: &Arithmetic, scale: f64) -> f64 {
        (arithmetic.divisor(0) / self.log_ratio.exp2() / scale).floor()
    }

    /// Scale of the result for an operand of the given scale.
    pub fn result_scale(&self, arithmetic: &Arithmetic, scale: f64) -> f64 {
        let message = |scale: f64| scale * self.room(arithmetic, scale);
        self.to_scale * (message(scale) / message(self.from_scale))
    }

    pub(super) fn verify(&self, circuit: &Circuit) -> Result<()> {
        let refuse = |what, found: String, expected: String| {
            Err(Error::Parameters {
                what,
                found,
                expected,
            })
        };
        let (arithmetic, levels) = (&circuit.arithmetic, circuit.arithmetic.levels());
        if let Arithmetic::Exact { .. } = arithmetic {
            let expected = "none in exact arithmetic".into();
            return refuse("the bootstrapping", "there".into(), expected);
        }
        let slots = circuit.slots..=super::verify::MAX_SLOTS;
        if !self.slots.is_power_of_two() || !slots.contains(&self.slots) {
            let expected = format!("a power of two from {} to {}", slots.start(), slots.end());
            let found = self.slots.to_string();
            return refuse("the number of bootstrapped slots", found, expected);
        }
        let counts = [
            ("the range of the reduction", self.range, 1..=MAX_RANGE),
            (
                "the number of double angles",
                self.doublings,
                0..=MAX_DOUBLINGS,
            ),
            ("the number of baby steps", self.babies, 1..=self.slots),
            ("the level after bootstrapping", self.level, 0..=levels - 1),
        ];
        for (what, found, range) in counts {
            if !range.contains(&found) {
                let expected = format!("{} to {}", range.start(), range.end());
                return refuse(what, found.to_string(), expected);
            }
        }
        if !(0.0..=MAX_LOG_RATIO).contains(&self.log_ratio) {
            let expected = format!("0 to {MAX_LOG_RATIO} bits");
            let found = self.log_ratio.to_string();
            return refuse("the ratio of bootstrapping", found, expected);
        }
        for (what, scale) in [
            ("the scale before bootstrapping", self.from_scale),
            ("the scale after bootstrapping", self.to_scale),
        ] {
            // A NaN fails both comparisons.
            let fits = scale >= 1.0 && self.room(arithmetic, scale) >= 1.0;
            if !fits && what.contains("before") || !(scale >= 1.0 && scale.is_finite()) {
                let expected = format!("1 to 2^{:.1}", self.log_bound(arithmetic));
                return refuse(what, scale.to_string(), expected);
            }
        }
        match self
            .rotations
            .iter()
            .find(|k| !(1..super::verify::MAX_SLOTS).contains(*k))
        {
            Some(k) => {
                let expected = format!("1 to {}", super::verify::MAX_SLOTS - 1);
                refuse("a rotation of bootstrapping", k.to_string(), expected)
            }
            None => Ok(()),
        }
    }
}

impl Circuit {
    /// Type of a bootstrapped value.
    pub(super) fn infer_bootstrap(&self, ty: Type) -> std::result::Result<Type, Problem> {
        let expected = "one that the circuit states".into();
        let none = Problem::new("the bootstrapping", "none".into(), expected);
        let bootstrapping = self.bootstrapping.as_ref().ok_or(none)?;
        if bootstrapping.room(&self.arithmetic, ty.scale) < 1.0 {
            let bears = bootstrapping.log_bound(&self.arithmetic);
            let expected = format!("at most 2^{bears:.1}, which bootstrapping bears");
            let found = format!("2^{:.6}", ty.scale.log2());
            return Err(Problem::new("the scale of the operand", found, expected));
        }
        Ok(Type {
            level: bootstrapping.level,
            scale: bootstrapping.result_scale(&self.arithmetic, ty.scale),
            ..ty
        })
    }
}
