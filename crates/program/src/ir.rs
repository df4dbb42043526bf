//! The types of the intermediate representation.

use crate::error::{Error, Result};
use crate::flood::Flood;
use crate::public_inputs::PublicInputs;
use serde::{Deserialize, Serialize};

/// Format that is written. No other format is read.
pub(crate) const FORMAT: &str = "palladion-program/5";

/// log2 of the largest probability allowed that any slot of a run is wrong.
pub const MAX_LOG2_FAILURE: f64 = -40.0;

/// A value, given by the number of the step that makes it.
pub type ValueId = usize;

/// A constant, given by its index in [`Program::constants`].
pub type ConstantId = usize;

/// Parameters for which the program was planned.
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
    /// Bits that noise may lie above a rounding's noise before another limb is dropped.
    pub slack_bits: f64,
    /// Largest number of baby steps of a packing: rotations of the LWE secret that are held ready.
    /// A power of two.
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

/// The form in which a ciphertext holds its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// Coefficients.
    Coefficients,
    /// Values in the slots: this number of values, each in as many copies as fit.
    Slots(usize),
}

/// Type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Type {
    /// A ciphertext.
    Ciphertext {
        /// Form of the message.
        form: Form,
        /// Level: the number of limbs minus one.
        level: usize,
        /// log2 of the predicted root mean square of the residual.
        noise_bits: f64,
    },
    /// LWE samples modulo `t`, one per coefficient.
    Samples,
}

/// The split of a table's polynomial for its evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableShape {
    /// Number of segments that the copies of a value evaluate at the same time. 1 if copies are not
    /// used.
    pub segments: usize,
    /// Digits `k_0, k_1, k_2` of the exponent within a segment.
    pub digits: [usize; 3],
}

impl TableShape {
    /// Number of coefficients of one segment.
    pub fn segment_len(&self) -> usize {
        self.digits.iter().product()
    }
}

/// The indices of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Indices {
    /// Largest absolute value of a layer's accumulators, without noise.
    pub bound: i64,
    /// Largest absolute value at which the polynomial equals the table. If noise goes beyond it,
    /// the value is wrong.
    pub border: i64,
}

/// One output of a dense layer: its image and its neuron.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Index of the image in the batch.
    pub image: usize,
    /// Index of the neuron.
    pub output: usize,
}

/// One product of a sum: a ciphertext times a sparse polynomial of small integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// The ciphertext.
    pub value: ValueId,
    /// Weights of the polynomial.
    pub weights: ConstantId,
    /// For each weight its exponent: a power of `X` below `2N`, where `X^N = -1`.
    pub exponents: ConstantId,
}

/// One source of a merge: a ciphertext, and the distance by which its coefficients are first moved
/// down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shifted {
    /// The ciphertext.
    pub value: ValueId,
    /// The distance, below `N`.
    pub back: usize,
}

/// A value in slots: the slot of its first copy, its image, its index in the layer's output, and
/// the samples whose sum it is, each by source and coefficient.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packed(pub usize, pub usize, pub usize, pub Vec<[usize; 2]>);

