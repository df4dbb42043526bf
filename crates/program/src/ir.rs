//! The types of the intermediate representation.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Format written, and the only one read.
pub(crate) const FORMAT: &str = "palladion-program/5";

/// log2 of the largest probability that any slot of a run is wrong.
pub const MAX_LOG2_FAILURE: f64 = -40.0;

/// A value: the number of the step that makes it.
pub type ValueId = usize;

/// A constant: its place in [`Program::constants`].
pub type ConstantId = usize;

/// Parameters the program was planned for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Ring degree `N`.
    pub n: usize,
    /// Plaintext modulus `t`.
    pub t: u64,
    /// Modulus chain.
    pub q: Vec<u64>,
    /// Special moduli of key switching.
    pub p: Vec<u64>,
    /// Limbs per digit of key switching.
    pub digit_limbs: usize,
    /// LWE dimension.
    pub lwe_dimension: usize,
    /// Bits of a digit of the dimension switch.
    pub lwe_digit_bits: u32,
    /// Noise so many bits above a rounding's is not worth dropping another limb.
    pub slack_bits: f64,
    /// Rotations of the LWE secret that are held ready for each packing key, at most: a power of two.
    pub baby_steps: usize,
}

impl Parameters {
    /// log2(Q) at a level.
    pub fn log_q(&self, level: usize) -> f64 {
        self.q
            .iter()
            .take(level + 1)
            .map(|&q| (q as f64).log2())
            .sum()
    }

    /// log2(QP).
    pub fn log_qp(&self) -> f64 {
        self.q
            .iter()
            .chain(&self.p)
            .map(|&q| (q as f64).log2())
            .sum()
    }
}

/// What a ciphertext's message is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// Coefficients.
    Coefficients,
    /// This many values in the slots, each in as many copies as fit.
    Slots(usize),
}

/// Type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Type {
    /// A ciphertext.
    Ciphertext {
        /// How its message is read.
        form: Form,
        /// Limbs minus one.
        level: usize,
        /// log2 of the predicted root mean square of the residual.
        noise_bits: f64,
    },
    /// LWE samples modulo `t`, one per coefficient.
    Samples,
}

/// How a table's polynomial is cut up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableShape {
    /// Segments that copies of a value evaluate at once; 1 if copies are not used.
    pub segments: usize,
    /// Digits `k_0, k_1, k_2` of the exponent within a segment.
    pub digits: [usize; 3],
}

impl TableShape {
    /// Coefficients of one segment.
    pub fn segment_len(&self) -> usize {
        self.digits.iter().product()
    }
}

/// The indices that a table is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Indices {
    /// Largest magnitude of a layer's accumulators, without noise.
    pub bound: i64,
    /// Largest magnitude at which the polynomial is the table: noise beyond it gives a wrong value.
    pub border: i64,
}

/// One output of a dense layer: which image's, and which neuron.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Image in the batch.
    pub image: usize,
    /// Neuron.
    pub output: usize,
}

/// One product of a sum: a ciphertext times a sparse polynomial of small integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// Left factor.
    pub value: ValueId,
    /// Weights of the right one.
    pub weights: ConstantId,
    /// Their exponents: of each weight, its power of `X` below `2N`, where `X^N = -1`.
    pub exponents: ConstantId,
}

/// A value in slots: the slot of its first copy, its image, its place in the layer's output, and the
/// samples whose sum it is, each by source and coefficient.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packed(pub usize, pub usize, pub usize, pub Vec<[usize; 2]>);

