//! The program of the hybrid mode: a public part that both parties hold, and the weights, which
//! only the server holds.

use std::collections::{BTreeMap, BTreeSet};

use network::{Input, Window};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cipher::{ANSWER_BITS, RingSpec};
use crate::error::{Error, Result};
use crate::form::Form;
use crate::geometry::{ConvShape, Geometry};
use crate::product_plan::{ProductKind, ProductPlan};
use crate::squared::{Squared, check_squared};

/// Format and version of programs that this crate writes and reads.
pub const FORMAT: &str = "palladion-hybrid/2";

/// Largest number of bits of a share. More bits would leave no room for noise in the words of an
/// answer.
pub const MOST_BITS: u32 = 44;
/// Largest number of values of a layer, and of all layers together with the input.
const MOST_VALUES: usize = 1 << 24;
const MOST_VALUES_IN_ALL: usize = 1 << 26;
/// Largest number of terms of all layers.
const MOST_TERMS: usize = 1 << 14;
/// Largest number of primes of all products. Each prime has tables.
const MOST_PRIMES: usize = 128;
/// Largest accumulator up to which a table is looked up on shares: the table has a value for each.
pub(crate) const MOST_TABLE: i64 = 1 << 16;

/// The protocol that applies tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activations {
    /// Both parties apply tables on shares: neither party sees an accumulator.
    Shares,
    /// The client applies tables: the server reveals every accumulator to it. This discloses the
    /// network's inner values, from which weights can be computed.
    Revealed,
}

/// The public part of a program, known to both parties.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublicProgram {
    /// Format and version: [`FORMAT`].
    pub format: String,
    /// Name of the network.
    pub name: String,
    /// The network's input.
    pub input: Input,
    /// Conversion of the model's arrays to the input, and of the logits to the model's results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<Value>,
    /// Protocol that applies tables.
    pub activations: Activations,
    /// The rings of the encrypted terms.
    pub rings: Vec<RingSpec>,
    /// Plans for the squares and products of random numbers, which layers use up. They are computed
    /// before there is an input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub products: Vec<ProductPlan>,
    /// The layers. Each comes after its sources.
    pub layers: Vec<LayerPlan>,
}

/// The public part of a layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerPlan {
    /// Name of the layer.
    pub name: String,
    /// Shape of the accumulators and outputs.
    pub shape: [usize; 3],
    /// `l`: the accumulators are shared modulo `2^l`.
    pub bits: u32,
    /// Bound on the absolute value of an accumulator, for every input.
    pub largest: i64,
    /// Bits of the outputs' shares, which are modulo `2^output_bits`: the largest `bits` of the
    /// layers that read the outputs.
    pub output_bits: u32,
    /// Terms with weights of the server, computed under encryption.
    pub encrypted: Vec<EncryptedTerm>,
    /// Terms with public weights, which each party computes on its own share: pooling sums,
    /// residual branches, differences.
    pub local: Vec<LocalTerm>,
    /// A product of two sources, value by value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product: Option<ProductTerm>,
    /// The step from accumulators to outputs.
    pub step: Step,
}

/// A convolution or a matrix product under encryption.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncryptedTerm {
    /// Source of the term: 0 is the input and `k` is the output of layer `k`, counted from 1.
    pub source: usize,
    /// Shape of the convolution.
    pub shape: ConvShape,
    /// Number of channels of the source that share a ciphertext. The fewer they are, the more
    /// kernels share an answer.
    pub tile_channels: usize,
    /// Index of the ring in [`PublicProgram::rings`].
    pub ring: usize,
    /// `f`: uniform integers in `[-2^f, 2^f)` flood the noise.
    pub flood_bits: u32,
    /// Bits of the words of an answer.
    pub answer_bits: u32,
}

/// A term with public weights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalTerm {
    /// Source of the term, as in [`EncryptedTerm::source`].
    pub source: usize,
    /// The map. Its weights are divided by the common divisor of the layer's weights.
    pub window: Window,
}

/// The product of two sources, as in `network::Product`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProductTerm {
    /// Source of the first factor, which has the shape of the product. As in
    /// [`EncryptedTerm::source`].
    pub left: usize,
    /// Source of the second factor, which is repeated along sides of length 1.
    pub right: usize,
}

