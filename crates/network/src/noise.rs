//! The noise of an encrypted run, as the integer network sees it.

use rand::Rng;
use rand_distr::StandardNormal;

use crate::error::Result;
use crate::linear::Linear;
use crate::model::{IntNetwork, Layer, Source};
use crate::place::{Place, Shape};
use std::collections::BTreeSet;

/// Rounding noise added to every accumulator that enters a table.
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseModel {
    /// Standard deviation for each layer that has a table, first to last.
    pub sigma_per_layer: Vec<f64>,
}

impl NoiseModel {
    /// The same standard deviation before every table of `network`.
    pub fn uniform(network: &IntNetwork, sigma: f64) -> Self {
        let tables = network.layers.iter().filter(|l| l.lut.is_some()).count();
        Self {
            sigma_per_layer: vec![sigma; tables],
        }
    }

    /// Of an encrypted run whose samples have the deviation `sigma`, by a rule that needs no compilation:
    /// the noise of samples that are added up adds up, and terms that move alike share one.
    ///
    /// # Errors
    /// Those of [`IntNetwork::check`].
    pub fn of_samples(network: &IntNetwork, sigma: f64) -> Result<Self> {
        let shapes = network.shapes()?;
        let tables = network.layers.iter().zip(&shapes);
        let tables = tables.filter(|(layer, _)| layer.lut.is_some());
        Ok(Self {
            sigma_per_layer: tables
                .map(|(layer, shape)| {
                    let source = |source: Source| match source {
                        Source::Input => network.input.shape,
                        Source::Layer(index) => shapes[index],
                    };
                    sigma * samples(layer, *shape, source).sqrt()
                })
                .collect(),
        })
    }

    /// One finite, non-negative deviation for each of the layers of these names.
    pub(crate) fn check<'a>(&self, names: impl ExactSizeIterator<Item = &'a str>) -> Result<()> {
        let found = self.sigma_per_layer.len();
        if found != names.len() {
            return Err(Place("noise".to_owned()).length("sigma_per_layer", found, names.len()));
        }
        for (name, &sigma) in names.zip(&self.sigma_per_layer) {
            let good = sigma.is_finite() && sigma >= 0.0;
            let place = Place(format!("noise of layer {name}"));
            place.real("sigma", sigma, good, "a number from 0 on")?;
        }
        Ok(())
    }
}

/// Samples that an accumulator of `layer` is a sum of, on average over its channels.
///
/// Terms add up under encryption, and share a sample, where their windows move alike over sources that lie alike:
/// with one stride, over as many rows and columns. Windows may leave channels out.
fn samples(layer: &Layer, shape: Shape, source: impl Fn(Source) -> Shape) -> f64 {
    let mut kinds: Vec<BTreeSet<([usize; 2], [usize; 2])>> = vec![BTreeSet::new(); shape[0]];
    for term in &layer.terms {
        let [channels, height, width] = source(term.source);
        let (stride, touched) = match &term.linear {
            Linear::Conv(conv) => (conv.stride, 0..shape[0]),
            Linear::Dense(_) => ([height, width], 0..shape[0]),
            Linear::Window(window) => (window.stride, window.first..window.first + channels),
        };
        for kind in &mut kinds[touched] {
            kind.insert(([height, width], stride));
        }
    }
    if layer.product.is_some() {
        let [_, height, width] = shape;
        for kind in &mut kinds {
            kind.insert(([height, width], [1, 1]));
        }
    }
    // What only has a bias is a sample all the same.
    let count: usize = kinds.iter().map(|kind| kind.len().max(1)).sum();
    count as f64 / kinds.len() as f64
}

/// A Gaussian of mean 0 and deviation `sigma`, rounded to the nearest integer. For simulation only:
/// no secret depends on it.
pub(crate) fn rounded_gaussian<R: Rng + ?Sized>(sigma: f64, rng: &mut R) -> i64 {
    (sigma * rng.sample::<f64, _>(StandardNormal)).round_ties_even() as i64
}
