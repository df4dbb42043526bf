//! What a circuit needs of a scheme. Beneath it, the run is the same for all: ciphertexts of `rlwe`, and key switching.

use super::factors::Factors;
use super::plan::Plan;
use super::unfit;
use crate::error::{Error, Result};
use circuits::approximate::{Bootstrapper, Diagonal};
use circuits::operations::parameters;
use ckks::Complex64;
use program::circuit::{Arithmetic, Bootstrapping, Circuit, Type};
use program::recording::{self, Message};
use ring::{Eval, Modulus, Poly};
use std::fmt::Debug;

/// A scheme that runs circuits, by its parameters: [`ckks::Params`] for approximate arithmetic, an [`ExactScheme`](super::ExactScheme)
/// for exact.
pub trait Scheme: Clone + Sync + sealed::Sealed {
    /// What a slot holds in the clear.
    type Slot: Slot;
    /// A message that a client encrypts.
    type Plaintext;
    /// A ciphertext.
    type Ciphertext: PartialEq;

    /// The arithmetic of circuits for these parameters: all their levels.
    fn arithmetic(&self) -> Arithmetic;

    /// Parameters of the ring.
    fn rlwe(&self) -> &rlwe::Params;

    /// Level of the ring for a level: limbs minus one.
    fn ring_level(&self, level: usize) -> usize;

    /// Slots, which bound those of a circuit.
    fn slots(&self) -> usize;

    /// Galois element of the rotation by `steps` to the left.
    fn rotation(&self, steps: usize) -> usize;

    /// Galois element of the conjugation, or of the swap of rows.
    fn reflection(&self) -> usize;

    /// What circuits state of a bootstrapping of these parameters that is made for what `stated` is made for.
    ///
    /// # Errors
    /// [`Error::Circuit`](crate::Error::Circuit) in exact arithmetic, and for parameters that have no such bootstrapping.
    #[doc(hidden)]
    fn stated(&self, stated: &Bootstrapping) -> Result<Bootstrapping> {
        Err(no_bootstrapping(stated))
    }

    /// The tables of a bootstrapping.
    ///
    /// # Errors
    /// As [`Scheme::stated`].
    #[doc(hidden)]
    fn bootstrapper(&self, stated: &Bootstrapping) -> Result<Bootstrapper> {
        Err(no_bootstrapping(stated))
    }

    /// Parameters of the sparse secret of bootstrapping; `None` of parameters that have no bootstrapping.
    #[doc(hidden)]
    fn sparse(&self) -> Option<rlwe::Params> {
        None
    }

    /// What is left to know of a run before it starts: factors of messages. No iteration is left to be written out.
    ///
    /// # Errors
    /// [`Error::Circuit`](crate::Error::Circuit) for a circuit whose results would be wrong with a probability above `2^limit`.
    #[doc(hidden)]
    fn prepare(&self, circuit: &Circuit, plan: &Plan, limit: f64) -> Result<Factors>;

    /// A message to be encrypted; slots as of a circuit.
    ///
    /// # Errors
    /// From the scheme, for values that it cannot encode.
    fn encode(&self, slots: &[Self::Slot], ty: Type) -> Result<Self::Plaintext>;

    /// A plaintext as a factor of ciphertexts.
    ///
    /// # Errors
    /// As [`Scheme::encode`].
    fn factor(&self, slots: &[Self::Slot], ty: Type) -> Result<Poly<Eval>>;

    /// A plaintext as a factor of ciphertexts over the special moduli.
    ///
    /// # Errors
    /// As [`Scheme::encode`].
    fn diagonal(&self, slots: &[Self::Slot], ty: Type) -> Result<Diagonal>;

    /// A plaintext as a term of a sum with a ciphertext whose message has a factor.
    ///
    /// # Errors
    /// As [`Scheme::encode`].
    fn term(&self, slots: &[Self::Slot], ty: Type, factor: u64) -> Result<Poly<Eval>>;

    /// What a product of ciphertexts is multiplied by, and terms are divided by: the plaintext modulus, if there is one.
    fn unit(&self) -> Option<u64>;

    /// How a value of a type holds its message, which has a factor.
    #[doc(hidden)]
    fn message(&self, ty: Type, factor: u64) -> Message;

