//! Logistic regression in plain numbers, with the same steps as on ciphertexts.

use crate::common::Result;
use crate::mnist::Images;
use applications::helr::{A1, A3};
use std::path::Path;

/// Labelled samples: each row times its label, 1 for a 3 and -1 for an 8.
pub(crate) struct Data(pub(crate) Vec<Vec<f64>>);

impl Data {
    /// Loads the images of digits 3 and 8 of a part of MNIST: means of 2 x 2 pixels from 0 to 1,
    /// and a 1 for the bias.
    pub(crate) fn load(folder: &Path, part: &str) -> Result<Self> {
        let images = Images::load(folder, part)?;
        let samples = images.pixels.iter().zip(&images.labels);
        let rows = samples.filter_map(|(pixels, label)| {
            let sign = match label {
                3 => 1.0,
                8 => -1.0,
                _ => return None,
            };
            let mut row: Vec<f64> = (0..14 * 14).map(|p| sign * mean(pixels, p)).collect();
            row.push(sign);
            Some(row)
        });
        Ok(Self(rows.collect()))
    }

    /// Number of features, including the bias.
    pub(crate) fn features(&self) -> usize {
        self.0.first().map_or(0, Vec::len)
    }

    /// Batch `t`. Batches are taken in order, and again from the start.
    pub(crate) fn batch(&self, t: usize, size: usize) -> &[Vec<f64>] {
        let start = t % (self.0.len() / size) * size;
        &self.0[start..start + size]
    }

    /// Share of the samples that `w` classifies correctly.
    pub(crate) fn accuracy(&self, w: &[f64]) -> f64 {
        let right = self.0.iter().filter(|z| dot(z, w) > 0.0).count();
        right as f64 / self.0.len() as f64
    }
}

/// Mean of the 2 x 2 pixels at place `p` of 14 x 14, over 255.
fn mean(pixels: &[u8], p: usize) -> f64 {
    let corner = (p / 14) * 56 + (p % 14) * 2;
    let block = [0, 1, 28, 29].map(|i| f64::from(pixels[corner + i]));
    block.iter().sum::<f64>() / 4.0 / 255.0
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `sigma(-t)`.
pub(crate) fn exact(t: f64) -> f64 {
    1.0 / (1.0 + t.exp())
}

/// The polynomial that approximates `sigma(-t)`.
pub(crate) fn polynomial(t: f64) -> f64 {
    0.5 + A1 * t + A3 * t * t * t
}

/// The momentum `gamma_t` of Nesterov's method, `v = (1 - gamma) w' + gamma w`. It starts at zero
/// and tends to -1.
pub(crate) fn momenta() -> impl Iterator<Item = f64> {
    let mut lambda = 1.0f64;
    std::iter::repeat_with(move || {
        let next = (1.0 + (1.0 + 4.0 * lambda * lambda).sqrt()) / 2.0;
        let gamma = (1.0 - lambda) / next;
        lambda = next;
        gamma
    })
}

/// Weights `w`, and `v`, at which the gradient is computed.
#[derive(Clone)]
pub(crate) struct State {
    pub(crate) w: Vec<f64>,
    pub(crate) v: Vec<f64>,
    /// Largest `|z v|` so far.
    pub(crate) largest: f64,
}

impl State {
    pub(crate) fn new(features: usize) -> Self {
        Self {
            w: vec![0.0; features],
            v: vec![0.0; features],
            largest: 0.0,
        }
    }

    /// One iteration on a batch, with the given function for `sigma(-t)`.
    pub(crate) fn step(
        &mut self,
        batch: &[Vec<f64>],
        rate: f64,
        gamma: f64,
        sigma: fn(f64) -> f64,
    ) {
        let mut next = self.v.clone();
        for z in batch {
            let t = dot(z, &self.v);
            self.largest = self.largest.max(t.abs());
            let slope = sigma(t) * rate / batch.len() as f64;
            next.iter_mut().zip(z).for_each(|(w, z)| *w += slope * z);
        }
        let momentum = next.iter().zip(&self.w);
        self.v = momentum
            .map(|(next, w)| (1.0 - gamma) * next + gamma * w)
            .collect();
        self.w = next;
    }
}
