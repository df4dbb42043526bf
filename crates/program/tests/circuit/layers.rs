//! Linear layers: their shapes. `crates/runtime` compares their results with the matrix product.

use crate::circuit::{builder, ciphertext};
use palladion_program::Error;
use palladion_program::circuit::{Dense, Weights, sum_strided};
use std::collections::BTreeMap;

fn rows(rows: usize, columns: usize) -> Vec<Vec<f64>> {
    (0..rows)
        .map(|r| (0..columns).map(|c| (r * columns + c) as f64).collect())
        .collect()
}

fn shape(what: &'static str, found: &str, expected: &str) -> Error {
    Error::Shape {
        what,
        found: found.into(),
        expected: expected.into(),
    }
}

#[test]
fn shapes_that_are_none_are_refused() {
    let empty = shape("a matrix", "empty", "a row and a column");
    assert_eq!(Dense::new("w", Vec::new()).unwrap_err(), empty);
    assert_eq!(Dense::new("w", vec![Vec::new()]).unwrap_err(), empty);
    let uneven = shape("the length of a row", "1", "2");
    assert_eq!(
        Dense::new("w", vec![vec![0.0; 2], vec![0.0]]).unwrap_err(),
        uneven
    );
    let tall = shape("the number of rows, padded,", "4", "at most the 2 columns");
    assert_eq!(Dense::new("w", rows(3, 2)).unwrap_err(), tall);
    let mut b = builder();
    let x = b.input("x", ciphertext(3, 30.0)).unwrap();
    let dense = Dense::new("w", rows(2, 2)).unwrap();
    let none = shape("the number of baby steps", "0", "at least 1");
    assert_eq!(
        dense
            .apply_to(&mut b, x, 0, &mut Weights::Plain)
            .unwrap_err(),
        none
    );
    let wide = Dense::new("w", rows(1, 9)).unwrap();
    let found = wide
        .apply_to(&mut b, x, 1, &mut Weights::Plain)
        .unwrap_err();
    assert_eq!(
        found,
        shape(
            "the number of columns, padded,",
            "16",
            "at most the 8 slots"
        )
    );
    let none = shape("the number of terms of a sum over slots", "0", "at least 1");
    assert_eq!(sum_strided(&mut b, x, (1, 0)).unwrap_err(), none);
}

#[test]
fn a_layer_takes_a_level_and_as_few_rotations_as_its_steps() {
    for encrypted in [false, true] {
        let mut kept = BTreeMap::new();
        let mut weights = if encrypted {
            Weights::Encrypted(&mut kept)
        } else {
            Weights::Plain
        };
        let mut b = builder();
        let x = b.input("x", ciphertext(3, 30.0)).unwrap();
        let dense = Dense::new("w", rows(4, 8)).unwrap();
        let y = dense.apply_to(&mut b, x, 2, &mut weights).unwrap();
        assert_eq!(b.ty(y), ciphertext(2, 30.0));
        b.output("y", y).unwrap();
        let circuit = b.finish().unwrap();
        let keys = circuit.keys();
        // A baby step, a giant step, and a rotation that folds 8 columns to 4 rows.
        assert_eq!(keys.rotations, [(1, 3), (2, 3), (4, 2)].into());
        assert_eq!(keys.relinearization, encrypted.then_some(3));
        assert_eq!(
            circuit
                .counts()
                .total(if encrypted { "mul" } else { "mul plain" }),
            4
        );
        let names: Vec<&str> = kept.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            if encrypted {
                vec!["w.0", "w.1", "w.2", "w.3"]
            } else {
                vec![]
            }
        );
    }
}
