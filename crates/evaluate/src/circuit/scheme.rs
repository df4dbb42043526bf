//! The interface between circuits and schemes. Beneath it the run is the same for all schemes: it
//! consists of ciphertexts of `rlwe` and of key switching.

use super::factors::Factors;
use super::plan::Plan;
use super::runner::Argument;
use super::unfit;
use crate::error::{Error, Result};
use circuits::approximate::{Bootstrapper, Diagonal};
use circuits::operations::parameters;
use ckks::{Complex64, Size};
use program::circuit::{Arithmetic, Bootstrapping, Circuit, Permutation, Type};
use program::recording::{self, Message};
use ring::{Eval, Modulus, Poly};
use std::collections::BTreeMap;
use std::fmt::Debug;

/// A scheme that runs circuits, identified by its parameters: [`ckks::Params`] for approximate
/// arithmetic, an [`ExactScheme`](super::ExactScheme) for exact arithmetic.
pub trait Scheme: Clone + Sync + sealed::Sealed {
    /// Content of a slot in the clear.
    type Slot: Slot;
    /// A message that a client encrypts.
    type Plaintext;
    /// A ciphertext.
    type Ciphertext: PartialEq;

    /// The arithmetic of circuits for these parameters, with all levels.
    fn arithmetic(&self) -> Arithmetic;

    /// Parameters of the ring.
    fn rlwe(&self) -> &rlwe::Params;

    /// Level of the ring (number of limbs minus one) for a level of circuits.
    fn ring_level(&self, level: usize) -> usize;

    /// Number of slots. A circuit has at most as many.
    fn slots(&self) -> usize;

    /// Galois element of the rotation by `steps` to the left.
    fn rotation(&self, steps: usize) -> usize;

    /// Galois element of the conjugation, or of the swap of rows.
    fn reflection(&self) -> usize;

    /// Galois element of a permutation of slots.
    fn element(&self, permutation: Permutation) -> usize {
        match permutation.rotation() {
            Some(steps) => self.rotation(steps),
            None => self.reflection(),
        }
    }

    /// The bootstrapping of these parameters that has the same choices as `stated`, in the form in
    /// which circuits state it.
    ///
    /// # Errors
    /// [`Error::Circuit`](crate::Error::Circuit) in exact arithmetic, and for parameters without
    /// such a bootstrapping.
    #[doc(hidden)]
    fn stated(&self, stated: &Bootstrapping) -> Result<Bootstrapping> {
        Err(no_bootstrapping(stated))
    }

    /// The tables of a bootstrapping.
    ///
    /// # Errors
    /// The errors of [`Scheme::stated`].
    #[doc(hidden)]
    fn bootstrapper(&self, stated: &Bootstrapping) -> Result<Bootstrapper> {
        Err(no_bootstrapping(stated))
    }

    /// Parameters of the sparse secret of bootstrapping. `None` if there is no bootstrapping with
    /// these parameters.
    #[doc(hidden)]
    fn sparse(&self) -> Option<rlwe::Params> {
        None
    }

    /// The factors of a circuit's messages, after a check of the probability of failure. Every
    /// iteration of the circuit must be written out.
    ///
    /// # Errors
    /// [`Error::Circuit`](crate::Error::Circuit) for a circuit whose results would be wrong with a
    /// probability above `2^limit`.
    #[doc(hidden)]
    fn prepare(&self, circuit: &Circuit, plan: &Plan, limit: f64) -> Result<Factors>;

    /// Encodes a message for encryption, from the slots of a circuit.
    ///
    /// # Errors
    /// Errors of the scheme, for values that it cannot encode.
    fn encode(&self, slots: &[Self::Slot], ty: Type) -> Result<Self::Plaintext>;

    /// Encodes a plaintext that multiplies ciphertexts.
    ///
    /// # Errors
    /// The errors of [`Scheme::encode`].
    fn factor(&self, slots: &[Self::Slot], ty: Type) -> Result<Poly<Eval>>;

    /// Encodes a plaintext that multiplies ciphertexts over the special moduli.
    ///
    /// # Errors
    /// The errors of [`Scheme::encode`].
    fn diagonal(&self, slots: &[Self::Slot], ty: Type) -> Result<Diagonal>;

