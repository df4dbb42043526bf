//! Is a program read as it was written, and does it look as expected?

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use crate::common::every_operation;
use palladion_program::{Error, Program};

/// Update this by hand when the text form changes: a difference here is what people see in a diff.
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
  %5 = table %4, @2, 2 segments of 2 x 2 x 1, up to 40 and 90 with noise : slots of 4, level 1, noise 2^13.0
last:
  %6 = dense %5, @3, 2 outputs of 2 inputs : coefficients, level 1, noise 2^30.0
  %7 = add_coefficients %6, @4 .. @7 : coefficients, level 1, noise 2^30.0
  %8 = output %7, 2 values : coefficients, level 1, noise 2^30.0
  %9 = slots_to_coefficients %5 : coefficients, level 1, noise 2^20.0
  %10 = mul_coefficients %9 .. %9, @0 .. @7 : coefficients, level 1, noise 2^24.0
  %11 = output %10, 2 values : coefficients, level 1, noise 2^24.0
  %12 = product %5 .. %5 : slots of 4, level 1, noise 2^22.0
  %13 = pack_all %3, 4 values, from level 3 : slots of 64, level 2, noise 2^12.0
  %14 = slots_to_coefficients %13, coefficients 2 to 3 : coefficients, level 1, noise 2^20.0
";

#[test]
fn the_text_form_is_one_line_a_step() {
    assert_eq!(every_operation().to_string(), TEXT);
}

#[test]
fn json_gives_the_program_back_to_the_last_bit() {
    let mut program = every_operation();
    // Numbers for which a reader that rounds in between would not get back the shortest decimal
    // form.
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
    let version = json.replace("palladion-program/5", "palladion-program/6");
    let unknown = json.replacen("\"batch\"", "\"extra\":0,\"batch\"", 1);
    for wrong in ["", "{}", "null", &json[..json.len() - 1], &unknown] {
        let error = Program::from_json(wrong).unwrap_err();
        assert!(matches!(error, Error::Json(_)), "{error}");
    }
    let expected = Error::Format {
        found: "palladion-program/6".into(),
        expected: "palladion-program/5".into(),
    };
    assert_eq!(Program::from_json(&version), Err(expected));
}
