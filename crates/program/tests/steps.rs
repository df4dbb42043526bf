//! Are wrong steps rejected, one by one?

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use crate::common::{Case, every_operation, expect_step, ty};
use palladion_program::{Form, Op, Packed, Program, Shifted, Step, Term, Type};

macro_rules! op {
    ($variant:ident . $field:ident of $step:expr => $value:expr) => {
        |p| match &mut p.steps[$step].op {
            Op::$variant { $field, .. } => *$field = $value,
            other => panic!("{other:?}"),
        }
    };
}

fn term(p: &mut Program, step: usize, index: usize) -> &mut Term {
    match &mut p.steps[step].op {
        Op::MulCoefficients { terms } => &mut terms[index],
        other => panic!("{other:?}"),
    }
}

fn packed(p: &mut Program, index: usize) -> &mut Packed {
    match &mut p.steps[4].op {
        Op::Pack { values, .. } => &mut values[index],
        other => panic!("{other:?}"),
    }
}

#[test]
fn wrong_steps_are_named() {
    const MAX: &str = "18446744073709551615";
    let cases: &[(usize, Case)] = &[
        (1, (|p| term(p, 1, 0).value = 1, "an operand", "%1")),
        (
            1,
            (
                |p| term(p, 1, 0).value = usize::MAX,
                "an operand",
                "%18446744073709551615",
            ),
        ),
        (10, (|p| term(p, 10, 1).value = 10, "an operand", "%10")),
        (1, (|p| term(p, 1, 0).weights = 8, "the constant", "@8")),
        (1, (|p| term(p, 1, 0).exponents = 8, "the constant", "@8")),
        (
            10,
            (
                |p| term(p, 10, 1).exponents = usize::MAX,
                "the constant",
                "@18446744073709551615",
            ),
        ),
        (
            2,
            (op!(AddCoefficients.term of 2 => 8), "the constant", "@8"),
        ),
        (2, (op!(AddCoefficients.at of 2 => 8), "the constant", "@8")),
        (5, (op!(Table.polynomial of 5 => 8), "the constant", "@8")),
        (6, (op!(Dense.weights of 6 => 8), "the constant", "@8")),
        (
            4,
            (op!(Pack.sources of 4 => vec![3, 4]), "an operand", "%4"),
        ),
        (
            0,
            (|p| p.steps[0].seconds = -1.0, "the predicted time", "-1"),
        ),
        (
            0,
            (
                |p| p.steps[0].seconds = f64::INFINITY,
                "the predicted time",
                "inf",
            ),
        ),
        // Types.
        (
            0,
            (|p| ty(p, 0, |_, level, _| *level = 4), "the level", "4"),
        ),
        (
            0,
            (
                |p| ty(p, 0, |_, _, noise| *noise = 56.0),
                "the noise",
                "2^56.0",
            ),
        ),
        // Level 1 has 2^59. With six deviations below half of it, one of 64 coefficients is wrong
        // with 2^-22.9.
        (
            0,
            (
                |p| ty(p, 0, |_, _, noise| *noise = 58.0 - 6f64.log2()),
                "the noise",
                "2^55.4",
            ),
        ),
        (
            0,
            (
                |p| ty(p, 0, |_, _, noise| *noise = 58.0 - 7.6f64.log2()),
                "the noise",
                "2^55.1",
            ),
        ),
        (
            0,
            (
                |p| ty(p, 0, |_, _, noise| *noise = 58.0 - 7.8f64.log2()),
                "",
                "",
            ),
        ),
        (
            0,
            (
                |p| ty(p, 0, |_, _, noise| *noise = f64::NAN),
                "the noise",
                "2^NaN",
            ),
        ),
        (
            0,
            (
                |p| ty(p, 0, |_, _, noise| *noise = f64::NEG_INFINITY),
                "the noise",
                "2^-inf",
            ),
        ),
        (
            4,
            (
                |p| ty(p, 4, |form, _, _| *form = Form::Slots(3)),
                "the number of values",
                "3",
            ),
        ),
        (
            4,
            (
                |p| ty(p, 4, |form, _, _| *form = Form::Slots(0)),
                "the number of values",
                "0",
            ),
        ),
        (
            4,
            (
                |p| ty(p, 4, |form, _, _| *form = Form::Slots(128)),
                "the number of values",
                "128",
            ),
        ),
        (
            4,
            (
                |p| {
                    ty(p, 4, |form, _, _| *form = Form::Slots(2));
                    packed(p, 1).0 = 1;
                },
                "the number of values",
                "2",
            ),
        ),
        // Forms.
        (
            0,
            (
                |p| ty(p, 0, |form, _, _| *form = Form::Slots(4)),
                "the value",
                "slots",
            ),
        ),
        (
            0,
            (|p| p.steps[0].ty = Type::Samples, "the value", "samples"),
        ),
        (2, (op!(AddCoefficients.value of 2 => 1), "", "")),
        (
            5,
            (op!(Table.value of 5 => 2), "the operand", "coefficients"),
        ),
        (5, (op!(Table.value of 5 => 3), "the operand", "samples")),
        (
            6,
            (op!(Dense.value of 6 => 0), "the operand", "coefficients"),
        ),
        (8, (op!(Output.value of 8 => 5), "the operand", "slots")),
        (
            8,
            (|p| p.steps[8].ty = Type::Samples, "the value", "samples"),
        ),
        (
            9,
            (
                op!(SlotsToCoefficients.value of 9 => 0),
                "the operand",
                "coefficients",
            ),
        ),
        (
            4,
            (
                op!(Pack.sources of 4 => vec![2]),
                "the operand",
                "coefficients",
            ),
        ),
        (
            12,
            (op!(Product.left of 12 => 2), "the operand", "coefficients"),
        ),
        (
            12,
            (op!(Product.right of 12 => 3), "the operand", "samples"),
        ),
        (12, (op!(Product.right of 12 => 12), "an operand", "%12")),
        (
            13,
            (op!(PackAll.value of 13 => 2), "the operand", "coefficients"),
        ),
        (
            13,
            (
                |p| ty(p, 13, |form, _, _| *form = Form::Slots(32)),
                "the number of values",
                "32",
            ),
        ),
        (
            13,
            (op!(PackAll.batch of 13 => 3), "the images of a strip", "3"),
        ),
        (
            13,
            (op!(PackAll.batch of 13 => 0), "the images of a strip", "0"),
        ),
        (
            13,
            (
                op!(PackAll.outputs of 13 => vec![0; 33]),
                "the number of strips",
                "33",
            ),
        ),
        (
            13,
            (
                op!(PackAll.outputs of 13 => vec![1 << 30]),
                "an output",
                "1073741824",
            ),
        ),
        (
            13,
            (
                op!(PackAll.start_level of 13 => 4),
                "the level it starts at",
                "4",
            ),
        ),
        (
            14,
            (
                op!(SlotsToCoefficients.kept of 14 => Some([4, 4])),
                "the coefficients that are kept",
                "4 to 4",
            ),
        ),
        (
            14,
            (
                op!(SlotsToCoefficients.kept of 14 => Some([0, 65])),
                "the coefficients that are kept",
                "0 to 65",
            ),
        ),
        (
            12,
            (
                |p| ty(p, 12, |form, _, _| *form = Form::Coefficients),
                "the value",
                "coefficients",
            ),
        ),
        (
            12,
            (
                |p| ty(p, 12, |form, _, _| *form = Form::Slots(8)),
                "the number of values of a factor",
                "4",
            ),
        ),
        (
            12,
            (|p| ty(p, 12, |_, level, _| *level = 2), "the level", "2"),
        ),
        // Levels.
        (
            1,
            (|p| ty(p, 1, |_, level, _| *level = 2), "the level", "2"),
        ),
        (
            5,
            (|p| ty(p, 5, |_, level, _| *level = 3), "the level", "3"),
        ),
        (
            8,
            (
                |p| ty(p, 8, |_, level, _| *level = 0),
                "the noise",
                "2^30.0",
            ),
        ),
        (
            4,
            (
                op!(Pack.start_level of 4 => 4),
                "the level it starts at",
                "4",
            ),
        ),
        // Sizes and indices.
        (0, (op!(Input.index of 0 => 1), "the input", "1")),
        (
            1,
            (
                op!(MulCoefficients.terms of 1 => vec![]),
                "the number of products",
                "0",
            ),
        ),
        (
            1,
            (
                |p| match &mut p.steps[1].op {
                    Op::MulCoefficients { terms } => *terms = vec![terms[0]; 1025],
                    other => panic!("{other:?}"),
                },
                "the number of products",
                "1025",
            ),
        ),
        (10, (|p| term(p, 10, 1).value = 5, "the operand", "slots")),
        (
            1,
            (
                |p| p.constants[0].values = vec![1; 65],
                "the number of weights of a product",
                "65",
            ),
        ),
        (
            1,
            (
                |p| p.constants[0].values.clear(),
                "the number of weights of a product",
                "0",
            ),
        ),
        (
            1,
            (
                |p| p.constants[0].values.truncate(2),
                "the number of exponents",
                "3",
            ),
        ),
        (
            1,
            (
                |p| term(p, 1, 0).exponents = 7,
                "the number of exponents",
                "2",
            ),
        ),
        (
            1,
            (|p| p.constants[5].values[1] = 128, "an exponent", "128"),
        ),
        (1, (|p| p.constants[5].values[1] = -1, "an exponent", "-1")),
        (2, (|p| p.constants[1].values.truncate(1), "", "")),
        (
            2,
            (
                |p| p.constants[6].values = vec![3],
                "the number of terms",
                "2",
            ),
        ),
        (
            2,
            (
                |p| p.constants[1].values.clear(),
                "the number of terms",
                "0",
            ),
        ),
        (
            2,
            (|p| p.constants[6].values[1] = 64, "a coefficient", "64"),
        ),
        (
            2,
            (|p| p.constants[6].values[1] = -1, "a coefficient", "-1"),
        ),
        // One term can be added at any number of places, including none.
        (
            7,
            (|p| p.constants[7].values[1] = 64, "a coefficient", "64"),
        ),
        (4, (|p| packed(p, 1).0 = 4, "a slot", "4")),
        (4, (|p| packed(p, 1).0 = usize::MAX, "a slot", MAX)),
        (4, (|p| packed(p, 1).0 = 0, "a slot in order", "0")),
        (4, (|p| packed(p, 0).0 = 3, "a slot in order", "2")),
        (4, (|p| packed(p, 1).1 = 2, "an image", "2")),
        (4, (|p| packed(p, 1).3[0][0] = 1, "a source", "1")),
        (4, (|p| packed(p, 1).3[1][1] = 64, "a coefficient", "64")),
        (
            4,
            (
                |p| packed(p, 1).3 = vec![[0, 3]; 1025],
                "the number of samples of a value",
                "1025",
            ),
        ),
        (4, (|p| packed(p, 1).3.clear(), "", "")),
        (4, (op!(Pack.values of 4 => vec![]), "", "")),
        (5, (op!(Table.polynomial of 5 => 0), "", "")),
        (
            5,
            (
                |p| p.constants[2].values = vec![1; 9],
                "the coefficients of the polynomial",
                "9",
            ),
        ),
        (
            5,
            (
                |p| p.constants[2].values.clear(),
                "the coefficients of the polynomial",
                "0",
            ),
        ),
        (
            6,
            (op!(Dense.inputs of 6 => 0), "the number of inputs", "0"),
        ),
        (
            6,
            (
                op!(Dense.inputs of 6 => usize::MAX),
                "the number of inputs",
                MAX,
            ),
        ),
        (
            6,
            (op!(Dense.rows of 6 => vec![]), "the number of outputs", "0"),
        ),
        (
            8,
            (
                op!(Output.at of 8 => vec![0]),
                "the number of coefficients",
                "1",
            ),
        ),
        (
            8,
            (op!(Output.at of 8 => vec![0, 64]), "a coefficient", "64"),
        ),
    ];
    for (step, (change, about, value)) in cases {
        let mut program = every_operation();
        change(&mut program);
        expect_step(&program, *step, about, value);
    }
}

