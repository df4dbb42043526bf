//! Evaluation: exact, with noise, and from the middle.

use rand::Rng;

use crate::error::{Error, Result};
use crate::model::{IntNetwork, Layer};
use crate::noise::{NoiseModel, rounded_gaussian};

/// Every integer of one evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// One entry per evaluated layer.
    pub layers: Vec<LayerTrace>,
    /// The last layer's accumulators.
    pub logits: Vec<i64>,
    /// Index of the largest logit; the first one of several.
    pub predicted: usize,
}

/// The integers of one layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerTrace {
    /// What the linear group gave, noise included where there is noise.
    pub accumulators: Vec<i64>,
    /// What the table made of it; in the last layer the accumulators themselves.
    pub outputs: Vec<i64>,
}

impl Trace {
    /// Largest logit minus the second largest: noise below half of it cannot change the class.
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

impl IntNetwork {
    /// Evaluates the network exactly.
    ///
    /// # Errors
    /// Those of [`check`](Self::check); [`Error::Length`] and [`Error::Range`] for an input of
    /// the wrong length or with a number outside `0..=max`.
    pub fn evaluate(&self, input: &[i64]) -> Result<Trace> {
        self.check_values(input)?;
        Ok(self.run(0, self.layers[0].linear.accumulate(input), |_, a| a))
    }

    /// As [`evaluate`](Self::evaluate), with a rounded Gaussian added to every accumulator that
    /// enters a table.
    ///
    /// # Errors
    /// Those of [`evaluate`](Self::evaluate), and [`Error::Length`] or [`Error::NotPositive`] for
    /// a noise model of another network.
    pub fn evaluate_noisy<R: Rng + ?Sized>(
        &self,
        input: &[i64],
        noise: &NoiseModel,
        rng: &mut R,
    ) -> Result<Trace> {
        self.check_values(input)?;
        noise.check(self)?;
        let accumulators = self.layers[0].linear.accumulate(input);
        Ok(self.run(0, accumulators, |index, accumulator| {
            match noise.sigma_per_layer.get(index) {
                Some(&sigma) => accumulator.saturating_add(rounded_gaussian(sigma, rng)),
                None => accumulator, // the logits
            }
        }))
    }

    /// Continues from given accumulators of layer `layer_index`: its table first, then the
    /// layers after it. So an encrypted run is compared layer by layer, each from the integers
    /// that the layer before really gave.
    ///
    /// # Errors
    /// Those of [`check`](Self::check); [`Error::NoSuchLayer`]; [`Error::Length`] for the wrong
    /// number of accumulators.
    pub fn evaluate_from(&self, layer_index: usize, accumulators: &[i64]) -> Result<Trace> {
        self.check()?;
        let layer = self.layers.get(layer_index).ok_or(Error::NoSuchLayer {
            found: layer_index,
            layers: self.layers.len(),
        })?;
        let expected = layer.linear.outputs();
        if accumulators.len() != expected {
            return Err(Error::Length {
                place: format!("layer {}", layer.name),
                what: "the list of accumulators",
                found: accumulators.len(),
                expected,
            });
        }
        Ok(self.run(layer_index, accumulators.to_vec(), |_, a| a))
    }

    /// `disturb` maps layer index and accumulator to what enters the table.
    fn run(
        &self,
        first: usize,
        mut accumulators: Vec<i64>,
        mut disturb: impl FnMut(usize, i64) -> i64,
    ) -> Trace {
        let mut layers = Vec::with_capacity(self.layers.len() - first);
        for (index, layer) in self.layers.iter().enumerate().skip(first) {
            for accumulator in &mut accumulators {
                *accumulator = disturb(index, *accumulator);
            }
            let outputs = layer.outputs(&accumulators);
            let next = self
                .layers
                .get(index + 1)
                .map(|next| next.linear.accumulate(&outputs));
            layers.push(LayerTrace {
                accumulators,
                outputs,
            });
            accumulators = next.unwrap_or_default();
        }
        let logits = layers
            .last()
            .map(|layer| layer.outputs.clone())
            .unwrap_or_default();
        let predicted = (0..logits.len()).rev().max_by_key(|&i| logits[i]);
        Trace {
            layers,
            predicted: predicted.expect("a checked network has a logit"),
            logits,
        }
    }

    fn check_values(&self, input: &[i64]) -> Result<()> {
        self.check()?;
        let expected = self.input_len();
        if input.len() != expected {
            return Err(Error::Length {
                place: "input".to_owned(),
                what: "the image",
                found: input.len(),
                expected,
            });
        }
        match input.iter().find(|x| !(0..=self.input.max).contains(x)) {
            None => Ok(()),
            Some(&found) => Err(Error::Range {
                place: "input".to_owned(),
                what: "a value of the image",
                found,
                min: 0,
                max: self.input.max,
            }),
        }
    }
}

impl Layer {
    fn outputs(&self, accumulators: &[i64]) -> Vec<i64> {
        match &self.lut {
            Some(lut) => accumulators.iter().map(|&a| lut.apply(a)).collect(),
            None => accumulators.to_vec(),
        }
    }
}
