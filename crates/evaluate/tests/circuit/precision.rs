//! Each operation, with operands in each possible form: compares measured with predicted precision.

use crate::common::{Setup, builder, fresh, insecure_params};
use program::circuit::{CircuitBuilder, Type, ValueId, sum_strided};

/// Mean squares of 2^12 independent errors have a deviation of 2 %: 0.03 bits of precision at two
/// deviations. The tolerance is four times that, for errors that differ between slots and for the
/// weight of one secret.
const TOLERANCE: f64 = 0.12;

fn check(
    what: &str,
    levels: usize,
    write: impl FnOnce(&mut CircuitBuilder, [ValueId; 3]) -> ValueId,
) {
    let params = insecure_params(13, levels);
    let ty = fresh(&params);
    let plain = Type {
        encrypted: false,
        ..ty
    };
    let mut b = builder(&params);
    let [x, y] = ["x", "y"].map(|name| b.input(name, ty).unwrap());
    let p = b.input("p", plain).unwrap();
    let out = write(&mut b, [x, y, p]);
    b.output("out", out).unwrap();
    let circuit = b.finish().unwrap();
    Setup::new(params, 1).check(what, &circuit, |_| TOLERANCE);
}

#[test]
fn sums() {
    check("add", 1, |b, [x, y, _]| b.add(x, y).unwrap());
    check("sub", 1, |b, [x, y, _]| b.sub(x, y).unwrap());
    check("add twice", 1, |b, [x, ..]| b.add(x, x).unwrap());
    check("add plain", 1, |b, [x, _, p]| b.add(x, p).unwrap());
    check("sub plain", 1, |b, [x, _, p]| b.sub(x, p).unwrap());
}

#[test]
fn negatives() {
    check("negative", 1, |b, [x, ..]| b.negate(x).unwrap());
    check("x + x - x by a negative", 1, |b, [x, ..]| {
        let (sum, negative) = (b.add(x, x).unwrap(), b.negate(x).unwrap());
        b.add(sum, negative).unwrap()
    });
    check(
        "negative of a product before its relinearisation",
        1,
        |b, [x, y, _]| {
            let product = b.mul(x, y).unwrap();
            let negative = b.negate(product).unwrap();
            b.rescale(negative).unwrap()
        },
    );
    check(
        "negative of a rotation over the special moduli",
        1,
        |b, [x, _, p]| {
            let rotated = b.rotate(x, 3).unwrap();
            let product = b.mul(rotated, p).unwrap();
            let negative = b.negate(product).unwrap();
            b.rescale(negative).unwrap()
        },
    );
}

#[test]
fn errors_that_meet_themselves() {
    check("y + (y + p)", 1, |b, [_, y, p]| {
        let sum = b.add(y, p).unwrap();
        b.add(y, sum).unwrap()
    });
    check("a sum and its difference", 1, |b, [x, y, _]| {
        let (sum, difference) = (b.add(x, y).unwrap(), b.sub(x, y).unwrap());
        b.add(sum, difference).unwrap()
    });
    check("x y + x p: what x meets adds up", 1, |b, [x, y, p]| {
        let [xy, xp] = [[x, y], [x, p]].map(|[a, c]| b.mul(a, c).unwrap());
        let sum = b.add(xy, xp).unwrap();
        b.rescale(sum).unwrap()
    });
    check("x^4 as a square of a square, and x^3", 3, |b, [x, ..]| {
        let square = b.mul(x, x).unwrap();
        let square = b.rescale(square).unwrap();
        let low = b.drop_to(x, 2).unwrap();
        let cube = b.mul(square, low).unwrap();
        let cube = b.rescale(cube).unwrap();
        let low = b.drop_to(x, 1).unwrap();
        let fourth = b.mul(cube, low).unwrap();
        let fourth = b.rescale(fourth).unwrap();
        b.rotate(fourth, 2).unwrap()
    });
    check("the sum over all slots, twice", 1, |b, [x, ..]| {
        let sum = sum_strided(b, x, (1, 4)).unwrap();
        let double = b.add(sum, x).unwrap();
        b.add(double, x).unwrap()
    });
}

