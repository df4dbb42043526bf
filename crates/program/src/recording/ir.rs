//! The types of a recording.

use crate::ir::KeyNeeds;
use crate::trace::{Constant, ConstantId};
use std::ops::Range;

/// A value: the number of the step that makes it.
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
    /// The limbs of each digit of key switching, over the whole chain. A level has the digits that begin within it, cut there.
    pub digits: Vec<Range<usize>>,
    /// Plaintext moduli of messages. Approximate arithmetic has none.
    pub t: Vec<u64>,
    /// Of LWE samples, if there are any.
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
        /// Factor from the message to the integers of the phase.
        scale: f64,
    },
}

/// Type of an encrypted value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ciphertext {
    /// Limbs minus one.
    pub level: usize,
    /// Components: two, or three of a product that is not relinearised.
    pub components: usize,
    /// Whether it is multiplied by the special moduli, and has limbs modulo these as well: what is left of a key switch
    /// before its division.
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

/// A number `integer 2^shift / over`: a residue modulo every modulus of the chain and every special one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scalar {
    /// The integer.
    pub integer: i64,
    /// Power of two that it is multiplied by.
    pub shift: u32,
    /// What it is divided by: 1, or a plaintext modulus.
    pub over: u64,
}

impl Scalar {
    /// 1.
    pub const ONE: Self = Self {
        integer: 1,
        shift: 0,
        over: 1,
    };

    /// An integer that is a double, as it is.
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

/// A secret that a ciphertext is under for a while: bootstrapping of approximate numbers raises the modulus under a sparse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Secret {
    /// The sparse one, which only ever protects `q_0` and the first special modulus: so many limbs has its key, and a digit each.
    Sparse,
    /// The secret of all other ciphertexts.
    Dense,
}

/// An RGSW ciphertext of the client: an encrypted polynomial that ciphertexts are multiplied by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rgsw {
    /// Its name.
    pub name: String,
    /// The level that it is made for.
    pub level: usize,
}

/// A plaintext: a polynomial by a constant of `N` integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Plain {
    /// Its coefficients, modulo `t`.
    Coefficients(ConstantId),
    /// Its slots, modulo `t`.
    Slots(ConstantId),
    /// A component of a value at level 0, rounded to `t` and multiplied by a unit: `unit round(c t / q_0) mod t` of each
    /// coefficient `c`.
    Rounded {
        /// The value.
        value: ValueId,
        /// Which component.
        component: usize,
        /// The unit.
        unit: u64,
    },
    /// Its coefficients, times a number: as they are added to a component, or multiplied with one.
    Integers(ConstantId, Scalar),
}

impl Plain {
    /// The value that it is made of, if it is of one.
    fn operand(&self) -> Option<ValueId> {
        match self {
            Self::Rounded { value, .. } => Some(*value),
            _ => None,
        }
    }
}

/// What is packed into slots by one packing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Packing {
    /// Values in the slots, each in as many copies as fit.
    pub values: usize,
    /// Rotations of the secret that one giant step takes.
    pub baby_steps: usize,
    /// Samples that values are sums of.
    pub sources: Vec<ValueId>,
    /// Of each value, the samples whose sum it is, by source and coefficient. Missing values are 0.
    pub samples: Vec<Vec<[usize; 2]>>,
}

