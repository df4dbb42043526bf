//! Batches whose images are interleaved.
//!
//! Every value of a layer has a *strip* of coefficients, one for each image of the batch. The
//! client encrypts one strip in each ciphertext. A linear layer then multiplies ciphertexts by
//! numbers, and a power of `X` puts the strips of several outputs into one ciphertext. All its
//! coefficients are packed at once, go through the table together, and come back to their places.
//!
//! With many images nearly all slots are in use, whatever the network's shapes. With few images the
//! other layout ([`forms`](crate::forms)) takes fewer ciphertexts.
//!
//! The product that brings one strip of a ciphertext to its place leaves the other strips in other
//! places. So the outputs of a layer share a ciphertext only if every ciphertext that the layer
//! reads has one strip and zeros beside it. After a table either all strips come back in one
//! ciphertext, or each in its own, which takes as many maps from slots to coefficients and saves
//! tables of the next layer.
//!
//! Source: an image in each slot is the batching of CryptoNets (Gilad-Bachrach et al., ICML 2016),
//! for networks without tables.

use crate::builder::Builder;
use crate::error::Result;
use crate::layers::{Fixed, Plans, TableUse};
use crate::linear::Outputs;
use crate::products::Next;
use exchange::Layout;
use network::{Grouped, IntNetwork, Layer, Shape, Source};
use program::{MAX_PREPARED, MAX_STEPS, MAX_TERMS, Row, Term, ValueId};
use std::collections::{BTreeMap, BTreeSet};

/// Most products with weights. A network of more takes longer so than with images apart.
const MOST_WEIGHTS: usize = 1 << 21;
/// Cost of a packing and a table, in maps from slots to coefficients. With tables of 8,193 entries,
/// 21 limbs and one thread it is 12.
const TABLE: usize = 12;

/// A network as sums of single values, for a batch of a given size.
pub(crate) struct Interleaved {
    pub(crate) batch: usize,
    /// Coefficients of a ciphertext.
    n: usize,
    inputs: usize,
    layers: Vec<Sums>,
}

/// The outputs of a layer as sums.
struct Sums {
    /// For each output its terms: source, index of the value, and weight.
    terms: Vec<Vec<(Source, usize, i64)>>,
    /// Number of outputs in one ciphertext.
    strips: usize,
    /// Whether each strip comes back from its table alone, with zeros beside it.
    apart: bool,
}

/// The place of a value: its ciphertext, and the number of its strip there.
type Place = (ValueId, usize);