    /// The parameters, as recordings have them.
    #[doc(hidden)]
    fn recorded(&self) -> recording::Parameters {
        parameters(self.rlwe(), self.unit().into_iter().collect())
    }

    /// The components of an input of a type.
    ///
    /// # Errors
    /// [`Error::Circuit`](crate::Error::Circuit) if it is of another.
    fn open<'a>(
        &self,
        name: &str,
        ct: &'a Self::Ciphertext,
        ty: Type,
    ) -> Result<&'a rlwe::Ciphertext>;

    /// The ciphertext of a type, its message with a factor, from its components.
    ///
    /// # Errors
    /// From the scheme, none if the components are its own.
    fn close(&self, inner: rlwe::Ciphertext, ty: Type, factor: u64) -> Result<Self::Ciphertext>;
}

fn no_bootstrapping(stated: &Bootstrapping) -> Error {
    let found = format!("of {} slots", stated.slots);
    unfit(
        "the bootstrapping of the circuit",
        found,
        "none in exact arithmetic",
    )
}

/// What a slot holds in the clear: [`Complex64`], or `u64` for a residue modulo `t`.
pub trait Slot: Copy + Debug + PartialEq + sealed::Sealed {
    /// What operations need to know.
    type Ring: Copy;
    /// Zero.
    const ZERO: Self;

    /// The ring of a circuit's slots; `None` if its arithmetic is another.
    fn ring(arithmetic: &Arithmetic) -> Option<Self::Ring>;
    /// Whether it is a value of the ring.
    fn is_of(self, ring: Self::Ring) -> bool;
    /// A number of a constant.
    fn constant(ring: Self::Ring, value: f64) -> Self;
    /// `self + other`.
    fn plus(self, ring: Self::Ring, other: Self) -> Self;
    /// `self - other`.
    fn minus(self, ring: Self::Ring, other: Self) -> Self;
    /// `self other`.
    fn times(self, ring: Self::Ring, other: Self) -> Self;
    /// The complex conjugate.
    fn conjugate(self) -> Self;
    /// `self factor`, the factor from a reading at another scale: 1 in exact arithmetic.
    fn scaled(self, factor: f64) -> Self;
}

impl Slot for Complex64 {
    type Ring = ();
    const ZERO: Self = Complex64::ZERO;

    fn ring(arithmetic: &Arithmetic) -> Option<()> {
        matches!(arithmetic, Arithmetic::Approximate { .. }).then_some(())
    }

    fn is_of(self, (): ()) -> bool {
        true
    }

    fn constant((): (), value: f64) -> Self {
        value.into()
    }

    fn plus(self, (): (), other: Self) -> Self {
        self + other
    }

    fn minus(self, (): (), other: Self) -> Self {
        self - other
    }

    fn times(self, (): (), other: Self) -> Self {
        self * other
    }

    fn conjugate(self) -> Self {
        self.conj()
    }

    fn scaled(self, factor: f64) -> Self {
        self * factor
    }
}

impl Slot for u64 {
    type Ring = Modulus;
    const ZERO: Self = 0;

    fn ring(arithmetic: &Arithmetic) -> Option<Modulus> {
        match arithmetic {
            Arithmetic::Exact { t, .. } => Modulus::new(*t),
            _ => None,
        }
    }

    fn is_of(self, t: Modulus) -> bool {
        self < t.value()
    }

    fn constant(t: Modulus, value: f64) -> Self {
        t.from_i64(value as i64)
    }

    fn plus(self, t: Modulus, other: Self) -> Self {
        t.add(self, other)
    }

    fn minus(self, t: Modulus, other: Self) -> Self {
        t.sub(self, other)
    }

    fn times(self, t: Modulus, other: Self) -> Self {
        t.mul(self, other)
    }

    fn conjugate(self) -> Self {
        self
    }

    fn scaled(self, _: f64) -> Self {
        self
    }
}

pub(super) mod sealed {
    /// What is in this crate.
    pub trait Sealed {}
    impl Sealed for ckks::Params {}
    impl Sealed for bgv::Params {}
    impl Sealed for crate::circuit::Bfv {}
    impl Sealed for ckks::Complex64 {}
    impl Sealed for u64 {}
}
