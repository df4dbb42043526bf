//! The noise of an encrypted run, as the integer network sees it.

use rand::Rng;

use crate::error::{Error, Result};
use crate::model::IntNetwork;

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

    /// One finite, non-negative deviation per table.
    pub(crate) fn check(&self, network: &IntNetwork) -> Result<()> {
        let expected = network.layers.iter().filter(|l| l.lut.is_some()).count();
        if self.sigma_per_layer.len() != expected {
            return Err(Error::Length {
                place: "noise".to_owned(),
                what: "sigma_per_layer",
                found: self.sigma_per_layer.len(),
                expected,
            });
        }
        for (layer, &sigma) in network.layers.iter().zip(&self.sigma_per_layer) {
            if !(sigma.is_finite() && sigma >= 0.0) {
                return Err(Error::NotPositive {
                    place: format!("noise of layer {}", layer.name),
                    what: "sigma",
                    found: sigma,
                });
            }
        }
        Ok(())
    }
}

/// A Gaussian of mean 0 and deviation `sigma`, rounded to the nearest integer.
///
/// By Box and Muller's transform, "A Note on the Generation of Random Normal Deviates", 1958.
/// For simulation only: no secret depends on it.
pub(crate) fn rounded_gaussian<R: Rng + ?Sized>(sigma: f64, rng: &mut R) -> i64 {
    let (u, v): (f64, f64) = (rng.random(), rng.random());
    // 1 - u lies in (0, 1], so that the logarithm is finite.
    let radius = (-2.0 * (1.0 - u).ln()).sqrt();
    (sigma * radius * (std::f64::consts::TAU * v).cos()).round() as i64
}
