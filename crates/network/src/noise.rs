//! The noise of an encrypted run, as the integer network sees it.

use rand::Rng;
use rand_distr::StandardNormal;

use crate::error::Result;
use crate::model::IntNetwork;
use crate::place::Place;

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

    /// Of a run whose samples have the deviation `sigma`: each layer's accumulators are sums of
    /// [`most_samples`](crate::Layer::most_samples) samples, whose noise adds up.
    pub fn of_samples(network: &IntNetwork, sigma: f64) -> Self {
        let tables = network.layers.iter().filter(|l| l.lut.is_some());
        Self {
            sigma_per_layer: tables
                .map(|layer| sigma * (layer.most_samples() as f64).sqrt())
                .collect(),
        }
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

/// A Gaussian of mean 0 and deviation `sigma`, rounded to the nearest integer. For simulation only:
/// no secret depends on it.
pub(crate) fn rounded_gaussian<R: Rng + ?Sized>(sigma: f64, rng: &mut R) -> i64 {
    (sigma * rng.sample::<f64, _>(StandardNormal)).round_ties_even() as i64
}
