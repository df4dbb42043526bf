//! Each operation on exact numbers, with operands in each possible form: compares the integers, and
//! measured with predicted noise.

use crate::exact::{Setup, T, builder, fresh, insecure_params, of_level};
use palladion_evaluate::circuit::{Runner, Slots, arithmetic, predict_noise, run_clear};
use program::circuit::{CircuitBuilder, Dense, ValueId, Weights, sum_strided};
use rand::Rng;

/// Mean squares of 2^12 coefficients have a deviation of 2 %: 0.02 bits at two deviations. The
/// weight of one secret, by whose powers they are multiplied, adds as much in each power.
const TOLERANCE: f64 = 0.12;

fn check_within(
    what: &str,
    tolerance: f64,
    write: impl FnOnce(&mut CircuitBuilder, [ValueId; 3]) -> ValueId,
) {
    let params = insecure_params(12, 2);
    let mut b = builder(&params);
    let [x, y] = ["x", "y"].map(|name| b.input(name, fresh(&params)).unwrap());
    let plain = of_level(params.rlwe().max_level(), false);
    let p = b.input("p", plain).unwrap();
    let out = write(&mut b, [x, y, p]);
    b.output("out", out).unwrap();
    let circuit = b.finish().unwrap();
    Setup::new(params, 1).check(what, &circuit, Some(tolerance));
}

fn check(what: &str, write: impl FnOnce(&mut CircuitBuilder, [ValueId; 3]) -> ValueId) {
    check_within(what, TOLERANCE, write);
}

#[test]
fn sums_insecure() {
    check("add", |b, [x, y, _]| b.add(x, y).unwrap());
    check("sub", |b, [x, y, _]| b.sub(x, y).unwrap());
    check("add twice", |b, [x, ..]| b.add(x, x).unwrap());
    check("add plain", |b, [x, _, p]| b.add(x, p).unwrap());
    check("sub plain", |b, [x, _, p]| b.sub(x, p).unwrap());
    check("drop", |b, [x, ..]| b.drop_to(x, 0).unwrap());
    check("switch", |b, [x, ..]| b.rescale(x).unwrap());
}

#[test]
fn negatives_insecure() {
    check("negative", |b, [x, ..]| b.negate(x).unwrap());
    check("x + x - x by a negative", |b, [x, ..]| {
        let (sum, negative) = (b.add(x, x).unwrap(), b.negate(x).unwrap());
        b.add(sum, negative).unwrap()
    });
    check(
        "negative of a product before its relinearisation",
        |b, [x, y, _]| {
            let product = b.mul(x, y).unwrap();
            let negative = b.negate(product).unwrap();
            b.rescale(negative).unwrap()
        },
    );
    check(
        "negative of a rotation over the special moduli",
        |b, [x, _, p]| {
            let rotated = b.rotate(x, 3).unwrap();
            let product = b.mul(rotated, p).unwrap();
            let negative = b.negate(product).unwrap();
            b.rescale(negative).unwrap()
        },
    );
}

#[test]
fn products_insecure() {
    check("mul", |b, [x, y, _]| b.mul(x, y).unwrap());
    check("mul, switched", |b, [x, y, _]| {
        let product = b.mul(x, y).unwrap();
        b.rescale(product).unwrap()
    });
    check("square", |b, [x, ..]| b.mul(x, x).unwrap());
    check("mul plain", |b, [x, _, p]| b.mul(x, p).unwrap());
    check("sum of products", |b, [x, y, p]| {
        let shifted = b.add(x, p).unwrap();
        b.dot(&[[x, y], [shifted, shifted]]).unwrap()
    });
    check("mul constant", |b, [x, ..]| {
        let top = b.ty(x).level;
        let c = b
            .constant("c", &[3.0, -65536.0, 0.0, 1234.0], (top, 1.0))
            .unwrap();
        let product = b.mul(x, c).unwrap();
        b.rescale(product).unwrap()
    });
    // Constants that differ between the rows.
    check("mul and add long constants", |b, [x, ..]| {
        let (top, slots) = (b.ty(x).level, b.slots());
        let values: Vec<f64> = (0..slots).map(|i| (i * i % 65_521) as f64).collect();
        let c = b.constant("c", &values, (top, 1.0)).unwrap();
        let product = b.mul(x, c).unwrap();
        b.sub(product, c).unwrap()
    });
}

