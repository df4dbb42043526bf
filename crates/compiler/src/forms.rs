//! Chooses the form in which each layer's values reach the next layers.
//!
//! A dense layer reads its values from slots if it is their only reader and they are few
//! (`docs/adr/0003-dense-from-slots.md`). All other layers read coefficients. Their placing is a
//! trade-off: with zeros between rows, windows at the border need no products of their own. But
//! zeros take slots, and every packing and every table costs more.

use crate::choices::{Candidate, Comparison, FormCost, FormOption};
use crate::error::{Error, Result};
use crate::linear::{products, zeros_wanted};
use crate::products::{Next, identity, left_of, shared};
use crate::raster::{Raster, Ring};
use circuits::pack;
use exchange::Layout;
use network::{IntNetwork, Layer, Linear, Shape, Source};
use program::Row;

/// Form of a layer's values after its table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Form {
    /// In slots, one image after the other.
    Slots(Layout),
    /// As coefficients.
    Coefficients(Placing),
}

/// Places of a tensor's values in ciphertexts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Placing {
    pub(crate) ring: Ring,
    pub(crate) raster: Raster,
    /// Shape of one whole image.
    pub(crate) shape: Shape,
    /// Number of images and of channels in one ciphertext.
    pub(crate) images: usize,
    pub(crate) channels: usize,
}

/// Content of one ciphertext: the position of each value, with its image and index.
pub(crate) struct Part {
    pub(crate) images: std::ops::Range<usize>,
    pub(crate) channels: std::ops::Range<usize>,
    pub(crate) values: Vec<(usize, Row)>,
}

impl Placing {
    /// Returns the content of each ciphertext of a batch.
    pub(crate) fn parts(&self, batch: usize) -> Vec<Part> {
        let [channels, height, width] = self.shape;
        let mut parts = Vec::new();
        for first_image in (0..batch).step_by(self.images) {
            for first in (0..channels).step_by(self.channels) {
                let images = first_image..(first_image + self.images).min(batch);
                let own = first..(first + self.channels).min(channels);
                let mut values = Vec::new();
                for image in images.clone() {
                    for c in own.clone() {
                        for y in 0..height {
                            for x in 0..width {
                                let place = [c - first, y, x];
                                let position = self.raster.position(image - first_image, place);
                                let output = (c * height + y) * width + x;
                                values.push((position, Row { image, output }));
                            }
                        }
                    }
                }
                parts.push(Part {
                    images,
                    channels: own,
                    values,
                });
            }
        }
        parts
    }
}

/// A layer that reads values by a linear map, and the map.
type Reader<'n> = (&'n Layer, &'n Linear);

pub(crate) fn readers(network: &IntNetwork, source: Source) -> Vec<Reader<'_>> {
    let terms = network.layers.iter().flat_map(|layer| {
        let own = layer.terms.iter().filter(move |term| term.source == source);
        own.map(move |term| (layer, &term.linear))
    });
    terms.collect()
}

/// Forms of the values of a batch.
pub(crate) struct Forms {
    pub(crate) input: Placing,
    /// For each layer, the form in which terms read its values. `None` for the last layer, and for
    /// layers that only products read.
    pub(crate) layers: Vec<Option<Form>>,
    /// For each layer, the places of its product.
    pub(crate) products: Vec<Option<Placing>>,
    /// For each layer, the forms that were compared: first for maps, then for products.
    pub(crate) compared: Vec<Vec<Candidate<FormOption, FormCost>>>,
}

