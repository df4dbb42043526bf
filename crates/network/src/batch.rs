//! Evaluation of many images at once, with statistics of each layer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::evaluator::{Evaluator, Ready, class};
use crate::noise::{NoiseModel, rounded_gaussian};

/// Images that one thread takes at a time.
const CHUNK: usize = 8;

/// Noise for a batch. Image `i` takes its noise from stream `i` of the seed, on any number of
/// threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// Standard deviation of the noise before each table.
    pub noise: NoiseModel,
    /// Seed of the generator, ChaCha with 8 rounds.
    pub seed: u64,
}

/// Results of a batch of images.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// The logits of each image, one after the other.
    pub logits: Vec<i64>,
    /// Index of the largest logit of each image; the first such index if several are largest.
    pub predicted: Vec<usize>,
    /// One entry per layer.
    pub layers: Vec<LayerStatistics>,
}

/// Statistics of one layer over all images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerStatistics {
    /// Smallest accumulator, noise included.
    pub smallest: i64,
    /// Largest accumulator, noise included.
    pub largest: i64,
    /// Accumulators outside `-bound..=bound`. An encrypted table gives garbage for these.
    pub beyond_bound: u64,
    /// Number of accumulators.
    pub values: u64,
    /// Number of outputs that the layer's own noise changed, by size of the change: output with
    /// noise minus output for the same inputs without noise. Unchanged outputs are not counted.
    pub changes: BTreeMap<i64, u64>,
}

impl Default for LayerStatistics {
    fn default() -> Self {
        Self {
            smallest: i64::MAX,
            largest: i64::MIN,
            beyond_bound: 0,
            values: 0,
            changes: BTreeMap::new(),
        }
    }
}

impl LayerStatistics {
    fn add(&mut self, other: &Self) {
        self.smallest = self.smallest.min(other.smallest);
        self.largest = self.largest.max(other.largest);
        self.beyond_bound += other.beyond_bound;
        self.values += other.values;
        for (&change, &count) in &other.changes {
            *self.changes.entry(change).or_default() += count;
        }
    }

    fn observe(&mut self, accumulators: &[i64], bound: i64) {
        let numbers = || accumulators.iter().copied();
        self.smallest = numbers().fold(self.smallest, i64::min);
        self.largest = numbers().fold(self.largest, i64::max);
        let beyond = numbers().filter(|a| !(-bound..=bound).contains(a));
        self.beyond_bound += beyond.count() as u64;
        self.values += accumulators.len() as u64;
    }
}

impl Batch {
    fn add(&mut self, other: Self) {
        self.logits.extend(other.logits);
        self.predicted.extend(other.predicted);
        self.layers
            .resize_with(other.layers.len(), Default::default);
        for (layer, other) in self.layers.iter_mut().zip(&other.layers) {
            layer.add(other);
        }
    }
}

impl Evaluator {
    /// Evaluates whole images, one after the other in `images`, on all threads of the pool. The
    /// result does not depend on the number of threads.
    ///
    /// `progress` is called from any thread with the number of images done so far. If it returns
    /// `false`, the evaluation ends.
    ///
    /// # Errors
    /// [`Error::Length`] and [`Error::Range`] for images that do not fit, [`Error::Length`] and
    /// [`Error::Real`] for a noise model of another network, [`Error::Stopped`] if `progress`
    /// returned `false`.
    pub fn evaluate_batch(
        &self,
        images: &[i16],
        simulation: Option<&Simulation>,
        progress: impl Fn(usize) -> bool + Sync,
    ) -> Result<Batch> {
        self.input.check_whole(images.len())?;
        self.input
            .check_range(images.iter().map(|&v| i64::from(v)))?;
        simulation.map_or(Ok(()), |s| self.check_noise(&s.noise))?;
        let len = self.input.values();
        let (done, count) = (AtomicUsize::new(0), images.len() / len);
        let parts = images
            .par_chunks(CHUNK * len)
            .enumerate()
            .map(|(index, chunk)| {
                let before = done.load(Ordering::Relaxed);
                if !progress(before) {
                    return Err(Error::Stopped {
                        done: before,
                        images: count,
                    });
                }
                let mut part = Batch::default();
                part.layers.resize_with(self.layers.len(), Default::default);
                for (image, values) in chunk.chunks(len).enumerate() {
                    let mut rng = simulation.map(|s| ChaCha8Rng::seed_from_u64(s.seed));
                    if let Some(rng) = &mut rng {
                        rng.set_stream((index * CHUNK + image) as u64);
                    }
                    let noise = simulation.map(|s| &s.noise).zip(rng.as_mut());
                    self.add_image(&mut part, values, noise);
                }
                done.fetch_add(chunk.len() / len, Ordering::Relaxed);
                Ok(part)
            });
        let mut batch = Batch::default();
        for part in parts.collect::<Result<Vec<_>>>()? {
            batch.add(part);
        }
        Ok(batch)
    }

    fn add_image(
        &self,
        part: &mut Batch,
        image: &[i16],
        mut noise: Option<(&NoiseModel, &mut ChaCha8Rng)>,
    ) {
        let mut values = vec![image.to_vec()];
        for (index, layer) in self.layers.iter().enumerate() {
            let statistics = &mut part.layers[index];
            let mut accumulators = layer.accumulate(&values);
            if layer.table.is_none() {
                statistics.observe(&accumulators, layer.bound);
                part.predicted.push(class(&accumulators));
                part.logits.extend(accumulators);
                return;
            }
            values.push(match &mut noise {
                None => accumulators.iter().map(|&a| layer.apply(a)).collect(),
                Some((model, rng)) => {
                    let sigma = model.sigma_per_layer[index];
                    disturb(layer, &mut accumulators, &mut statistics.changes, || {
                        rounded_gaussian(sigma, rng)
                    })
                }
            });
            statistics.observe(&accumulators, layer.bound);
        }
    }
}

/// Adds noise to accumulators and returns the table's values of them. Counts by how much these
/// values changed.
fn disturb(
    layer: &Ready,
    accumulators: &mut [i64],
    changes: &mut BTreeMap<i64, u64>,
    mut noise: impl FnMut() -> i64,
) -> Vec<i16> {
    let disturbed = accumulators.iter_mut().map(|accumulator| {
        let exact = layer.apply(*accumulator);
        *accumulator = accumulator.saturating_add(noise());
        let found = layer.apply(*accumulator);
        if found != exact {
            *changes
                .entry(i64::from(found) - i64::from(exact))
                .or_default() += 1;
        }
        found
    });
    disturbed.collect()
}
