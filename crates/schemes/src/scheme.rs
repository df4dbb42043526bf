//! The operations in which the schemes differ. All other code is written once.

use crate::ciphertext::Packing;
use crate::error::Result;
use crate::operand::Plain;
use crate::spec::Spec;
use rand::CryptoRng;
use ring::sample::Masks;
use rlwe::{GaloisKeys, PublicKey, SecretKey, SwitchKey};

/// Approximate arithmetic on complex numbers: see the module [`ckks`](crate::ckks).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ckks {}

/// Exact arithmetic modulo a prime, whose products keep the level: see the module
/// [`bfv`](crate::bfv).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bfv {}

/// Exact arithmetic modulo a prime, whose products take a level: see the module
/// [`bgv`](crate::bgv).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bgv {}

/// Marks the schemes of this crate. No other crate can add one.
pub trait Sealed {}

impl Sealed for Ckks {}
impl Sealed for Bfv {}
impl Sealed for Bgv {}

/// A scheme: [`Ckks`], [`Bfv`] or [`Bgv`].
pub trait Scheme: Sealed + Sized + Send + Sync + 'static {
    /// Name of the scheme: `ckks`, `bfv` or `bgv`.
    const NAME: &'static str;
    /// One value of a ciphertext: a complex number, or an integer modulo `t`.
    type Value: Copy + Send + Sync + 'static;
    /// A number that is in every slot, as an operand.
    type Number: Copy + Send + Sync;
    /// Options of the encoding of values.
    type Options: Clone + Default + Sync;
    /// The operations of the layer below, for one set of parameters.
    type Evaluator: Send + Sync;
    /// A ciphertext of the layer below.
    type Raw: Clone + Send + Sync;
    /// An encoded message of the layer below.
    #[doc(hidden)]
    type Message: Send + Sync;

    #[doc(hidden)]
    fn build(spec: &Spec, insecure: bool) -> Result<Self::Evaluator>;
    #[doc(hidden)]
    fn rlwe(e: &Self::Evaluator) -> &rlwe::Params;
    #[doc(hidden)]
    fn slots(n: usize) -> usize;
    #[doc(hidden)]
    fn inner(ct: &Self::Raw) -> &rlwe::Ciphertext;
    /// The ciphertext with other components, at the same level.
    #[doc(hidden)]
    fn with_inner(ct: &Self::Raw, inner: rlwe::Ciphertext) -> Self::Raw;
    /// The number that bytes keep with a ciphertext.
    #[doc(hidden)]
    fn number(ct: &Self::Raw) -> u64;
    /// The ciphertext with these components and number, if they are ones of the parameters.
    #[doc(hidden)]
    fn open(e: &Self::Evaluator, inner: rlwe::Ciphertext, number: u64) -> Result<Self::Raw>;
    #[doc(hidden)]
    fn level(e: &Self::Evaluator, ct: &Self::Raw) -> Result<usize>;
    #[doc(hidden)]
    fn packing(options: &Self::Options) -> Packing;
    /// The level that the options ask for.
    #[doc(hidden)]
    fn level_of(options: &Self::Options) -> Option<usize>;
    #[doc(hidden)]
    fn encode(
        e: &Self::Evaluator,
        values: &[Self::Value],
        level: usize,
        options: &Self::Options,
    ) -> Result<Self::Message>;
    #[doc(hidden)]
    fn encrypt(
        e: &Self::Evaluator,
        secret: &SecretKey,
        at: (&Self::Message, usize),
        masks: &mut Masks,
        rng: &mut impl CryptoRng,
    ) -> Result<Self::Raw>;
    #[doc(hidden)]
    fn encrypt_public(
        e: &Self::Evaluator,
        key: &PublicKey,
        at: (&Self::Message, usize),
        rng: &mut impl CryptoRng,
    ) -> Result<Self::Raw>;
    #[doc(hidden)]
    fn decrypt(
        e: &Self::Evaluator,
        secret: &SecretKey,
        ct: &Self::Raw,
        packing: Packing,
    ) -> Result<Vec<Self::Value>>;
    /// `a + b`, or `a - b`. Levels, and scales or factors, are made equal first.
    #[doc(hidden)]
    fn add(e: &Self::Evaluator, a: &Self::Raw, b: &Self::Raw, subtract: bool) -> Result<Self::Raw>;
    #[doc(hidden)]
    fn add_plain(
        e: &Self::Evaluator,
        a: &Self::Raw,
        plain: Plain<'_, Self>,
        packing: Packing,
        subtract: bool,
    ) -> Result<Self::Raw>;
    #[doc(hidden)]
    fn negate(e: &Self::Evaluator, a: &Self::Raw) -> Result<Self::Raw>;
    /// The product at the lower of both levels, relinearised, and a level lower where the scheme
    /// takes one. `same` if both are one ciphertext.
    #[doc(hidden)]
    fn mul(
        e: &Self::Evaluator,
        factors: [&Self::Raw; 2],
        same: bool,
        key: &SwitchKey,
    ) -> Result<Self::Raw>;
    #[doc(hidden)]
    fn mul_plain(
        e: &Self::Evaluator,
        a: &Self::Raw,
        plain: Plain<'_, Self>,
        packing: Packing,
    ) -> Result<Self::Raw>;
    #[doc(hidden)]
    fn rotate(
        e: &Self::Evaluator,
        a: &Self::Raw,
        steps: &[isize],
        keys: &GaloisKeys,
    ) -> Result<Vec<Self::Raw>>;
    #[doc(hidden)]
    fn conjugate(e: &Self::Evaluator, a: &Self::Raw, keys: &GaloisKeys) -> Result<Self::Raw>;
    /// The same message at a lower level: a level drop of CKKS, a modulus switch of BFV and BGV.
    #[doc(hidden)]
    fn lower(e: &Self::Evaluator, a: &Self::Raw, level: usize) -> Result<Self::Raw>;
    /// Name of the automorphism of the conjugation in an error.
    #[doc(hidden)]
    const CONJUGATION: &'static str;
}