#[test]
fn products() {
    check("mul, not rescaled", 2, |b, [x, y, _]| b.mul(x, y).unwrap());
    check("mul plain, not rescaled", 2, |b, [x, _, p]| {
        b.mul(x, p).unwrap()
    });
    check("mul", 1, |b, [x, y, _]| {
        let product = b.mul(x, y).unwrap();
        b.rescale(product).unwrap()
    });
    check("square", 1, |b, [x, ..]| {
        let square = b.mul(x, x).unwrap();
        b.rescale(square).unwrap()
    });
    check("the square of a square", 2, |b, [x, ..]| {
        let mut x = x;
        for _ in 0..2 {
            let square = b.mul(x, x).unwrap();
            x = b.rescale(square).unwrap();
        }
        x
    });
    check("a sum of products", 1, |b, [x, y, _]| {
        let sum = b.dot(&[[x, y], [y, y], [y, x]]).unwrap();
        b.rescale(sum).unwrap()
    });
    check(
        "sums of products that wait for their relinearisation",
        1,
        |b, [x, y, p]| {
            let [xx, xy, yp] = [[x, x], [x, y], [y, p]].map(|[a, c]| b.mul(a, c).unwrap());
            let sum = b.add(xx, xy).unwrap();
            let sum = b.sub(sum, yp).unwrap();
            b.rescale(sum).unwrap()
        },
    );
    check("three times, then half", 2, |b, [x, ..]| {
        let scale = b.ty(x).scale;
        let three = b.constant("three", &[3.0], (2, 1.0)).unwrap();
        let x = b.mul(x, three).unwrap();
        b.scaled_to(x, 0.5, (0, scale)).unwrap()
    });
}

#[test]
fn rotations() {
    check("rotate", 1, |b, [x, ..]| b.rotate(x, -5).unwrap());
    check("conjugate", 1, |b, [x, ..]| b.conjugate(x).unwrap());
    check("sum over slots", 1, |b, [x, ..]| {
        sum_strided(b, x, (3, 8)).unwrap()
    });
    check("rotations of one decomposition", 1, |b, [x, ..]| {
        let [a, c, d] = [1, 2, 40].map(|k| b.rotate(x, k).unwrap());
        let sum = b.add(a, c).unwrap();
        b.sub(d, sum).unwrap()
    });
}

#[test]
fn rotations_times_plaintexts_over_the_special_moduli() {
    let linear = |b: &mut CircuitBuilder, x: ValueId, p: ValueId| {
        let level = b.ty(x).level;
        let scale = b.ty(p).scale;
        let q = b.constant("q", &[0.3, -0.7], (level, scale)).unwrap();
        let [a, c] = [1, 2].map(|k| b.rotate(x, k).unwrap());
        let conjugate = b.conjugate(x).unwrap();
        b.dot(&[[x, p], [a, p], [c, q], [conjugate, q]]).unwrap()
    };
    check("divided with the rescale", 1, |b, [x, _, p]| {
        let sum = linear(b, x, p);
        b.rescale(sum).unwrap()
    });
    check("divided alone", 2, |b, [x, _, p]| linear(b, x, p));
    check("a giant step", 1, |b, [x, y, p]| {
        let sum = linear(b, x, p);
        let outer = b.rotate(sum, 16).unwrap();
        let inner = linear(b, y, p);
        let sum = b.sub(inner, outer).unwrap();
        b.rescale(sum).unwrap()
    });
    check("with a product", 1, |b, [x, y, p]| {
        let sum = linear(b, x, p);
        let product = b.mul(y, y).unwrap();
        let sum = b.add(product, sum).unwrap();
        b.rescale(sum).unwrap()
    });
    check("with a plaintext", 2, |b, [x, _, p]| {
        let sum = linear(b, x, p);
        let (level, scale) = (b.ty(sum).level, b.ty(sum).scale);
        let one = b.constant("one", &[1.0], (level, scale)).unwrap();
        b.add(sum, one).unwrap()
    });
    check("used twice", 1, |b, [x, y, p]| {
        let [a, c] = [1, 2].map(|k| b.rotate(x, k).unwrap());
        let sum = b.dot(&[[a, p], [c, p]]).unwrap();
        let product = b.mul(a, y).unwrap();
        let both = b.add(sum, product).unwrap();
        b.rescale(both).unwrap()
    });
}
