//! Does a program read as it was written, look as expected, and is every wrong one rejected?

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod common;

use common::every_operation;
use program::{Error, Form, Op, Packed, Program, Term, Tile, Type};

/// Update it by hand when the text form changes: a difference here is what people see in a diff.
const TEXT: &str = "\
program every operation batch 2
  ring N = 64, t = 257, log QP = 174.0
  chain of 26 33 33 33 bits, special 49 bits, 1 limbs per digit
  LWE dimension 16
  @0 = first.weight [3] #adf81e59
  @1 = first.bias [2] #23b48487
  @2 = first.table [5] #d87242dc
  @3 = last.weight [2] #7c3cb858
  @4 = last.bias [1] #89cd3129
  @5 = first.exponents [3] #d7e10be5
  @6 = first.places [2] #d8ca8d57
  @7 = last.places [2] #692558b0
first:
  %0 = input 0 : coefficients, level 1, noise 2^10.0
  %1 = mul_coefficients %0, @0 .. @5 : coefficients, level 1, noise 2^14.2
  %2 = add_coefficients %1, @1 .. @6 : coefficients, level 1, noise 2^14.2
  %3 = to_samples %2 : samples
  %4 = pack %3, 2 values, from level 3 : slots of 4, level 2, noise 2^12.0
  %5 = table %4, @2, 2 segments of 2 x 2 x 1 : slots of 4, level 1, noise 2^13.0
last:
  %6 = dense %5, @3, 2 outputs of 2 inputs : coefficients, level 1, noise 2^30.0
  %7 = add_coefficients %6, @4 .. @7 : coefficients, level 1, noise 2^30.0
  %8 = output %7, 2 values : coefficients, level 1, noise 2^30.0
  %9 = slots_to_coefficients %5 : coefficients, level 1, noise 2^20.0
  %10 = mul_coefficients %9 .. %9, @0 .. @7 : coefficients, level 1, noise 2^24.0
  %11 = output %10, 2 values : coefficients, level 1, noise 2^24.0
  %12 = product %5 .. %5 : slots of 4, level 1, noise 2^22.0
";

#[test]
fn the_text_form_is_one_line_a_step() {
    assert_eq!(every_operation().to_string(), TEXT);
}

#[test]
fn json_gives_the_program_back_to_the_last_bit() {
    let mut program = every_operation();
    // Numbers whose shortest decimal form a reader that rounds on the way would miss.
    let awkward = [0.1, 1.0 / 3.0, 47.133_870_289_306_59, 5e-324, 1.7e-300];
    for (step, seconds) in program.steps.iter_mut().zip(awkward) {
        step.seconds = seconds;
    }
    for exponent in 0..2000 {
        program.prediction.margin_bits = (f64::from(exponent) * 0.77).sin() * 40.0;
        let text = program.to_json();
        let back = Program::from_json(&text).unwrap();
        assert_eq!(back, program);
        assert_eq!(back.to_json(), text);
    }
}

#[test]
fn text_that_is_no_program_is_an_error() {
    let json = every_operation().to_json();
    let version = json.replace("palladion-program/3", "palladion-program/4");
    let unknown = json.replacen("\"batch\"", "\"extra\":0,\"batch\"", 1);
    for wrong in ["", "{}", "null", &json[..json.len() - 1], &unknown] {
        let error = Program::from_json(wrong).unwrap_err();
        assert!(matches!(error, Error::Json(_)), "{error}");
    }
    let expected = Error::Format {
        found: "palladion-program/4".into(),
        expected: "palladion-program/3".into(),
    };
    assert_eq!(Program::from_json(&version), Err(expected));
}

fn tile(p: &mut Program, index: usize) -> &mut Tile {
    &mut p.placement[0][index]
}

/// What to change, what the error is about, what it found.
type Case = (fn(&mut Program), &'static str, &'static str);

