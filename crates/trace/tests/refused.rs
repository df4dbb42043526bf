//! Traces that are refused, with the text of the error.

use crate::text::EVERY;
use palladion_trace::Error;
use palladion_trace::{Part, Trace};

/// Returns the error of a text.
fn refused(text: &str) -> String {
    Trace::parse(text).unwrap_err().to_string()
}

/// Returns the error of the text with every operation, with a part replaced.
fn changed(part: &str, by: &str) -> String {
    let text = EVERY.replace("-15", "15");
    assert_eq!(text.matches(part).count(), 1, "{part} stands once");
    refused(&text.replace(part, by))
}

#[test]
fn errors_of_text_name_line_found_and_expected() {
    let cases = [
        (
            "trace/1",
            "trace/2",
            "the format is `palladion-trace/2`, expected `palladion-trace/1`",
        ),
        (
            "ring 16",
            "ring",
            "line 2: the ring degree is the end of the line, expected a word",
        ),
        (
            "ring 16",
            "ring 24",
            "line 2, ring: the ring degree is 24, expected a power of two from 16 to 131072",
        ),
        (
            "moduli 97",
            "moduli 98",
            "line 3, ring: modulus 0 is 98, expected an odd number above 1 and below 2^60 that is not in the table yet",
        ),
        (
            "97 193",
            "193 193",
            "line 3, ring: modulus 1 is 193, expected an odd number above 1 and below 2^60 that is not in the table yet",
        ),
        (
            "101 2^5 2^64",
            "101 2^5 2^5",
            "line 3, ring: modulus 5 is 2^5, expected a power of two from 2^1 to 2^64 that is not in the table yet",
        ),
        (
            "101 2^5 2^64",
            "101 2^65",
            "line 3, ring: modulus 4 is 2^65, expected a power of two from 2^1 to 2^64 that is not in the table yet",
        ),
        (
            "101 2^5 2^64",
            "2^5 101",
            "line 3: a power of two is `101`, expected a number as 2^5",
        ),
        (
            "@1 = sparse",
            "@2 = sparse",
            "line 5: the number of a constant is @2, expected @1, the next one",
        ),
        (
            "0:5 15:-3",
            "0:5 15:x",
            "line 5: a word is `x`, expected an integer in decimal digits, of at most 64 bits",
        ),
        (
            "0:5 15:-3",
            "0:5 0:-3",
            "line 5, constant @1: a place is 0, expected more than 0, the one before it",
        ),
        (
            "0:5 15:-3",
            "0:5 16:-3",
            "line 5, constant @1: a place is 16, expected less than 16, the ring degree",
        ),
        (
            "repeat 2: 1 0",
            "repeat 2:",
            "line 6, constant @2: the number of values is 0, expected at least 1",
        ),
        (
            "repeat 2:",
            "repeat 0:",
            "line 6, constant @2: the run is 0, expected at least 1",
        ),
        (
            "turn 5 @2",
            "turn 5 @3",
            "line 7, constant @3: the constant is @3, expected a constant that stands before: a number below 3",
        ),
        (
            "turn 5 @2",
            "turn 8 @2",
            "line 7, constant @3: the number of steps is 8, expected less than 8, the columns",
        ),
        (
            "= list",
            "= table",
            "line 8: the kind of the constant is `table`, expected words, sparse, repeat, turn or list",
        ),
        (
            "13 14 15",
            "13 14",
            "line 4, constant @0: the number of words is 15, expected 16, the ring degree",
        ),
        (
            "intt %0",
            "untt %0",
            "line 11: the operation is `untt`, expected an operation: load, store, constant, zero, sample, expand, ntt, intt, add, sub, mul, dot, scale, combine, turn, shift, automorphism, slots, extract, convert, select, join, round, digit, call",
        ),
        (
            "sub idle.2 ():\n",
            "sub main ():\n  return\n\nsub idle.2 ():\n",
            "line 16, body main: the name is main, expected one other than `main`",
        ),
        (
            "return %4 %2",
            "return %4 %5",
            "line 14, body inner: a result is %5, expected a value of the body: a number below %5",
        ),
        (
            "  return\n",
            "  store x %0\n  return\n",
            "line 17, body idle.2, instruction 0 (store): the operation is store, expected one that the main body need not do: sub-traces do not load, store, sample or expand",
        ),
        (
            "call inner %0 %2",
            "call other %0 %2",
            "line 23: the sub-trace is `other`, expected the name of a sub-trace that stands before",
        ),
        (
            "end\n",
            "end\nend\n",
            "line 47: the line is `end`, expected none after `end`",
        ),
        (
            "end\n",
            "",
            "line 45: the text is cut off after line 45, expected a last line `end`",
        ),
        (
            "main:",
            "body:",
            "line 19: the line is `body:`, expected a constant, a sub-trace or `main:`, in this order",
        ),
    ];
    for (part, by, expected) in cases {
        assert_eq!(changed(part, by), expected);
    }
}

