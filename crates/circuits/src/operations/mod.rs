//! The operations that circuits are made of, and the modes that they run in.
//!
//! A circuit is written once, for any [`Operations`]. [`Run`] computes with ciphertexts, [`Dry`] computes nothing, and
//! [`Record`] writes down what would be computed. The mode is a type, so a value of one mode cannot meet another's.
//!
//! Levels, factors and noise are the same in all modes: [`Engine`](crate::Engine) keeps them.

mod dry;
mod plain;
mod record;
mod recorder;
mod ring;
mod run;

use crate::error::Result;
use exchange::{Layout, packing};
use std::fmt::Debug;

pub use dry::Dry;
pub use plain::{Plain, Words};
pub use record::{Record, RecordedSamples};
pub use recorder::{RecordedCiphertext, Recorder, parameters};
pub use ring::{BlockMatrix, RecordRing, Rgsw, RingOperations, RunRing, Secret};
pub use run::Run;

/// Operations on ciphertexts of arithmetic modulo `t`, and on the LWE samples of the loop.
///
/// The caller vouches for levels: operands of a sum are at one level, and nothing is dropped below level 0.
pub trait Operations: Sync {
    /// A ciphertext of this mode.
    type Ciphertext: Clone + Debug + Send + Sync;
    /// The LWE samples that the coefficients of a ciphertext give.
    type Samples: Clone + Debug + Send + Sync;

    /// Whether plaintexts are read. If not, the factors that they carry need not be found out first.
    const READS_PLAINTEXTS: bool = true;

    /// `sum_k left_k right_k`, of three components. Operands may be at different levels: each counts as dropped to the
    /// lowest.
    ///
    /// # Errors
    /// From the scheme, if factors do not fit.
    fn tensor_sum(
        &self,
        left: &[&Self::Ciphertext],
        right: &[&Self::Ciphertext],
    ) -> Result<Self::Ciphertext>;

    /// For each group `g` of a [`Combination`], `sum_j (sum_i m_gji low_i) middle_j` at `level`, of three components and the
    /// factor `factors[g]`.
    ///
    /// # Errors
    /// From the scheme.
    fn combine(
        &self,
        level_and_factors: (usize, &[u64]),
        combination: &Combination<'_>,
        low: &[&Self::Ciphertext],
        middle: &[&Self::Ciphertext],
    ) -> Result<Vec<Self::Ciphertext>>;

    /// Brings a product back to two components, and divides it by the last `dropped` moduli.
    ///
    /// # Errors
    /// If the key is missing.
    fn relinearize(&self, product: &Self::Ciphertext, dropped: usize) -> Result<Self::Ciphertext>;

    /// `sum_k p_k values_k` at a level no higher than the values', with the factor `factor`. Plaintext `k` is
    /// multiplied by what takes the factor of value `k` there.
    ///
    /// # Errors
    /// From the scheme.
    fn mul_plain_sum(
        &self,
        level_and_factor: (usize, u64),
        values: &[&Self::Ciphertext],
        plaintext: impl Fn(usize) -> Plain + Sync,
    ) -> Result<Self::Ciphertext>;

    /// One giant step of a packing: `sum_k A_k z_k`, `z_k` being the secret of the samples rotated by `k`, and `A_k` the
    /// plaintext of the masks that meet it. At `level`, with factor 1.
    ///
    /// # Errors
    /// If a key is missing.
    fn mul_masks(
        &self,
        level: usize,
        packing: &Packing<'_, Self::Samples>,
        giant: usize,
    ) -> Result<Self::Ciphertext>;

    /// Adds the bodies of the samples of a packing.
    ///
    /// # Errors
    /// From the scheme.
    fn add_bodies(
        &self,
        a: &mut Self::Ciphertext,
        packing: &Packing<'_, Self::Samples>,
    ) -> Result<()>;

    /// A plaintext as a ciphertext of factor 1 that hides nothing.
    fn trivial(&self, level: usize, plaintext: impl FnOnce() -> Plain) -> Self::Ciphertext;