#[test]
fn wrong_parameters_placements_and_keys_are_named() {
    let cases: &[Case] = &[
        (|p| p.parameters.n = 0, "the ring degree", "0"),
        (|p| p.parameters.n = 65, "the ring degree", "65"),
        (|p| p.parameters.n = 1 << 18, "the ring degree", "262144"),
        (
            |p| p.parameters.q.clear(),
            "the number of moduli of the chain",
            "0",
        ),
        (
            |p| p.parameters.q = vec![3; 65],
            "the number of moduli of the chain",
            "65",
        ),
        (
            |p| p.parameters.p.clear(),
            "the number of special moduli",
            "0",
        ),
        (
            |p| p.parameters.p = vec![3; 61],
            "the number of special moduli",
            "61",
        ),
        (
            |p| p.parameters.q[1] = p.parameters.q[0],
            "a modulus",
            "67108737",
        ),
        (|p| p.parameters.q[1] = 130, "a modulus", "130"),
        (
            |p| p.parameters.q[1] = u64::MAX,
            "a modulus",
            "18446744073709551615",
        ),
        (
            |p| p.parameters.p[0] = p.parameters.q[0],
            "a modulus",
            "67108737",
        ),
        (
            |p| p.parameters.digit_limbs = 0,
            "the limbs of a digit",
            "0",
        ),
        (
            |p| p.parameters.digit_limbs = 5,
            "the limbs of a digit",
            "5",
        ),
        (|p| p.parameters.t = 0, "the plaintext modulus", "0"),
        (|p| p.parameters.t = 256, "the plaintext modulus", "256"),
        (
            |p| p.parameters.t = (1 << 32) + 1,
            "the plaintext modulus",
            "4294967297",
        ),
        (|p| p.parameters.lwe_dimension = 0, "the LWE dimension", "0"),
        (
            |p| p.parameters.lwe_dimension = 48,
            "the LWE dimension",
            "48",
        ),
        (
            |p| p.parameters.lwe_dimension = 128,
            "the LWE dimension",
            "128",
        ),
        (
            |p| p.parameters.lwe_digit_bits = 31,
            "the bits of a digit of the dimension switch",
            "31",
        ),
        (
            |p| p.prediction.margin_bits = f64::NAN,
            "the predicted margin",
            "NaN",
        ),
        (|p| p.batch = 0, "the batch", "0"),
        (
            |p| p.batch = usize::MAX,
            "the batch",
            "18446744073709551615",
        ),
        (|p| p.batch = 3, "the number of placed channels", "0"),
        (
            |p| p.input = [0, 2, 2],
            "the shape of an image",
            "[0, 2, 2]",
        ),
        (
            |p| p.input = [1 << 11, 1 << 11, 2],
            "the shape of an image",
            "[2048, 2048, 2]",
        ),
        (
            |p| p.input = [usize::MAX, 2, 2],
            "the shape of an image",
            "[18446744073709551615, 2, 2]",
        ),
        (
            |p| p.input_range = [3, 3],
            "the range of an image's integers",
            "3 to 3",
        ),
        (
            |p| p.input_range = [4, -4],
            "the range of an image's integers",
            "4 to -4",
        ),
        (
            |p| p.input_range = [-129, 15],
            "the range of an image's integers",
            "-129 to 15",
        ),
        (
            |p| p.input_range = [0, 129],
            "the range of an image's integers",
            "0 to 129",
        ),
        (
            |p| p.input_range = [i64::MIN, i64::MAX],
            "the range of an image's integers",
            "-9223372036854775808 to 9223372036854775807",
        ),
        (
            |p| p.placement.clear(),
            "the number of parts of images",
            "0",
        ),
        (
            |p| p.placement = vec![vec![p.placement[0][0].clone(); 9]],
            "the number of parts of images",
            "9",
        ),
        (|p| tile(p, 1).image = 2, "the image of a part", "2"),
        (
            |p| tile(p, 1).image = usize::MAX,
            "the image of a part",
            "18446744073709551615",
        ),
        (
            |p| tile(p, 1).image = 0,
            "the number of placed channels",
            "2",
        ),
        (
            |p| p.placement[0].truncate(1),
            "the number of placed channels",
            "0",
        ),
        (
            |p| p.input = [2, 2, 2],
            "the number of placed channels",
            "1",
        ),
        (
            |p| tile(p, 0).channels = [0, 0],
            "the channels of a part",
            "0 to 0",
        ),
        (
            |p| tile(p, 0).channels = [1, 0],
            "the channels of a part",
            "1 to 0",
        ),
        (
            |p| tile(p, 0).channels = [0, 2],
            "the channels of a part",
            "0 to 2",
        ),
        (
            |p| tile(p, 0).channels = [1, 2],
            "the channels of a part",
            "1 to 2",
        ),
        (
            |p| tile(p, 0).channels = [0, usize::MAX],
            "the channels of a part",
            "0 to 18446744073709551615",
        ),
        (|p| tile(p, 0).pitch = [4, 1], "the pitch of rows", "1"),
        (|p| tile(p, 0).pitch = [64, 65], "the pitch of rows", "65"),
        (
            |p| tile(p, 0).pitch = [4, usize::MAX],
            "the pitch of rows",
            "18446744073709551615",
        ),
        (|p| tile(p, 0).pitch = [3, 2], "the pitch of channels", "3"),
        (
            |p| tile(p, 0).pitch = [65, 2],
            "the pitch of channels",
            "65",
        ),
        (
            |p| tile(p, 0).pitch = [usize::MAX, 2],
            "the pitch of channels",
            "18446744073709551615",
        ),
        (|p| tile(p, 1).start = 60, "the end of a part", "65"),
        (
            |p| tile(p, 1).start = usize::MAX,
            "the end of a part",
            "18446744073709551615",
        ),
        // Channel 0 twice, and channel 1 never.
        (
            |p| {
                p.input[0] = 2;
                p.placement.push(p.placement[0].clone());
            },
            "the first channel of a part",
            "0",
        ),
        // The second channel would begin at coefficient 36 + 32.
        (
            |p| {
                p.input[0] = 2;
                for part in &mut p.placement[0] {
                    part.channels = [0, 2];
                    part.pitch[0] = 32;
                }
            },
            "the end of a part",
            "69",
        ),
        (|p| p.classes = 0, "the number of classes", "0"),
        (|p| p.classes = usize::MAX, "the number of results", "4"),
        (|p| p.classes = 3, "the number of results", "4"),
        (
            |p| p.keys.relinearization = Some(4),
            "the level of a key",
            "4",
        ),
        (
            |p| p.keys.galois[0].1 = usize::MAX,
            "the level of a key",
            "18446744073709551615",
        ),
        (|p| p.keys.packing[0].1 = 4, "the level of a key", "4"),
        (|p| p.keys.galois[0].0 = 6, "a Galois element", "6"),
        (|p| p.keys.galois[0].0 = 1, "a Galois element", "1"),
        (|p| p.keys.galois[1].0 = 129, "a Galois element", "129"),
        (|p| p.keys.galois[1].0 = 3, "a key in order", "3"),
        (|p| p.keys.galois[1].0 = 5, "a key in order", "5"),
        (
            |p| p.keys.packing[0].0 = 0,
            "the number of values of a packing key",
            "0",
        ),
        (
            |p| p.keys.packing[0].0 = 2,
            "the number of values of a packing key",
            "2",
        ),
        (
            |p| p.keys.packing[0].0 = 12,
            "the number of values of a packing key",
            "12",
        ),
        (
            |p| p.keys.packing[0].0 = 128,
            "the number of values of a packing key",
            "128",
        ),
        (|p| p.steps.clear(), "the number of steps", "0"),
        (
            |p| p.steps = vec![p.steps[0].clone(); 70_000],
            "the number of steps",
            "70000",
        ),
        (
            |p| p.steps.extend(vec![p.steps[9].clone(); 1024]),
            "the number of tables and maps from slots",
            "1027",
        ),
        (
            |p| {
                if let Op::Output { rows, .. } = &mut p.steps[11].op {
                    rows[0].image = 1;
                }
            },
            "a result given twice",
            "class 1 of image 1",
        ),
    ];
    for (change, about, value) in cases {
        let mut program = every_operation();
        change(&mut program);
        match program.verify() {
            Err(Error::Parameters { what, found, .. }) => {
                assert_eq!((what, found.as_str()), (*about, *value));
            }
            other => panic!("{about} {value}: {other:?}"),
        }
    }
}