/// Part of an image in a ciphertext. Its value at channel `c`, row `y`, column `x` is coefficient
/// `start + (c - channels[0]) pitch[0] + y pitch[1] + x`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Patch {
    /// Index of the image in the batch.
    pub image: usize,
    /// Channels of the patch: the first one, and the one after the last.
    pub channels: [usize; 2],
    /// Coefficient of the patch's first value.
    pub start: usize,
    /// Distance in coefficients between channels, and between rows.
    pub pitch: [usize; 2],
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Op {
    /// Ciphertext `index` of the client.
    Input {
        /// Index of the client's ciphertext.
        index: usize,
    },
    /// Sum of products with sparse polynomials: a linear layer on coefficients.
    MulCoefficients {
        /// The products.
        terms: Vec<Term>,
    },
    /// Adds integers at given coefficients.
    AddCoefficients {
        /// The ciphertext.
        value: ValueId,
        /// Values that are added, or one value that is added everywhere.
        term: ConstantId,
        /// Coefficients to which the values are added.
        at: ConstantId,
    },
    /// Modulus switch to level 0, dimension switch, and rounding to `t`.
    ToSamples {
        /// The ciphertext.
        value: ValueId,
    },
    /// Packs LWE samples into slots. Other slots hold 0.
    Pack {
        /// Batches of samples.
        sources: Vec<ValueId>,
        /// Packed values, by slot.
        values: Vec<Packed>,
        /// Level at which the packing starts.
        start_level: usize,
    },
    /// Packs all LWE samples of a ciphertext into slots. The sample of coefficient `k` comes to the
    /// slot from which slots to coefficients brings it back to `k`.
    PackAll {
        /// The samples.
        value: ValueId,
        /// Index in the layer's output of each strip of `batch` coefficients that are used, from
        /// coefficient 0 on. A strip has one coefficient for each image.
        outputs: Vec<usize>,
        /// Coefficients of a strip.
        batch: usize,
        /// Level at which the packing starts.
        start_level: usize,
    },
    /// Functional bootstrapping.
    Table {
        /// Indices of the table, in slots.
        value: ValueId,
        /// Coefficients of the table's polynomial modulo `t`.
        polynomial: ConstantId,
        /// Split of the polynomial.
        shape: TableShape,
        /// Indices at which the polynomial equals the table.
        indices: Indices,
    },
    /// Product of two values in slots, slot by slot.
    Product {
        /// One factor.
        left: ValueId,
        /// Other factor, which has as many values as the first.
        right: ValueId,
    },
    /// Dense layer from slots. Output `o` is coefficient `o`.
    Dense {
        /// Inputs. Image `b` has its values at `b * inputs`.
        value: ValueId,
        /// Weights by neuron, with `inputs` weights each.
        weights: ConstantId,
        /// Number of inputs of a neuron.
        inputs: usize,
        /// The outputs that are computed, in the order of their coefficients.
        rows: Vec<Row>,
    },
    /// Slots to coefficients, in the transform's own order.
    SlotsToCoefficients {
        /// The value in slots.
        value: ValueId,
        /// Coefficients that are kept: the first one, and the one after the last. Others become 0.
        /// `None` keeps all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<[usize; 2]>,
    },
    /// Every `m`-th coefficient of each source in one ciphertext, where `m` is the smallest power of
    /// two that is at least the number of sources. Coefficient `m i + b_k` is coefficient `m i` of
    /// source `k` divided by `X^back`, where `b_k` is `k` with its `log2(m)` bits in reverse. All
    /// other coefficients are 0. Only outputs read the result: it carries the factor `m`.
    Merge {
        /// The sources, all at one level.
        sources: Vec<Shifted>,
    },
    /// A result for the client.
    Output {
        /// The result.
        value: ValueId,
        /// Image and class of each logit, in order.
        rows: Vec<Row>,
        /// Coefficients of the logits.
        at: Vec<usize>,
        /// Noise that hides the noise of the logits, if the model is hidden.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        flood: Option<Flood>,
    },
}

impl Op {
    /// Name in the text form.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Input { .. } => "input",
            Self::MulCoefficients { .. } => "mul_coefficients",
            Self::AddCoefficients { .. } => "add_coefficients",
            Self::ToSamples { .. } => "to_samples",
            Self::Pack { .. } => "pack",
            Self::PackAll { .. } => "pack_all",
            Self::Table { .. } => "table",
            Self::Product { .. } => "product",
            Self::Dense { .. } => "dense",
            Self::SlotsToCoefficients { .. } => "slots_to_coefficients",
            Self::Merge { .. } => "merge",
            Self::Output { .. } => "output",
        }
    }

    /// Returns true if a run prepares constants for the operation beforehand.
    pub(crate) fn is_prepared(&self) -> bool {
        matches!(
            self,
            Self::Table { .. } | Self::Dense { .. } | Self::SlotsToCoefficients { .. }
        )
    }

    /// Values that the operation reads.
    pub fn operands(&self) -> Vec<ValueId> {
        match self {
            Self::Input { .. } => Vec::new(),
            Self::Pack { sources, .. } => sources.clone(),
            Self::MulCoefficients { terms } => terms.iter().map(|t| t.value).collect(),
            Self::Product { left, right } => vec![*left, *right],
            Self::Merge { sources } => sources.iter().map(|s| s.value).collect(),
            Self::AddCoefficients { value, .. }
            | Self::ToSamples { value }
            | Self::PackAll { value, .. }
            | Self::Table { value, .. }
            | Self::Dense { value, .. }
            | Self::SlotsToCoefficients { value, .. }
            | Self::Output { value, .. } => vec![*value],
        }
    }

    /// Constants that the operation reads.
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

