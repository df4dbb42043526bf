//! The data of a network, as it stands in a file. `docs/int-network.md` is its definition.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::input::Input;
use crate::linear::Linear;
use crate::lut::Lut;

/// Format and version that this crate writes.
pub const FORMAT: &str = "palladion-int-network/3";

/// The format before, which is read as well: see [`IntNetwork::modernised`].
const FORMER: &str = "palladion-int-network/2";

/// A network of exact integers: linear groups, each followed by a table but for the last.
#[derive(Clone, Debug, PartialEq)]
pub struct IntNetwork {
    /// Name for people.
    pub name: String,
    /// What source 0 holds.
    pub input: Input,
    /// How the model's own arrays become the input, and what the logits become. Programs carry it
    /// to the client, who uses it; nothing here looks into it. `docs/int-network.md` defines it.
    pub interface: Option<Value>,
    /// The layers, each after those that it reads.
    pub layers: Vec<Layer>,
}

/// A linear group, which adds up its terms, a product of two values and a bias, and the table that follows it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Name for people, reports and errors; no other layer has it.
    pub name: String,
    /// What is added up; all terms give the same shape. None are needed beside a product.
    pub terms: Vec<Term>,
    /// A product that is added to them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product: Option<Product>,
    /// One bias per output channel.
    pub bias: Vec<i64>,
    /// Accumulators are expected in `-bound..=bound`, `bound < 32768`.
    pub bound: i64,
    /// Activation and requantisation; `None` in the last layer, whose accumulators are the logits.
    #[serde(default)]
    pub lut: Option<Lut>,
    /// Real value of the integer 1 in the output; evaluation does not use it.
    pub scale: f64,
}

/// A linear map of the input or of an earlier layer's output.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// What is read.
    pub source: Source,
    /// What is made of it.
    pub linear: Linear,
}

/// The product of two earlier layers' outputs, value by value. In a file a list of two numbers.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(from = "[Source; 2]", into = "[Source; 2]")]
pub struct Product {
    /// Has the shape of the product.
    pub left: Source,
    /// Has that shape as well, but where a side is 1, its values stand for all along that side.
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

/// What a term reads. In a file 0 is the input and `k` the output of layer `k`, counted from 1.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[serde(from = "usize", into = "usize")]
pub enum Source {
    /// The network's input.
    Input,
    /// The output of `layers[index]`, so counted from 0.
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

/// A network as it is written, with its format.
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

/// What files of every version have.
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

    /// A network of the former format as one of today's: its mean and deviation were those of
    /// pixels from 0 to 1, and arrays were taken as what pixels become by them.
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

    /// All that a client needs to know of the network: `input` as in the file, and `interface` where
    /// there is one.
    pub fn for_client(&self) -> Value {
        let mut found = serde_json::json!({ "input": self.input });
        if let Some(interface) = &self.interface {
            found["interface"] = interface.clone();
        }
        found
    }

    /// The network as one line of JSON, which [`from_json`](Self::from_json) reads back equal if
    /// [`check`](Self::check) holds.
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
    /// Samples that an accumulator of this layer is a sum of at most, in an encrypted run: each term
    /// brings one, and so does a product. Terms that add up in one ciphertext share theirs, so the
    /// compiled program may have fewer. Noise grows with the square root.
    pub fn most_samples(&self) -> usize {
        self.terms.len() + usize::from(self.product.is_some())
    }

    /// Everything that the layer reads: of each term, then of the product.
    pub fn sources(&self) -> impl Iterator<Item = Source> + '_ {
        let factors = self.product.into_iter().flat_map(<[Source; 2]>::from);
        self.terms.iter().map(|term| term.source).chain(factors)
    }

    /// What the table makes of accumulators, noise included where there is noise; in the last layer
    /// the accumulators themselves.
    pub fn activate(&self, accumulators: &[i64]) -> Vec<i64> {
        match &self.lut {
            Some(lut) => accumulators.iter().map(|&a| lut.apply(a)).collect(),
            None => accumulators.to_vec(),
        }
    }
}