impl Interleaved {
    /// Returns `None` if the network has products of values or too many weights, or if its program
    /// would be too long.
    pub(crate) fn new(network: &IntNetwork, batch: usize, n: usize) -> Result<Option<Self>> {
        let shapes = network.shapes()?;
        let shape_of = |source: Source| match source {
            Source::Input => network.input.shape,
            Source::Layer(index) => shapes[index],
        };
        let inputs = network.input.shape.iter().product();
        let mut layers: Vec<Sums> = Vec::new();
        let mut left = MOST_WEIGHTS;
        for (layer, &shape) in network.layers.iter().zip(&shapes) {
            let outputs: usize = shape.iter().product();
            let maps = layer.terms.iter().map(|term| {
                let source = shape_of(term.source);
                (term.source, source, term.linear.grouped(source))
            });
            let maps: Vec<(Source, Shape, Grouped<'_>)> = maps.collect();
            let weights: usize = maps.iter().map(|(.., map)| map.row_len() * outputs).sum();
            if layer.product.is_some() || weights > left {
                return Ok(None);
            }
            left -= weights;
            let terms = (0..outputs).map(|output| terms_of(&maps, shape, output));
            let terms: Vec<_> = terms.collect();
            layers.push(Sums {
                terms,
                strips: 1,
                apart: false,
            });
        }
        choose_strips(network, &mut layers, n / batch);
        let made = Self {
            batch,
            n,
            inputs,
            layers,
        };
        Ok(made.fits(network).then_some(made))
    }

    /// Whether the program would be verified: the sums, the steps, and the tables and maps from
    /// slots.
    fn fits(&self, network: &IntNetwork) -> bool {
        let (mut steps, mut prepared) = (self.inputs, 0);
        for (layer, sums) in network.layers.iter().zip(&self.layers) {
            let outputs = sums.terms.len();
            let ciphertexts = outputs.div_ceil(sums.strips);
            let maps = if sums.apart { outputs } else { ciphertexts };
            // A sum and its output, or samples, packing and table. Each strip may have a bias.
            steps += outputs + ciphertexts * 4 + maps;
            prepared += usize::from(layer.lut.is_some()) * (ciphertexts + maps);
            let read = sums.terms.chunks(sums.strips).map(|outputs| {
                let values = outputs.iter().flatten();
                let values = values.map(|&(source, value, _)| (usize::from(source), value));
                values.collect::<BTreeSet<_>>().len()
            });
            if read.max() > Some(MAX_TERMS) {
                return false;
            }
        }
        steps <= MAX_STEPS && prepared <= MAX_PREPARED
    }

    /// All evaluations of tables, each with its number of ciphertexts.
    pub(crate) fn tables(&self, network: &IntNetwork) -> Result<Vec<(TableUse, usize)>> {
        let layout = Layout::new(self.n, self.n)?;
        let layers = network.layers.iter().zip(&self.layers).enumerate();
        let with_tables = layers.filter(|(_, (layer, _))| layer.lut.is_some());
        let tables = with_tables.map(|(index, (_, sums))| {
            let count = sums.terms.len().div_ceil(sums.strips);
            ((index, layout, Next::Coefficients), count)
        });
        Ok(tables.collect())
    }
}

/// Chooses the number of strips in the ciphertexts of each layer. `most` is the largest one.
fn choose_strips(network: &IntNetwork, layers: &mut [Sums], most: usize) {
    for index in 0..layers.len() {
        let alone = |source: Source| match source {
            Source::Input => true,
            Source::Layer(index) => layers[index].apart,
        };
        let all_alone = network.layers[index]
            .terms
            .iter()
            .all(|term| alone(term.source));
        let outputs = layers[index].terms.len();
        let strips = if all_alone { most.clamp(1, outputs) } else { 1 };
        // Tables of the readers, with strips of this layer together and apart.
        let readers = network.layers.iter().zip(&*layers).filter(|(layer, _)| {
            let reads = |term: &network::Term| term.source == Source::Layer(index);
            layer.lut.is_some() && layer.terms.iter().any(reads)
        });
        let saved = |outputs: usize| outputs - outputs.div_ceil(most.clamp(1, outputs));
        let saved: usize = readers.map(|(_, sums)| saved(sums.terms.len())).sum();
        let added = outputs - outputs.div_ceil(strips);
        let own = &mut layers[index];
        (own.strips, own.apart) = (strips, added < TABLE * saved);
    }
}

/// The terms of one output of a layer.
fn terms_of(
    maps: &[(Source, Shape, Grouped<'_>)],
    shape: Shape,
    output: usize,
) -> Vec<(Source, usize, i64)> {
    let [_, height, width] = shape;
    let (channel, y, x) = (
        output / (height * width),
        output / width % height,
        output % width,
    );
    let mut terms = Vec::new();
    for (source, from, map) in maps {
        let Some(kernel) = map.kernel_of(channel) else {
            continue;
        };
        let sliding = &map.sliding;
        let first = kernel / map.kernels * map.inputs;
        let weights = &map.weights[map.weights_of(kernel)..][..map.row_len()];
        let mut weights = weights.iter();
        // Row or column of the source that a tap reads, if it is inside.
        let at = |axis: usize, place: usize, tap: usize| {
            let at = (place * sliding.stride[axis] + tap * sliding.dilation[axis]) as i64;
            let at = usize::try_from(at - sliding.pads[axis]).ok()?;
            (at < from[1 + axis]).then_some(at)
        };
        for c in first..first + map.inputs {
            for i in 0..sliding.kernel[0] {
                for j in 0..sliding.kernel[1] {
                    let &weight = weights.next().expect("a row has a weight for each tap");
                    if let (Some(y), Some(x)) = (at(0, y, i), at(1, x, j))
                        && weight != 0
                    {
                        terms.push((*source, (c * from[1] + y) * from[2] + x, weight));
                    }
                }
            }
        }
    }
    terms
}

/// Writes the steps of a network.
pub(crate) struct Writer<'a, 'p> {
    pub(crate) b: &'a mut Builder<'p>,
    pub(crate) network: &'a IntNetwork,
    pub(crate) fixed: &'a Fixed,
    pub(crate) of: &'a Interleaved,
    pub(crate) plans: &'a Plans,
}

impl Writer<'_, '_> {
    /// Writes all steps.
    pub(crate) fn write(mut self) -> Result<()> {
        let (network, of) = (self.network, self.of);
        self.b.layer(&network.layers[0].name);
        let level = self.fixed.input_level(self.b.params())?;
        let inputs = (0..of.inputs).map(|index| Ok((self.b.input(index, level)?, 0)));
        let mut places: Vec<Vec<Place>> = vec![inputs.collect::<Result<_>>()?];
        for (index, (layer, sums)) in network.layers.iter().zip(&of.layers).enumerate() {
            self.b.layer(&layer.name);
            let all: Vec<usize> = (0..sums.terms.len()).collect();
            let mut made = Vec::new();
            for outputs in all.chunks(sums.strips) {
                let value = self.sum(layer, sums, outputs, &places)?;
                made.push((value, outputs));
            }
            if layer.lut.is_none() {
                return self.outputs(&made);
            }
            let mut own = Vec::with_capacity(all.len());
            for (value, outputs) in made {
                let value = self.table(index, value, outputs)?;
                own.extend(self.places(sums, value, outputs.len())?);
            }
            places.push(own);
        }
        Ok(())
    }

    /// Writes the accumulators of some outputs, each in a strip of its own. `places` are those of the
    /// input and of the layers before, by [`Source`].
    fn sum(
        &mut self,
        layer: &Layer,
        sums: &Sums,
        outputs: &[usize],
        places: &[Vec<Place>],
    ) -> Result<ValueId> {
        let batch = self.of.batch;
        let order = 2 * self.of.n as i64;
        let mut kernels: BTreeMap<ValueId, (Vec<i64>, Vec<i64>)> = BTreeMap::new();
        for (to, &output) in outputs.iter().enumerate() {
            for &(source, index, weight) in &sums.terms[output] {
                let (value, from) = places[usize::from(source)][index];
                let (weights, exponents) = kernels.entry(value).or_default();
                weights.push(weight);
                exponents.push(((to as i64 - from as i64) * batch as i64).rem_euclid(order));
            }
        }
        if kernels.is_empty() {
            kernels.insert(places[0][0].0, (vec![0], vec![0]));
        }
        let terms = kernels
            .into_iter()
            .map(|(value, (weights, exponents))| Term {
                value,
                weights: self.b.constant("weight", weights),
                exponents: self.b.constant("exponents", exponents),
            });
        let terms = terms.collect();
        let mut value = self.b.mul_coefficients(terms)?;
        let values = sums.terms.len() / layer.bias.len(); // of one channel
        for (strip, &output) in outputs.iter().enumerate() {
            let bias = layer.bias[output / values];
            if bias != 0 {
                let term = self.b.constant("bias", vec![bias]);
                let strip = (strip * batch..(strip + 1) * batch).map(|at| at as i64);
                let places = self.b.constant("places", strip.collect());
                value = self.b.add_coefficients(value, term, places)?;
            }
        }
        Ok(value)
    }

    /// Brings the strips of a value in slots back to coefficients. Returns their places.
    fn places(&mut self, sums: &Sums, value: ValueId, strips: usize) -> Result<Vec<Place>> {
        let batch = self.of.batch;
        if !sums.apart {
            let value = self.b.slots_to_coefficients(value)?;
            return Ok((0..strips).map(|strip| (value, strip)).collect());
        }
        let alone = |strip: usize| {
            let kept = Some([strip * batch, (strip + 1) * batch]);
            Ok((self.b.some_to_coefficients(value, kept)?, strip))
        };
        (0..strips).map(alone).collect()
    }

    /// Packs the accumulators of a ciphertext, and applies the layer's table.
    fn table(&mut self, index: usize, value: ValueId, outputs: &[usize]) -> Result<ValueId> {
        let layout = Layout::new(self.of.n, self.of.n)?;
        let plan = self.plans[&(index, layout, Next::Coefficients)];
        let samples = self.b.samples_of(value)?;
        let strips = (outputs.to_vec(), self.of.batch);
        let packed = self.b.pack_all(samples, layout, strips, plan.start_level)?;
        let polynomial = self.b.constant("table", self.fixed.tables[index].clone());
        let table = (polynomial, self.fixed.indices[index]);
        self.b.table(packed, layout, table, plan.shape)
    }

    fn outputs(&mut self, made: &[(ValueId, &[usize])]) -> Result<()> {
        let batch = self.of.batch;
        let count = made.iter().map(|(_, outputs)| outputs.len() * batch).sum();
        let over = self.fixed.floods.as_ref();
        let over = over.map(|floods| (count, floods.answers()));
        for &(value, outputs) in made {
            let strip = |&output: &usize| (0..batch).map(move |image| Row { image, output });
            let rows = outputs.iter().flat_map(strip);
            let strips = Outputs {
                value,
                rows: rows.collect(),
                at: (0..outputs.len() * batch).collect(),
            };
            self.b.output(strips, over)?;
        }
        Ok(())
    }
}
