//! Evaluation of single images: exactly, with noise, or from a middle layer on.

use rand::Rng;

use crate::error::{Error, Result};
use crate::input::Input;
use crate::model::{IntNetwork, Layer, Source};
use crate::noise::{NoiseModel, rounded_gaussian};
use crate::patches::{Patches, narrow};
use crate::place::{MAX_VALUE, Place, product};
use crate::product::Factors;

/// All integers of one evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// One entry per evaluated layer.
    pub layers: Vec<LayerTrace>,
    /// The last layer's accumulators.
    pub logits: Vec<i64>,
    /// Index of the largest logit; the first such index if several are largest.
    pub predicted: usize,
}

/// The integers of one layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerTrace {
    /// Sums of the linear group, noise included if there is noise.
    pub accumulators: Vec<i64>,
    /// The table's values of the accumulators. In the last layer the accumulators themselves.
    pub outputs: Vec<i64>,
}

impl Trace {
    /// Largest logit minus the second largest. Noise below half of this margin cannot change the
    /// class.
    pub fn margin(&self) -> i64 {
        let best = self.logits[self.predicted];
        self.logits
            .iter()
            .enumerate()
            .filter(|&(index, _)| index != self.predicted)
            .map(|(_, &logit)| best.saturating_sub(logit))
            .min()
            .unwrap_or(i64::MAX)
    }
}

/// Index of the largest logit; the first such index if several are largest.
pub(crate) fn class(logits: &[i64]) -> usize {
    let largest = (0..logits.len()).rev().max_by_key(|&i| logits[i]);
    largest.expect("a checked network has a logit")
}

/// A network prepared for evaluation: its weights are laid out for dot products, and its tables are
/// written out.
#[derive(Clone, Debug)]
pub struct Evaluator {
    pub(crate) input: Input,
    pub(crate) layers: Vec<Ready>,
}

/// A layer prepared for evaluation.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    pub(crate) name: String,
    /// Source and map of each term. Source 0 is the input and source `k` is layer `k`, counted from
    /// 1.
    terms: Vec<(usize, Patches)>,
    product: Option<Factors>,
    bias: Vec<i64>,
    /// Number of accumulators.
    pub(crate) outputs: usize,
    pub(crate) bound: i64,
    /// The table's values at `-bound..=bound`.
    pub(crate) table: Option<Vec<i16>>,
}

impl Evaluator {
    /// Checks a network and prepares it for evaluation.
    ///
    /// # Errors
    /// The errors of [`IntNetwork::check`].
    pub fn new(network: &IntNetwork) -> Result<Self> {
        let mut shapes = vec![network.input.shape];
        shapes.extend(network.shapes()?);
        let ready = |(index, layer): (usize, &Layer)| {
            let terms = layer.terms.iter().map(|term| {
                let source = usize::from(term.source);
                (source, Patches::new(&term.linear, shapes[source]))
            });
            let factors = layer.product.map(|product| {
                let sources = <[Source; 2]>::from(product).map(usize::from);
                Factors::new(sources, sources.map(|source| shapes[source]))
            });
            let bound = layer.bound;
            let table = |lut: &crate::Lut| (-bound..=bound).map(|a| narrow(lut.apply(a))).collect();
            Ready {
                name: layer.name.clone(),
                terms: terms.collect(),
                product: factors,
                bias: layer.bias.clone(),
                outputs: product(&shapes[index + 1]),
                bound,
                table: layer.lut.as_ref().map(table),
            }
        };
        Ok(Self {
            input: network.input.clone(),
            layers: network.layers.iter().enumerate().map(ready).collect(),
        })
    }

    /// Evaluates one image exactly.
    ///
    /// # Errors
    /// [`Error::Length`] and [`Error::Range`] for an image of the wrong length or with a number out
    /// of range.
    pub fn evaluate(&self, image: &[i64]) -> Result<Trace> {
        self.run(vec![self.image(image)?], None, |_, a| a)
    }

