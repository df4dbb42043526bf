//! The operations that circuits consist of, and the modes in which they run.
//!
//! A circuit is written once, for any [`Operations`]. [`Run`] computes with ciphertexts, [`Dry`]
//! computes nothing, and [`Record`] writes the operations down. The mode is a type, so values of
//! different modes cannot be mixed.
//!
//! Levels, factors and noise are the same in all modes: [`Engine`](crate::Engine) keeps them.

mod dry;
mod masks;
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
pub use run::{Run, Stop};

/// Operations on ciphertexts of arithmetic modulo `t`, and on the LWE samples of the loop.
///
/// The caller ensures that levels are correct: operands of a sum are at one level, and nothing is
/// dropped below level 0.
pub trait Operations: Sync {
    /// A ciphertext of this mode.
    type Ciphertext: Clone + Debug + Send + Sync;
    /// The LWE samples of a ciphertext's coefficients.
    type Samples: Clone + Debug + Send + Sync;
    /// The masks of a packing's samples, prepared for all its giant steps.
    type Masks: Sync;

    /// True if plaintexts are read. If not, the factors that they carry need not be computed first.
    const READS_PLAINTEXTS: bool = true;

    /// True if operations take time, so that independent ones may run on several threads. Others run
    /// in order: recordings and sums of probabilities depend on it.
    const COMPUTES: bool = false;

    /// `sum_k left_k right_k`, with three components. Operands may be at different levels: each is
    /// used as if dropped to the lowest level.
    ///
    /// # Errors
    /// Errors of the scheme, if factors do not fit.
    fn tensor_sum(
        &self,
        left: &[&Self::Ciphertext],
        right: &[&Self::Ciphertext],
    ) -> Result<Self::Ciphertext>;

    /// For each group `g` of a [`Combination`], `sum_j (sum_i m_gji low_i) middle_j` at `level`,
    /// with three components and the factor `factors[g]`.
    ///
    /// # Errors
    /// Errors of the scheme.
    fn combine(
        &self,
        level_and_factors: (usize, &[u64]),
        combination: &Combination<'_>,
        low: &[&Self::Ciphertext],
        middle: &[&Self::Ciphertext],
    ) -> Result<Vec<Self::Ciphertext>>;

    /// Relinearises a product to two components, and divides it by the last `dropped` moduli.
    ///
    /// # Errors
    /// If the key is missing.
    fn relinearize(&self, product: &Self::Ciphertext, dropped: usize) -> Result<Self::Ciphertext>;

    /// `sum_k p_k values_k` with the factor `factor`, at a level that is at most that of each
    /// value. Plaintext `k` is multiplied by the number that brings the factor of value `k` there.
    ///
    /// # Errors
    /// Errors of the scheme.
    fn mul_plain_sum(
        &self,
        level_and_factor: (usize, u64),
        values: &[&Self::Ciphertext],
        plaintext: impl Fn(usize) -> Plain + Sync,
    ) -> Result<Self::Ciphertext>;

