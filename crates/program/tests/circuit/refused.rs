//! Circuits that would not decrypt or break a rule are refused. There is one case for each check.

use crate::circuit::{builder, ciphertext, every_operation};
use palladion_program::Error;
use palladion_program::circuit::{Arithmetic, Circuit, CircuitBuilder, Constant, Op, Step, Type};

/// Changes the circuit with every operation, writes it as JSON, reads it again, and returns the
/// error.
fn read(change: impl FnOnce(&mut Circuit)) -> String {
    let mut circuit = every_operation();
    change(&mut circuit);
    match Circuit::from_json(&circuit.to_json()) {
        Ok(_) => "nothing".into(),
        Err(error) => error.to_string(),
    }
}

fn op(index: usize, op: Op) -> impl FnOnce(&mut Circuit) {
    move |circuit| circuit.steps[index].op = op
}

fn mul(terms: &[[usize; 2]]) -> Op {
    let terms = terms.to_vec();
    Op::Mul { terms }
}

#[test]
fn formats_and_parameters() {
    let format = read(|c| c.format = "palladion-circuit/0".into());
    assert_eq!(
        format,
        "the format is palladion-circuit/0, expected palladion-circuit/1"
    );
    for slots in [0, 3, 1 << 17] {
        let found = read(|c| c.slots = slots);
        let expected = format!(
            "parameters: the number of slots is {slots}, expected a power of two up to 65536"
        );
        assert_eq!(found, expected);
    }
    let moduli = |moduli: Vec<f64>| read(|c| c.arithmetic = Arithmetic::Approximate { moduli });
    assert_eq!(
        moduli(Vec::new()),
        "parameters: the number of levels is 0, expected 1 to 256"
    );
    assert_eq!(
        moduli(vec![4.0; 257]),
        "parameters: the number of levels is 257, expected 1 to 256"
    );
    assert_eq!(
        moduli(vec![1.0]),
        "parameters: the modulus of a level is 1, expected a finite number above 1"
    );
    let none = CircuitBuilder::new("none", Arithmetic::Approximate { moduli: Vec::new() }, 8);
    assert!(matches!(none, Err(Error::Parameters { .. })));
}

#[test]
fn constants() {
    let constant = |values: &[f64]| {
        let values = values.to_vec();
        let name = String::new();
        // JSON has no infinity, so this circuit is verified directly.
        let mut circuit = every_operation();
        circuit.constants[0] = Constant { name, values };
        circuit.verify().unwrap_err().to_string()
    };
    let size = "constant @0: the number of values is 3, expected a power of two up to 8";
    assert_eq!(constant(&[0.0; 3]), size);
    assert_eq!(constant(&[0.0; 16]), size.replace("is 3", "is 16"));
    assert_eq!(
        constant(&[0.0, f64::NAN]),
        "constant @0: value 1 is NaN, expected a finite number"
    );
    assert!(builder().constant("none", &[], (0, 1.0)).is_err());
}

#[test]
fn operands() {
    let late = read(op(3, Op::Rotate { value: 3, steps: 1 }));
    assert_eq!(
        late,
        "step %3 (rotate): an operand is %3, expected a step before this one"
    );
    let output = read(|c| c.steps[16].op = Op::Conjugate { value: 15 });
    assert_eq!(
        output,
        "step %16 (conjugate): an operand is the output %15, expected a value"
    );
    let constant = read(op(2, Op::Constant { constant: 1 }));
    assert_eq!(
        constant,
        "step %2 (constant): the constant is @1, expected less than @1"
    );
    for plain in [
        Op::Rescale { value: 1 },
        Op::Drop { value: 1 },
        Op::Read { value: 1 },
        Op::Conjugate { value: 1 },
        Op::Rotate { value: 1, steps: 1 },
    ] {
        let expected = format!(
            "step %6 ({}): the operand is a plaintext, expected a ciphertext",
            plain.name()
        );
        assert_eq!(read(op(6, plain)), expected);
    }
    let left = read(op(5, mul(&[[1, 0]])));
    assert_eq!(
        left,
        "step %5 (mul): a left factor is a plaintext, expected a ciphertext"
    );
    let left = read(op(5, Op::Add { left: 1, right: 0 }));
    assert_eq!(
        left,
        "step %5 (add): the left term is a plaintext, expected a ciphertext"
    );
    let mixed = read(op(5, mul(&[[0, 1], [3, 0]])));
    assert_eq!(
        mixed,
        "step %5 (mul): a right factor is a ciphertext, expected a plaintext, as in the first product"
    );
}