/// An operation on ciphertexts. What it says of components holds modulo the moduli of the result's level.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A fresh ciphertext of the client's query.
    Input {
        /// Which.
        index: usize,
    },
    /// A ciphertext of two components, by its name.
    Given {
        /// Its name.
        name: String,
    },
    /// A ciphertext of a packing key: the LWE secret in the slots, rotated.
    PackingKey {
        /// Values of the layout that it is for.
        values: usize,
        /// Which of its ciphertexts.
        index: usize,
    },
    /// A plaintext as a ciphertext that hides nothing.
    Trivial {
        /// The plaintext.
        plain: Plain,
    },
    /// `t sum_k left_k (x) right_k`; without the `t` in approximate arithmetic.
    Tensor {
        /// Left and right factors.
        terms: Vec<[ValueId; 2]>,
    },
    /// `t sum_j (sum_i m_ji low_i) (x) middle_j`, with `m_ji = list[first + j I + i] rows[j] columns[i] mod t`, `I` being the
    /// number of columns. The list counts as 0 beyond its end.
    Combine {
        /// What is combined.
        low: Vec<ValueId>,
        /// What the combinations are multiplied by.
        middle: Vec<ValueId>,
        /// A [`Constant::List`].
        list: ConstantId,
        /// Where the matrix begins in the list.
        first: usize,
        /// A factor for each middle value.
        rows: Vec<u64>,
        /// A factor for each low one.
        columns: Vec<u64>,
    },
    /// Brings a product back to two components by a key switch, and divides it by the last moduli of its level, down to the
    /// level of the result.
    Relinearize {
        /// The product.
        value: ValueId,
    },
    /// `sum_k p_k values_k`. A plaintext modulo `t` is multiplied by its unit and centred.
    MulPlain {
        /// Factors: the value, the plaintext and its unit.
        terms: Vec<(ValueId, Plain, u64)>,
    },
    /// `sum_k A_k secret_k`: one giant step of a packing. `A_k` is the plaintext of masks whose slot `s` belongs to the value
    /// `(s - giant baby_steps) mod values` and to entry `k + s` of the secret, both within the slot's row.
    MulMasks {
        /// The packing.
        packing: usize,
        /// Which giant step.
        giant: usize,
        /// The secret rotated by `0, 1, ..`.
        secret: Vec<ValueId>,
        /// The unit that each plaintext is multiplied by.
        units: Vec<u64>,
    },
    /// Adds the bodies of a packing's samples.
    AddBodies {
        /// What they are added to.
        value: ValueId,
        /// The packing.
        packing: usize,
    },
    /// `left + right`.
    Add {
        /// A value.
        left: ValueId,
        /// Another one of its type.
        right: ValueId,
    },
    /// `left - right`.
    Sub {
        /// A value.
        left: ValueId,
        /// Another one of its type.
        right: ValueId,
    },
    /// Adds a plaintext to the first component: modulo `t` what its message and factor ask for, of integers themselves.
    AddPlain {
        /// What it is added to.
        value: ValueId,
        /// The plaintext.
        plain: Plain,
    },
    /// Times a number. A product by 1 costs nothing: it is the same value, with its message read at another scale.
    Scale {
        /// What is multiplied.
        value: ValueId,
        /// The number.
        by: Scalar,
    },
    /// Times the special moduli, over which the result is extended.
    Extend {
        /// What is extended.
        value: ValueId,
    },
    /// `X -> X^element`, under the same secret. The result may be extended where the value is not, and is where it is.
    Automorphism {
        /// What is mapped.
        value: ValueId,
        /// The Galois element.
        element: usize,
    },
    /// The same message under another secret, by a key switch.
    SwitchSecret {
        /// What is switched.
        value: ValueId,
        /// The secret.
        to: Secret,
    },
    /// Times the polynomial of an RGSW ciphertext, by the digits of both components. The message is that of the product, held as that of the
    /// value.
    ExternalProduct {
        /// What is multiplied.
        value: ValueId,
        /// What it is multiplied by.
        by: Rgsw,
    },
    /// The centred components, modulo the moduli of the higher level of the result.
    Raise {
        /// What is raised.
        value: ValueId,
    },
    /// Modulus switch: divides by the special moduli, if the value is extended over them, and by the last moduli, down to
    /// the level of the result.
    Switch {
        /// What is switched.
        value: ValueId,
    },
    /// Level drop: leaves the last moduli out.
    Drop {
        /// What is dropped.
        value: ValueId,
    },
    /// Dimension switch at level 0, rounded to `t`.
    ToSamples {
        /// What is switched.
        value: ValueId,
    },
    /// A result for the client.
    Output {
        /// Its name, alone among results.
        name: String,
        /// The result.
        value: ValueId,
    },
}

/// An operation, the type of its value, and the program's step that it is a part of.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The operation.
    pub op: Op,
    /// Type of its value; of an output, that of the result.
    pub ty: Type,
    /// Number of the program's step.
    pub of: usize,
}

/// The operations of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// Parameters of ciphertexts and samples.
    pub parameters: Parameters,
    /// The keys that are used, each with the level it is made for.
    pub keys: KeyNeeds,
    /// Integers of plaintexts and tables.
    pub constants: Vec<Constant>,
    /// Packings.
    pub packings: Vec<Packing>,
    /// Operations in order.
    pub steps: Vec<Step>,
}

impl Op {
    /// Name in text.
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

    /// Values it reads, without the samples of a packing.
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
