//! Passes over limbs: of the formula, beside those of the trace to which a circuit is lowered.

use crate::clear::INSECURE;
use evaluate::circuit::{Bfv, Runner};
use palladion_packings::{ALL, Frame, Layer};
use program::circuit::{Circuit, Op};
use std::collections::BTreeMap;

/// Transforms that encode the constants, which are all different.
fn encoding(circuit: &Circuit, wide: bool) -> u64 {
    let limbs = circuit
        .steps
        .iter()
        .map(|step| match (&step.op, step.ty.level) {
            (Op::Constant { .. }, 2) => 4, // masks of rotated inputs, over the special modulus too
            (Op::Constant { .. }, 1) => 2 + u64::from(wide),
            _ => 0,
        });
    limbs.sum()
}

#[test]
fn a_lowered_circuit_has_the_transforms_and_products_of_the_formula() {
    let Frame::Exact(params) = &*INSECURE else {
        unreachable!("the frame of these tests is exact");
    };
    let scheme = Bfv(params.clone());
    for layer in [
        Layer::conv(3, 4, 5, 3),
        Layer::conv(12, 4, 5, 3).strided(2),
        Layer::conv(4, 4, 5, 3).grouped(4),
        Layer::conv(20, 8, 4, 1),
        Layer::dense(270, 3),
    ] {
        let weights: Vec<i64> = (1..).take(layer.weights()).collect();
        for packing in ALL {
            let packed = packing.build(&layer, &weights, &INSECURE).unwrap();
            let runner = Runner::new(&scheme, &packed.circuit).unwrap();
            let recording = runner.record(&BTreeMap::new()).unwrap();
            let traced = lower::lower(&recording).unwrap().counts().passes;
            let counts = packing.counts(&layer, &INSECURE).unwrap();
            let formula = counts.passes(packing.depth(&layer));
            let wide = counts.early > 0 && counts.masks == 0;
            let name = packing.name();
            assert_eq!(
                traced.ntt + traced.intt,
                formula.transforms + encoding(&packed.circuit, wide),
                "{name}: transforms of {layer}"
            );
            assert_eq!(
                traced.products + traced.dot_terms,
                formula.products,
                "{name}: products of {layer}"
            );
        }
    }
}