    /// Prepares the masks of a packing.
    fn masks(&self, packing: &Packing<'_, Self::Samples>) -> Self::Masks;

    /// Giant steps of a packing, each `sum_k A_k z_k`, where `z_k` is the secret of the samples
    /// rotated by `k`, and `A_k` the plaintext of the masks for `z_k`. The result is at `level`,
    /// with factor 1.
    ///
    /// # Errors
    /// If a key is missing.
    fn mul_masks(
        &self,
        level: usize,
        packing: (&Packing<'_, Self::Samples>, &Self::Masks),
        giants: &[usize],
    ) -> Result<Vec<Self::Ciphertext>>;

    /// Adds the bodies of the samples of a packing.
    ///
    /// # Errors
    /// Errors of the scheme.
    fn add_bodies(
        &self,
        a: &mut Self::Ciphertext,
        packing: &Packing<'_, Self::Samples>,
    ) -> Result<()>;

    /// The secret of the samples as coefficients, `z(X^(N/n))`, at the level of its key. It has
    /// factor 1.
    ///
    /// # Errors
    /// If the key is missing.
    fn secret(&self) -> Result<Self::Ciphertext>;

    /// The blocks of the polynomial of the bodies (component 0) or of the masks (component 1) of
    /// samples, as slots (`circuits::transform`).
    fn blocks(&self, samples: &Self::Samples, component: usize) -> Plain;

    /// A plaintext as a ciphertext that hides nothing. It has factor 1.
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

    /// `X -> X^element` for each element. All share one decomposition. The element 1 gives the
    /// ciphertext itself.
    ///
    /// # Errors
    /// If a key is missing.
    fn automorphisms(
        &self,
        a: &Self::Ciphertext,
        elements: &[usize],
    ) -> Result<Vec<Self::Ciphertext>>;

    /// As [`automorphisms`](Self::automorphisms), for one element.
    ///
    /// # Errors
    /// If the key is missing.
    fn automorphism(&self, a: &Self::Ciphertext, element: usize) -> Result<Self::Ciphertext>;

    /// Modulus switch to a lower level.
    ///
    /// # Errors
    /// Errors of the scheme.
    fn switch_to(&self, a: Self::Ciphertext, level: usize) -> Result<Self::Ciphertext>;

    /// As [`switch_to`](Self::switch_to), for a ciphertext that is still needed.
    ///
    /// # Errors
    /// As [`switch_to`](Self::switch_to).
    fn switched_to(&self, a: &Self::Ciphertext, level: usize) -> Result<Self::Ciphertext> {
        self.switch_to(a.clone(), level)
    }

    /// Level drop: the same residual modulo fewer moduli.
    ///
    /// # Errors
    /// Errors of the scheme.
    fn drop_to(&self, a: Self::Ciphertext, level: usize) -> Result<Self::Ciphertext>;

    /// The same components, read as a ciphertext of factor `factor` by a scheme with another
    /// plaintext modulus.
    fn reread(&self, a: Self::Ciphertext, factor: u64) -> Self::Ciphertext;

    /// Rounds a component of a ciphertext at level 0 to the plaintext modulus `t` and multiplies it
    /// by `unit`. Returns the plaintext of its coefficients.
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

/// The integers of a [combination](Operations::combine):
/// `m_gji = coefficients[(g J + j) I + i] rows[g J + j] columns[i]` modulo `t`, for `I` columns and
/// `J` middle values. Missing coefficients are 0.
#[derive(Clone, Debug)]
pub struct Combination<'a> {
    /// Coefficients in `[0, t)`.
    pub coefficients: &'a [u64],
    /// Factors of the rows, by group, then by middle value.
    pub rows: Vec<u64>,
    /// Factors of the columns, one for each low value.
    pub columns: Vec<u64>,
}

/// One LWE sample: a coefficient of a batch of samples.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a, S> {
    /// The batch of samples.
    pub batch: &'a S,
    /// The coefficient.
    pub coefficient: usize,
}

/// A packing into slots. Value `i` is the sum of `samples[i]`, or 0 if there are none.
#[derive(Clone, Copy, Debug)]
pub struct Packing<'a, S> {
    /// Places of the values in the slots.
    pub layout: Layout,
    /// LWE dimension.
    pub dimension: usize,
    /// Number of rotations of the secret that are held ready.
    pub baby_steps: usize,
    /// Samples of each value.
    pub samples: &'a [Vec<Sample<'a, S>>],
}

impl<S> Packing<'_, S> {
    /// Number of products in which each copy of a value takes part.
    pub fn width(&self) -> usize {
        packing::width(self.dimension, self.layout)
    }

    /// Entry of the secret in the given slot.
    pub fn entry(&self, slot: usize) -> usize {
        packing::entry(self.dimension, self.layout, slot)
    }
}