#[test]
fn rotations_insecure() {
    check("rotate", |b, [x, ..]| b.rotate(x, 5).unwrap());
    check("swap", |b, [x, ..]| b.swap_rows(x).unwrap());
    check(
        "rotations of one value, times plaintexts",
        |b, [x, _, p]| {
            let near = b.rotate(x, -1).unwrap();
            let far = b.swap_rows(x).unwrap();
            let sum = b.dot(&[[x, p], [near, p], [far, p]]).unwrap();
            b.rescale(sum).unwrap()
        },
    );
    check("rotated sum of rotations", |b, [x, _, p]| {
        let near = b.rotate(x, 1).unwrap();
        let inner = b.mul(near, p).unwrap();
        let outer = b.rotate(inner, 8).unwrap();
        let sum = b.add(outer, inner).unwrap();
        b.rescale(sum).unwrap()
    });
}

/// All noise of a sum over slots is in a few coefficients, whose squares have a larger deviation.
/// The budget that is left is above the margin.
#[test]
fn sums_over_slots_insecure() {
    check_within("four neighbours", 0.3, |b, [x, ..]| {
        sum_strided(b, x, (1, 4)).unwrap()
    });
    let params = insecure_params(10, 2);
    let mut b = builder(&params);
    let x = b.input("x", fresh(&params)).unwrap();
    let row = (1, b.row());
    let sum = sum_strided(&mut b, x, row).unwrap();
    let other = b.swap_rows(sum).unwrap();
    let sum = b.add(sum, other).unwrap();
    b.output("sum", sum).unwrap();
    let circuit = b.finish().unwrap();
    let budget = predict_noise(&params, &circuit).unwrap()["sum"];
    assert_eq!(budget.gathered, 5.0, "all in one of 2^10 coefficients");
    Setup::new(params, 2).check("all slots", &circuit, None);
}

/// Noise that is twice in a sum is not that of two independent values. This holds if it is
/// repeated, rotated back, or switched in between.
#[test]
fn sums_of_values_that_share_noise_insecure() {
    check("a value four times", |b, [x, y, _]| {
        let c = b.constant("c", &[7.0], (b.ty(x).level, 1.0)).unwrap();
        let shifted = b.add(x, c).unwrap();
        let sum = b.add(x, y).unwrap();
        let sum = b.add(sum, shifted).unwrap();
        let doubled = b.add(x, x).unwrap();
        b.add(sum, doubled).unwrap()
    });
    check("a value taken away again", |b, [x, y, _]| {
        let sum = b.add(x, y).unwrap();
        b.sub(sum, x).unwrap()
    });
    check("switched twice", |b, [x, y, _]| {
        let sum = b.add(x, y).unwrap();
        let [sum, x] = [sum, x].map(|v| b.rescale(v).unwrap());
        b.add(sum, x).unwrap()
    });
}

