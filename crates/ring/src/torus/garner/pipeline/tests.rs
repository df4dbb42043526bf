//! Tests of the words against the definition, and of the number, memory and instructions of
//! elements.

use super::super::super::conformance::Draw;
use super::*;
use crate::torus::{Multiplier, Naive};

/// A product through the elements, one pass after the other.
fn piped(garner: &Garner, digits: &[u32], words: &[u32]) -> Vec<u32> {
    let n = digits.len();
    let mut residues = vec![0; PRIMES * n];
    for pass in 0..garner.passes() {
        let [mut x, mut y, mut z] = [(); 3].map(|()| vec![[0.0; 2]; n / 2]);
        garner.twist_digits(pass, &mut x, digits);
        garner.twist_words(pass, &mut y, words);
        for stage in 0..stages(n) {
            garner.forward_stage(stage, &mut x);
            garner.forward_stage(stage, &mut y);
        }
        Garner::multiply_values(&mut z, &x, &y);
        for stage in 0..stages(n) {
            garner.inverse_stage(stage, &mut z);
        }
        garner.gather(pass, &mut z, &mut residues);
    }
    garner.combine(&residues)
}

#[test]
fn passes_give_the_words_of_the_definition() {
    for (n, digit) in [(64, 16), (512, 128), (1024, 512)] {
        let garner = Garner::new(n, 1, digit).expect("short limbs");
        let mut draw = Draw::new(n as u64);
        for extreme in [false, true] {
            let digits: Vec<i32> = match extreme {
                true => vec![-(digit as i32); n],
                false => (0..n).map(|_| draw.digit(digit)).collect(),
            };
            let words: Vec<u32> = match extreme {
                true => vec![1 << 31; n],
                false => (0..n).map(|_| draw.next() as u32).collect(),
            };
            let mut want = vec![0; n];
            Naive::new(n).dot_add(&mut want, &digits, &words, &mut ());
            let digits: Vec<u32> = digits.iter().map(|&d| d as u32).collect();
            assert!(piped(&garner, &digits, &words) == want, "N = {n}");
        }
    }
}

#[test]
fn a_pipeline_for_2048_has_the_34_elements_of_table_iv() {
    assert_eq!(elements(2048), 34);
    assert_eq!(elements(1024), 31);
    assert_eq!(elements(512), 28);
}

#[test]
fn elements_for_2048_fit_32_kilobytes_and_those_for_4096_do_not() {
    let roles = [Role::Digits, Role::Words, Role::Multiply, Role::Gather];
    let stages = (0..stages(2048)).flat_map(|s| [Role::Forward(s), Role::Inverse(s)]);
    let largest = roles
        .into_iter()
        .chain(stages)
        .map(|role| role.memory(2048));
    assert_eq!(largest.max(), Some(32 << 10));
    assert!(Role::Gather.memory(4096) > 32 << 10);
}

#[test]
fn sections_read_only_earlier_results() {
    let roles = [
        Role::Digits,
        Role::Forward(0),
        Role::Multiply,
        Role::Inverse(0),
        Role::Gather,
    ];
    for role in roles {
        for section in role.sections(1024, true) {
            for (i, issue) in section.issues.iter().enumerate() {
                assert!(issue.needs.iter().all(|&j| j < i), "{role:?}");
            }
        }
    }
}