#[test]
fn errors_of_types_name_instruction_found_and_expected() {
    let cases = [
        (
            "ntt %7",
            "ntt %0",
            "line 28, body main, instruction 8 (ntt): the domain of %0 is eval, expected coeff",
        ),
        (
            "ntt %7",
            "ntt %8",
            "line 28, body main, instruction 8 (ntt): an operand is %8, expected a value that is made before: a number below %8",
        ),
        (
            "%8: eval 0..2 = ntt",
            "%8: eval 0..1 = ntt",
            "line 28, body main, instruction 8 (ntt): the type stated of %8 is eval 0..1, expected eval 0..2",
        ),
        (
            "%8: eval 0..2 = ntt",
            "%9: eval 0..2 = ntt",
            "line 28: the number of a value is %9, expected %8, the next one",
        ),
        (
            "%8: eval 0..2 = ntt",
            "%8: eval 2..0 = ntt",
            "line 28: the limbs is `2..0`, expected ranges as 0..3,5..6 in order, apart from each other",
        ),
        (
            "%8: eval 0..2 = ntt",
            "%8: value 0..2 = ntt",
            "line 28: the domain is `value`, expected coeff or eval",
        ),
        (
            "%0: eval 0..2 = load",
            "%0: eval 0..7 = load",
            "line 20, body main, instruction 0 (load): the limbs is 0..7, expected moduli below 6, the length of the table",
        ),
        (
            "%0: eval 0..2 = load",
            "%0: eval 3..4 = load",
            "line 20, body main, instruction 0 (load): modulus 3 is 101, expected 1 modulo 32, for values at roots",
        ),
        (
            "load query/0",
            "load query//0",
            "line 20, body main, instruction 0 (load): the name is \"query//0\", expected words of letters, digits, `.`, `-`, `_`, joined by `/`",
        ),
        (
            "constant @3",
            "constant @4",
            "line 22, body main, instruction 2 (constant): the constant is @4, a list, expected one of N words",
        ),
        (
            "inner %0 %2",
            "inner %0",
            "line 23, body main, instruction 3 (call): the number of arguments is 1, expected 2, one for each parameter",
        ),
        (
            "inner %0 %2",
            "inner %2 %0",
            "line 23, body main, instruction 3 (call): argument 0 is coeff 3..4, expected eval 0..2",
        ),
        (
            "add %4 %5",
            "add %4 %0",
            "line 26, body main, instruction 6 (add): the type of %0 is eval 0..2, expected coeff 0..2, as %4",
        ),
        (
            "mul %8 %0",
            "mul %7 %7",
            "line 29, body main, instruction 9 (mul): the domain of %7 is coeff, expected eval",
        ),
        (
            "by 5 192",
            "by 5",
            "line 31, body main, instruction 11 (scale): the number of factors is 1, expected 2, one for each limb",
        ),
        (
            "by 5 192",
            "by 5 193",
            "line 31, body main, instruction 11 (scale): factor 1 is 193, expected less than 193, the modulus of its limb",
        ),
        (
            "list @4 first",
            "list @2 first",
            "line 32, body main, instruction 12 (combine): the constant is @2, of N words, expected a list",
        ),
        (
            "modulus 3",
            "modulus 6",
            "line 32, body main, instruction 12 (combine): the modulus is number 6, expected a number below 6",
        ),
        (
            "modulus 3",
            "modulus 4",
            "line 32, body main, instruction 12 (combine): modulus 4 is 2^5, expected an odd one",
        ),
        (
            "rows 1 100",
            "rows 1 101",
            "line 32, body main, instruction 12 (combine): the factor of row 1 is 101, expected less than 101, the modulus",
        ),
        (
            "rows 1 100",
            "rows",
            "line 32, body main, instruction 12 (combine): the number of rows is 0, expected at least 1",
        ),
        (
            "rows 1 100",
            "rows 1",
            "line 32, body main, instruction 12 (combine): the number of results is 2, expected 1",
        ),
        (
            "columns 2 3",
            "columns 2",
            "line 32, body main, instruction 12 (combine): the number of columns is 1, expected 2, one for each value",
        ),
        (
            "by 31",
            "by 30",
            "line 33, body main, instruction 13 (automorphism): the element is 30, expected an odd number below 32",
        ),
        (
            "by 31",
            "by 33",
            "line 33, body main, instruction 13 (automorphism): the element is 33, expected an odd number below 32",
        ),
        (
            "slots %3",
            "slots %7",
            "line 34, body main, instruction 14 (slots): the number of limbs of the operand is 2, expected 1",
        ),
        (
            "12 13 14 15",
            "12 13 14 16",
            "line 35, body main, instruction 15 (extract): a word of @0 is 16, expected numbers of coefficients, below 16",
        ),
        (
            "entries @3 gap",
            "entries @1 gap",
            "line 36, body main, instruction 16 (extract): a word of @1 is -3, expected no negative number",
        ),
        (
            "gap 4",
            "gap 17",
            "line 36, body main, instruction 16 (extract): the gap is 17, expected 1 to 16",
        ),
        (
            "%18: coeff 1..2",
            "%18: coeff 2..3",
            "line 37, body main, instruction 17 (select): the limbs is 2..3, expected some of 0..2, those of %17",
        ),
        (
            "%19: coeff 0..1",
            "%19: coeff 2..3",
            "line 38, body main, instruction 18 (round): the modulus of the result is 257, expected less than 193, that of %18",
        ),
        (
            "index 1 bits",
            "index 2 bits",
            "line 39, body main, instruction 19 (digit): the index is 2, expected less than 2, the number of digits",
        ),
        (
            "bits 4 count",
            "bits 31 count",
            "line 39, body main, instruction 19 (digit): the bits is 31, expected 1 to 30",
        ),
        (
            "count 2",
            "count 17",
            "line 39, body main, instruction 19 (digit): the number of digits is 17, expected 1 to 16, so that the last begins within a residue",
        ),
        (
            "%4: coeff 2..3 = convert",
            "%4: coeff 1..3 = convert",
            "line 13, body inner, instruction 2 (convert): the limbs is 1..3, expected none of 0..2,3..4, those converted",
        ),
        (
            "join %2 %1",
            "join %2 %2",
            "line 12, body inner, instruction 1 (join): the number of different limbs is 2, expected 4, as many as the operands have: none in common",
        ),
        (
            "turn %20 by %21",
            "turn %20 by %20",
            "line 41, body main, instruction 21 (turn): the modulus of the exponent is 193, expected 32, twice the ring degree",
        ),
        (
            "turn %20 by %21",
            "turn %14 by %21",
            "line 41, body main, instruction 21 (turn): the domain of %14 is eval, expected coeff",
        ),
        (
            "digit %18 index 1 bits 4 count 2\n  %21: coeff 4..5 = constant @2",
            "digit %18 index 1 bits 4 count 2\n  %21: eval 4..5 = sample x 1",
            "line 40, body main, instruction 20 (sample): modulus 4 is 2^5, expected an odd one",
        ),
        (
            "shift %22 by 17",
            "shift %22 by 32",
            "line 43, body main, instruction 23 (shift): the exponent is 32, expected less than 32, twice the ring degree",
        ),
        (
            "shift %22 by 17",
            "shift %14 by 17",
            "line 43, body main, instruction 23 (shift): the domain of %14 is eval, expected coeff",
        ),
        (
            "%23: coeff 5..6 = expand",
            "%23: coeff 4..5 = expand",
            "line 42, body main, instruction 22 (expand): the modulus is 32, expected 2^32 or 2^64",
        ),
        (
            "answer/1",
            "answer/0",
            "line 45, body main, instruction 25 (store): the name is answer/0, expected a name that is neither loaded nor stored before",
        ),
    ];
    for (part, by, expected) in cases {
        assert_eq!(changed(part, by), expected);
    }
}