/// Part of an image in a ciphertext: its value of channel `c`, row `y`, column `x` is coefficient
/// `start + (c - channels[0]) pitch[0] + y pitch[1] + x`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Patch {
    /// Image in the batch.
    pub image: usize,
    /// Its channels, from the first up to before the second.
    pub channels: [usize; 2],
    /// Coefficient of its first value.
    pub start: usize,
    /// Coefficients from one channel to the next, and from one row to the next.
    pub pitch: [usize; 2],
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Op {
    /// Ciphertext `index` of the client.
    Input {
        /// Which of the client's ciphertexts.
        index: usize,
    },
    /// Sum of products with sparse polynomials: a linear layer on coefficients.
    MulCoefficients {
        /// The products.
        terms: Vec<Term>,
    },
    /// Sum with integers at given coefficients.
    AddCoefficients {
        /// Left term.
        value: ValueId,
        /// Values added, or one that is added everywhere.
        term: ConstantId,
        /// Their coefficients.
        at: ConstantId,
    },
    /// Modulus switch to level 0, dimension switch, and rounding to `t`.
    ToSamples {
        /// What is switched.
        value: ValueId,
    },
    /// LWE samples into slots; slots that are not named hold 0.
    Pack {
        /// Batches of samples.
        sources: Vec<ValueId>,
        /// What is packed, by slot.
        values: Vec<Packed>,
        /// Level the packing starts at.
        start_level: usize,
    },
    /// Functional bootstrapping.
    Table {
        /// Table index.
        value: ValueId,
        /// Coefficients of its polynomial modulo `t`.
        polynomial: ConstantId,
        /// How they are evaluated.
        shape: TableShape,
        /// Indices at which they are right.
        indices: Indices,
    },
    /// Product of two values in slots, slot by slot.
    Product {
        /// One factor.
        left: ValueId,
        /// The other one, with as many values.
        right: ValueId,
    },
    /// Dense layer from slots: output `o` is coefficient `o`.
    Dense {
        /// Inputs; image `b` has its values at `b * inputs`.
        value: ValueId,
        /// Weights, by neuron, `inputs` each.
        weights: ConstantId,
        /// Inputs of a neuron.
        inputs: usize,
        /// Outputs computed, by coefficient.
        rows: Vec<Row>,
    },
    /// Slots to coefficients, in the transform's own order.
    SlotsToCoefficients {
        /// What is transformed.
        value: ValueId,
    },
    /// A result for the client.
    Output {
        /// The result.
        value: ValueId,
        /// What its coefficients are, in order: logits by image and class.
        rows: Vec<Row>,
        /// Their coefficients.
        at: Vec<usize>,
    },
}

impl Op {
    /// Name in text.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Input { .. } => "input",
            Self::MulCoefficients { .. } => "mul_coefficients",
            Self::AddCoefficients { .. } => "add_coefficients",
            Self::ToSamples { .. } => "to_samples",
            Self::Pack { .. } => "pack",
            Self::Table { .. } => "table",
            Self::Product { .. } => "product",
            Self::Dense { .. } => "dense",
            Self::SlotsToCoefficients { .. } => "slots_to_coefficients",
            Self::Output { .. } => "output",
        }
    }

    /// Values it reads.
    pub fn operands(&self) -> Vec<ValueId> {
        match self {
            Self::Input { .. } => Vec::new(),
            Self::Pack { sources, .. } => sources.clone(),
            Self::MulCoefficients { terms } => terms.iter().map(|t| t.value).collect(),
            Self::Product { left, right } => vec![*left, *right],
            Self::AddCoefficients { value, .. }
            | Self::ToSamples { value }
            | Self::Table { value, .. }
            | Self::Dense { value, .. }
            | Self::SlotsToCoefficients { value }
            | Self::Output { value, .. } => vec![*value],
        }
    }

    /// Constants it reads.
    pub fn constants(&self) -> Vec<ConstantId> {
        match self {
            Self::MulCoefficients { terms } => terms
                .iter()
                .flat_map(|t| [t.weights, t.exponents])
                .collect(),
            Self::AddCoefficients { term, at, .. } => vec![*term, *at],
            Self::Table { polynomial: c, .. } | Self::Dense { weights: c, .. } => vec![*c],
            _ => Vec::new(),
        }
    }
}

