//! The types of a recording.

pub use super::ops::Op;
use crate::ir::KeyNeeds;
use std::ops::Range;
use trace::{Constant, ConstantId};

/// A value, given by the number of the step that makes it.
pub type ValueId = usize;

/// Parameters of ciphertexts and samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Ring degree `N`.
    pub n: usize,
    /// Modulus chain.
    pub q: Vec<u64>,
    /// Special moduli of key switching.
    pub p: Vec<u64>,
    /// Limbs of each digit of key switching, over the whole chain. A level has the digits that
    /// begin within it, cut at its end.
    pub digits: Vec<Range<usize>>,
    /// Plaintext moduli of messages. Approximate arithmetic has none.
    pub t: Vec<u64>,
    /// Parameters of LWE samples, if there are any.
    pub samples: Option<SampleParameters>,
}

/// Parameters of the LWE samples that a dimension switch makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleParameters {
    /// LWE dimension.
    pub dimension: usize,
    /// Bits of a digit of the dimension switch.
    pub digit_bits: u32,
}

impl From<&crate::ir::Parameters> for Parameters {
    fn from(p: &crate::ir::Parameters) -> Self {
        Self {
            n: p.n,
            q: p.q.clone(),
            p: p.p.clone(),
            digits: (0..p.q.len())
                .step_by(p.digit_limbs.max(1))
                .map(|start| start..p.q.len().min(start + p.digit_limbs.max(1)))
                .collect(),
            t: vec![p.t],
            samples: Some(SampleParameters {
                dimension: p.lwe_dimension,
                digit_bits: p.lwe_digit_bits,
            }),
        }
    }
}

/// The form in which a ciphertext holds its message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Message {
    /// As a residual modulo `t`, with a factor: BFV and BGV.
    Modulo {
        /// Plaintext modulus.
        t: u64,
        /// Factor `mu` of the message, modulo `t`.
        factor: u64,
    },
    /// Times a scale, approximately: CKKS.
    Approximate {
        /// Scale: the factor from the message to the integers of the phase.
        scale: f64,
    },
}

/// Type of an encrypted value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ciphertext {
    /// Level: the number of limbs minus one.
    pub level: usize,
    /// Number of components: two, or three for a product that is not relinearised.
    pub components: usize,
    /// True if the ciphertext is multiplied by the special moduli and has limbs modulo these too.
    /// This is the result of a key switch before its division.
    pub extended: bool,
    /// Form of the message.
    pub message: Message,
}

/// Type of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Type {
    /// A ciphertext.
    Ciphertext(Ciphertext),
    /// LWE samples modulo `t`, one for each coefficient.
    Samples,
}

/// A number `integer 2^shift / over`. It is a residue modulo every modulus of the chain and every
/// special modulus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scalar {
    /// The integer.
    pub integer: i64,
    /// Exponent of the power of two by which it is multiplied.
    pub shift: u32,
    /// Number by which it is divided: 1, or a plaintext modulus.
    pub over: u64,
}

impl Scalar {
    /// The number 1.
    pub const ONE: Self = Self {
        integer: 1,
        shift: 0,
        over: 1,
    };

    /// Converts a double that is an integer.
    ///
    /// # Panics
    /// If it is no integer.
    pub fn of_double(value: f64) -> Self {
        assert!(value.fract() == 0.0, "{value} is an integer");
        let (mut value, mut shift) = (value, 0);
        while value.abs() >= 2f64.powi(62) {
            value /= 2.0;
            shift += 1;
        }
        Self {
            integer: value as i64,
            shift,
            over: 1,
        }
    }
}

impl From<i64> for Scalar {
    fn from(integer: i64) -> Self {
        Self {
            integer,
            ..Self::ONE
        }
    }
}

/// A secret under which a ciphertext is for a while. Bootstrapping of approximate numbers raises
/// the modulus under a sparse secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Secret {
    /// The sparse secret. It only ever protects `q_0` and the first special modulus. Its key has
    /// that many limbs, and a digit for each.
    Sparse,
    /// The secret of all other ciphertexts.
    Dense,
}

/// An RGSW ciphertext of the client: an encrypted polynomial by which ciphertexts are multiplied.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rgsw {
    /// Name of the RGSW ciphertext.
    pub name: String,
    /// Level for which the RGSW ciphertext is made.
    pub level: usize,
}

/// A plaintext: a polynomial, given by a constant of `N` integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Plain {
    /// Coefficients modulo `t`.
    Coefficients(ConstantId),
    /// Slots modulo `t`.
    Slots(ConstantId),
    /// A component of a value at level 0, rounded to `t` and multiplied by a unit:
    /// `unit round(c t / q_0) mod t` of each coefficient `c`.
    Rounded {
        /// The value.
        value: ValueId,
        /// Index of the component.
        component: usize,
        /// The unit.
        unit: u64,
    },
    /// The blocks of a component of samples, as slots. For samples of dimension `n`, the component is
    /// `sum_r X^r p_r(X^(N/n))`. The slots are two rows of `N/n` blocks. The block whose number has
    /// the bits of `r` reversed has the slots of `p_r(X^(N/n))` at its places.
    Blocks {
        /// The samples.
        value: ValueId,
        /// Bodies (0) or masks (1).
        component: usize,
    },
    /// Coefficients times a number. They are added to a component, or multiplied with one.
    Integers(ConstantId, Scalar),
}

/// The content of one packing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Packing {
    /// Number of values in the slots, each in as many copies as fit.
    pub values: usize,
    /// Number of rotations of the secret in one giant step.
    pub baby_steps: usize,
    /// Samples from which values are added up.
    pub sources: Vec<ValueId>,
    /// For each value, the samples whose sum it is, by source and coefficient. Missing values are
    /// 0.
    pub samples: Vec<Vec<[usize; 2]>>,
}

/// An operation, the type of its value, and the program's step to which it belongs.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The operation.
    pub op: Op,
    /// Type of its value. For an output, the type of the result.
    pub ty: Type,
    /// Number of the program's step.
    pub of: usize,
}

/// The operations of a run, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// Parameters of ciphertexts and samples.
    pub parameters: Parameters,
    /// The keys that are used, each with the level for which it is made.
    pub keys: KeyNeeds,
    /// Integers of plaintexts and tables.
    pub constants: Vec<Constant>,
    /// Packings.
    pub packings: Vec<Packing>,
    /// Operations in order.
    pub steps: Vec<Step>,
}