#[test]
fn errors_of_traces_from_elsewhere_have_no_line() {
    let mut trace = Trace::parse(&EVERY.replace("-15", "15")).unwrap();
    trace.subs[1].name = "inner".into();
    let Err(Error::Trace { location, .. }) = trace.verify() else {
        panic!("two sub-traces of one name are accepted");
    };
    let name = "inner".into();
    assert_eq!((location.line, location.part), (None, Part::Body { name }));
    trace.subs[1].name = "two words".into();
    assert!(trace.verify().is_err());
    trace.subs.pop();
    // The call of the sub-trace that was removed.
    let error = trace.verify().unwrap_err().to_string();
    let expected = "body main, instruction 4 (call): the sub-trace is number 1, expected one that stands before the caller: a number below 1";
    assert_eq!(error, expected);
    assert!(trace.to_string().contains("number 1"));
}

#[test]
fn powers_of_two_are_converted_alone_and_cut_whole() {
    let refused = |line: &str| {
        let text = format!(
            "palladion-trace/1\nring 16\nmoduli 97 2^5 2^12\nmain:\n%0: coeff 0..2 = load x\n%1: coeff 2..3 = load y\n{line}\nend"
        );
        refused(&text).split_once(": ").unwrap().1.to_owned()
    };
    assert_eq!(
        refused("%2: coeff 2..3 = convert %0"),
        "modulus 1 is 2^5, expected an odd one"
    );
    assert_eq!(
        refused("%2: coeff 2..3 = digit %1 index 0 bits 5 count 2"),
        "the bits of all digits is 10, expected 12, those of the modulus"
    );
    assert_eq!(
        refused("%2: coeff 2..3 = combine %1 list @0 first 0 modulus 0 rows 1 columns 1"),
        "modulus 2 is 2^12, expected an odd one"
    );
    assert_eq!(
        refused("%2: coeff 2..3 = scale %1 by 4096"),
        "factor 0 is 4096, expected less than 4096, the modulus of its limb"
    );
}

