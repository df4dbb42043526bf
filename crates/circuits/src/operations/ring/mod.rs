//! Operations on ciphertexts whatever their messages are: what circuits of CKKS and BGV are made of.

mod integers;
mod matrix;
mod record;
mod run;

use crate::approximate::Diagonal;
use crate::error::Result;
use program::recording::Scalar;
use ring::{Eval, Poly};
use std::fmt::Debug;

pub use matrix::BlockMatrix;
pub use program::recording::{Rgsw, Secret};
pub use record::RecordRing;
pub use run::RunRing;

/// Operations on ciphertexts of a ring, and on those that are [extended](rlwe::Extended) over the special moduli.
///
/// The caller vouches for levels and messages: operands of a sum are at one level and hold their messages alike.
pub trait RingOperations {
    /// A ciphertext of this mode, of two components, or three of a product.
    type Ciphertext: Clone + Debug + 'static;
    /// Two components times the special moduli, over these as well.
    type Extended: Clone + Debug + 'static;
    /// What rotations of one ciphertext share.
    type Decomposed;

    /// What is made next has a message of this scale. It is for readers of a recording.
    fn begin_scale(&self, _: f64) {}

    /// `a`, whose message is read at the scale of what is made next. It is for readers of a recording: `None` elsewhere.
    fn read(&self, _: &Self::Ciphertext) -> Option<Self::Ciphertext> {
        None
    }

    /// `a`, which was made together with other values, holds its message as what is made next. It is for readers of a
    /// recording.
    fn restate(&self, _: &mut Self::Ciphertext) {}

    /// As [`restate`](Self::restate).
    fn restate_extended(&self, _: &mut Self::Extended) {}

    /// Limbs minus one.
    fn level(&self, a: &Self::Ciphertext) -> usize;

    /// Number of components.
    fn components(&self, a: &Self::Ciphertext) -> usize;

    /// `a += b`. The result has as many components as the longer one.
    ///
    /// # Errors
    /// If levels differ.
    fn add_assign(&self, a: &mut Self::Ciphertext, b: &Self::Ciphertext) -> Result<()>;

    /// `a -= b`, as [`add_assign`](Self::add_assign).
    ///
    /// # Errors
    /// If levels differ.
    fn sub_assign(&self, a: &mut Self::Ciphertext, b: &Self::Ciphertext) -> Result<()>;

    /// `a += c b`, for a `b` of two components, whose level may be higher.
    ///
    /// # Errors
    /// If the level of `b` is lower.
    fn add_scaled(&self, a: &mut Self::Ciphertext, b: &Self::Ciphertext, c: Scalar) -> Result<()>;

    /// `a *= c`.
    fn scale_assign(&self, a: &mut Self::Ciphertext, c: Scalar);

    /// Adds a polynomial to the first component. It is a short one divided by `over`.
    ///
    /// # Errors
    /// If a recording cannot tell its coefficients, which have more than 124 bits.
    fn add_term(&self, a: &mut Self::Ciphertext, term: &Poly<Eval>, over: u64) -> Result<()>;

    /// As [`add_term`](Self::add_term), subtracted.
    ///
    /// # Errors
    /// As [`add_term`](Self::add_term).
    fn sub_term(&self, a: &mut Self::Ciphertext, term: &Poly<Eval>, over: u64) -> Result<()>;

    /// Adds a number to the constant coefficient.
    fn add_integer(&self, a: &mut Self::Ciphertext, c: Scalar);

    /// The same message under another secret.
    ///
    /// # Errors
    /// If the key is missing or was made for lower levels, or `a` has not two components.
    fn switch_secret(&self, a: &Self::Ciphertext, to: Secret) -> Result<Self::Ciphertext>;

    /// Times the polynomial of an RGSW ciphertext, by its name.
    ///
    /// # Errors
    /// If it is missing, or was made for another level or for lower ones, or `a` has not two components.
    fn external_product(&self, a: &Self::Ciphertext, by: &Rgsw) -> Result<Self::Ciphertext>;

    /// The same components at a higher level: centred, and read modulo all its moduli.
    ///
    /// # Errors
    /// If `a` has not two components.
    fn raise(&self, a: &Self::Ciphertext, level: usize) -> Result<Self::Ciphertext>;

    /// `unit sum_k left_k right_k`, of three components.
    ///
    /// # Errors
    /// If an operand has not two components.
    fn tensor_sum(
        &self,
        left: &[&Self::Ciphertext],
        right: &[&Self::Ciphertext],
        unit: Option<u64>,
    ) -> Result<Self::Ciphertext>;

