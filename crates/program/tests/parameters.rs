//! Are wrong parameters, placements, keys and constants rejected?

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use crate::common::{Case, every_operation};
use palladion_program::{Error, Op, Patch, Program};

fn tile(p: &mut Program, index: usize) -> &mut Patch {
    &mut p.placement[0][index]
}

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
        (
            |p| p.prediction.log2_failure = -39.9,
            "the probability that a run is wrong",
            "2^-39.9",
        ),
        (
            |p| p.prediction.log2_failure = f64::NAN,
            "the probability that a run is wrong",
            "2^NaN",
        ),
        (|p| p.parameters.slack_bits = -1.0, "the slack", "-1"),
        (|p| p.parameters.slack_bits = 65.0, "the slack", "65"),
        (
            |p| p.parameters.baby_steps = 0,
            "the number of baby steps of packings",
            "0",
        ),
        (
            |p| p.parameters.baby_steps = 1 << 40,
            "the number of baby steps of packings",
            "1099511627776",
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
        // Channel 0 is placed twice, and channel 1 never.
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
            "1028",
        ),
        (
            |p| {
                if let Op::Output { rows, .. } = &mut p.steps[11].op {
                    rows[0].image = 1;
                }
            },
            "a result given twice in one ciphertext",
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
