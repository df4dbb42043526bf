//! A program with every operation. Its moduli are not prime, because these tests do not compute
//! with them.

#![allow(unreachable_pub, reason = "a module of a test binary")]

use palladion_program::{
    Constant, Error, Form, Indices, KeyNeeds, Op, Packed, Parameters, Patch, Prediction, Program,
    Row, Step, TableShape, Term, Type,
};

fn ciphertext(form: Form, level: usize, noise_bits: f64) -> Type {
    Type::Ciphertext {
        form,
        level,
        noise_bits,
    }
}

fn rows(output: usize) -> Vec<Row> {
    [0, 1].map(|image| Row { image, output }).into()
}

fn term(value: usize, weights: usize, exponents: usize) -> Term {
    Term {
        value,
        weights,
        exponents,
    }
}

/// An image of one channel.
fn tile(image: usize, start: usize, pitch: [usize; 2]) -> Patch {
    Patch {
        image,
        channels: [0, 1],
        start,
        pitch,
    }
}

/// Two images and two classes. Class 0 comes from a dense layer from slots, class 1 from
/// coefficients.
pub fn every_operation() -> Program {
    let coefficients = |level, noise| ciphertext(Form::Coefficients, level, noise);
    let slots = |level, noise| ciphertext(Form::Slots(4), level, noise);
    let all_slots = |level, noise| ciphertext(Form::Slots(64), level, noise);
    let steps = [
        ("first", Op::Input { index: 0 }, coefficients(1, 10.0)),
        (
            "first",
            Op::MulCoefficients {
                terms: vec![term(0, 0, 5)],
            },
            coefficients(1, 14.25),
        ),
        (
            "first",
            Op::AddCoefficients {
                value: 1,
                term: 1,
                at: 6,
            },
            coefficients(1, 14.25),
        ),
        ("first", Op::ToSamples { value: 2 }, Type::Samples),
        (
            "first",
            Op::Pack {
                sources: vec![3],
                values: vec![
                    Packed(0, 0, 0, vec![[0, 3]]),
                    Packed(2, 1, 0, vec![[0, 35], [0, 36]]),
                ],
                start_level: 3,
            },
            slots(2, 12.0),
        ),
        (
            "first",
            Op::Table {
                value: 4,
                polynomial: 2,
                shape: TableShape {
                    segments: 2,
                    digits: [2, 2, 1],
                },
                indices: Indices {
                    bound: 40,
                    border: 90,
                },
            },
            slots(1, 13.0),
        ),
        (
            "last",
            Op::Dense {
                value: 5,
                weights: 3,
                inputs: 2,
                rows: rows(0),
            },
            coefficients(1, 30.0),
        ),
        (
            "last",
            Op::AddCoefficients {
                value: 6,
                term: 4,
                at: 7,
            },
            coefficients(1, 30.0),
        ),
        (
            "last",
            Op::Output {
                value: 7,
                rows: rows(0),
                at: vec![0, 1],
                flood: None,
            },
            coefficients(1, 30.0),
        ),
        (
            "last",
            Op::SlotsToCoefficients {
                value: 5,
                kept: None,
            },
            coefficients(1, 20.0),
        ),
        (
            "last",
            Op::MulCoefficients {
                terms: vec![term(9, 0, 5), term(9, 3, 7)],
            },
            coefficients(1, 24.0),
        ),
        (
            "last",
            Op::Output {
                value: 10,
                rows: rows(1),
                at: vec![0, 2],
                flood: None,
            },
            coefficients(1, 24.0),
        ),
        ("last", Op::Product { left: 5, right: 5 }, slots(1, 22.0)),
        (
            "last",
            Op::PackAll {
                value: 3,
                outputs: vec![1, 0],
                batch: 2,
                start_level: 3,
            },
            all_slots(2, 12.0),
        ),
        (
            "last",
            Op::SlotsToCoefficients {
                value: 13,
                kept: Some([2, 4]),
            },
            coefficients(1, 20.0),
        ),
    ];
    let constant = |name: &str, values: &[i64]| Constant {
        name: name.into(),
        values: values.into(),
    };
    let below = |bits: u32, steps: u64| (1u64 << bits) + 1 - 128 * steps;
    let program = Program {
        format: String::new(),
        name: "every operation".into(),
        batch: 2,
        input: [1, 2, 2],
        input_range: [-3, 15],
        classes: 2,
        interface: None,
        placement: vec![vec![tile(0, 0, [4, 2]), tile(1, 32, [8, 3])]],
        interleaved: false,
        parameters: Parameters {
            n: 64,
            t: 257,
            q: vec![below(26, 1), below(33, 1), below(33, 2), below(33, 3)],
            p: vec![below(49, 1)],
            digit_limbs: 1,
            lwe_dimension: 16,
            lwe_digit_bits: 3,
            slack_bits: 1.5,
            baby_steps: 1,
        },
        keys: KeyNeeds {
            relinearization: Some(3),
            galois: vec![(5, 2), (127, 3)],
            packing: vec![(1, 3), (4, 3)],
        },
        prediction: Prediction {
            input_bytes: 1000,
            key_bytes: 2000,
            margin_bits: 25.5,
            log2_failure: -100.5,
            public_inputs: None,
        },
        constants: vec![
            constant("first.weight", &[1, -2, 3]),
            constant("first.bias", &[7, -7]),
            constant("first.table", &[0, 256, 1, 4, 9]),
            constant("last.weight", &[5, -6]),
            constant("last.bias", &[1]),
            constant("first.exponents", &[0, 5, 127]),
            constant("first.places", &[3, 35]),
            constant("last.places", &[0, 1]),
        ],
        steps: steps
            .into_iter()
            .map(|(layer, op, ty)| Step {
                op,
                ty,
                layer: layer.into(),
                seconds: 0.125,
            })
            .collect(),
    };
    program.new().expect("the program of the tests is right")
}

/// The change, the name of what is wrong, and the value found.
#[allow(dead_code, reason = "not every test file uses it")]
pub type Case = (fn(&mut Program), &'static str, &'static str);

#[allow(dead_code, reason = "not every test file uses it")]
pub fn ty(p: &mut Program, step: usize, change: impl FnOnce(&mut Form, &mut usize, &mut f64)) {
    match &mut p.steps[step].ty {
        Type::Ciphertext {
            form,
            level,
            noise_bits,
        } => change(form, level, noise_bits),
        Type::Samples => panic!("step {step} makes samples"),
    }
}

#[allow(dead_code, reason = "not every test file uses it")]
pub fn expect_step(program: &Program, at: usize, about: &str, value: &str) {
    match program.verify() {
        Ok(()) if about.is_empty() => {}
        Err(Error::Step {
            step, what, found, ..
        }) => {
            assert_eq!((step, what, found.as_str()), (at, about, value));
        }
        other => panic!("{about} {value}: {other:?}"),
    }
}
