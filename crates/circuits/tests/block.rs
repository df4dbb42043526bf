//! Linear maps of several ciphertexts against their definition.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

#[path = "common/slots.rs"]
mod slots;

use circuits::approximate::{BlockTransform, Counts, Giant, Term};
use ckks::Ciphertext;
use rlwe::GaloisKeys;
use slots::Setup;

fn term(input: usize, baby: isize, values: Vec<f64>) -> Term {
    Term {
        input,
        baby,
        values,
    }
}

fn giant(rotation: isize, terms: Vec<Term>) -> Giant {
    Giant { rotation, terms }
}

/// By the definition.
fn naive(giants: &[Giant], x: &[Vec<f64>]) -> Vec<f64> {
    let slots = x[0].len() as isize;
    let at = |j: isize| j.rem_euclid(slots) as usize;
    let mut out = vec![0.0; x[0].len()];
    for (j, out) in (0..).zip(&mut out) {
        for giant in giants {
            for term in &giant.terms {
                let j = j + giant.rotation;
                let value = term.values[at(j) % term.values.len()];
                *out += value * x[term.input][at(j + term.baby)];
            }
        }
    }
    out
}

#[test]
fn several_ciphertexts_go_through_their_sums_of_rotations_insecure() {
    let mut s = Setup::insecure(11);
    let slots = s.params.slots();
    let x: Vec<Vec<f64>> = (0..3).map(|_| s.values(slots)).collect();
    let cts: Vec<Ciphertext> = x.iter().map(|x| s.encrypt(x)).collect();
    // One period for all, several at once, and the whole vector.
    for periods in [[16, 16, 16], [1, 8, 32], [4, slots, 2]] {
        let [a, b, c] = periods.map(|p| s.values(p));
        let [d, e, f] = periods.map(|p| s.values(p));
        let outputs = [
            vec![
                giant(0, vec![term(0, 0, a.clone()), term(2, 3, b.clone())]),
                giant(-7, vec![term(1, 3, c), term(0, -1, vec![0.0; 8])]),
            ],
            vec![giant(5, vec![term(2, 3, d), term(1, 0, e), term(2, -4, f)])],
            vec![
                giant(9, vec![term(0, 0, vec![0.0])]),
                giant(0, vec![term(0, 0, a)]),
            ],
        ];
        let map = BlockTransform::new(&s.params, 2, 3, outputs.clone()).unwrap();
        let counts = Counts {
            products: 7,
            babies: 3,
            giants: 2,
        };
        assert_eq!(map.counts(), counts, "without terms of zeros");
        let rotations: Vec<isize> = map.rotations().into_iter().collect();
        assert_eq!(rotations, [-7, -4, 3, 5]);
        let keys = s.keys(rotations);
        let found = map.apply(&cts, &keys).unwrap();
        assert_eq!(found.len(), 3);
        for (found, giants) in found.iter().zip(&outputs) {
            s.check(found, &naive(giants, &x), &format!("periods {periods:?}"));
            assert_eq!(s.evaluator.level(found), Ok(1));
            assert_eq!(found.scale(), cts[0].scale());
        }
        assert!(map.apply(&found, &keys).is_err(), "another level");
        assert!(map.apply(&cts, &GaloisKeys::new()).is_err(), "no keys");
        let refused = map.apply(&cts[..2], &keys).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the number of ciphertexts is 2, expected 3"
        );
    }
}

#[test]
fn maps_that_make_no_sense_are_refused_insecure() {
    let s = Setup::insecure(12);
    let refused = |outputs: Vec<Vec<Giant>>| {
        let map = BlockTransform::new(&s.params, 2, 2, outputs);
        map.err().map(|error| error.to_string()).unwrap_or_default()
    };
    let one = |term| vec![vec![giant(0, vec![term])]];
    for (outputs, text) in [
        (
            vec![],
            "the number of outputs is 0 of 0 babies, expected at least 1, of at most 512",
        ),
        (
            vec![vec![]],
            "an output is zero, expected a term that is not",
        ),
        (
            one(term(0, 0, vec![0.0; 4])),
            "an output is zero, expected a term that is not",
        ),
        (
            one(term(2, 0, vec![1.0])),
            "the number of an input is 2, expected below 2",
        ),
        (
            one(term(0, 0, vec![1.0; 3])),
            "the number of values of a term is 3, expected a power of two",
        ),
    ] {
        assert_eq!(refused(outputs), text);
    }
    assert!(
        !refused(one(term(0, 0, vec![1.0; 512]))).is_empty(),
        "more values than slots"
    );
    assert!(!refused(one(term(0, 0, vec![f64::NAN]))).is_empty());
}