    /// As [`evaluate`](Self::evaluate), but adds a rounded Gaussian to every accumulator that
    /// enters a table.
    ///
    /// # Errors
    /// The errors of [`evaluate`](Self::evaluate), and [`Error::Length`] or [`Error::Real`] for a
    /// noise model of another network.
    pub fn evaluate_noisy<R: Rng + ?Sized>(
        &self,
        image: &[i64],
        noise: &NoiseModel,
        rng: &mut R,
    ) -> Result<Trace> {
        let image = self.image(image)?;
        self.check_noise(noise)?;
        self.run(vec![image], None, |layer, accumulator| {
            match noise.sigma_per_layer.get(layer) {
                Some(&sigma) => accumulator.saturating_add(rounded_gaussian(sigma, rng)),
                None => accumulator, // the logits
            }
        })
    }

    /// Continues from given accumulators of a layer: first its table, then the layers after it.
    /// `before` holds the image and the outputs of all layers before that layer, in order.
    ///
    /// # Errors
    /// [`Error::NoSuchLayer`] if `before` names no layer to continue from; [`Error::Length`] and
    /// [`Error::Range`] for lists that do not fit.
    pub fn evaluate_from(&self, before: &[&[i64]], accumulators: &[i64]) -> Result<Trace> {
        let Some((image, outputs)) = before.split_first() else {
            return Err(Place("input".to_owned()).length("the list of values", 0, 1));
        };
        let layer = self.layer(outputs.len())?;
        let mut values = vec![self.image(image)?];
        for (layer, outputs) in self.layers.iter().zip(outputs) {
            values.push(
                layer
                    .place()
                    .narrow("the list of outputs", outputs, layer.outputs)?,
            );
        }
        layer.check_accumulators(accumulators)?;
        self.run(values, Some(accumulators.to_vec()), |_, a| a)
    }

    /// Returns the exact accumulators of layer `layer`, counted from 0. `inputs` has one list of
    /// values per term, then one per factor of the product.
    ///
    /// # Errors
    /// [`Error::NoSuchLayer`]; [`Error::Length`] and [`Error::Range`] for lists that do not fit.
    pub fn accumulate(&self, layer: usize, inputs: &[&[i64]]) -> Result<Vec<i64>> {
        let layer = self.layer(layer)?;
        let expected: Vec<usize> = layer.reads().map(|(_, len)| len).collect();
        if inputs.len() != expected.len() {
            let (place, expected) = (layer.place(), expected.len());
            return Err(place.length("the list of inputs", inputs.len(), expected));
        }
        let inputs = inputs.iter().zip(expected);
        let inputs = inputs.map(|(values, len)| layer.place().narrow("an input", values, len));
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        Ok(layer.sums(inputs.iter().map(Vec::as_slice)))
    }

    /// As [`accumulate`](Self::accumulate), but takes the image and the outputs of all layers
    /// before, in order.
    ///
    /// # Errors
    /// As [`accumulate`](Self::accumulate), and [`Error::NoSuchLayer`] for outputs that are
    /// missing.
    pub fn accumulate_from(
        &self,
        layer: usize,
        image: &[i64],
        outputs: &[Vec<i64>],
    ) -> Result<Vec<i64>> {
        let of = |(source, _): (usize, usize)| match source.checked_sub(1) {
            None => Ok(image),
            Some(index) => outputs
                .get(index)
                .map(Vec::as_slice)
                .ok_or(Error::NoSuchLayer {
                    found: index,
                    layers: outputs.len(),
                }),
        };
        let inputs = self.layer(layer)?.reads().map(of);
        self.accumulate(layer, &inputs.collect::<Result<Vec<_>>>()?)
    }

    fn layer(&self, index: usize) -> Result<&Ready> {
        self.layers.get(index).ok_or(Error::NoSuchLayer {
            found: index,
            layers: self.layers.len(),
        })
    }

    fn image(&self, image: &[i64]) -> Result<Vec<i16>> {
        self.input.check_range(image.iter().copied())?;
        let place = Place("input".to_owned());
        place.narrow("the image", image, self.input.values())
    }

