//! Encrypted at 128 bits: every packing on a few shapes. `palladion packing --run` does the same on
//! any shape, and `docs/packings.md` has the table of 30.

use crate::common::numbers;
use inspect::packing::{Numbers, trial, trial_in_parts};
use palladion_packings::{ALL, Arith, Frame, Layer, Packing, by_name, slice, tiles};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

fn runs_exactly(packing: &dyn Packing, layer: &Layer, arith: Arith, log_n: u32) {
    let weights = numbers(3, layer.weights(), 7);
    let x = numbers(4, layer.inputs(), 7);
    let frame = Frame::new(arith, log_n, packing.depth(layer)).unwrap();
    let packed = packing.build(layer, &weights, &frame).unwrap();
    let rng = &mut ChaCha20Rng::seed_from_u64(5);
    let trial = trial(
        &packed,
        layer,
        Numbers {
            x: &x,
            weights: &weights,
        },
        rng,
    )
    .unwrap();
    let name = packing.name();
    assert_eq!(trial.wrong, 0, "{name}, {arith:?}: {layer}");
    assert_eq!(
        trial.results,
        layer.apply(&x, &weights).unwrap(),
        "{name}: {layer}"
    );
}

#[test]
fn every_packing_computes_a_layer_exactly_in_bfv_and_rounded_in_ckks() {
    let layer = Layer::conv(3, 2, 5, 3);
    for packing in ALL {
        for arith in [Arith::Exact, Arith::Approximate] {
            runs_exactly(packing, &layer, arith, 13);
        }
    }
}

#[test]
fn every_packing_computes_strides_groups_and_dense_layers() {
    for layer in [
        Layer::conv(4, 4, 6, 3).strided(2).grouped(4),
        Layer::dense(40, 10),
    ] {
        for packing in ALL {
            runs_exactly(packing, &layer, Arith::Exact, 13);
        }
    }
}

#[test]
fn one_product_fits_a_ring_of_two_to_the_twelve() {
    for packing in ALL {
        runs_exactly(packing, &Layer::dense(20, 6), Arith::Exact, 12);
    }
}

#[test]
fn sums_of_more_than_256_products_are_exact() {
    // Of inputs as they are, and of rotated ones: 29 ciphertexts with 9 taps.
    let packings = ["batchwise+", "gala"].map(|name| by_name(name).unwrap());
    let layers = [Layer::dense(300, 3), Layer::conv(29, 1, 56, 3)];
    for (packing, layer) in packings.into_iter().zip(layers) {
        runs_exactly(packing, &layer, Arith::Exact, 13);
    }
}

#[test]
fn parts_of_a_layer_add_up_to_the_whole() {
    let layer = Layer::conv(4, 4, 6, 3).strided(2);
    let (weights, x) = (
        numbers(3, layer.weights(), 7),
        numbers(4, layer.inputs(), 7),
    );
    let rng = &mut ChaCha20Rng::seed_from_u64(5);
    let both = [Arith::Exact, Arith::Approximate];
    for (packing, arith) in ALL
        .into_iter()
        .flat_map(|one| both.map(|arith| (one, arith)))
    {
        let frame = Frame::new(arith, 13, packing.depth(&layer)).unwrap();
        let part = slice(packing, &layer, &frame, 12).unwrap();
        let mut heard = Vec::new();
        let hear = |done, all| {
            heard.push((done, all));
            true
        };
        let numbers = Numbers {
            x: &x,
            weights: &weights,
        };
        let found = trial_in_parts(packing, &frame, &layer, &part, numbers, rng, hear).unwrap();
        assert_eq!(found.wrong, 0, "{}: {part}", packing.name());
        assert_eq!(found.results, layer.apply(&x, &weights).unwrap());
        let all = tiles(&layer, &part).len();
        assert!(packing.name() == "c2pc" || all > 1, "{}", packing.name());
        assert_eq!(heard, (0..all).map(|done| (done, all)).collect::<Vec<_>>());
    }
}