impl Forms {
    /// Chooses the forms. `seconds(layer, form, next)` is the cost of bringing one ciphertext of a
    /// layer's accumulators into a form. If a product comes next, a product with itself is
    /// included.
    ///
    /// # Errors
    /// [`Error::Layer`] if a tensor does not fit.
    pub(crate) fn choose(
        network: &IntNetwork,
        batch: usize,
        [slots, dimension]: [usize; 2],
        mut seconds: impl FnMut(usize, &Form, Next) -> Result<f64>,
    ) -> Result<Self> {
        let shapes = network.shapes()?;
        let place = Places {
            slots,
            fewest: pack::min_values(slots, dimension),
            batch,
        };
        let input = place.input(network)?;
        let mut compared = vec![Vec::new(); network.layers.len()];
        let mut cheapest = |layer: usize,
                            shape: Shape,
                            readers: &[Reader<'_>],
                            of: &dyn Fn(&Form) -> (usize, Next)| {
            let mut forms = place.candidates(shape, readers)?;
            let mut comparison = Comparison::new();
            for form in &forms {
                let option = form.option(readers, slots, batch)?;
                let (index, next) = of(form);
                let cost = seconds(index, form, next).map(|seconds| FormCost {
                    table_seconds: seconds * option.ciphertexts as f64,
                    reading_seconds: option.products as f64 * cost::COEFFICIENT_PRODUCT,
                });
                comparison.add(option, cost);
            }
            let Some((best, _)) = comparison.cheapest() else {
                let no_room = || place.no_room(&network.layers[layer], shape);
                return Err(comparison.reason().unwrap_or_else(no_room));
            };
            compared[layer].extend(comparison.choose(best, |cost| cost));
            Ok(forms.swap_remove(best))
        };
        let mut layers = Vec::new();
        for (index, shape) in shapes.iter().enumerate() {
            let readers = readers(network, Source::Layer(index));
            layers.push(match readers.as_slice() {
                [] => None,
                readers => Some(cheapest(index, *shape, readers, &|form| {
                    (index, form.next())
                })?),
            });
        }
        let mut products = Vec::new();
        for (index, layer) in network.layers.iter().enumerate() {
            products.push(match layer.product {
                None => None,
                Some(product) => match shared(network, &layers, product, &shapes) {
                    Some(placing) => Some(placing.clone()),
                    None => {
                        let identity = identity(shapes[index]);
                        let left = left_of(product);
                        let of = |_: &Form| (left, Next::Product);
                        match cheapest(left, shapes[index], &[(layer, &identity)], &of)? {
                            Form::Coefficients(placing) => Some(placing),
                            Form::Slots(_) => unreachable!("windows read coefficients"),
                        }
                    }
                },
            });
        }
        Ok(Self {
            input,
            layers,
            products,
            compared,
        })
    }
}

impl Placing {
    /// Number of ciphertexts for a batch.
    pub(crate) fn count(&self, batch: usize) -> usize {
        batch.div_ceil(self.images) * self.shape[0].div_ceil(self.channels)
    }

    /// Layout of the slots of one ciphertext.
    pub(crate) fn layout(&self, slots: usize) -> Result<Layout> {
        Ok(Layout::new(slots, self.ring.len())?)
    }
}

impl Form {
    /// Layout of the slots of one ciphertext.
    pub(crate) fn layout(&self, slots: usize) -> Result<Layout> {
        Ok(match self {
            Self::Slots(layout) => *layout,
            Self::Coefficients(placing) => placing.layout(slots)?,
        })
    }

    /// The operation that follows on the slots.
    pub(crate) fn next(&self) -> Next {
        match self {
            Self::Slots(_) => Next::Dense,
            Self::Coefficients(_) => Next::Coefficients,
        }
    }

    /// Number of ciphertexts for a batch.
    pub(crate) fn parts(&self, batch: usize) -> usize {
        match self {
            Self::Slots(_) => 1,
            Self::Coefficients(placing) => placing.count(batch),
        }
    }

