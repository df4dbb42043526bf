//! Shapes and parameters that are refused, with the way out.

use palladion_packings::{ALL, Arith, Error, Frame, Layer, Prices, by_name, choose, slice};

fn refusal(layer: Layer) -> String {
    match layer.check() {
        Err(error @ Error::Shape { .. }) => error.to_string(),
        other => panic!("{layer:?}: {other:?}"),
    }
}

#[test]
fn shapes_of_no_layer_are_refused() {
    let conv = Layer::conv(4, 6, 8, 3);
    let zero = Layer {
        channels: 0,
        ..conv
    };
    assert_eq!(
        refusal(zero),
        "the number of channels is 0, expected 1 to 32768"
    );
    assert_eq!(
        refusal(conv.grouped(4)),
        "the number of kernels is 6, expected a multiple of the 4 groups"
    );
    let large = Layer {
        kernel: [3, 12],
        ..conv
    };
    let found = refusal(large);
    assert!(found.contains("width of a window"), "{found}");
    let dilated = Layer {
        dilation: [1, 9],
        ..conv
    };
    assert!(refusal(dilated).contains("at most the padded input's 10"));
    let huge = Layer {
        batch: 1 << 15,
        input: [1 << 12; 2],
        ..conv
    };
    assert!(refusal(huge).contains("number of input values"));
    let stride = Layer {
        stride: [0, 1],
        ..conv
    };
    assert!(refusal(stride).contains("vertical stride"));
    let wide = Layer {
        stride: [1 << 40, 1],
        ..conv
    };
    assert!(refusal(wide).contains("vertical stride"));
}

#[test]
fn numbers_that_do_not_fit_a_layer_are_refused() {
    let layer = Layer::conv(2, 3, 4, 3);
    let frame = Frame::new(Arith::Exact, 13, 2).unwrap();
    for packing in ALL {
        let found = packing.build(&layer, &[1; 53], &frame).unwrap_err();
        let expected = "the number of weights is 53, expected 54";
        assert_eq!(found.to_string(), expected, "{}", packing.name());
    }
    let packed = by_name("lola")
        .unwrap()
        .build(&layer, &[1; 54], &frame)
        .unwrap();
    assert!(
        packed
            .pack(&[1; 7])
            .unwrap_err()
            .to_string()
            .contains("number of values is 7")
    );
    let found = packed
        .unpack(&palladion_packings::Messages::new(), 48)
        .unwrap_err();
    assert!(found.to_string().contains("missing"), "{found}");
    assert!(layer.apply(&[0; 32], &[0; 3]).is_err());
}

#[test]
fn parameters_without_room_are_refused() {
    let refused = |arith, log_n, depth| Frame::new(arith, log_n, depth).unwrap_err().to_string();
    assert!(refused(Arith::Exact, 11, 1).contains("expected 12 to 15"));
    assert!(refused(Arith::Exact, 12, 2).contains("at least 13"));
    assert!(refused(Arith::Approximate, 12, 1).contains("at least 13"));
    // Hyena moves its inputs, and a frame of one level has no room for that.
    let one = Frame::new(Arith::Exact, 13, 1).unwrap();
    let layer = Layer::conv(1, 1, 4, 3);
    let found = by_name("hyena")
        .unwrap()
        .build(&layer, &[1; 9], &one)
        .unwrap_err();
    assert!(found.to_string().contains("at least 2"), "{found}");
    let found = by_name("cheetah").map(|p| p.name()).unwrap_err();
    assert!(
        found.to_string().contains("expected one of lola, channel"),
        "{found}"
    );
}

#[test]
fn the_cheapest_packing_is_chosen_and_the_others_are_kept() {
    let layer = Layer::conv(16, 16, 16, 3);
    let choice = choose(&layer, Arith::Exact, 13, &Prices::REFERENCE).unwrap();
    assert_eq!(choice.candidates.len() + choice.refused.len(), ALL.len());
    assert!(
        choice
            .candidates
            .is_sorted_by(|a, b| a.seconds <= b.seconds)
    );
    // At 2^12 Hyena has no room to move inputs, and this is said.
    let small = choose(&layer, Arith::Exact, 12, &Prices::REFERENCE).unwrap();
    let names: Vec<&str> = small.refused.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["hyena", "hyena+"]);
    // A window that no ciphertext holds is refused by the packings that need it in one.
    let wide = Layer::conv(1, 1, 300, 299);
    let choice = choose(&wide, Arith::Exact, 13, &Prices::REFERENCE);
    assert!(choice.is_ok_and(|choice| choice.refused.len() >= 4));
}

#[test]
fn a_slow_link_makes_slots_cheaper_than_coefficients() {
    // 64 outputs in coefficients, one in slots.
    let layer = Layer::conv(64, 64, 8, 3);
    let first = |byte: f64| {
        let prices = Prices {
            byte,
            ..Prices::REFERENCE
        };
        let choice = choose(&layer, Arith::Exact, 13, &prices).unwrap();
        choice.candidates[0].packing.name()
    };
    assert_eq!(first(0.0), "c2pc");
    assert_eq!(first(8.0 / 100e6), "gala");
}

#[test]
fn a_slice_is_a_layer_that_fits() {
    let layer = Layer::conv(64, 64, 8, 3);
    let frame = Frame::new(Arith::Exact, 13, 2).unwrap();
    for packing in ALL {
        let part = slice(packing, &layer, &frame, 500).unwrap();
        part.check().unwrap();
        let counts = packing.counts(&part, &frame).unwrap();
        assert!(counts.products.max(counts.rotations) <= 500, "{part}");
        assert_eq!(slice(packing, &layer, &frame, u64::MAX).unwrap(), layer);
    }
}
