//! Compares dense layers, with weights in plain and encrypted, with the matrix product.

use crate::common::{Setup, builder, fresh, insecure_params};
use ckks::{Complex64, Params};
use palladion_evaluate::circuit::{Slots, predict, run_clear};
use program::circuit::{Circuit, Dense, Weights};
use rand::Rng;
use std::collections::BTreeMap;

fn layer(rows: usize, columns: usize, setup: &mut Setup) -> Dense {
    let mut row = |_| {
        (0..columns)
            .map(|_| setup.rng.random_range(-1.0..1.0))
            .collect()
    };
    Dense::new("layer", (0..rows).map(&mut row).collect()).unwrap()
}

/// The layer on an input `x`, and the values of its encrypted weights.
fn circuit(
    params: &Params,
    layer: &Dense,
    babies: usize,
    encrypted: bool,
) -> (Circuit, BTreeMap<String, Vec<f64>>) {
    let mut kept = BTreeMap::new();
    let mut weights = if encrypted {
        Weights::Encrypted(&mut kept)
    } else {
        Weights::Plain
    };
    let mut b = builder(params);
    let x = b.input("x", fresh(params)).unwrap();
    let y = layer.apply_to(&mut b, x, babies, &mut weights).unwrap();
    b.output("y", y).unwrap();
    (b.finish().unwrap(), kept)
}

#[test]
fn a_dense_layer_is_the_matrix_product_in_the_clear_and_encrypted() {
    let params = insecure_params(9, 1);
    let mut setup = Setup::new(params.clone(), 5);
    for (rows, columns, babies) in [(1, 1, 1), (3, 5, 2), (10, 64, 4), (16, 16, 16), (5, 200, 3)] {
        let layer = layer(rows, columns, &mut setup);
        let x: Vec<f64> = (0..columns)
            .map(|_| setup.rng.random_range(-1.0..1.0))
            .collect();
        let expected = layer.apply(&x);
        let mut slots: Vec<Complex64> = x.iter().map(|&v| v.into()).collect();
        slots.resize(layer.period_in(), Complex64::ZERO);
        for encrypted in [false, true] {
            let (circuit, kept) = circuit(&params, &layer, babies, encrypted);
            let complex = |v: Vec<f64>| v.into_iter().map(Complex64::from).collect();
            let mut inputs: Slots = kept
                .into_iter()
                .map(|(name, v)| (name, complex(v)))
                .collect();
            inputs.insert("x".into(), slots.clone());
            let clear = run_clear(&circuit, &inputs).unwrap();
            let found = setup.run(&circuit, &inputs);
            for (j, (clear, found)) in clear["y"].iter().zip(&found["y"]).enumerate() {
                let expected = expected.get(j % layer.period_out()).copied().unwrap_or(0.0);
                assert!(
                    (clear - expected).norm() < 1e-12,
                    "{rows} x {columns}, slot {j}"
                );
                assert!(
                    (found - expected).norm() < 1e-4,
                    "{rows} x {columns}, slot {j}: {found}"
                );
            }
        }
    }
}

/// The number of independent errors is the number of rows: 64. Their mean has a deviation of 18 %,
/// 0.13 bits. The tolerance is three times that.
#[test]
fn a_dense_layer_is_as_precise_as_predicted() {
    let params = insecure_params(9, 1);
    let mut setup = Setup::new(params.clone(), 6);
    let layer = layer(64, 128, &mut setup);
    for encrypted in [false, true] {
        let (circuit, kept) = circuit(&params, &layer, 8, encrypted);
        let mut inputs: Slots = BTreeMap::new();
        for (name, values) in kept {
            inputs.insert(name, values.into_iter().map(Complex64::from).collect());
        }
        inputs.insert(
            "x".into(),
            (0..128)
                .map(|_| setup.rng.random_range(-1.0..1.0).into())
                .collect(),
        );
        let clear = run_clear(&circuit, &inputs).unwrap();
        let predicted = predict(&params, &circuit, &inputs).unwrap()["y"]
            .noise(256)
            .precision();
        let found = setup.run(&circuit, &inputs);
        let errors = found["y"]
            .iter()
            .zip(&clear["y"])
            .map(|(a, b)| (a - b).norm_sqr());
        let measured = -(errors.sum::<f64>() / 256.0).log2() / 2.0;
        println!("encrypted {encrypted}: {measured:.2} bits, predicted {predicted:.2}");
        assert!(
            (measured - predicted).abs() < 0.4,
            "{measured:.2} bits, predicted {predicted:.2}"
        );
    }
}