    /// Encodes a plaintext that is added to a ciphertext whose message has the factor `factor`.
    ///
    /// # Errors
    /// The errors of [`Scheme::encode`].
    fn term(&self, slots: &[Self::Slot], ty: Type, factor: u64) -> Result<Poly<Eval>>;

    /// The plaintext modulus, if there is one. Products of ciphertexts are multiplied by it, and
    /// terms are divided by it.
    fn unit(&self) -> Option<u64>;

    /// The form of the message in a value of type `ty` whose message has the factor `factor`.
    #[doc(hidden)]
    fn message(&self, ty: Type, factor: u64) -> Message;

    /// The parameters as recordings state them.
    #[doc(hidden)]
    fn recorded(&self) -> recording::Parameters {
        parameters(self.rlwe(), self.unit().into_iter().collect())
    }

    /// The components of an input of type `ty`.
    ///
    /// # Errors
    /// [`Error::Circuit`](crate::Error::Circuit) if the ciphertext has another type.
    fn open<'a>(
        &self,
        name: &str,
        ct: &'a Self::Ciphertext,
        ty: Type,
    ) -> Result<&'a rlwe::Ciphertext>;

    /// Builds the ciphertext of type `ty` from its components. Its message has the factor `factor`.
    ///
    /// # Errors
    /// Errors of the scheme. None occurs if the components belong to the scheme.
    fn close(&self, inner: rlwe::Ciphertext, ty: Type, factor: u64) -> Result<Self::Ciphertext>;

    /// The sizes of the outputs' messages, as far as they are known. Every iteration of the circuit
    /// must be written out.
    ///
    /// # Errors
    /// [`Error::Circuit`](crate::Error::Circuit) for a message that does not fit.
    #[doc(hidden)]
    fn sizes(
        &self,
        _: &Circuit,
        _: &BTreeMap<&str, Argument<Self>>,
    ) -> Result<BTreeMap<String, Size>> {
        Ok(BTreeMap::new())
    }

    /// The ciphertext, with the size of its message noted.
    #[doc(hidden)]
    fn sized(&self, ct: Self::Ciphertext, _: Size) -> Self::Ciphertext {
        ct
    }
}

fn no_bootstrapping(stated: &Bootstrapping) -> Error {
    let slots = format!("of {} slots", stated.slots);
    unfit(
        "the bootstrapping of the circuit",
        slots,
        "none in exact arithmetic",
    )
}

/// Content of a slot in the clear: [`Complex64`], or `u64` for a residue modulo `t`.
pub trait Slot: Copy + Debug + PartialEq + sealed::Sealed {
    /// Context that operations on slots need: the modulus, if there is one.
    type Ring: Copy;
    /// Zero.
    const ZERO: Self;

    /// The ring of a circuit's slots. `None` if the circuit has another arithmetic.
    fn ring(arithmetic: &Arithmetic) -> Option<Self::Ring>;
    /// Returns true if the content is a value of the ring.
    fn is_of(self, ring: Self::Ring) -> bool;
    /// Converts a number of a constant to the content of a slot.
    fn constant(ring: Self::Ring, value: f64) -> Self;
    /// `self + other`.
    fn plus(self, ring: Self::Ring, other: Self) -> Self;
    /// `self - other`.
    fn minus(self, ring: Self::Ring, other: Self) -> Self;
    /// `self other`.
    fn times(self, ring: Self::Ring, other: Self) -> Self;
    /// The complex conjugate.
    fn conjugate(self) -> Self;
    /// `self number`. In exact arithmetic the number is whole.
    fn scaled(self, ring: Self::Ring, number: f64) -> Self;
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

    fn scaled(self, (): (), number: f64) -> Self {
        self * number
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

    fn scaled(self, t: Modulus, number: f64) -> Self {
        t.mul(self, t.from_i64(number as i64))
    }
}

pub(super) mod sealed {
    /// Only this crate can implement [`Scheme`](super::Scheme) and [`Slot`](super::Slot).
    pub trait Sealed {}
    impl Sealed for ckks::Params {}
    impl Sealed for bgv::Params {}
    impl Sealed for crate::circuit::Bfv {}
    impl Sealed for ckks::Complex64 {}
    impl Sealed for u64 {}
}