/// The step of a layer from accumulators to outputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// Multiplication, shift and clip.
    Form(Form),
    /// Square, shift and clip.
    Square(Squared),
    /// A table: the accumulator of its first value, and its values. Beyond its ends a table has the
    /// value at the end.
    Table {
        /// Accumulator of the first value.
        first: i64,
        /// The values.
        values: Vec<i64>,
    },
    /// The accumulators are the logits, which the client learns.
    Logits,
}

impl Step {
    /// Computes the output for an accumulator.
    pub fn apply(&self, x: i64) -> i64 {
        match self {
            Self::Form(form) => form.apply(x),
            Self::Square(squared) => squared.apply(x),
            Self::Table { first, values } => {
                let last = values.len() as i64 - 1;
                values[(x - first).clamp(0, last) as usize]
            }
            Self::Logits => x,
        }
    }
}

/// A program with its weights: the server's file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The public part, which the client receives.
    pub public: PublicProgram,
    /// The weights of each layer, which stay with the server.
    pub weights: Vec<LayerWeights>,
}

/// Weights of a layer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerWeights {
    /// For each encrypted term, its weights in the order kernel, channel of the group, row, column.
    pub terms: Vec<Vec<i64>>,
    /// One bias per channel of the output.
    pub bias: Vec<i64>,
}

impl PublicProgram {
    /// Reads and checks a public part.
    ///
    /// # Errors
    /// [`Error::Program`] for JSON of another kind, and for a program that does not pass its check.
    pub fn from_json(text: &str) -> Result<Self> {
        let public: Self = parse(text)?;
        public.check()?;
        Ok(public)
    }

