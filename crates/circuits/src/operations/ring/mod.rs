//! Operations on ciphertexts that do not depend on their messages. Circuits of CKKS and BGV consist
//! of them.

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

/// Operations on ciphertexts of a ring, and on ciphertexts that are [extended](rlwe::Extended) to
/// the special moduli.
///
/// The caller ensures that levels and messages fit: operands of a sum are at one level and have the
/// same factor or scale.
pub trait RingOperations {
    /// A ciphertext of this mode. It has two components, or three if it is a product.
    type Ciphertext: Clone + Debug + 'static;
    /// Two components, multiplied by the special moduli and extended to them.
    type Extended: Clone + Debug + 'static;
    /// The decomposition that rotations of one ciphertext share.
    type Decomposed;

    /// Sets the scale of the messages of the following values. Only recordings use it.
    fn begin_scale(&self, _: f64) {}

    /// Returns `a` with its message read at the scale of the following values. Only recordings use
    /// it: other modes return `None`.
    fn read(&self, _: &Self::Ciphertext) -> Option<Self::Ciphertext> {
        None
    }

    /// Gives `a`, which was made together with other values, the message scale of the following
    /// values. Only recordings use it.
    fn restate(&self, _: &mut Self::Ciphertext) {}

    /// As [`restate`](Self::restate).
    fn restate_extended(&self, _: &mut Self::Extended) {}

    /// Level: the number of limbs minus one.
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

    /// `a += c b`, where `b` has two components. The level of `b` may be higher.
    ///
    /// # Errors
    /// If the level of `b` is lower.
    fn add_scaled(&self, a: &mut Self::Ciphertext, b: &Self::Ciphertext, c: Scalar) -> Result<()>;

    /// `a *= c`.
    fn scale_assign(&self, a: &mut Self::Ciphertext, c: Scalar);

    /// Adds a polynomial to the first component. The polynomial times `over` is short.
    ///
    /// # Errors
    /// In a recording, if its coefficients have more than 124 bits.
    fn add_term(&self, a: &mut Self::Ciphertext, term: &Poly<Eval>, over: u64) -> Result<()>;

    /// As [`add_term`](Self::add_term), but subtracts the polynomial.
    ///
    /// # Errors
    /// As [`add_term`](Self::add_term).
    fn sub_term(&self, a: &mut Self::Ciphertext, term: &Poly<Eval>, over: u64) -> Result<()>;

    /// Adds a number to the constant coefficient.
    fn add_integer(&self, a: &mut Self::Ciphertext, c: Scalar);

    /// Switches to another secret and keeps the message.
    ///
    /// # Errors
    /// If the key is missing or was made for lower levels, or `a` does not have two components.
    fn switch_secret(&self, a: &Self::Ciphertext, to: Secret) -> Result<Self::Ciphertext>;

    /// External product with the RGSW ciphertext of the given name.
    ///
    /// # Errors
    /// If the RGSW ciphertext is missing or was made for another level, or `a` does not have two
    /// components.
    fn external_product(&self, a: &Self::Ciphertext, by: &Rgsw) -> Result<Self::Ciphertext>;

    /// Raises the components to a higher level: they are centred, and read modulo all moduli of
    /// that level.
    ///
    /// # Errors
    /// If `a` does not have two components.
    fn raise(&self, a: &Self::Ciphertext, level: usize) -> Result<Self::Ciphertext>;

    /// `unit sum_k left_k right_k`, with three components.
    ///
    /// # Errors
    /// If an operand does not have two components.
    fn tensor_sum(
        &self,
        left: &[&Self::Ciphertext],
        right: &[&Self::Ciphertext],
        unit: Option<u64>,
    ) -> Result<Self::Ciphertext>;

    /// Relinearises a product to two components, and divides it by the last `dropped` moduli.
    ///
    /// # Errors
    /// If the key is missing or was made for lower levels.
    fn relinearize(&self, product: &Self::Ciphertext, dropped: usize) -> Result<Self::Ciphertext>;

    /// `sum_k factors_k values_k`.
    ///
    /// # Errors
    /// If a value does not have two components, and as [`add_term`](Self::add_term).
    fn mul_plain_sum(
        &self,
        values: &[&Self::Ciphertext],
        factors: &[&Poly<Eval>],
    ) -> Result<Self::Ciphertext>;

    /// Several sums of products with plaintexts: a matrix times the values.
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

    /// Decomposes a ciphertext for rotations, which share the decomposition.
    ///
    /// # Errors
    /// If `a` does not have two components.
    fn decompose(&self, a: &Self::Ciphertext) -> Result<Self::Decomposed>;

    /// `X -> X^element`.
    ///
    /// # Errors
    /// If the key is missing or was made for lower levels.
    fn automorphism(&self, a: &Self::Ciphertext, element: usize) -> Result<Self::Ciphertext>;

    /// As [`automorphism`](Self::automorphism), for a ciphertext that was decomposed.
    ///
    /// # Errors
    /// If the key is missing or was made for lower levels.
    fn automorphism_hoisted(
        &self,
        a: &Self::Ciphertext,
        decomposed: &Self::Decomposed,
        element: usize,
    ) -> Result<Self::Ciphertext>;

    /// As [`automorphism_hoisted`](Self::automorphism_hoisted), but not divided by the special
    /// moduli.
    ///
    /// # Errors
    /// If the key is missing or was made for lower levels.
    fn automorphism_extended(
        &self,
        a: &Self::Ciphertext,
        decomposed: &Self::Decomposed,
        element: usize,
    ) -> Result<Self::Extended>;

    /// Multiplies a ciphertext by the special moduli and extends it to them.
    ///
    /// # Errors
    /// If `a` does not have two components.
    fn extend(&self, a: &Self::Ciphertext) -> Result<Self::Extended>;

    /// `X -> X^element` of an extended ciphertext. The result is extended too.
    ///
    /// # Errors
    /// If the key is missing or was made for lower levels.
    fn turn(&self, a: Self::Extended, element: usize) -> Result<Self::Extended>;

    /// `sum_k factors_k terms_k`.
    ///
    /// # Errors
    /// As [`add_term`](Self::add_term).
    fn dot(&self, terms: &[&Self::Extended], factors: &[&Diagonal]) -> Result<Self::Extended>;

    /// As [`combine`](Self::combine), for extended ciphertexts.
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

    /// Divides by the special moduli and by the last `dropped` moduli of the chain.
    ///
    /// # Errors
    /// If no limb would be left.
    fn divide(&self, a: Self::Extended, dropped: usize) -> Result<Self::Ciphertext>;
}

/// The residue of a number modulo `q`.
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