/// One step: an operation, the type of its value, and the layer it belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The operation.
    pub op: Op,
    /// Type of the value it makes.
    pub ty: Type,
    /// Layer of the network, for reports.
    pub layer: String,
    /// Predicted seconds on one thread.
    pub seconds: f64,
}

impl Step {
    /// The operation, and the form and level of its value; no noise, since machines round logarithms in their own ways.
    fn identity(&self) -> (&Op, Option<(Form, usize)>) {
        let ty = match self.ty {
            Type::Ciphertext { form, level, .. } => Some((form, level)),
            Type::Samples => None,
        };
        (&self.op, ty)
    }
}

/// Integers of the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// Name, for people.
    pub name: String,
    /// Values.
    pub values: Vec<i64>,
}

/// What is predicted of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    /// Bytes of the client's ciphertexts, as files.
    pub input_bytes: u64,
    /// Bytes of the evaluation keys, as files.
    pub key_bytes: u64,
    /// Smallest margin over all ciphertexts, in bits: by how much six deviations of the predicted
    /// noise stay below what decryption bears.
    pub margin_bits: f64,
    /// log2 of a bound on the probability that any slot of a run is wrong: at most
    /// [`MAX_LOG2_FAILURE`].
    pub log2_failure: f64,
}

/// A program over ciphertexts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Format; [`Program::new`] sets it.
    pub format: String,
    /// Name of the network.
    pub name: String,
    /// Images in one run.
    pub batch: usize,
    /// Shape of an image: channels, height, width.
    pub input: [usize; 3],
    /// Smallest and largest integer of an image.
    pub input_range: [i64; 2],
    /// Classes.
    pub classes: usize,
    /// What the model's own arrays are to the integers of its input and output: for the client,
    /// as the network has it. A run does not look into it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<serde_json::Value>,
    /// For each of the client's ciphertexts, what lies in it.
    pub placement: Vec<Vec<Patch>>,
    /// Parameters.
    pub parameters: Parameters,
    /// Highest level each kind of key is used at.
    pub keys: KeyNeeds,
    /// Predictions.
    pub prediction: Prediction,
    /// Constants.
    pub constants: Vec<Constant>,
    /// Steps in order.
    pub steps: Vec<Step>,
}

/// Keys the program uses, each with the highest level it is used at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyNeeds {
    /// Relinearization key.
    pub relinearization: Option<usize>,
    /// Galois elements.
    pub galois: Vec<(usize, usize)>,
    /// Numbers of values packed.
    pub packing: Vec<(usize, usize)>,
}

impl Program {
    /// Reads and verifies a program.
    ///
    /// # Errors
    /// [`Error::Json`], [`Error::Format`] and those of [`Program::verify`].
    pub fn from_json(text: &str) -> Result<Self> {
        let program: Self = serde_json::from_str(text).map_err(|e| Error::Json(e.to_string()))?;
        program.verify()?;
        Ok(program)
    }

    /// The JSON form.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a program has no keys that are not strings")
    }

    /// What the program computes, as text: all that a run, a key or a ciphertext depends on, and nothing that is
    /// predicted of it or named for people. Programs of one identity take each other's keys and queries.
    pub fn identity(&self) -> String {
        let steps: Vec<_> = self.steps.iter().map(Step::identity).collect();
        let constants: Vec<_> = self.constants.iter().map(|c| &c.values).collect();
        let Self {
            batch,
            input,
            input_range,
            classes,
            interface,
            placement,
            parameters,
            keys,
            ..
        } = self;
        let client = (batch, input, input_range, classes, interface, placement);
        let whole = (FORMAT, client, parameters, keys, constants, steps);
        serde_json::to_string(&whole).expect("a program has no keys that are not strings")
    }

    /// The value's type.
    pub fn ty(&self, value: ValueId) -> &Type {
        &self.steps[value].ty
    }
}