    /// Writes the public part as one line of JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("strings, numbers and lists are always JSON")
    }

    /// Shape of a source: 0 is the input, and `k` is the output of layer `k`.
    pub(crate) fn shape_of(&self, source: usize) -> [usize; 3] {
        match source.checked_sub(1) {
            None => self.input.shape,
            Some(index) => self.layers[index].shape,
        }
    }

    /// The number of squares and triples that one input uses up, by the bits of their modulus.
    /// There are none if accumulators are revealed.
    pub(crate) fn product_counts(&self) -> BTreeMap<(ProductKind, u32), usize> {
        let mut counts = BTreeMap::new();
        if self.activations == Activations::Revealed {
            return counts;
        }
        for layer in &self.layers {
            let values: usize = layer.shape.iter().product();
            if let Step::Square(squared) = &layer.step {
                *counts
                    .entry((ProductKind::Squares, squared.bits))
                    .or_default() += values;
            }
            if layer.product.is_some() {
                *counts
                    .entry((ProductKind::Triples, layer.bits))
                    .or_default() += values;
            }
        }
        counts
    }

    /// Checks that there are `count` inputs of the right length and range.
    ///
    /// # Errors
    /// [`Error::Input`] for another number, length or range.
    pub fn check_inputs(&self, inputs: &[Vec<i64>], count: u32) -> Result<()> {
        let fault = |what, found, expected: String| Error::Input {
            what,
            found,
            expected,
        };
        if inputs.len() != count as usize {
            return Err(fault("a count of", inputs.len() as i64, count.to_string()));
        }
        let (expected, min, max) = (self.input.values(), self.input.min, self.input.max);
        for input in inputs {
            if input.len() != expected {
                let found = input.len() as i64;
                return Err(fault("a number of values of", found, expected.to_string()));
            }
            if let Some(&found) = input.iter().find(|x| !(min..=max).contains(*x)) {
                return Err(fault("a value of", found, format!("{min} to {max}")));
            }
        }
        Ok(())
    }

    /// Checks the invariants of a program that comes from a file or from the other party.
    ///
    /// # Errors
    /// [`Error::Program`] for a program that breaks one of them.
    pub fn check(&self) -> Result<()> {
        if self.format != FORMAT {
            return Err(Error::program("the program's format", &self.format, FORMAT));
        }
        in_range("the number of rings", self.rings.len(), 0, 16)?;
        in_range("the number of layers", self.layers.len(), 1, 1 << 12)?;
        self.rings.iter().try_for_each(RingSpec::check)?;
        let values = |shape: [usize; 3]| {
            shape
                .into_iter()
                .fold(1usize, |all, side| all.saturating_mul(side))
        };
        in_range(
            "the size of the input",
            values(self.input.shape),
            1,
            MOST_VALUES,
        )?;
        let shapes = self.layers.iter().map(|layer| layer.shape);
        let all = shapes
            .map(values)
            .fold(values(self.input.shape), usize::saturating_add);
        in_range(
            "the number of values of all layers",
            all,
            1,
            MOST_VALUES_IN_ALL,
        )?;
        let terms = self
            .layers
            .iter()
            .map(|layer| layer.encrypted.len() + layer.local.len());
        in_range(
            "the number of terms of all layers",
            terms.sum(),
            0,
            MOST_TERMS,
        )?;
        for (index, layer) in self.layers.iter().enumerate() {
            let place = |what: &str| format!("layer {}: {what}", layer.name);
            in_range(
                place("the number of values"),
                values(layer.shape),
                1,
                MOST_VALUES,
            )?;
            in_range(place("the bits of a share"), layer.bits, 2, MOST_BITS)?;
            let most = 1i64 << (layer.bits - 1);
            in_range(place("the largest accumulator"), layer.largest, 0, most - 1)?;
            in_range(
                place("the bits of an output"),
                layer.output_bits,
                1,
                MOST_BITS,
            )?;
            let product = usize::from(layer.product.is_some());
            let terms = layer.encrypted.len() + layer.local.len() + product;
            in_range(place("the number of terms"), terms, 1, 64)?;
            for term in &layer.encrypted {
                self.check_term(index, term)
                    .map_err(|e| e.within(&layer.name))?;
            }
            for term in &layer.local {
                self.check_local(index, term)
                    .map_err(|e| e.within(&layer.name))?;
            }
            if let Some(product) = &layer.product {
                self.check_product(index, product)
                    .map_err(|e| e.within(&layer.name))?;
            }
            let last = index + 1 == self.layers.len();
            match &layer.step {
                Step::Logits if last => {}
                Step::Form(form) if !last => {
                    in_range(place("the shift"), form.shift, 0, layer.bits - 1)?;
                    in_range(place("the clips"), form.low, -(1 << 15), form.high)?;
                    in_range(place("the clips"), form.high, form.low, 1 << 16)?;
                    in_range(place("the multiplier"), form.multiplier, -most, most)?;
                    in_range(place("the offset"), form.offset, -most, most)?;
                }
                Step::Square(squared) if !last => {
                    check_squared(layer, squared).map_err(|e| e.within(&layer.name))?;
                }
                Step::Table { first, values } if !last => {
                    let reach = 1i64 << MOST_BITS;
                    in_range(place("the length of the table"), values.len(), 1, 1 << 16)?;
                    in_range(place("the first entry of the table"), *first, -reach, reach)?;
                    for &value in values {
                        in_range(place("a value of the table"), value, -reach, reach)?;
                    }
                    if self.activations == Activations::Shares {
                        let what = place("the largest accumulator of a table");
                        in_range(what, layer.largest, 0, MOST_TABLE)?;
                    }
                }
                _ => {
                    let expected = "a table in every layer but the last";
                    return Err(Error::program(place("its step"), "misplaced", expected));
                }
            }
        }
        let needed: BTreeSet<_> = self.product_counts().into_keys().collect();
        let planned: BTreeSet<_> = self.products.iter().map(|p| (p.kind, p.bits)).collect();
        if planned.len() != self.products.len() || planned != needed {
            let (found, expected) = (format!("{planned:?}"), format!("{needed:?}, each once"));
            return Err(Error::program(
                "the products that are made",
                found,
                expected,
            ));
        }
        let primes = self.products.iter().map(|plan| plan.primes.len()).sum();
        in_range(
            "the number of primes of all products",
            primes,
            0,
            MOST_PRIMES,
        )?;
        self.products
            .iter()
            .try_for_each(|plan| plan.check(&self.rings))
    }

    fn check_product(&self, layer: usize, product: &ProductTerm) -> Result<()> {
        for source in [product.left, product.right] {
            in_range("the source of a product", source, 1, layer)?;
        }
        let expected = self.layers[layer].shape;
        let [left, right] = [product.left, product.right].map(|source| self.shape_of(source));
        let repeats = right
            .iter()
            .zip(expected)
            .all(|(&side, of)| side == of || side == 1);
        if left != expected || !repeats {
            let found = format!("{left:?} and {right:?}");
            return Err(Error::program(
                "the shapes of a product's factors",
                found,
                format!("{expected:?}"),
            ));
        }
        Ok(())
    }

    fn check_term(&self, layer: usize, term: &EncryptedTerm) -> Result<()> {
        in_range("the source of a term", term.source, 0, layer)?;
        let plan = &self.layers[layer];
        let Some(ring) = self.rings.get(term.ring) else {
            return Err(Error::program(
                "a ring",
                term.ring,
                format!("below {}", self.rings.len()),
            ));
        };
        let source = self.shape_of(term.source);
        let flat = [source.iter().product(), 1, 1];
        if ![source, flat].contains(&term.shape.source) || !term.shape.is_sound() {
            let (found, expected) = (format!("{:?}", term.shape), format!("for {source:?}"));
            return Err(Error::program("the shape of a term", found, expected));
        }
        if term.shape.output() != plan.shape {
            let (found, expected) = (term.shape.output(), plan.shape);
            return Err(Error::program(
                "the shape of a term's result",
                format!("{found:?}"),
                format!("{expected:?}"),
            ));
        }
        Geometry::new(&term.shape, ring.n, term.tile_channels)
            .map_err(|misfit| misfit.into_error(ring.n))?;
        let bits = plan.bits + 2 + ring.n.ilog2();
        in_range("the bits of an answer", term.answer_bits, bits, ANSWER_BITS)?;
        let most = (ring.log_q() - f64::from(plan.bits) - 1.9).floor();
        in_range(
            "the bits of a flood",
            term.flood_bits,
            1,
            most.max(1.0) as u32,
        )
    }

    fn check_local(&self, layer: usize, term: &LocalTerm) -> Result<()> {
        in_range("the source of a term", term.source, 0, layer)?;
        let source = self.shape_of(term.source);
        let found = local_shape(&term.window, source);
        let expected = self.layers[layer].shape;
        let weights = term.window.kernel[0].saturating_mul(term.window.kernel[1]);
        if found != Some(expected) || term.window.weights.len() != weights {
            return Err(Error::program(
                "the shape of a window's result",
                format!("{found:?}"),
                format!("{expected:?}"),
            ));
        }
        Ok(())
    }
}