#[test]
fn levels_and_scales() {
    let exhausted = read(|c| {
        c.steps[9].op = Op::Drop { value: 8 };
        c.steps[9].ty = ciphertext(0, 60.0);
    });
    assert_eq!(
        exhausted,
        "step %9 (drop): the scale is 2^60.000000, expected 1 to 2^39.0, which level 0 holds"
    );
    let levels = read(op(8, mul(&[[6, 0]])));
    assert_eq!(
        levels,
        "step %8 (mul): the level of the right operand is 3, expected 2, as of the left one"
    );
    let levels = read(op(8, mul(&[[6, 7], [0, 3]])));
    assert_eq!(
        levels,
        "step %8 (mul): the level of the right operand is 3, expected 2, as of the left one"
    );
    let scales = read(op(11, Op::Add { left: 8, right: 6 }));
    assert_eq!(
        scales,
        "step %11 (add): the scale of the right term is 2^30.000000, expected 2^60.000000"
    );
    let scales = read(op(11, mul(&[[6, 7], [8, 6]])));
    assert_eq!(
        scales,
        "step %11 (mul): the scale of a product is 2^90.000000, expected 2^60.000000"
    );
    let raised = read(|c| c.steps[7].ty.level = 3);
    assert_eq!(
        raised,
        "step %7 (drop): the level is 3, expected less than the operand's 3"
    );
    let absent = read(|c| c.steps[0].ty.level = 4);
    assert_eq!(
        absent,
        "step %0 (input): the level is 4, expected less than 4"
    );
    let read_small = read(|c| c.steps[14].ty.scale = 0.25);
    assert_eq!(
        read_small,
        "step %14 (read): the scale is 2^-2.000000, expected 1 to 2^69.0, which level 1 holds"
    );
    let small = read(|c| c.steps[0].ty.scale = 0.5);
    assert_eq!(
        small,
        "step %0 (input): the scale is 2^-1.000000, expected 1 to 2^129.0, which level 3 holds"
    );
}

/// Errors of a builder at the lowest level of the chain.
#[test]
fn builders_refuse_when_asked() {
    let mut b = builder();
    let x = b.input("x", ciphertext(0, 30.0)).unwrap();
    let said = |found: palladion_program::Result<usize>| found.unwrap_err().to_string();
    assert_eq!(
        said(b.rescale(x)),
        "step %1 (rescale): the level is 0, expected at least 1"
    );
    assert_eq!(
        said(b.scaled(x, 3.0)),
        "step %1 (drop): the level is 1, expected less than the operand's 0"
    );
    let overflow =
        "step %1 (mul): the scale is 2^60.000000, expected 1 to 2^39.0, which level 0 holds";
    assert_eq!(said(b.mul(x, x)), overflow);
    let low = b.input("low", ciphertext(1, 20.0)).unwrap();
    assert!(
        said(b.rescale(low))
            .starts_with("step %2 (rescale): the scale is 2^-10.000000, expected 1 to")
    );
    assert_eq!(b.rotate(x, 8), Ok(x));
    assert_eq!(b.drop_to(x, 0), Ok(x));
}

#[test]
fn rotations_and_sums_of_products() {
    for steps in [0, 8] {
        let found = read(op(3, Op::Rotate { value: 0, steps }));
        assert_eq!(
            found,
            format!("step %3 (rotate): the number of steps is {steps}, expected 1 to 7")
        );
    }
    for count in [0, 1025] {
        let found = read(op(5, mul(&vec![[0, 1]; count])));
        assert_eq!(
            found,
            format!("step %5 (mul): the number of products is {count}, expected 1 to 1024")
        );
    }
}

#[test]
fn stated_types() {
    let kind = read(|c| c.steps[3].ty.encrypted = false);
    assert_eq!(
        kind,
        "step %3 (rotate): the stated value is a plaintext, expected a ciphertext"
    );
    let kind = read(|c| c.steps[2].ty.encrypted = true);
    assert_eq!(
        kind,
        "step %2 (constant): the value is a ciphertext, expected a plaintext"
    );
    let level = read(|c| c.steps[6].ty.level = 1);
    assert_eq!(
        level,
        "step %6 (rescale): the stated level is 1, expected 2"
    );
    let scale = read(|c| c.steps[6].ty.scale *= 1.0 + 1e-6);
    assert_eq!(
        scale,
        "step %6 (rescale): the stated scale is 2^30.000001, expected 2^30.000000"
    );
}

#[test]
fn names_and_uses() {
    let name = |name: &str| Op::Input { name: name.into() };
    let twice = read(op(1, name("x")));
    assert_eq!(
        twice,
        r#"step %1 (input): the name is "x" again, expected a name that is not taken"#
    );
    let idle = read(|c| c.steps.truncate(16));
    assert_eq!(idle, "nothing");
    let idle = read(|c| {
        let ty = c.steps[13].ty;
        let op = Op::Conjugate { value: 13 };
        c.steps.push(Step { op, ty });
    });
    assert_eq!(
        idle,
        "step %17 (conjugate): the number of uses is 0, expected at least 1"
    );
    let outputs = read(|c| c.steps.truncate(1));
    assert_eq!(
        outputs,
        "parameters: the number of outputs is 0, expected at least 1"
    );
    // An input may be unused.
    let plain = Type {
        encrypted: false,
        ..ciphertext(3, 30.0)
    };
    let unused = read(|c| {
        c.steps.push(Step {
            op: name("q"),
            ty: plain,
        })
    });
    assert_eq!(unused, "nothing");
}