/// A value that was switched has another factor than one that was dropped.
#[test]
fn sums_of_other_factors_insecure() {
    let switched = |b: &mut CircuitBuilder, x, y| {
        let x = b.rescale(x).unwrap();
        let level = b.ty(x).level;
        [x, b.drop_to(y, level).unwrap()]
    };
    check("switched and dropped", |b, [x, y, _]| {
        let [x, y] = switched(b, x, y);
        b.sub(x, y).unwrap()
    });
    check(
        "product and dropped, a plaintext after it",
        |b, [x, y, _]| {
            let [x, y] = switched(b, x, y);
            let product = b.mul(x, y).unwrap();
            let sum = b.add(product, y).unwrap();
            let c = b.constant("c", &[7.0], (1, 1.0)).unwrap();
            b.add(sum, c).unwrap()
        },
    );
    check("over the special moduli", |b, [x, y, _]| {
        let [x, y] = switched(b, x, y);
        let c = b.constant("c", &[2.0, 3.0], (1, 1.0)).unwrap();
        let near = b.rotate(x, 3).unwrap();
        let product = b.mul(near, c).unwrap();
        let sum = b.add(product, y).unwrap();
        b.rescale(sum).unwrap()
    });
    let params = insecure_params(8, 2);
    let mut b = builder(&params);
    let x = b.input("x", fresh(&params)).unwrap();
    let [low, dropped] = switched(&mut b, x, x);
    let dot = b.dot(&[[low, dropped], [low, low]]).unwrap();
    b.output("y", dot).unwrap();
    let refused = Runner::new(&params, &b.finish().unwrap()).err().unwrap();
    let refused = refused.to_string();
    let expected = "the factor of a product of step %3 (mul) is ";
    assert!(refused.starts_with(expected), "{refused}");
}

#[test]
fn circuits_of_fewer_slots_repeat_in_both_rows_insecure() {
    let params = insecure_params(8, 2);
    let mut b = CircuitBuilder::new("few", arithmetic(&params), 16).unwrap();
    let x = b.input("x", fresh(&params)).unwrap();
    let c = b.constant("c", &[1.0, 2.0, -3.0, 4.0], (2, 1.0)).unwrap();
    let both: Vec<f64> = (0..16).map(f64::from).collect();
    let d = b.constant("d", &both, (2, 1.0)).unwrap();
    let sum = b.mul(x, c).unwrap();
    let sum = b.rotate(sum, 3).unwrap();
    let sum = b.add(sum, d).unwrap();
    let sum = b.swap_rows(sum).unwrap();
    b.output("y", sum).unwrap();
    let circuit = b.finish().unwrap();
    let mut setup = Setup::new(params.clone(), 3);
    let inputs = setup.messages(&circuit);
    let clear = run_clear(&circuit, &inputs).unwrap();
    let runner = Runner::new(&params, &circuit).unwrap();
    let found = setup.run(&runner, &circuit, &inputs);
    let found = setup.slots(&found["y"]);
    let (row, own) = (params.n() / 2, 8);
    for (i, &found) in found.iter().enumerate() {
        assert_eq!(found, clear["y"][i / row * own + i % own], "slot {i}");
    }
}

#[test]
fn a_dense_layer_is_the_matrix_product_modulo_t_insecure() {
    let params = insecure_params(8, 1);
    let mut setup = Setup::new(params.clone(), 4);
    let mut row = |_| {
        (0..20)
            .map(|_| f64::from(setup.rng.random_range(-90..90)))
            .collect()
    };
    let rows: Vec<Vec<f64>> = (0..7).map(&mut row).collect();
    let layer = Dense::new("layer", rows).unwrap();
    let mut b = builder(&params);
    let x = b.input("x", fresh(&params)).unwrap();
    let y = layer.apply_to(&mut b, x, 4, &mut Weights::Plain).unwrap();
    b.output("y", y).unwrap();
    let circuit = b.finish().unwrap();
    let x: Vec<f64> = (0..20).map(|i| f64::from(i * i - 50)).collect();
    let residue = |v: f64| (v as i64).rem_euclid(T as i64) as u64;
    let mut slots: Vec<u64> = x.iter().map(|&v| residue(v)).collect();
    slots.resize(layer.period_in(), 0);
    let inputs = Slots::from([("x".into(), slots)]);
    let runner = Runner::new(&params, &circuit).unwrap();
    let found = setup.run(&runner, &circuit, &inputs);
    let found = setup.slots(&found["y"]);
    assert_eq!(found, run_clear(&circuit, &inputs).unwrap()["y"]);
    for (found, expected) in found.iter().zip(layer.apply(&x)) {
        assert_eq!(*found, residue(expected));
    }
}