    fn option(&self, readers: &[Reader<'_>], slots: usize, batch: usize) -> Result<FormOption> {
        let zeros = match self {
            Self::Slots(_) => [0, 0],
            Self::Coefficients(p) => p.raster.zeros,
        };
        Ok(FormOption {
            slots: matches!(self, Self::Slots(_)),
            values: self.layout(slots)?.values(),
            ciphertexts: self.parts(batch),
            zeros,
            products: self.products(readers, batch),
        })
    }

    /// Number of products by which the readers read the values.
    fn products(&self, readers: &[Reader<'_>], batch: usize) -> usize {
        match self {
            Self::Slots(layout) => readers
                .iter()
                .map(|(layer, _)| (batch * layer.bias.len()).div_ceil(layout.copies()))
                .sum(),
            Self::Coefficients(p) => {
                let room = match p.images {
                    1 => p.ring.len(),
                    _ => p.raster.pitch[0],
                };
                let each = readers
                    .iter()
                    .map(|(_, linear)| products(linear, p.shape, &p.raster, room)[0]);
                each.sum::<usize>() * batch.div_ceil(p.images)
            }
        }
    }
}

/// The sizes on which placings depend.
struct Places {
    slots: usize,
    /// Smallest number of values of a layout.
    fewest: usize,
    batch: usize,
}

impl Places {
    fn no_room(&self, layer: &Layer, shape: Shape) -> Error {
        Error::Layer {
            layer: layer.name.clone(),
            what: "the size of one channel that enters a table",
            found: (shape[1] * shape[2]).to_string(),
            expected: format!("at most {}", self.slots),
        }
    }

    /// Placing of the images that the client encrypts: with all zeros that the windows need, and
    /// with as many kernels side by side as fit.
    fn input(&self, network: &IntNetwork) -> Result<Placing> {
        let shape = network.input.shape;
        let readers = readers(network, Source::Input);
        let zeros = wanted(shape, &readers);
        let ring = Ring::full(self.slots);
        let placing = self.in_ring(shape, zeros, ring, &readers);
        placing.ok_or_else(|| Error::Layer {
            layer: readers.first().map_or(String::new(), |r| r.0.name.clone()),
            what: "the size of one channel of the input",
            found: (shape[1] * shape[2]).to_string(),
            expected: format!("at most {} with the zeros around it", self.slots),
        })
    }

    /// Returns the placing with the largest part of a tensor that fits in a ring.
    fn in_ring(
        &self,
        shape: Shape,
        zeros: [usize; 2],
        ring: Ring,
        readers: &[Reader<'_>],
    ) -> Option<Placing> {
        let fits = |channels: usize, images: usize, spread: usize| {
            let raster = Raster::new([channels, shape[1], shape[2]], zeros).spread(spread);
            (raster.span(images) <= ring.len()).then_some(raster)
        };
        // The smallest number of ciphertexts, each with the same number of channels.
        let count = (1..=shape[0]).find(|&count| fits(shape[0].div_ceil(count), 1, 0).is_some())?;
        let channels = shape[0].div_ceil(count);
        let raster = fits(channels, 1, 0)?;
        if count > 1 || self.batch == 1 {
            return Some(Placing {
                ring,
                raster,
                shape,
                images: 1,
                channels,
            });
        }
        let images = (1..=self.batch)
            .rev()
            .find(|&images| fits(channels, images, 0).is_some())?;
        // Leave room beside each image, the last one too, for as many kernels of the readers as
        // fit.
        let beside = readers.iter().map(|(layer, linear)| {
            let [_, distance] = products(linear, shape, &raster, 0);
            distance * layer.bias.len()
        });
        let beside = beside.max().unwrap_or(0).min(ring.len() / images);
        let spread = fits(channels, images, beside);
        Some(Placing {
            ring,
            raster: spread.or_else(|| fits(channels, images, 0))?,
            shape,
            images,
            channels,
        })
    }

    fn candidates(&self, shape: Shape, readers: &[Reader<'_>]) -> Result<Vec<Form>> {
        let mut forms = Vec::new();
        let values: usize = shape.iter().product::<usize>() * self.batch;
        if let [(layer, Linear::Dense(_))] = readers
            && layer.terms.len() == 1
            && layer.product.is_none()
            && values.next_power_of_two() < self.slots
        {
            let room = values.next_power_of_two().max(self.fewest);
            forms.push(Form::Slots(Layout::new(self.slots, room)?));
        }
        let [rows, columns] = wanted(shape, readers);
        let mut tried = Vec::new();
        for zeros in [[0, 0], [0, columns], [rows, 0], [rows, columns]] {
            if tried.contains(&zeros) {
                continue;
            }
            tried.push(zeros);
            let mut room = self.fewest;
            while room <= self.slots {
                let ring = Ring::of(Layout::new(self.slots, room)?);
                if let Some(placing) = self.in_ring(shape, zeros, ring, readers) {
                    let single = placing.channels == shape[0] && placing.images >= self.batch;
                    forms.push(Form::Coefficients(placing));
                    if single {
                        break;
                    }
                }
                room *= 2;
            }
        }
        Ok(forms)
    }
}

/// The zeros that the windows of all readers need.
fn wanted(shape: Shape, readers: &[Reader<'_>]) -> [usize; 2] {
    let zeros = readers
        .iter()
        .map(|(_, linear)| zeros_wanted(linear, shape));
    zeros.fold([0, 0], |a, b| [a[0].max(b[0]), a[1].max(b[1])])
}
