//! The data of a network, as in its file. `docs/int-network.md` defines it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::input::Input;
use crate::linear::Linear;
use crate::lut::Lut;

/// Format and version that this crate writes.
pub const FORMAT: &str = "palladion-int-network/3";

/// The previous format. It is read as well: see [`IntNetwork::modernised`].
const FORMER: &str = "palladion-int-network/2";

/// A network of exact integers: linear groups, each followed by a table except the last.
#[derive(Clone, Debug, PartialEq)]
pub struct IntNetwork {
    /// Name for display.
    pub name: String,
    /// The network's input: source 0.
    pub input: Input,
    /// The rules by which the model's own arrays become the input, and the logits become outputs.
    /// Programs carry the interface to the client, which uses it. This crate does not interpret the
    /// interface. `docs/int-network.md` defines it.
    pub interface: Option<Value>,
    /// The layers. Each layer comes after those that it reads.
    pub layers: Vec<Layer>,
}

/// A linear group and the table that follows it. The group adds up its terms, a product of two
/// values and a bias.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Name for display, reports and errors. No two layers have the same name.
    pub name: String,
    /// The terms to add up. All give the same shape. A layer with a product may have none.
    pub terms: Vec<Term>,
    /// A product that is added to the terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product: Option<Product>,
    /// One bias per output channel.
    pub bias: Vec<i64>,
    /// Bound of the accumulators, which are expected in `-bound..=bound`. `bound < 32768`.
    pub bound: i64,
    /// Activation and requantisation. `None` in the last layer, whose accumulators are the logits.
    #[serde(default)]
    pub lut: Option<Lut>,
    /// Real value of the integer 1 in the output. Evaluation does not use it.
    pub scale: f64,
}

/// A linear map of the input or of an earlier layer's output.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// The value that the term reads.
    pub source: Source,
    /// The map that is applied to the source.
    pub linear: Linear,
}

/// The product of two earlier layers' outputs, value by value. In a file it is a list of two
/// numbers.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(from = "[Source; 2]", into = "[Source; 2]")]
pub struct Product {
    /// First factor. Its shape is that of the product.
    pub left: Source,
    /// Second factor. Each side is that of the product, or 1: then its values are repeated along
    /// that side.
    pub right: Source,
}

impl From<[Source; 2]> for Product {
    fn from([left, right]: [Source; 2]) -> Self {
        Self { left, right }
    }
}

impl From<Product> for [Source; 2] {
    fn from(product: Product) -> Self {
        [product.left, product.right]
    }
}

/// A value that a term or a product reads. In a file, 0 is the input and `k` is the output of layer
/// `k`, counted from 1.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[serde(from = "usize", into = "usize")]
pub enum Source {
    /// The network's input.
    Input,
    /// The output of `layers[index]`, with `index` counted from 0.
    Layer(usize),
}

impl From<usize> for Source {
    fn from(number: usize) -> Self {
        number.checked_sub(1).map_or(Self::Input, Self::Layer)
    }
}

impl From<Source> for usize {
    fn from(source: Source) -> Self {
        match source {
            Source::Input => 0,
            Source::Layer(index) => index.saturating_add(1),
        }
    }
}

/// A network and its format, as written to a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File<'a> {
    format: Cow<'a, str>,
    name: Cow<'a, str>,
    input: Cow<'a, Input>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    interface: Option<Cow<'a, Value>>,
    layers: Cow<'a, [Layer]>,
}

/// Fields that files of every version have.
#[derive(Deserialize)]
struct Header {
    format: String,
}

impl IntNetwork {
    /// Reads a network and checks all of it.
    ///
    /// # Errors
    /// [`Error::Json`] for text of another form, [`Error::Format`] for a file of another version,
    /// and every error of [`check`](Self::check).
    pub fn from_json(text: &str) -> Result<Self> {
        let header: Header = parse(text)?;
        if header.format != FORMAT && header.format != FORMER {
            return Err(Error::Format {
                found: header.format,
                expected: FORMAT,
            });
        }
        let file: File<'_> = parse(text)?;
        let network = Self {
            name: file.name.into_owned(),
            input: file.input.into_owned(),
            interface: file.interface.map(Cow::into_owned),
            layers: file.layers.into_owned(),
        };
        network.check()?;
        if header.format == FORMER {
            return network.modernised();
        }
        Ok(network)
    }

    /// Converts a network of the former format. There, mean and deviation were those of pixels from
    /// 0 to 1, and arrays were taken as pixels after that normalisation.
    fn modernised(mut self) -> Result<Self> {
        let channels = self.input.shape[0];
        let or = |list: Vec<f64>, other| match list.is_empty() {
            true => vec![other; channels],
            false => list,
        };
        let mean = or(std::mem::take(&mut self.input.mean), 0.0);
        let std = or(std::mem::take(&mut self.input.std), 1.0);
        let shapes = self.shapes()?;
        let (shape, layer) = (shapes.last(), self.layers.last());
        self.interface = Some(serde_json::json!({
            "takes": {
                "name": "input",
                "shape": self.input.shape,
                "pixels": {"mean": mean, "std": std},
            },
            "gives": {"name": "logits", "shape": shape, "scale": [layer.map_or(1.0, |l| l.scale)]},
        }));
        Ok(self)
    }

    /// Everything that a client needs to know of the network: `input` as in the file, and
    /// `interface` if there is one.
    pub fn for_client(&self) -> Value {
        let mut found = serde_json::json!({ "input": self.input });
        if let Some(interface) = &self.interface {
            found["interface"] = interface.clone();
        }
        found
    }

    /// Returns the network as one line of JSON. [`from_json`](Self::from_json) reads an equal
    /// network back if [`check`](Self::check) passes.
    pub fn to_json(&self) -> String {
        let file = File {
            format: FORMAT.into(),
            name: Cow::Borrowed(&self.name),
            input: Cow::Borrowed(&self.input),
            interface: self.interface.as_ref().map(Cow::Borrowed),
            layers: Cow::Borrowed(&self.layers),
        };
        serde_json::to_string(&file).expect("strings, numbers and lists are always JSON")
    }
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T> {
    serde_json::from_str(text).map_err(|e| Error::Json {
        reason: e.to_string(),
    })
}

impl Layer {
    /// Upper bound on the number of samples that are added up in one accumulator of this layer in
    /// an encrypted run: one for each term and one for a product. Terms that add up in one
    /// ciphertext share a sample, so the compiled program may have fewer. Noise grows with the
    /// square root of the number.
    pub fn most_samples(&self) -> usize {
        self.terms.len() + usize::from(self.product.is_some())
    }

    /// Everything that the layer reads: the source of each term, then the factors of the product.
    pub fn sources(&self) -> impl Iterator<Item = Source> + '_ {
        let factors = self.product.into_iter().flat_map(<[Source; 2]>::from);
        self.terms.iter().map(|term| term.source).chain(factors)
    }

    /// Returns the table's values of accumulators. In the last layer these are the accumulators
    /// themselves.
    pub fn activate(&self, accumulators: &[i64]) -> Vec<i64> {
        match &self.lut {
            Some(lut) => accumulators.iter().map(|&a| lut.apply(a)).collect(),
            None => accumulators.to_vec(),
        }
    }
}