/// Shape of a window's result. `None` if the window does not fit its source.
fn local_shape(window: &Window, source: [usize; 3]) -> Option<[usize; 3]> {
    let shape = ConvShape {
        source,
        kernels: source[0],
        groups: source[0],
        kernel: window.kernel,
        stride: window.stride,
        dilation: window.dilation,
        pads: window.pads,
    };
    let last = window.first.checked_add(source[0])?;
    if !shape.is_sound() || last > window.channels {
        return None;
    }
    let [_, height, width] = shape.output();
    Some([window.channels, height, width])
}

impl Program {
    /// Reads and checks a program.
    ///
    /// # Errors
    /// [`Error::Program`] for JSON of another kind, and for a program that does not pass its check.
    pub fn from_json(text: &str) -> Result<Self> {
        let program: Self = parse(text)?;
        program.check()?;
        Ok(program)
    }

    /// Writes the program as one line of JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("strings, numbers and lists are always JSON")
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.public.check()?;
        let layers = self.public.layers.len();
        in_range(
            "the layers with weights",
            self.weights.len(),
            layers,
            layers,
        )?;
        for (layer, weights) in self.public.layers.iter().zip(&self.weights) {
            let place = |what: &str| format!("layer {}: {what}", layer.name);
            let (terms, channels) = (layer.encrypted.len(), layer.shape[0]);
            in_range(
                place("terms with weights"),
                weights.terms.len(),
                terms,
                terms,
            )?;
            in_range(place("biases"), weights.bias.len(), channels, channels)?;
            let reach = 1i64 << MOST_BITS;
            for &number in weights.terms.iter().flatten().chain(&weights.bias) {
                in_range(place("a weight or bias"), number, -reach, reach)?;
            }
            for (term, weights) in layer.encrypted.iter().zip(&weights.terms) {
                let expected = term.shape.weights();
                in_range(place("weights"), weights.len(), expected, expected)?;
            }
        }
        Ok(())
    }
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T> {
    serde_json::from_str(text)
        .map_err(|error| Error::program("the program", error, "one of `compile --mode hybrid`"))
}

pub(crate) fn in_range<T: PartialOrd + ToString>(
    what: impl Into<String>,
    found: T,
    least: T,
    most: T,
) -> Result<()> {
    if least <= found && found <= most {
        return Ok(());
    }
    let expected = if least == most {
        least.to_string()
    } else {
        format!("{} to {}", least.to_string(), most.to_string())
    };
    Err(Error::program(what, found, expected))
}