#[test]
fn constants_are_residues_of_either_sign() {
    for (value, ok) in [
        (256, true),
        (-256, true),
        (257, false),
        (-257, false),
        (i64::MIN, false),
        (i64::MAX, false),
    ] {
        let mut program = every_operation();
        program.constants[3].values[1] = value;
        let expected = Error::Constant {
            id: 3,
            index: 1,
            found: value,
            bound: 256,
        };
        assert_eq!(program.verify(), if ok { Ok(()) } else { Err(expected) });
    }
}

fn ty(p: &mut Program, step: usize, change: impl FnOnce(&mut Form, &mut usize, &mut f64)) {
    match &mut p.steps[step].ty {
        Type::Ciphertext {
            form,
            level,
            noise_bits,
        } => change(form, level, noise_bits),
        Type::Samples => panic!("step {step} makes samples"),
    }
}

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
        // One term is added at any number of places, none included.
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

fn expect_step(program: &Program, at: usize, about: &str, value: &str) {
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

#[test]
fn wrong_shapes_of_a_table_are_named() {
    for (segments, digits, about, value) in [
        (2, [2, 2, 1], "", ""),
        (1, [4, 2, 3], "", ""),
        (1, [3, 5, 2], "", ""),
        (0, [2, 2, 1], "the number of segments", "0"),
        (3, [2, 2, 1], "the number of segments", "3"),
        (32, [2, 2, 1], "the number of segments", "32"),
        (
            usize::MAX,
            [2, 2, 1],
            "the number of segments",
            "18446744073709551615",
        ),
        (1, [0, 2, 4], "a digit of the table", "0"),
        (1, [1, 2, 4], "a digit of the table", "1"),
        (1, [2, 1, 4], "a digit of the table", "1"),
        (1, [2, 2, 0], "a digit of the table", "0"),
        (
            1,
            [usize::MAX, 2, 2],
            "a digit of the table",
            "18446744073709551615",
        ),
        (1, [129, 2, 2], "a digit of the table", "129"),
        (1, [128, 128, 9], "the coefficients of the shape", "147456"),
        (1, [2, 2, 1], "the coefficients of the polynomial", "5"),
        (2, [3, 2, 1], "the digits of the table", "[3, 2, 1]"),
        (2, [2, 2, 2], "the digits of the table", "[2, 2, 2]"),
    ] {
        let mut program = every_operation();
        if let Op::Table { shape, .. } = &mut program.steps[5].op {
            (shape.segments, shape.digits) = (segments, digits);
        }
        expect_step(&program, 5, about, value);
    }
}

#[test]
fn wrong_rows_are_named() {
    for (step, image, output, about, value) in [
        (6, 2, 0, "an image", "2"),
        (6, 0, 1, "a neuron", "1"),
        (6, usize::MAX, 0, "an image", "18446744073709551615"),
        (8, 2, 0, "an image", "2"),
        (8, 0, 2, "a class", "2"),
        (8, 0, usize::MAX, "a class", "18446744073709551615"),
    ] {
        let mut program = every_operation();
        if let Op::Dense { rows, .. } | Op::Output { rows, .. } = &mut program.steps[step].op {
            (rows[1].image, rows[1].output) = (image, output);
        }
        expect_step(&program, step, about, value);
    }
    // Three inputs of image 1 end beyond the four values.
    let mut program = every_operation();
    program.constants[3].values.push(1);
    if let Op::Dense { inputs, .. } = &mut program.steps[6].op {
        *inputs = 3;
    }
    expect_step(&program, 6, "the last input of an image", "5");
    // A dense layer needs two copies of each value.
    let mut program = every_operation();
    for step in [4, 5] {
        ty(&mut program, step, |form, _, _| *form = Form::Slots(64));
    }
    if let Op::Table { shape, .. } = &mut program.steps[5].op {
        (shape.segments, shape.digits) = (1, [2, 2, 2]);
    }
    expect_step(&program, 6, "the number of copies of a value", "1");
}

#[test]
fn all_inputs_are_at_one_level() {
    let mut program = every_operation();
    let mut other = program.steps[0].clone();
    if let Type::Ciphertext { level, .. } = &mut other.ty {
        *level = 2;
    }
    program.steps.push(other);
    expect_step(&program, 13, "the level", "2");
}
