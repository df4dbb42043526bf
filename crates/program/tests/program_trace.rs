//! Recordings as program traces of Intel's program mapper, and back.

use palladion_program::recording::program_trace::{
    Header, Operation, ProgramTrace, Register, Scheme,
};
use palladion_program::recording::{
    Ciphertext, Message, Op, Packing, Parameters, Plain, Recording, Step, Type,
};
use palladion_program::{Error, KeyNeeds};
use proptest::prelude::*;
use trace::{Location, Part};

const TEXT: &str = "instruction,scheme,poly_modulus_degree,rns_terms,cipher_degree,\
arg0,arg1,arg2,arg3,arg4,arg5,arg6,arg7,arg8,arg9
mul,BGV,32768,7,ct2-3-6,ct0-2-6,ct1-2-6
relin,BGV,32768,7,ct3-2-6,ct2-3-6
mod_switch,BGV,32768,7,ct4-2-5,ct3-2-6
rotate,BGV,32768,7,ct5-2-5,ct4-2-5,65535
muli,CKKS,32768,7,ct6-2-5,ct5-2-5,3
rotate,CKKS,32768,7,ct7-2-5,ct6-2-5,5,1,6,6
";

#[test]
fn a_table_is_its_lines() {
    let trace = ProgramTrace::parse(TEXT).unwrap();
    assert_eq!(trace.to_string(), TEXT);
    assert_eq!(trace.header, Header::Degree);
    let row = &trace.rows[0];
    assert_eq!((row.operation, row.scheme), (Operation::Mul, Scheme::Bgv));
    assert_eq!((row.n, row.key_limbs, row.numbers.len()), (32768, 7, 0));
    let product = Register {
        name: "ct2".into(),
        parts: 3,
        limbs: 6,
    };
    assert_eq!(row.registers[0], product);
    assert_eq!(trace.rows[5].numbers, [5, 1, 6, 6]);
}

#[test]
fn all_headers_are_read() {
    let (columns, row) = ("poly_modulus_degree", "add,BFV,16,2,a-2-1,b-2-1,a-2-1\n");
    let arguments = "arg0,arg1,arg2,arg3,arg4,arg5,arg6,arg7,arg8,arg9";
    for first in [
        format!("instruction,scheme,{columns},rns_terms,{arguments}\n"),
        format!("instruction,scheme,{columns},keyrns_terms,{arguments}\n"),
        format!("scheme,{columns},rns_terms,cipher_degree,instruction,{arguments}\n"),
    ] {
        let text = first + row;
        assert_eq!(ProgramTrace::parse(&text).unwrap().to_string(), text);
    }
}

#[test]
fn lines_are_refused_with_what_was_found_and_expected() {
    let refused = |from: &str, to: &str, expected: &str| {
        let error = ProgramTrace::parse(&TEXT.replace(from, to)).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
    };
    refused(
        "instruction,",
        "operation,",
        "line 1: the header is `operation,scheme,",
    );
    refused(
        "relin,",
        "relinearize,",
        "line 3: the instruction is `relinearize`, expected add, add_plain, sub,",
    );
    refused(
        "mod_switch,BGV",
        "mod_switch,TFHE",
        "line 4: the scheme is `TFHE`, expected BGV, CKKS, BFV",
    );
    refused(
        "relin,BGV,32768",
        "relin,BGV,2^15",
        "line 3: the ring degree is `2^15`, expected an integer in decimal digits",
    );
    refused(
        "relin,BGV,32768",
        "relin,BGV,032768",
        "line 3: the ring degree is `032768`",
    );
    refused(
        "ct2-3-6,ct0",
        "ct2-3,ct0",
        "line 2: an argument is `ct2-3`, expected a register as ct0-2-13",
    );
    refused(
        "ct3-2-6,ct2-3-6",
        "ct3-2-6",
        "line 3: the number of arguments is 1, expected 2 to 5, as relin has",
    );
    refused(
        ",65535",
        "",
        "line 5: the number of arguments is 2, expected 3 to 6, as rotate has",
    );
    refused(
        ",65535",
        ",x",
        "line 5: an argument is `x`, expected an integer",
    );
    refused(
        "relin,BGV,32768,7,ct3-2-6,ct2-3-6",
        "relin",
        "line 3: the line is `relin`, expected instruction, scheme,",
    );
    refused(
        "5,1,6,6\n",
        "5,1,6,6",
        "line 7: the last line is cut off, expected a line break after it",
    );
}

proptest! {
    /// If whole lines are missing, this cannot be detected.
    #[test]
    fn text_that_is_cut_within_a_line_is_refused(part in 0.0..1.0) {
        let cut = (TEXT.len() as f64 * part) as usize;
        let read = ProgramTrace::parse(&TEXT[..cut]);
        prop_assert_eq!(read.is_ok(), cut > 0 && TEXT[..cut].ends_with('\n'));
    }
}

/// Makes a recording of these operations, each with the level and the number of components of its
/// value.
fn recording(steps: Vec<(Op, usize, usize)>) -> Recording {
    let steps = steps.into_iter().map(|(op, level, components)| Step {
        ty: match op {
            Op::ToSamples { .. } => Type::Samples,
            _ => Type::Ciphertext(Ciphertext {
                level,
                components,
                extended: false,
                message: Message::Modulo {
                    t: 65537,
                    factor: 1,
                },
            }),
        },
        op,
        of: 0,
    });
    Recording {
        parameters: Parameters {
            n: 32768,
            q: vec![97, 193, 257, 353],
            p: vec![449, 577],
            digits: vec![0..2, 2..4],
            t: vec![65537],
            samples: None,
        },
        keys: KeyNeeds::default(),
        constants: Vec::new(),
        packings: vec![Packing {
            values: 1,
            baby_steps: 1,
            sources: Vec::new(),
            samples: Vec::new(),
        }],
        steps: steps.collect(),
    }
}

