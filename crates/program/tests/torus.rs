//! Circuits on samples: their text, and refusals.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use palladion_program::torus::{Circuit, Op};

/// Every operation, as written by the writer.
const EVERY: &str = "palladion-torus/1
word bits 64
small dimension 40
ring degree 32 rank 2
bootstrap bits 17 count 1
key_switch ring bits 2 count 11
@0 = repeat 32: 2305843009213693952
@1 = sparse 3:5

%0: sample = input 0
%1: sample = input 1
%2: sample = combine 5 terms -1 %0 2 %1
%3: small = key_switch %2
%4: exponents = modulus_switch %3 drop 1
%5: ring = blind_rotation %4 of @0
%6: sample = extract %5 at 31
%7: sample = output %6
end
";

fn changed(part: &str, by: &str) -> String {
    assert_eq!(EVERY.matches(part).count(), 1, "{part} stands once");
    let error = Circuit::parse(&EVERY.replace(part, by)).unwrap_err();
    error.to_string()
}

#[test]
fn every_operation_is_read_and_written_as_it_stands() {
    let circuit = Circuit::parse(EVERY).unwrap();
    assert_eq!(circuit.to_string(), EVERY);
    let spaced = EVERY.replace('\n', "\n\n  # a comment\n");
    assert_eq!(Circuit::parse(&spaced).unwrap(), circuit);
    let lwe = EVERY.replace("key_switch ring", "key_switch lwe");
    assert_eq!(Circuit::parse(&lwe).unwrap().to_string(), lwe);
}

#[test]
fn errors_name_place_found_and_expected() {
    let cases = [
        (
            "torus/1",
            "torus/2",
            "the format is `palladion-torus/2`, expected `palladion-torus/1`",
        ),
        (
            "bits 64",
            "bits 48",
            "parameters: the size of a word is 48, expected 32 or 64 bits",
        ),
        (
            "dimension 40",
            "dimension 0",
            "parameters: the dimension of the small secret is 0, expected 1 to 8192",
        ),
        (
            "degree 32",
            "degree 48",
            "parameters: the ring degree is 48, expected a power of two from 16 to 131072",
        ),
        (
            "rank 2",
            "rank 65",
            "parameters: the rank is 65, expected 1 to 64",
        ),
        (
            "bits 17 count 1",
            "bits 31 count 1",
            "parameters: the bits of an external product's digits is 31, expected 1 to 30",
        ),
        (
            "bits 17 count 1",
            "bits 17 count 0",
            "parameters: the number of an external product's digits is 0, expected at least 1",
        ),
        (
            "bits 2 count 11",
            "bits 2 count 32",
            "parameters: the bits of all the key switch's digits is 64, expected below 64",
        ),
        (
            "ring bits",
            "rlwe bits",
            "line 6: the kind of the key switch is `rlwe`, expected lwe or ring",
        ),
        (
            "@1 = sparse 3:5",
            "@1 = sparse 32:5",
            "constant @1: a place is 32, expected less than 32, the ring degree",
        ),
        (
            "@1 = sparse 3:5",
            "@1 = list 5",
            "constant @1: the constant is @1, a list, expected one of N words",
        ),
        (
            "@1 = sparse",
            "@2 = sparse",
            "line 8: the number of a constant is @2, expected @1, the next one",
        ),
        (
            "%1: sample",
            "%2: sample",
            "line 11: the number of a step is %2, expected %1, the next one",
        ),
        (
            "%4: exponents",
            "%4: small",
            "line 14: the type is `small`, expected exponents",
        ),
        (
            "key_switch %2",
            "key_switch %3",
            "step %3 (key_switch): an operand is %3, expected an earlier step: below %3",
        ),
        (
            "extract %5",
            "extract %4",
            "step %6 (extract): the type of %4 is exponents, expected ring",
        ),
        (
            "drop 1",
            "drop 6",
            "step %4 (modulus_switch): the number of bits dropped is 6, expected below 6",
        ),
        (
            "of @0",
            "of @2",
            "step %5 (blind_rotation): the constant is @2, expected a constant that stands before: a number below 2",
        ),
        (
            "at 31",
            "at 32",
            "step %6 (extract): the coefficient is 32, expected below 32",
        ),
        (
            " -1 %0 2 %1",
            "",
            "step %2 (combine): the number of terms is 0, expected at least 1",
        ),
        (
            "= output",
            "= store",
            "line 17: the operation is `store`, expected an operation: input, combine, key_switch, modulus_switch, blind_rotation, extract, output",
        ),
        (
            "end\n",
            "",
            "line 17: the text is cut off after line 17, expected a last line `end`",
        ),
        (
            "end\n",
            "end\nend\n",
            "line 19: the line is `end`, expected none after `end`",
        ),
    ];
    for (part, by, expected) in cases {
        assert_eq!(changed(part, by), expected);
    }
}

/// If a step is dropped, doubled or swapped with the next one, a number or a type no longer fits.
#[test]
fn a_changed_line_is_refused() {
    let lines: Vec<&str> = EVERY.lines().collect();
    let first = lines
        .iter()
        .position(|line| line.starts_with("%0"))
        .unwrap();
    for at in first..first + 7 {
        let mut dropped = lines.clone();
        dropped.remove(at);
        let mut swapped = lines.clone();
        swapped.swap(at, at + 1);
        let mut doubled = lines.clone();
        doubled.insert(at, lines[at]);
        for mutant in [dropped, swapped, doubled] {
            assert!(Circuit::parse(&mutant.join("\n")).is_err(), "line {at}");
        }
    }
}

/// In another order, some steps have operands that come later or have another type.
#[test]
fn steps_in_another_order_are_refused() {
    let circuit = Circuit::parse(EVERY).unwrap();
    for at in 1..circuit.steps.len() - 1 {
        let mut mutant = circuit.clone();
        mutant.steps.swap(at, at + 1);
        assert!(mutant.verify().is_err(), "steps {at} and the next one");
    }
    let mut mutant = circuit.clone();
    mutant.steps[2] = Op::Combine {
        constant: 0,
        terms: vec![(1, 2)],
    };
    assert!(mutant.verify().is_err());
}
