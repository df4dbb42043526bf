//! Is a circuit read as it was written, and does it look as expected?

use crate::circuit::every_operation;
use palladion_program::Error;
use palladion_program::circuit::{Circuit, KeyNeeds};

/// Update this by hand when the text form changes: a difference here is what people see in a diff.
const TEXT: &str = "\
circuit every operation on 8 slots
  levels of 40.0 30.0 30.0 30.0 bits
  @0 = bias [2] #2c18cbea
  %0 = input x : ciphertext, level 3, scale 2^30.00
  %1 = input p : plaintext, level 3, scale 2^30.00
  %2 = constant @0 : plaintext, level 3, scale 2^30.00
  %3 = rotate %0, 1 to the left : ciphertext, level 3, scale 2^30.00
  %4 = rotate %0, 6 to the left : ciphertext, level 3, scale 2^30.00
  %5 = mul %0 %1 .. %4 %1, 3 products : ciphertext, level 3, scale 2^60.00
  %6 = rescale %5 : ciphertext, level 2, scale 2^30.00
  %7 = drop %0 : ciphertext, level 2, scale 2^30.00
  %8 = mul %6 %7 : ciphertext, level 2, scale 2^60.00
  %9 = rescale %8 : ciphertext, level 1, scale 2^30.00
  %10 = conjugate %9 : ciphertext, level 1, scale 2^30.00
  %11 = sub %9 %10 : ciphertext, level 1, scale 2^30.00
  %12 = rotate %11, 1 to the left : ciphertext, level 1, scale 2^30.00
  %13 = add %12 %10 : ciphertext, level 1, scale 2^30.00
  %14 = read %13 : ciphertext, level 1, scale 2^31.00
  %15 = output y %14 : ciphertext, level 1, scale 2^31.00
  %16 = output square's root %10 : ciphertext, level 1, scale 2^30.00
";

const COUNTS: &str = "\
level 3: 1 decompose, 3 mul plain, 1 rescale, 2 rotate
level 2: 1 drop, 1 mul, 1 relinearize, 1 rescale
level 1: 2 add, 1 conjugate, 2 decompose, 1 rotate
";

#[test]
fn the_text_form_is_one_line_a_step() {
    assert_eq!(every_operation().to_string(), TEXT);
}

#[test]
fn json_gives_the_circuit_back_to_the_last_bit() {
    let circuit = every_operation();
    let json = circuit.to_json();
    let back = Circuit::from_json(&json).unwrap();
    assert_eq!(back, circuit);
    assert_eq!(back.to_json(), json);
}

#[test]
fn text_that_is_no_circuit_is_an_error() {
    let json = every_operation().to_json();
    let unknown = json.replacen("\"slots\"", "\"extra\":0,\"slots\"", 1);
    for wrong in ["", "{}", "null", &json[..json.len() - 1], &unknown] {
        let error = Circuit::from_json(wrong).unwrap_err();
        assert!(matches!(error, Error::Json(_)), "{error}");
    }
}

#[test]
fn operations_are_counted_by_level_and_kind() {
    let counts = every_operation().counts();
    assert_eq!(counts.to_string(), COUNTS);
    assert_eq!(
        (
            counts.total("rotate"),
            counts.total("mul"),
            counts.total("bootstrap")
        ),
        (3, 1, 0)
    );
}

#[test]
fn keys_are_needed_at_the_highest_level_of_their_use() {
    let expected = KeyNeeds {
        relinearization: Some(2),
        rotations: [(1, 3), (6, 3)].into(),
        conjugation: Some(1),
        bootstrapping: false,
    };
    assert_eq!(every_operation().keys(), expected);
}
