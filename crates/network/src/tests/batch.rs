//! Many images at once.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::ThreadPoolBuilder;

use super::{graph, image, residual};
use crate::*;

/// More images than one thread takes at a time.
const IMAGES: u64 = 19;

fn images(network: &IntNetwork) -> Vec<i16> {
    let values = (0..IMAGES).flat_map(|seed| image(network, seed));
    values.map(|v| v.try_into().unwrap()).collect()
}

fn simulation(network: &IntNetwork, sigma: f64) -> Simulation {
    Simulation {
        noise: NoiseModel::uniform(network, sigma),
        seed: 3,
    }
}

/// The expected batch, computed image by image.
fn one_by_one(network: &IntNetwork, simulation: Option<&Simulation>) -> Batch {
    let exact = Evaluator::new(network).unwrap();
    let mut batch = Batch::default();
    batch
        .layers
        .resize_with(network.layers.len(), Default::default);
    for seed in 0..IMAGES {
        let image = image(network, seed);
        let trace = match simulation {
            None => exact.evaluate(&image).unwrap(),
            Some(s) => {
                let mut rng = ChaCha8Rng::seed_from_u64(s.seed);
                rng.set_stream(seed);
                exact.evaluate_noisy(&image, &s.noise, &mut rng).unwrap()
            }
        };
        let mut values = vec![image.as_slice()];
        for (index, layer) in network.layers.iter().enumerate() {
            let found = &trace.layers[index];
            let inputs = layer.sources().map(|source| values[usize::from(source)]);
            let sums = exact
                .accumulate(index, &inputs.collect::<Vec<_>>())
                .unwrap();
            let statistics = &mut batch.layers[index];
            for (output, clean) in found.outputs.iter().zip(layer.activate(&sums)) {
                if *output != clean {
                    *statistics.changes.entry(output - clean).or_insert(0) += 1;
                }
            }
            for &a in &found.accumulators {
                statistics.smallest = statistics.smallest.min(a);
                statistics.largest = statistics.largest.max(a);
                statistics.beyond_bound += u64::from(a.abs() > layer.bound);
                statistics.values += 1;
            }
            values.push(&found.outputs);
        }
        batch.predicted.push(trace.predicted);
        batch.logits.extend(trace.logits);
    }
    batch
}

proptest! {
    #[test]
    fn a_batch_is_its_images(seed: u64, sigma in prop::option::of(0.0..20.0f64)) {
        let network = graph(seed);
        let simulation = sigma.map(|sigma| simulation(&network, sigma));
        let exact = Evaluator::new(&network).unwrap();
        let found = exact.evaluate_batch(&images(&network), simulation.as_ref(), |_| true);
        prop_assert_eq!(found.unwrap(), one_by_one(&network, simulation.as_ref()));
    }
}

#[test]
fn threads_change_nothing() {
    let network = residual();
    let exact = Evaluator::new(&network).unwrap();
    let simulation = simulation(&network, 10.7);
    let on = |threads| {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| exact.evaluate_batch(&images(&network), Some(&simulation), |_| true))
    };
    let found = on(1).unwrap();
    assert_eq!(on(5).unwrap(), found);
    assert!(found.layers[..2].iter().all(|l| !l.changes.is_empty()));
    assert_eq!(found.layers[2].changes, BTreeMap::new());
}

#[test]
fn nothing_comes_of_no_images() {
    let exact = Evaluator::new(&residual()).unwrap();
    assert_eq!(
        exact.evaluate_batch(&[], None, |_| true),
        Ok(Batch::default())
    );
}

#[test]
fn a_batch_can_be_stopped() {
    let network = residual();
    let exact = Evaluator::new(&network).unwrap();
    let stopped = exact.evaluate_batch(&images(&network), None, |_| false);
    assert_eq!(
        stopped,
        Err(Error::Stopped {
            done: 0,
            images: 19
        })
    );
}

#[test]
fn images_that_do_not_fit_are_refused() {
    let network = residual();
    let exact = Evaluator::new(&network).unwrap();
    let mut images = images(&network);
    let error = |images: &[i16]| exact.evaluate_batch(images, None, |_| true).unwrap_err();
    assert_eq!(
        error(&images[1..]).to_string(),
        "input: the last image has 83 entries, expected 84"
    );
    images[100] = 10;
    assert_eq!(
        error(&images).to_string(),
        "input: a value of the image is 10, expected -7 to 9"
    );
}