/// One step: an operation, the type of its value, and the layer to which it belongs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The operation.
    pub op: Op,
    /// Type of the value it makes.
    pub ty: Type,
    /// Layer of the network. For reports.
    pub layer: String,
    /// Predicted seconds on one thread.
    pub seconds: f64,
}

impl Step {
    /// The operation, and form and level of its value. Noise is left out, because machines round
    /// logarithms differently.
    fn identity(&self) -> (&Op, Option<(Form, usize)>) {
        let ty = match self.ty {
            Type::Ciphertext { form, level, .. } => Some((form, level)),
            Type::Samples => None,
        };
        (&self.op, ty)
    }
}

/// Integers of the network or of the compiler, such as weights, exponents and tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// Name for display.
    pub name: String,
    /// Values.
    pub values: Vec<i64>,
}

/// Predictions for a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    /// Size of the client's ciphertexts in a file, in bytes.
    pub input_bytes: u64,
    /// Size of the evaluation keys in a file, in bytes.
    pub key_bytes: u64,
    /// Smallest margin over all ciphertexts, in bits: the bits between six deviations of the
    /// predicted noise and the limit of decryption.
    pub margin_bits: f64,
    /// log2 of a bound on the probability that any slot of a run is wrong: at most
    /// [`MAX_LOG2_FAILURE`].
    pub log2_failure: f64,
    /// Of runs whose inputs are encrypted under a public key. `None` if nothing is promised of
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_inputs: Option<PublicInputs>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes fields by reference"
)]
pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}

/// A program over ciphertexts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Format. [`Program::new`] sets it.
    pub format: String,
    /// Name of the network.
    pub name: String,
    /// Largest number of images in one run.
    pub batch: usize,
    /// Shape of an image: channels, height, width.
    pub input: [usize; 3],
    /// Smallest and largest integer of an image.
    pub input_range: [i64; 2],
    /// Number of classes.
    pub classes: usize,
    /// The rules that convert between the model's own arrays and the integers of its input and
    /// output. The network states the rules, and the client uses them. A run does not use them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<serde_json::Value>,
    /// For each of the client's ciphertexts, the parts of images in it. Empty if images are
    /// interleaved.
    pub placement: Vec<Vec<Patch>>,
    /// Whether images are interleaved: ciphertext `i` has value `i` of every image, that of image
    /// `b` at coefficient `b`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub interleaved: bool,
    /// Parameters.
    pub parameters: Parameters,
    /// Keys that the program uses, each with the highest level at which it is used.
    pub keys: KeyNeeds,
    /// Predictions.
    pub prediction: Prediction,
    /// Constants.
    pub constants: Vec<Constant>,
    /// Steps in order.
    pub steps: Vec<Step>,
}

/// Keys that a program uses, each with the highest level at which it is used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyNeeds {
    /// Level of the relinearization key, if it is used.
    pub relinearization: Option<usize>,
    /// Galois elements, with the levels of their keys.
    pub galois: Vec<(usize, usize)>,
    /// Numbers of values that are packed, with the levels of their packing keys.
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

    /// Returns the JSON form.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a program has no keys that are not strings")
    }

    /// Returns the identity of the program's computation, as text. The text has all parts on which
    /// runs, keys and ciphertexts depend, but no predictions and no names for display. Programs
    /// with the same identity can use each other's keys and queries.
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
        } = self; // an empty placement is that of interleaved images
        let client = (batch, input, input_range, classes, interface, placement);
        let whole = (FORMAT, client, parameters, keys, constants, steps);
        serde_json::to_string(&whole).expect("a program has no keys that are not strings")
    }

    /// Type of a value.
    pub fn ty(&self, value: ValueId) -> &Type {
        &self.steps[value].ty
    }
}