#[test]
fn more_limbs_than_a_quotient_holds_are_not_converted() {
    // 65 numbers that are 1 modulo 32. The verifier does not check if they are prime.
    let moduli: Vec<String> = (1..=66).map(|k| (32 * k + 1).to_string()).collect();
    let text = |from| {
        format!(
            "palladion-trace/1\nring 16\nmoduli {}\nmain:\n%0: coeff 0..{from} = load x\n%1: coeff 65..66 = convert %0\nend",
            moduli.join(" ")
        )
    };
    assert!(Trace::parse(&text(64)).is_ok());
    let expected = "line 6, body main, instruction 1 (convert): the number of limbs converted is 65, expected 1 to 64";
    assert_eq!(refused(&text(65)), expected);
}

#[test]
fn numbers_beyond_all_tables_are_refused() {
    let huge = usize::MAX;
    for line in [
        format!("%0: coeff 0..{huge} = zero"),
        format!("%0: coeff {}..{huge} = constant @0", huge - 1),
        "%0: coeff 0..1 = constant @7".into(),
        format!("store x %{huge}"),
        format!("%{huge}: coeff 0..1 = zero"),
        "%0: coeff 0..18446744073709551616 = zero".into(),
    ] {
        let text = format!("palladion-trace/1\nring 16\nmoduli 97\nmain:\n{line}\nend\n");
        assert!(refused(&text).starts_with("line 5"), "{line}");
    }
}

#[test]
#[should_panic(
    expected = "body main, instruction 1 (intt): the domain of %0 is coeff, expected eval"
)]
fn a_builder_panics_on_a_wrong_type() {
    use palladion_trace::{TraceBuilder, Type};
    let mut builder = TraceBuilder::new(16, &[97]).unwrap();
    let mut main = builder.main();
    let x = main.load("x", Type::coeff(0..1));
    main.intt(x);
}