    pub(crate) fn check_noise(&self, noise: &NoiseModel) -> Result<()> {
        let tables = &self.layers[..self.layers.len() - 1];
        noise.check(tables.iter().map(|layer| layer.name.as_str()))
    }

    /// Evaluates the layers after `values`, which holds the image and the outputs of the first
    /// layers. If `given` holds accumulators, they are used for the first of the evaluated layers.
    /// `disturb` maps layer index and accumulator to the accumulator that enters the table.
    fn run(
        &self,
        mut values: Vec<Vec<i16>>,
        mut given: Option<Vec<i64>>,
        mut disturb: impl FnMut(usize, i64) -> i64,
    ) -> Result<Trace> {
        let mut layers = Vec::new();
        for (index, layer) in self.layers.iter().enumerate().skip(values.len() - 1) {
            let mut accumulators = given.take().unwrap_or_else(|| layer.accumulate(&values));
            for accumulator in &mut accumulators {
                *accumulator = disturb(index, *accumulator);
            }
            let outputs = match &layer.table {
                Some(_) => {
                    let found: Vec<i16> = accumulators.iter().map(|&a| layer.apply(a)).collect();
                    let outputs = found.iter().map(|&v| i64::from(v)).collect();
                    values.push(found);
                    outputs
                }
                None => accumulators.clone(),
            };
            layers.push(LayerTrace {
                accumulators,
                outputs,
            });
        }
        let logits = layers.last().expect("a checked network has layers");
        let logits = logits.outputs.clone();
        Ok(Trace {
            layers,
            predicted: class(&logits),
            logits,
        })
    }
}

impl Ready {
    /// Returns the accumulators for the values of all sources.
    pub(crate) fn accumulate(&self, values: &[Vec<i16>]) -> Vec<i64> {
        self.sums(self.reads().map(|(source, _)| values[source].as_slice()))
    }

    /// Source and number of values of each term, then of each factor of the product.
    fn reads(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let terms = self
            .terms
            .iter()
            .map(|(source, map)| (*source, map.inputs()));
        let factors = self
            .product
            .iter()
            .flat_map(|p| p.sources.into_iter().zip(p.inputs));
        terms.chain(factors)
    }

    /// Returns the accumulators for the values of all terms and factors, in the order of
    /// [`reads`](Self::reads).
    fn sums<'a>(&self, mut inputs: impl Iterator<Item = &'a [i16]>) -> Vec<i64> {
        let positions = self.outputs / self.bias.len();
        let biases = self.bias.iter().map(|&bias| vec![bias; positions]);
        let mut sums = biases.collect::<Vec<_>>().concat();
        for ((_, map), values) in self.terms.iter().zip(&mut inputs) {
            map.add_to(&mut sums, values);
        }
        if let (Some(product), Some(left)) = (&self.product, inputs.next()) {
            let right = inputs.next().expect("a product has two factors");
            product.add_to(&mut sums, left, right);
        }
        sums
    }

    /// Returns the table's value. Beyond either end it is the value at that end.
    pub(crate) fn apply(&self, accumulator: i64) -> i16 {
        let table = self.table.as_ref().expect("asked of layers with a table");
        table[(accumulator.clamp(-self.bound, self.bound) + self.bound) as usize]
    }

    fn place(&self) -> Place {
        Place(format!("layer {}", self.name))
    }

    fn check_accumulators(&self, accumulators: &[i64]) -> Result<()> {
        if accumulators.len() == self.outputs {
            return Ok(());
        }
        let (found, expected) = (accumulators.len(), self.outputs);
        Err(self
            .place()
            .length("the list of accumulators", found, expected))
    }
}

impl Place {
    /// Checks the number of values and converts them to 16 bits.
    fn narrow(&self, what: &'static str, values: &[i64], expected: usize) -> Result<Vec<i16>> {
        if values.len() != expected {
            return Err(self.length(what, values.len(), expected));
        }
        self.values("a value", values, -MAX_VALUE - 1, MAX_VALUE)?;
        Ok(values.iter().map(|&value| narrow(value)).collect())
    }
}
