//! The noise of an encrypted run, as the integer network sees it.

use rand::Rng;
use rand_distr::StandardNormal;

use crate::error::Result;
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
    /// Returns the same standard deviation before every table of `network`.
    pub fn uniform(network: &IntNetwork, sigma: f64) -> Self {
        let tables = network.layers.iter().filter(|l| l.lut.is_some()).count();
        Self {
            sigma_per_layer: vec![sigma; tables],
        }
    }

    /// Estimates the noise of an encrypted run whose samples have the deviation `sigma`. The rule
    /// needs no compilation: `sigma` times the square root of the number of samples that are added
    /// up.
    ///
    /// # Errors
    /// The errors of [`IntNetwork::check`].
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

    /// Checks that there is one finite, non-negative deviation for each layer in `names`.
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

/// Number of samples that are added up in an accumulator of `layer`, averaged over its channels.
///
/// Terms add up under encryption, and share a sample, if their windows have the same stride and
/// their sources have the same height and width. A window map may touch only some channels.
fn samples(layer: &Layer, shape: Shape, source: impl Fn(Source) -> Shape) -> f64 {
    let mut kinds: Vec<BTreeSet<([usize; 2], [usize; 2])>> = vec![BTreeSet::new(); shape[0]];
    for term in &layer.terms {
        let source = source(term.source);
        let map = term.linear.grouped(source);
        for kind in &mut kinds[map.channels()] {
            kind.insert(([source[1], source[2]], map.sliding.stride));
        }
    }
    if layer.product.is_some() {
        let [_, height, width] = shape;
        for kind in &mut kinds {
            kind.insert(([height, width], [1, 1]));
        }
    }
    // A channel that only has a bias is a sample too.
    let count: usize = kinds.iter().map(|kind| kind.len().max(1)).sum();
    count as f64 / kinds.len() as f64
}

/// Draws a Gaussian of mean 0 and deviation `sigma`, rounded to the nearest integer. For simulation
/// only: no secret depends on it.
pub(crate) fn rounded_gaussian<R: Rng + ?Sized>(sigma: f64, rng: &mut R) -> i64 {
    (sigma * rng.sample::<f64, _>(StandardNormal)).round_ties_even() as i64
}
