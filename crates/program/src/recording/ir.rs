//! The types of a recording.

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

/// How a ciphertext holds its message.
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
    /// How the message is held.
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
    /// Its name.
    pub name: String,
    /// Level for which it is made.
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
    /// Coefficients times a number. They are added to a component, or multiplied with one.
    Integers(ConstantId, Scalar),
}

impl Plain {
    /// The value from which it is made, if there is one.
    fn operand(&self) -> Option<ValueId> {
        match self {
            Self::Rounded { value, .. } => Some(*value),
            _ => None,
        }
    }
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

/// An operation on ciphertexts. Statements on components hold modulo the moduli of the result's
/// level.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A fresh ciphertext of the client's query.
    Input {
        /// Index of the ciphertext.
        index: usize,
    },
    /// An input ciphertext of two components, given by its name.
    Given {
        /// Its name.
        name: String,
    },
    /// A ciphertext of a packing key: the LWE secret in the slots, rotated.
    PackingKey {
        /// Number of values of the layout for which it is.
        values: usize,
        /// Index of the ciphertext in the key.
        index: usize,
    },
    /// A plaintext as a ciphertext that hides nothing.
    Trivial {
        /// The plaintext.
        plain: Plain,
    },
    /// `t sum_k left_k (x) right_k`. In approximate arithmetic there is no factor `t`.
    Tensor {
        /// Left and right factors.
        terms: Vec<[ValueId; 2]>,
    },
    /// `t sum_j (sum_i m_ji low_i) (x) middle_j`, with
    /// `m_ji = list[first + j I + i] rows[j] columns[i] mod t`, where `I` is the number of columns.
    /// The list counts as 0 beyond its end.
    Combine {
        /// The values that are combined.
        low: Vec<ValueId>,
        /// The values by which the combinations are multiplied.
        middle: Vec<ValueId>,
        /// A [`Constant::List`].
        list: ConstantId,
        /// Index in the list where the matrix begins.
        first: usize,
        /// A factor for each middle value.
        rows: Vec<u64>,
        /// A factor for each low value.
        columns: Vec<u64>,
    },
    /// Relinearises a product to two components by a key switch. Divides it by the last moduli of
    /// its level, down to the level of the result.
    Relinearize {
        /// The product.
        value: ValueId,
    },
    /// `sum_k p_k values_k`. A plaintext modulo `t` is multiplied by its unit and centred.
    MulPlain {
        /// Terms: the value, the plaintext and its unit.
        terms: Vec<(ValueId, Plain, u64)>,
    },
    /// `sum_k A_k secret_k`: one giant step of a packing. `A_k` is the plaintext of masks whose
    /// slot `s` belongs to the value `(s - giant baby_steps) mod values` and to entry `k + s` of
    /// the secret, both within the slot's row.
    MulMasks {
        /// The packing.
        packing: usize,
        /// Index of the giant step.
        giant: usize,
        /// The secret rotated by `0, 1, ..`.
        secret: Vec<ValueId>,
        /// The unit by which each plaintext is multiplied.
        units: Vec<u64>,
    },
    /// Adds the bodies of a packing's samples.
    AddBodies {
        /// The value to which they are added.
        value: ValueId,
        /// The packing.
        packing: usize,
    },
    /// `left + right`.
    Add {
        /// A value.
        left: ValueId,
        /// Another value of the same type.
        right: ValueId,
    },
    /// `left - right`.
    Sub {
        /// A value.
        left: ValueId,
        /// Another value of the same type.
        right: ValueId,
    },
    /// Adds a plaintext to the first component. Modulo `t`, the term is what its message and factor
    /// require. Of integers, the term is the integers themselves.
    AddPlain {
        /// The value to which it is added.
        value: ValueId,
        /// The plaintext.
        plain: Plain,
    },
    /// Multiplies by a number. A product by 1 costs nothing: it is the same value, with its message
    /// read at another scale.
    Scale {
        /// The value that is multiplied.
        value: ValueId,
        /// The number.
        by: Scalar,
    },
    /// Multiplies by the special moduli and extends the result to them.
    Extend {
        /// The value that is extended.
        value: ValueId,
    },
    /// `X -> X^element`, under the same secret. The result may be extended even if the value is
    /// not. If the value is extended, the result is too.
    Automorphism {
        /// The value that is mapped.
        value: ValueId,
        /// The Galois element.
        element: usize,
    },
    /// The same message under another secret, by a key switch.
    SwitchSecret {
        /// The value that is switched.
        value: ValueId,
        /// The secret.
        to: Secret,
    },
    /// Multiplies by the message of an RGSW ciphertext, by the digits of both components. The
    /// result holds the product with the factor or scale of the value.
    ExternalProduct {
        /// The value that is multiplied.
        value: ValueId,
        /// The RGSW ciphertext.
        by: Rgsw,
    },
    /// Raises the modulus: the centred components, modulo the moduli of the higher level of the
    /// result.
    Raise {
        /// The value that is raised.
        value: ValueId,
    },
    /// Modulus switch: divides by the special moduli, if the value is extended, and by the last
    /// moduli, down to the level of the result.
    Switch {
        /// The value that is switched.
        value: ValueId,
    },
    /// Level drop: leaves out the last moduli.
    Drop {
        /// The value that is dropped.
        value: ValueId,
    },
    /// Dimension switch at level 0, with rounding to `t`.
    ToSamples {
        /// The value that is switched.
        value: ValueId,
    },
    /// A result: a ciphertext for the client, or a ciphertext or samples from which another run
    /// goes on.
    Output {
        /// Name of the result. Results have different names.
        name: String,
        /// The result.
        value: ValueId,
    },
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

impl Op {
    /// Name in the text form.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Input { .. } => "input",
            Self::Given { .. } => "given",
            Self::PackingKey { .. } => "packing_key",
            Self::Trivial { .. } => "trivial",
            Self::Tensor { .. } => "tensor",
            Self::Combine { .. } => "combine",
            Self::Relinearize { .. } => "relinearize",
            Self::MulPlain { .. } => "mul_plain",
            Self::MulMasks { .. } => "mul_masks",
            Self::AddBodies { .. } => "add_bodies",
            Self::Add { .. } => "add",
            Self::Sub { .. } => "sub",
            Self::AddPlain { .. } => "add_plain",
            Self::Scale { .. } => "scale",
            Self::Extend { .. } => "extend",
            Self::Automorphism { .. } => "automorphism",
            Self::SwitchSecret { .. } => "switch_secret",
            Self::ExternalProduct { .. } => "external_product",
            Self::Raise { .. } => "raise",
            Self::Switch { .. } => "switch",
            Self::Drop { .. } => "drop",
            Self::ToSamples { .. } => "to_samples",
            Self::Output { .. } => "output",
        }
    }

    /// Values that the operation reads, without the samples of a packing.
    pub fn operands(&self) -> Vec<ValueId> {
        match self {
            Self::Input { .. } | Self::Given { .. } | Self::PackingKey { .. } => Vec::new(),
            Self::Trivial { plain } => plain.operand().into_iter().collect(),
            Self::AddPlain { value, plain } => {
                std::iter::once(*value).chain(plain.operand()).collect()
            }
            Self::Tensor { terms } => terms.iter().flatten().copied().collect(),
            Self::Combine { low, middle, .. } => low.iter().chain(middle).copied().collect(),
            Self::MulPlain { terms } => {
                let all = terms.iter();
                all.flat_map(|(value, plain, _)| std::iter::once(*value).chain(plain.operand()))
                    .collect()
            }
            Self::MulMasks { secret, .. } => secret.clone(),
            Self::Add { left, right } | Self::Sub { left, right } => vec![*left, *right],
            Self::Relinearize { value }
            | Self::AddBodies { value, .. }
            | Self::Scale { value, .. }
            | Self::Extend { value }
            | Self::Automorphism { value, .. }
            | Self::SwitchSecret { value, .. }
            | Self::ExternalProduct { value, .. }
            | Self::Raise { value }
            | Self::Switch { value }
            | Self::Drop { value }
            | Self::ToSamples { value }
            | Self::Output { value, .. } => vec![*value],
        }
    }
}
