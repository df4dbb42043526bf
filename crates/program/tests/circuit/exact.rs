//! Circuits on integers modulo `t`: their text, and the refusals that only they have.

use palladion_program::circuit::{
    Arithmetic, Circuit, CircuitBuilder, Giant, Op, Term, Type, Weights, linear_maps, sum_strided,
};
use palladion_program::{Error, Result};

const T: u64 = 257;

fn of_level(level: usize, encrypted: bool) -> Type {
    let scale = 1.0;
    Type {
        encrypted,
        level,
        scale,
    }
}

fn arithmetic(t: u64) -> Arithmetic {
    let moduli = [40.0, 30.0, 30.0].map(f64::exp2).to_vec();
    Arithmetic::Exact { t, moduli }
}

fn builder() -> CircuitBuilder {
    CircuitBuilder::new("exact", arithmetic(T), 8).unwrap()
}

fn circuit() -> Circuit {
    let mut b = builder();
    let x = b.input("x", of_level(2, true)).unwrap();
    let c = b.constant("c", &[1.0, -256.0], (2, 1.0)).unwrap();
    let y = b.mul(x, c).unwrap();
    let y = b.rescale(y).unwrap();
    let square = b.mul(y, y).unwrap();
    let near = b.rotate(square, -1).unwrap();
    let other = b.swap_rows(near).unwrap();
    b.output("y", other).unwrap();
    b.finish().unwrap()
}

const TEXT: &str = "\
circuit exact on 8 slots
  levels of 40.0 30.0 30.0 bits
  integers modulo 257
  @0 = c [2] #2d967cea
  %0 = input x : ciphertext, level 2
  %1 = constant @0 : plaintext, level 2
  %2 = mul %0 %1 : ciphertext, level 2
  %3 = rescale %2 : ciphertext, level 1
  %4 = mul %3 %3 : ciphertext, level 1
  %5 = rotate %4, 3 to the left : ciphertext, level 1
  %6 = swap %5 : ciphertext, level 1
  %7 = output y %6 : ciphertext, level 1
";

fn said<V>(found: Result<V>) -> String {
    found.err().map_or("nothing".into(), |e| e.to_string())
}

/// Changes the circuit, writes it as JSON, reads it again, and returns the error.
fn read(change: impl FnOnce(&mut Circuit)) -> String {
    let mut circuit = circuit();
    change(&mut circuit);
    said(Circuit::from_json(&circuit.to_json()))
}

#[test]
fn text_json_and_needs() {
    let circuit = circuit();
    assert_eq!(circuit.to_string(), TEXT);
    assert_eq!(Circuit::from_json(&circuit.to_json()).unwrap(), circuit);
    let keys = circuit.keys();
    assert_eq!(keys.relinearization, Some(1));
    assert_eq!(
        (keys.rotations, keys.conjugation),
        ([(3, 1)].into(), Some(1))
    );
    assert_eq!(circuit.counts().total("swap"), 1);
}

#[test]
fn parameters() {
    for t in [0, 2, 256, 1 << 53] {
        let found = read(|c| c.arithmetic = arithmetic(t));
        let expected = "expected an odd number from 3 to 9007199254740991";
        let text = format!("parameters: the plaintext modulus is {t}, {expected}");
        assert_eq!(found, text);
    }
    let rows = read(|c| c.slots = 1);
    assert_eq!(
        rows,
        "parameters: the number of slots is 1, expected two rows of them"
    );
}

#[test]
fn scales_and_constants() {
    let scale = read(|c| c.steps[0].ty.scale = 2.0);
    let text = "step %0 (input): the scale is 2^1.000000, expected 1, as of all exact values";
    assert_eq!(scale, text);
    for value in [0.5, 257.0, -257.0] {
        let found = read(|c| c.constants[0].values[1] = value);
        let text = format!("constant @0: value 1 is {value}, expected an integer from -256 to 256");
        assert_eq!(found, text);
    }
    let mut b = builder();
    let x = b.input("x", of_level(1, true)).unwrap();
    assert!(b.read(x, 2.0).is_err());
    // A product with a factor keeps the scale and takes a level.
    let tripled = b.scaled(x, 3.0).unwrap();
    assert_eq!(b.ty(tripled), of_level(0, true));
}

#[test]
fn operations_of_the_other_arithmetic() {
    let conjugate = read(|c| c.steps[6].op = Op::Conjugate { value: 5 });
    let text = "step %6 (conjugate): the operation is conjugate, expected swap, as the arithmetic is exact";
    assert_eq!(conjugate, text);
    let mut b = crate::circuit::builder();
    let x = b.input("x", crate::circuit::ciphertext(1, 30.0)).unwrap();
    let text = "step %1 (swap): the operation is swap, expected conjugate, as the arithmetic is approximate";
    assert_eq!(said(b.swap_rows(x)), text);
    let plain = read(|c| c.steps[6].op = Op::SwapRows { value: 1 });
    assert_eq!(
        plain,
        "step %6 (swap): the operand is a plaintext, expected a ciphertext"
    );
}

#[test]
fn rotations_are_of_rows() {
    let far = read(|c| c.steps[5].op = Op::Rotate { value: 4, steps: 4 });
    assert_eq!(
        far,
        "step %5 (rotate): the number of steps is 4, expected 1 to 3"
    );
    let mut b = builder();
    let x = b.input("x", of_level(1, true)).unwrap();
    assert_eq!((b.row(), b.rotate(x, 4)), (4, Ok(x)));
    // A sum over a row, then one more doubling: the last rotation is by the whole row.
    let sum = sum_strided(&mut b, x, (1, 4)).unwrap();
    b.output("y", sum).unwrap();
    let rotations: Vec<usize> = b.finish().unwrap().keys().rotations.into_keys().collect();
    assert_eq!(rotations, [1, 2]);
}

#[test]
fn linear_maps_of_the_wrong_shape() {
    let term = |input, values: &[f64]| Term {
        input,
        baby: 1,
        values: values.into(),
    };
    let said = |outputs: Vec<Vec<Giant>>| {
        let mut b = builder();
        let x = b.input("x", of_level(1, true)).unwrap();
        said(linear_maps(
            &mut b,
            "map",
            &[x],
            outputs,
            &mut Weights::Plain,
        ))
    };
    let one = |term| {
        let (rotation, terms) = (0, vec![term]);
        vec![vec![Giant { rotation, terms }]]
    };
    let zero = "an output is zero, expected a term that is not";
    assert_eq!(said(vec![vec![]]), zero);
    assert_eq!(said(one(term(0, &[0.0; 4]))), zero);
    let input = "the number of an input is 1, expected below 1";
    assert_eq!(said(one(term(1, &[1.0]))), input);
    let values = "constant @0: the number of values is 3, expected a power of two up to 8";
    assert_eq!(said(one(term(0, &[1.0; 3]))), values);
    assert_eq!(said(one(term(0, &[1.0; 4]))), "nothing");
    let bottom = {
        let mut b = builder();
        let x = b.input("x", of_level(0, true)).unwrap();
        let outputs = one(term(0, &[1.0]));
        linear_maps(&mut b, "map", &[x], outputs, &mut Weights::Plain).unwrap_err()
    };
    assert!(
        matches!(bottom, Error::Step { op: "rescale", .. }),
        "{bottom}"
    );
}
