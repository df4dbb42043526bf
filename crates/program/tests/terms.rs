//! The terms of a program: what a client gets of it, and what is refused of terms from outside.

use crate::common::every_operation;
use palladion_program::{Error, Flood, MAX_LOG2_DISTANCE, Terms};

#[test]
fn no_constant_of_a_network_is_in_the_terms() {
    let program = every_operation();
    let terms = serde_json::to_string(&program.terms()).unwrap();
    let mut other = program.clone();
    for constant in &mut other.constants {
        constant.name.insert_str(0, "other.");
        constant
            .values
            .iter_mut()
            .for_each(|value| *value = (*value + 1) % 3);
    }
    // Programs with other weights, biases, tables and layers' names have the same terms.
    for step in &mut other.steps {
        step.layer.push('!');
    }
    assert_eq!(serde_json::to_string(&other.terms()).unwrap(), terms);
    assert!(!terms.contains("weight") && !terms.contains("constants"));
    let read: Terms = serde_json::from_str(&terms).unwrap();
    assert_eq!(read, program.terms());
    read.verify().unwrap();
}

#[test]
fn wrong_terms_are_named() {
    type Case = (fn(&mut Terms), &'static str, &'static str);
    let cases: &[Case] = &[
        (|t| t.parameters.n = 12, "the ring degree", "12"),
        (|t| t.batch = 0, "the batch", "0"),
        (
            |t| t.placement[0][0].start = usize::MAX,
            "the end of a part",
            "18446744073709551615",
        ),
        (|t| t.keys.galois[1].0 = 5, "a key in order", "5"),
        (|t| t.input_level = 9, "the level of the inputs", "9"),
        (|t| t.outputs[0].level = 9, "the level of an output", "9"),
        (|t| t.outputs[0].at[1] = 64, "the place of an output", "64"),
        (
            |t| t.outputs[0].at.push(0),
            "the number of places of outputs",
            "3",
        ),
        (
            |t| t.outputs[0].rows[1].output = 7,
            "the class of an output",
            "7",
        ),
        (
            |t| t.outputs[0].rows[1].image = 7,
            "the image of an output",
            "7",
        ),
        (|t| t.outputs.truncate(1), "the number of results", "2"),
        (
            |t| t.outputs[1] = t.outputs[0].clone(),
            "the number of results",
            "2",
        ),
        (
            |t| t.outputs[0].rows[1] = t.outputs[0].rows[0],
            "a result given twice in one ciphertext",
            "class 0 of image 0",
        ),
        (
            |t| {
                let mut part = t.outputs[0].clone();
                part.at = vec![7, 7];
                t.outputs.push(part);
            },
            "the place of a part of a result",
            "7, which serves several results",
        ),
        (
            |t| {
                t.outputs[0].flood = Some(Flood {
                    bits: 121,
                    answers: 1,
                })
            },
            "the bits of a flood",
            "121",
        ),
    ];
    for (change, about, value) in cases {
        let mut terms = every_operation().terms();
        terms.outputs[1].at = terms.outputs[0].at.clone();
        change(&mut terms);
        match terms.verify() {
            Err(Error::Parameters { what, found, .. }) => {
                assert_eq!((what, found.as_str()), (*about, *value));
            }
            other => panic!("{about} {value}: {other:?}"),
        }
    }
}

/// Compares the bound with the distance itself, by sums over all values of a small flood.
#[test]
fn the_distance_of_a_flood_is_below_its_bound() {
    for (bits, error) in [(4u32, 1i64), (4, 3), (6, 5), (7, 1)] {
        let width = 1usize << bits;
        let mut density = vec![1.0];
        for _ in 0..4 {
            let mut next = vec![0.0; density.len() + width - 1];
            for (k, p) in density.iter().enumerate() {
                next[k..k + width]
                    .iter_mut()
                    .for_each(|sum| *sum += p / width as f64);
            }
            density = next;
        }
        let at = |k: i64| {
            usize::try_from(k)
                .ok()
                .and_then(|k| density.get(k))
                .copied()
        };
        let moved = |k: i64| at(k - error).unwrap_or(0.0);
        let all = 0..(density.len() as i64 + error);
        let distance: f64 = all
            .map(|k| (at(k).unwrap_or(0.0) - moved(k)).abs())
            .sum::<f64>()
            / 2.0;
        // A residual is t times the noise; here t = 1.
        let bound = Flood { bits, answers: 1 }
            .log2_distance((error as f64).log2(), 1, 1)
            .exp2();
        assert!(distance < bound, "{bits} {error}: {distance} of {bound}");
        assert!(
            distance > 0.7 * bound,
            "{bits} {error}: {distance} of {bound}"
        );
    }
    // Four times the answers need one bit more.
    let one = Flood::over(30.0, 65_537, 1 << 15, 1 << 20);
    let four = Flood::over(30.0, 65_537, 1 << 15, 1 << 22);
    assert_eq!(four.bits, one.bits + 1);
    assert!(one.log2_distance(30.0, 65_537, 1 << 15) <= MAX_LOG2_DISTANCE);
    assert!(one.log2_distance(30.0, 65_537, 1 << 15) > MAX_LOG2_DISTANCE - 1.0);
}