    /// `a += b`.
    ///
    /// # Errors
    /// If levels or factors differ.
    fn add_assign(&self, a: &mut Self::Ciphertext, b: &Self::Ciphertext) -> Result<()>;

    /// `a -= b`.
    ///
    /// # Errors
    /// If levels or factors differ.
    fn sub_assign(&self, a: &mut Self::Ciphertext, b: &Self::Ciphertext) -> Result<()>;

    /// `a += m`.
    fn add_plain_assign(&self, a: &mut Self::Ciphertext, plaintext: impl FnOnce() -> Plain);

    /// `X -> X^element` for each element, with one decomposition. The element 1 gives the ciphertext itself.
    ///
    /// # Errors
    /// If a key is missing.
    fn automorphisms(
        &self,
        a: &Self::Ciphertext,
        elements: &[usize],
    ) -> Result<Vec<Self::Ciphertext>>;

    /// As [`automorphisms`](Self::automorphisms), of one element.
    ///
    /// # Errors
    /// If the key is missing.
    fn automorphism(&self, a: &Self::Ciphertext, element: usize) -> Result<Self::Ciphertext>;

    /// Modulus switch to a lower level.
    ///
    /// # Errors
    /// From the scheme.
    fn switch_to(&self, a: Self::Ciphertext, level: usize) -> Result<Self::Ciphertext>;

    /// Level drop: the same residual modulo fewer moduli.
    ///
    /// # Errors
    /// From the scheme.
    fn drop_to(&self, a: Self::Ciphertext, level: usize) -> Result<Self::Ciphertext>;

    /// The same components, read as a ciphertext of factor `factor` by a scheme with another plaintext modulus.
    fn reread(&self, a: Self::Ciphertext, factor: u64) -> Self::Ciphertext;

    /// A component of a ciphertext at level 0, rounded to the plaintext modulus `t` and multiplied by `unit`: the plaintext of its
    /// coefficients.
    ///
    /// # Errors
    /// If there is no such component.
    fn rounded(&self, a: &Self::Ciphertext, component: usize, unit: u64) -> Result<Plain>;

    /// The dimension switch of a ciphertext at level 0, rounded to `t`.
    ///
    /// # Errors
    /// If the key is missing.
    fn to_samples(&self, a: &Self::Ciphertext) -> Result<Self::Samples>;
}

/// The integers of a [combination](Operations::combine): `m_gji = coefficients[(g J + j) I + i] rows[g J + j] columns[i]`
/// modulo `t`, for `I` columns and `J` middle values. Missing coefficients are 0.
#[derive(Clone, Debug)]
pub struct Combination<'a> {
    /// Coefficients in `[0, t)`.
    pub coefficients: &'a [u64],
    /// Factors of the rows, by group, then by middle value.
    pub rows: Vec<u64>,
    /// Factors of the columns: one for each low value.
    pub columns: Vec<u64>,
}

/// One LWE sample: a coefficient of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a, S> {
    /// The batch.
    pub batch: &'a S,
    /// The coefficient.
    pub coefficient: usize,
}

/// What is packed into slots: value `i` is the sum of `samples[i]`, and 0 without any.
#[derive(Clone, Copy, Debug)]
pub struct Packing<'a, S> {
    /// Where values lie.
    pub layout: Layout,
    /// LWE dimension.
    pub dimension: usize,
    /// Rotations of the secret that are held ready.
    pub baby_steps: usize,
    /// Samples by value.
    pub samples: &'a [Vec<Sample<'a, S>>],
}

impl<S> Packing<'_, S> {
    /// Products that each copy of a value takes part in.
    pub fn width(&self) -> usize {
        packing::width(self.dimension, self.layout)
    }

    /// Entry of the secret in a slot.
    pub fn entry(&self, slot: usize) -> usize {
        packing::entry(self.dimension, self.layout, slot)
    }
}
