//! Random shapes: circuits in the clear give the layer, and cost what the formulas say.

use crate::common::{cleartext, numbers};
use palladion_packings::{ALL, Counts, Frame, Layer, tiles};
use proptest::prelude::*;
use ring::{ntt_primes, ntt_primes_avoiding};
use std::sync::LazyLock;

/// Two levels on a ring of 2^9: 512 slots in two rows.
pub(crate) static INSECURE: LazyLock<Frame> = LazyLock::new(|| {
    let n = 1 << 9;
    let mut q = ntt_primes(49, n, 1).unwrap();
    q.extend(ntt_primes_avoiding(40, n, 2, &q).unwrap());
    let p = ntt_primes_avoiding(49, n, 1, &q).unwrap();
    let digit_limbs = 1;
    let spec = rlwe::ParamsSpec {
        n,
        q,
        p,
        digit_limbs,
    };
    Frame::Exact(bgv::Params::new_insecure(&spec, bgv::T_FERMAT).unwrap())
});

/// Shapes up to a few hundred values, of all kinds.
fn shapes() -> impl Strategy<Value = Layer> {
    let sizes = (1..=3usize, 1..=7usize, 1..=7usize, 1..=4usize);
    let image = (1..=9usize, 1..=9usize, 1..=3usize, 1..=3usize);
    let steps = (1..=3usize, 1..=2usize, 1..=2usize, 1..=2usize);
    let pads = prop::array::uniform4(0..=1usize);
    (sizes, image, steps, pads).prop_map(|(sizes, image, steps, pads)| {
        let (batch, channels, kernels, groups) = sizes;
        let (height, width, r, s) = image;
        let (down, right, dilated, across) = steps;
        let span = [dilated * (r - 1) + 1, across * (s - 1) + 1];
        Layer {
            batch,
            channels: channels * groups,
            kernels: kernels * groups,
            groups,
            input: [height.max(span[0]), width.max(span[1])],
            kernel: [r, s],
            stride: [down, right],
            dilation: [dilated, across],
            pads: [pads[0] % r, pads[1] % s, pads[2] % r, pads[3] % s],
        }
    })
}

/// A layer with at most as much of everything as both have, and one row and column of outputs at least.
fn smaller(layer: &Layer, sizes: &Layer) -> Layer {
    let groups = layer.groups.min(sizes.groups);
    let channels = layer.group_channels().min(sizes.group_channels());
    let kernels = layer.group_kernels().min(sizes.group_kernels());
    let span = layer.span();
    Layer {
        batch: layer.batch.min(sizes.batch),
        channels: groups * channels,
        kernels: groups * kernels,
        groups,
        input: [0, 1].map(|axis| span[axis].max(layer.input[axis].min(sizes.input[axis]))),
        ..*layer
    }
}

fn check(layer: &Layer, frame: &Frame) -> Result<(), TestCaseError> {
    layer.check().unwrap();
    let weights = numbers(1, layer.weights(), 7);
    let x = numbers(2, layer.inputs(), 7);
    let expected = layer.apply(&x, &weights).unwrap();
    for packing in ALL {
        let name = packing.name();
        let packed = packing.build(layer, &weights, frame).unwrap();
        let formula = packing.counts(layer, frame).unwrap();
        let counted = Counts::of_circuit(&packed.circuit);
        prop_assert_eq!(counted, formula, "{}: {}", name, layer);
        prop_assert_eq!(
            cleartext(&packed, layer, &x),
            &expected[..],
            "{}: {}",
            name,
            layer
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn random_shapes_are_computed_and_counted(layer in shapes()) {
        check(&layer, &INSECURE)?;
    }

    #[test]
    fn tiles_of_random_shapes_are_the_whole_layer(layer in shapes(), sizes in shapes()) {
        let part = smaller(&layer, &sizes);
        let weights = numbers(1, layer.weights(), 7);
        let x = numbers(2, layer.inputs(), 7);
        let mut found = vec![0; layer.outputs()];
        for tile in tiles(&layer, &part) {
            tile.layer.check().unwrap();
            let (own, values) = (tile.weights(&layer, &weights), tile.values(&layer, &x));
            tile.add_to(&layer, &mut found, &tile.layer.apply(&values, &own).unwrap());
        }
        prop_assert_eq!(found, layer.apply(&x, &weights).unwrap(), "{} in {}", layer, part);
    }
}

#[test]
fn every_kind_of_layer_is_computed_and_counted() {
    let layers = [
        Layer::dense(1, 1),
        Layer::dense(70, 3),
        Layer::dense(5, 300),
        Layer::dense(300, 20),
        Layer::dense(1030, 2), // more products than one operation adds up
        Layer::conv(20, 3, 8, 3),
        Layer::conv(3, 4, 24, 3), // does not fit a row: tiles
        Layer::conv(3, 4, 17, 3).strided(2),
        Layer::conv(6, 6, 9, 5).strided(2).grouped(6),
        Layer::conv(6, 12, 7, 3).grouped(6),
        Layer::conv(4, 6, 8, 1).strided(2),
        Layer::conv(40, 4, 4, 3).grouped(2),
        Layer {
            batch: 5,
            ..Layer::conv(2, 3, 4, 3)
        },
        Layer {
            batch: 600, // more images than slots
            ..Layer::dense(2, 3)
        },
    ];
    for layer in layers {
        check(&layer, &INSECURE).unwrap();
    }
}

#[test]
fn tiles_that_see_zeros_alone_are_left_out() {
    let layer = Layer {
        pads: [4, 0, 5, 0],
        ..Layer::conv(1, 1, 4, 3)
    };
    let part = Layer {
        input: [3, 4],
        pads: [0; 4],
        ..layer
    };
    let (weights, x) = (numbers(1, 9, 7), numbers(2, 16, 7));
    let mut found = vec![0; layer.outputs()];
    let tiles = tiles(&layer, &part);
    for tile in &tiles {
        let own = tile
            .layer
            .apply(&tile.values(&layer, &x), &weights)
            .unwrap();
        tile.add_to(&layer, &mut found, &own);
    }
    assert_eq!(found, layer.apply(&x, &weights).unwrap());
    assert_eq!((layer.output()[0], tiles.len()), (11, 6));
}