/// The program with a merge of class 1 before its output.
fn merging() -> Program {
    let mut p = every_operation();
    let merge = Step {
        op: Op::Merge {
            sources: vec![
                Shifted { value: 10, back: 2 },
                Shifted { value: 10, back: 0 },
            ],
        },
        ..p.steps[10].clone()
    };
    p.steps.insert(11, merge);
    match &mut p.steps[12].op {
        Op::Output { value, .. } => *value = 11,
        other => panic!("{other:?}"),
    }
    p
}

#[test]
fn wrong_merges_are_named() {
    let p = merging();
    p.verify().unwrap();
    assert_eq!(Program::from_json(&p.to_json()).unwrap(), p);
    assert!(p.to_string().contains("%11 = merge %10 .. %10, 2 sources"));
    let factors: Vec<u64> = p.terms().outputs.iter().map(|o| o.factor).collect();
    assert_eq!(factors, [1, 2]);
    let json = serde_json::to_string(&p.terms()).unwrap();
    assert_eq!(json.matches("\"factor\":2").count(), 1);
    assert_eq!(json.matches("\"factor\"").count(), 1);
    let mut terms = p.terms();
    terms.outputs[1].factor = 257;
    let refused = terms.verify().unwrap_err().to_string();
    assert!(refused.contains("the factor of an output"), "{refused}");

    let source = |value, back| vec![Shifted { value, back }];
    let cases: [(usize, Vec<Shifted>, &str, &str); 6] = [
        (11, vec![], "the number of sources", "0"),
        (11, source(11, 0), "an operand", "%11"),
        (11, source(10, 64), "the distance of a source", "64"),
        (11, source(3, 0), "the operand", "samples"),
        (11, source(5, 0), "the operand", "slots"),
        (
            11,
            vec![Shifted { value: 10, back: 0 }; 65],
            "the number of sources",
            "65",
        ),
    ];
    for (step, of, what, found) in cases {
        let mut p = merging();
        match &mut p.steps[step].op {
            Op::Merge { sources } => *sources = of,
            other => panic!("{other:?}"),
        }
        expect_step(&p, step, what, found);
    }
    // A merged value has another factor, which only outputs know.
    let mut p = merging();
    let step = Step {
        op: Op::ToSamples { value: 11 },
        ty: Type::Samples,
        ..p.steps[11].clone()
    };
    p.steps.push(step);
    let last = p.steps.len() - 1;
    expect_step(&p, last, "an operand", "%11, which is merged");
}
