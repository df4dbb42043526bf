//! The program of the hybrid mode: a public part that both parties hold, and the weights, which only
//! the server holds.

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

/// Most bits of a share: more leave no room for noise in the words of an answer.
pub const MOST_BITS: u32 = 44;
/// Largest number of values of a layer, and of all layers with the input.
const MOST_VALUES: usize = 1 << 24;
const MOST_VALUES_IN_ALL: usize = 1 << 26;
/// Largest number of terms of all layers.
const MOST_TERMS: usize = 1 << 14;
/// Largest number of primes of all products, each of which has tables.
const MOST_PRIMES: usize = 128;
/// A table is looked up on shares if accumulators are at most this: it has a value for each.
pub(crate) const MOST_TABLE: i64 = 1 << 16;

/// How tables are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activations {
    /// By both parties on shares: neither sees an accumulator.
    Shares,
    /// By the client, to which the server reveals every accumulator. This gives away the network's
    /// inner values, from which weights can be computed.
    Revealed,
}

/// What both parties know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublicProgram {
    /// [`FORMAT`].
    pub format: String,
    /// Name of the network.
    pub name: String,
    /// The network's input.
    pub input: Input,
    /// How the model's arrays become the input, and what the logits become.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<Value>,
    /// How tables are applied.
    pub activations: Activations,
    /// The rings of the encrypted terms.
    pub rings: Vec<RingSpec>,
    /// How squares and products of random numbers are made before there is an input, for the layers
    /// that use them up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub products: Vec<ProductPlan>,
    /// The layers, each after those that it reads.
    pub layers: Vec<LayerPlan>,
}

/// A layer as both parties know it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerPlan {
    /// Its name.
    pub name: String,
    /// Shape of its accumulators and outputs.
    pub shape: [usize; 3],
    /// `l`: the accumulators are shared modulo `2^l`.
    pub bits: u32,
    /// No accumulator is larger than this in absolute value, for any input.
    pub largest: i64,
    /// The outputs are shared modulo two to this power, the largest `l` of the layers that read them.
    pub output_bits: u32,
    /// Terms with weights of the server.
    pub encrypted: Vec<EncryptedTerm>,
    /// Terms that each party computes on its own share: pooling sums, residual branches, differences.
    /// Their weights are public.
    pub local: Vec<LocalTerm>,
    /// A product of two sources, value by value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product: Option<ProductTerm>,
    /// What becomes of the accumulators.
    pub step: Step,
}

/// A convolution or a matrix product under encryption.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncryptedTerm {
    /// What it reads: 0 is the input and `k` is the output of layer `k`, counted from 1.
    pub source: usize,
    /// Its shape.
    pub shape: ConvShape,
    /// Channels of its source that share a ciphertext. The fewer they are, the more kernels share an
    /// answer.
    pub tile_channels: usize,
    /// Index of its ring.
    pub ring: usize,
    /// `f`: the noise is flooded with uniform integers in `[-2^f, 2^f)`.
    pub flood_bits: u32,
    /// Bits of the words of an answer.
    pub answer_bits: u32,
}

/// A map with public weights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalTerm {
    /// As in [`EncryptedTerm`].
    pub source: usize,
    /// The map, its weights divided by the common divisor of the layer's weights.
    pub window: Window,
}

/// The product of two sources, as in `network::Product`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProductTerm {
    /// First factor, of the shape of the product. As in [`EncryptedTerm::source`].
    pub left: usize,
    /// Second factor, repeated along sides of length 1.
    pub right: usize,
}

/// What becomes of accumulators.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// Multiplication, shift and clip.
    Form(Form),
    /// Square, shift and clip.
    Square(Squared),
    /// A table: its first accumulator, and its values from there on. Beyond its ends a table has the
    /// value at the end.
    Table {
        /// Accumulator of the first value.
        first: i64,
        /// The values.
        values: Vec<i64>,
    },
    /// The accumulators are the result, which the client learns.
    Logits,
}

impl Step {
    /// The output for an accumulator.
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

/// A program with the weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// What the client may hold.
    pub public: PublicProgram,
    /// For each layer, what only the server holds.
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
    /// [`Error::Program`] for anything that is not as it must be.
    pub fn from_json(text: &str) -> Result<Self> {
        let found: Self = parse(text)?;
        found.check()?;
        Ok(found)
    }

    /// One line of JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("strings, numbers and lists are always JSON")
    }

    /// Shape of a source: 0 is the input.
    pub(crate) fn shape_of(&self, source: usize) -> [usize; 3] {
        match source.checked_sub(1) {
            None => self.input.shape,
            Some(index) => self.layers[index].shape,
        }
    }

    /// Squares and triples that one input uses up, by the bits of their modulus. If accumulators are
    /// revealed there are none.
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
    /// [`Error::Input`].
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

    /// Checks everything on which a party relies, for a program from outside.
    ///
    /// # Errors
    /// [`Error::Program`].
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
        let made: BTreeSet<_> = self.products.iter().map(|p| (p.kind, p.bits)).collect();
        if made.len() != self.products.len() || made != needed {
            let (found, expected) = (format!("{made:?}"), format!("{needed:?}, each once"));
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
        let given = self.shape_of(term.source);
        let flat = [given.iter().product(), 1, 1];
        if ![given, flat].contains(&term.shape.source) || !term.shape.is_sound() {
            let (found, expected) = (format!("{:?}", term.shape), format!("for {given:?}"));
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
        let given = self.shape_of(term.source);
        let found = local_shape(&term.window, given);
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

/// Shape of a window's result, if it fits its source.
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
    /// [`Error::Program`].
    pub fn from_json(text: &str) -> Result<Self> {
        let found: Self = parse(text)?;
        found.check()?;
        Ok(found)
    }

    /// One line of JSON.
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