    /// Brings a product back to two components, and divides it by the last `dropped` moduli.
    ///
    /// # Errors
    /// If the key is missing or was made for lower levels.
    fn relinearize(&self, product: &Self::Ciphertext, dropped: usize) -> Result<Self::Ciphertext>;

    /// `sum_k factors_k values_k`.
    ///
    /// # Errors
    /// If a value has not two components, or as [`add_term`](Self::add_term).
    fn mul_plain_sum(
        &self,
        values: &[&Self::Ciphertext],
        factors: &[&Poly<Eval>],
    ) -> Result<Self::Ciphertext>;

    /// Several sums of products with plaintexts: a matrix times values.
    ///
    /// # Errors
    /// As [`mul_plain_sum`](Self::mul_plain_sum).
    fn combine(
        &self,
        matrix: &BlockMatrix,
        values: &[&Self::Ciphertext],
    ) -> Result<Vec<Self::Ciphertext>>;

    /// Modulus switch to a lower level.
    ///
    /// # Errors
    /// If the level is lower already.
    fn switch_to(&self, a: Self::Ciphertext, level: usize) -> Result<Self::Ciphertext>;

    /// Level drop: the same phase modulo fewer moduli.
    ///
    /// # Errors
    /// If the level is lower already.
    fn drop_to(&self, a: Self::Ciphertext, level: usize) -> Result<Self::Ciphertext>;

    /// What rotations of a ciphertext share.
    ///
    /// # Errors
    /// If it has not two components.
    fn decompose(&self, a: &Self::Ciphertext) -> Result<Self::Decomposed>;

    /// `X -> X^element`.
    ///
    /// # Errors
    /// If the key is missing or was made for lower levels.
    fn automorphism(&self, a: &Self::Ciphertext, element: usize) -> Result<Self::Ciphertext>;

    /// As [`automorphism`](Self::automorphism), of what was decomposed.
    ///
    /// # Errors
    /// If the key is missing or was made for lower levels.
    fn automorphism_hoisted(
        &self,
        a: &Self::Ciphertext,
        decomposed: &Self::Decomposed,
        element: usize,
    ) -> Result<Self::Ciphertext>;

    /// As [`automorphism_hoisted`](Self::automorphism_hoisted), not divided by the special moduli.
    ///
    /// # Errors
    /// If the key is missing or was made for lower levels.
    fn automorphism_extended(
        &self,
        a: &Self::Ciphertext,
        decomposed: &Self::Decomposed,
        element: usize,
    ) -> Result<Self::Extended>;

    /// A ciphertext times the special moduli.
    ///
    /// # Errors
    /// If it has not two components.
    fn extend(&self, a: &Self::Ciphertext) -> Result<Self::Extended>;

    /// `X -> X^element` of what is extended, and stays so.
    ///
    /// # Errors
    /// If the key is missing or was made for lower levels.
    fn turn(&self, a: Self::Extended, element: usize) -> Result<Self::Extended>;

    /// `sum_k factors_k terms_k`.
    ///
    /// # Errors
    /// As [`add_term`](Self::add_term).
    fn dot(&self, terms: &[&Self::Extended], factors: &[&Diagonal]) -> Result<Self::Extended>;

    /// As [`combine`](Self::combine), of what is extended.
    ///
    /// # Errors
    /// As [`add_term`](Self::add_term).
    fn combine_extended(
        &self,
        matrix: &BlockMatrix,
        values: &[&Self::Extended],
    ) -> Result<Vec<Self::Extended>>;

    /// `a += b`.
    ///
    /// # Errors
    /// If levels differ.
    fn add_extended(&self, a: &mut Self::Extended, b: &Self::Extended) -> Result<()>;

    /// `a *= c`.
    fn scale_extended(&self, a: &mut Self::Extended, c: Scalar);

    /// Divides by the special moduli and by the last `dropped` ones.
    ///
    /// # Errors
    /// If no limb would be left.
    fn divide(&self, a: Self::Extended, dropped: usize) -> Result<Self::Ciphertext>;
}

/// The residue of a number.
pub(crate) fn residue(q: &ring::Modulus, c: Scalar) -> u64 {
    let value = q.mul(q.from_i64(c.integer), q.pow(2 % q.value(), c.shift.into()));
    match c.over {
        1 => value,
        over => {
            let inverse = q.inv(q.reduce(over));
            q.mul(value, inverse.expect("plaintext moduli are units"))
        }
    }
}