const PLAIN: Plain = Plain::Slots(4);

#[test]
fn operations_become_lines_with_registers_of_their_levels() {
    let recording = recording(vec![
        (Op::Input { index: 0 }, 3, 2),
        (Op::Input { index: 1 }, 2, 2),
        (
            Op::Tensor {
                terms: vec![[0, 1], [1, 1]],
            },
            2,
            3,
        ),
        (Op::Relinearize { value: 2 }, 0, 2),
        (
            Op::MulPlain {
                terms: vec![(0, PLAIN, 3)],
            },
            3,
            2,
        ),
        (
            Op::AddPlain {
                value: 4,
                plain: PLAIN,
            },
            3,
            2,
        ),
        (
            Op::Automorphism {
                value: 5,
                element: 25,
            },
            3,
            2,
        ),
        (Op::Switch { value: 6 }, 1, 2),
        (Op::Drop { value: 7 }, 0, 2),
        (Op::Sub { left: 8, right: 3 }, 0, 2),
        (Op::Trivial { plain: PLAIN }, 0, 2),
        (Op::Add { left: 9, right: 10 }, 0, 2),
        (
            Op::Output {
                name: "0".into(),
                value: 11,
            },
            0,
            2,
        ),
    ]);
    let trace = recording.to_program_trace().unwrap();
    let text = trace.to_string();
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let expected = [
        "mul,BFV,32768,6,ct2_p0-3-3,ct0-2-3,ct1-2-3",
        "square,BFV,32768,6,ct2_p1-3-3,ct1-2-3",
        "add,BFV,32768,6,ct2-3-3,ct2_p0-3-3,ct2_p1-3-3",
        "relin,BFV,32768,6,ct3_l3-2-3,ct2-3-3",
        "mod_switch,BFV,32768,6,ct3_l2-2-2,ct3_l3-2-3",
        "mod_switch,BFV,32768,6,ct3-2-1,ct3_l2-2-2",
        "mul_plain,BFV,32768,6,ct4-2-4,ct0-2-4,pt4_slots_by_3-1-4",
        "add_plain,BFV,32768,6,ct5-2-4,ct4-2-4,pt4_slots-1-4",
        "rotate,BFV,32768,6,ct6-2-4,ct5-2-4,25",
        "mod_switch,BFV,32768,6,ct7_l3-2-3,ct6-2-4",
        "mod_switch,BFV,32768,6,ct7-2-2,ct7_l3-2-3",
        "sub,BFV,32768,6,ct9-2-1,ct7-2-1,ct3-2-1",
        "add,BFV,32768,6,ct11-2-1,ct9-2-1,pt4_slots-2-1",
    ];
    assert_eq!(lines, expected);
    assert_eq!(ProgramTrace::parse(&text), Ok(trace));
}

#[test]
fn operations_without_a_counterpart_are_refused_by_name() {
    let input = || (Op::Input { index: 0 }, 1, 2);
    let lacking = [
        Op::Combine {
            low: vec![0],
            middle: vec![0],
            list: 0,
            first: 0,
            rows: vec![1],
            columns: vec![1],
        },
        Op::MulMasks {
            packing: 0,
            giant: 0,
            secret: vec![0],
            units: vec![1],
        },
        Op::AddBodies {
            value: 0,
            packing: 0,
        },
        Op::ToSamples { value: 0 },
    ];
    for op in lacking {
        let name = op.name();
        let error = recording(vec![input(), (op, 1, 2)])
            .to_program_trace()
            .unwrap_err();
        let found = name.to_owned();
        let expected = "one that program traces have: sums, products, relin, mod_switch, rotate";
        let expected = Error::Recorded {
            location: Box::new(Location {
                line: None,
                part: Part::Step { index: 1, op: name },
            }),
            what: "the operation".into(),
            found,
            expected: expected.into(),
        };
        assert_eq!(error, expected);
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let input = |level| (Op::Input { index: 0 }, level, 2);
    let error = |steps| recording(steps).to_program_trace().unwrap_err().to_string();
    let late = error(vec![(Op::Drop { value: 1 }, 0, 2), input(1)]);
    assert_eq!(
        late,
        "recorded step %0 (drop): an operand is %1, expected a value below %0"
    );
    let above = error(vec![input(0), (Op::Drop { value: 0 }, 1, 2)]);
    assert_eq!(
        above,
        "recorded step %1 (drop): the limbs of an operand is 1, expected at least 2"
    );
    let same = error(vec![input(1), (Op::Switch { value: 0 }, 1, 2)]);
    assert_eq!(
        same,
        "recorded step %1 (switch): the number of limbs is 2, expected 1 to 1, from 2 of the operand"
    );
    let empty = error(vec![(Op::Tensor { terms: Vec::new() }, 0, 3)]);
    assert_eq!(
        empty,
        "recorded step %0 (tensor): the number of terms is 0, expected at least 1"
    );
}
