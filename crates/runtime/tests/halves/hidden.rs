//! Tests that an answer shows nothing but the outputs to a client that has the secret and decrypts
//! all coefficients.

use crate::common::small_program;
use crate::halves::floods::{INPUTS, dense, layer, network};
use crate::halves::{client_of, image};
use client::{Client, system_rng};
use compiler::{Options, compile};
use exchange::{Answer, EvaluationKeys, Query, RawAnswer};
use network::Lut;
use palladion_runtime::{Prepared, Server};
use program::{Op, Patch, Program, Row};
use ring::{Coeff, Poly};

/// A linear model: its last layer reads the query itself, so a client that knows its own encryption
/// could compute both components of an unhidden answer. A batch of two images.
fn linear_program() -> Program {
    let mut program = small_program();
    program.steps.truncate(3);
    program.batch = 2;
    program.classes = 2;
    let patch = |image: usize| Patch {
        image,
        channels: [0, 1],
        start: 64 * image,
        pitch: [16, 4],
    };
    program.placement = vec![vec![patch(0), patch(1)]];
    program.keys.packing.clear();
    program.keys.galois.clear();
    let rows = (0..4).map(|k| Row {
        image: k / 2,
        output: k % 2,
    });
    let mut output = program.steps[2].clone();
    output.op = Op::Output {
        value: 2,
        rows: rows.collect(),
        at: vec![3, 5, 67, 69],
        flood: None,
    };
    program.steps.push(output);
    program.new().unwrap()
}

/// As [`linear_program`], with the result in two parts, each of which is the whole product.
fn parts_program() -> Program {
    let mut program = linear_program();
    program.steps.push(program.steps[3].clone());
    program.new().unwrap()
}

pub(super) struct Run {
    pub(super) prepared: Prepared,
    pub(super) client: Client,
    pub(super) keys: EvaluationKeys,
    pub(super) query: Query,
    pub(super) raw: RawAnswer,
}

impl Run {
    fn new(program: Program, seed: u64) -> Self {
        Self::of(program, seed, &image())
    }

    /// A run for one input.
    pub(super) fn of(program: Program, seed: u64, input: &[i64]) -> Self {
        let prepared = Prepared::new(program).unwrap();
        let client = client_of(&prepared, seed);
        let keys = client.evaluation_keys().unwrap();
        let query = client.encrypt(&[input.to_vec()]).unwrap();
        let server = Server::new(&prepared, &keys);
        let (raw, _) = server.raw_answer(&query, None, |_| true, |_| true).unwrap();
        Self {
            keys,
            query,
            raw,
            client,
            prepared,
        }
    }

    pub(super) fn answer(&self) -> Answer {
        let raw = self.raw.clone();
        raw.hide(&self.prepared, &self.keys, &mut system_rng())
            .unwrap()
    }

    /// Phase of a ciphertext: what the client computes from it.
    fn phase(&self, ct: &bfv::Ciphertext) -> Poly<Coeff> {
        (*self.client.keys().secret().phase(ct.rlwe())).clone()
    }

    /// Coefficients of the outputs that the client asked for.
    pub(super) fn shown(&self) -> Vec<usize> {
        let outputs = &self.prepared.outputs()[0];
        let rows = outputs.rows.iter().zip(&outputs.at);
        rows.filter(|(row, _)| row.image < 1)
            .map(|(_, &at)| at)
            .collect()
    }
}

/// Checks by the chi-square of 64 parts that words are uniform below `q`. It is within six
/// deviations, and exceeds that for a good sample once in 10^8.
fn check_uniform(what: &str, words: impl Iterator<Item = u64>, q: u64) {
    const PARTS: usize = 64;
    let (mut counts, mut total) = ([0u64; PARTS], 0);
    for word in words {
        counts[(u128::from(word) * PARTS as u128 / u128::from(q)) as usize] += 1;
        total += 1;
    }
    let expected = total as f64 / PARTS as f64;
    let chi: f64 = counts
        .iter()
        .map(|&c| (c as f64 - expected).powi(2) / expected)
        .sum();
    let freedom = PARTS as f64 - 1.0;
    let deviation = (2.0 * freedom).sqrt();
    assert!(
        (chi - freedom).abs() < 6.0 * deviation,
        "{what}: chi-square is {chi:.0} for {freedom} degrees"
    );
}

/// Checks that the difference of two polynomials is uniform at all coefficients but those `shown`.
fn check_difference(what: &str, mut a: Poly<Coeff>, b: &Poly<Coeff>, shown: &[usize]) {
    a.sub_assign(b);
    for (i, modulus) in b.basis().clone().moduli().enumerate() {
        let words = a.limb(i).iter().enumerate();
        let words = words
            .filter(|(k, _)| !shown.contains(k))
            .map(|(_, &word)| word);
        check_uniform(&format!("{what}, limb {i}"), words, modulus.value());
    }
}

#[test]
fn coefficients_that_are_no_outputs_are_uniform_in_every_answer() {
    for (program, expected) in [(small_program(), 3), (linear_program(), 2)] {
        let run = Run::new(program, 41);
        let shown = run.shown();
        assert_eq!(shown.len(), expected, "the second image was not asked for");
        let [first, second] = [run.answer(), run.answer()];
        let phases = [&first, &second].map(|answer| run.phase(&answer.ciphertexts()[0]));
        let raw = run.phase(&run.raw.ciphertexts[0]);
        // Uniform, whatever was there, and in each answer anew.
        check_difference(
            "an answer from its raw form",
            phases[0].clone(),
            &raw,
            &shown,
        );
        check_difference("two answers", phases[0].clone(), &phases[1], &shown);
        // The outputs are as before, up to the noise of an encryption of zero.
        let messages = |answer: &Answer| run.client.decrypt(answer, &run.query).unwrap().logits;
        assert_eq!(messages(&first), messages(&second));
        let bfv = run.prepared.params().bfv();
        let secret = run.client.keys().secret();
        let exact = bfv::decrypt_unchecked(bfv, secret, &run.raw.ciphertexts[0]).unwrap();
        for (found, &place) in messages(&first)[0].iter().zip(&shown) {
            assert_eq!(*found, bfv.t().center(exact.coefficients()[place]));
        }
    }
}

/// Parts of one result are added up by the client. Each part alone is uniform: otherwise it would show a sum of some
/// products, which is no output.
#[test]
fn parts_of_a_result_are_uniform_and_their_sum_is_the_result() {
    let run = Run::new(parts_program(), 45);
    let (bfv, secret) = (run.prepared.params().bfv(), run.client.keys().secret());
    let t = bfv.t();
    let place = run.shown()[0];
    let part = |ct: &bfv::Ciphertext| {
        let message = bfv::decrypt_unchecked(bfv, secret, ct).unwrap();
        message.coefficients()[place]
    };
    let raw = part(&run.raw.ciphertexts[0]);
    let mut seen = Vec::new();
    for _ in 0..8 {
        let answer = run.answer();
        let parts = [0, 1].map(|index| part(&answer.ciphertexts()[index]));
        assert_eq!(t.add(parts[0], parts[1]), t.add(raw, raw));
        let logits = run.client.decrypt(&answer, &run.query).unwrap().logits;
        assert_eq!(logits[0][0], t.center(t.add(raw, raw)));
        seen.extend(parts);
    }
    // Two of 16 uniform numbers modulo t are equal with a probability of 1/546.
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() >= 15 && !seen.contains(&raw), "{seen:?}");
}

#[test]
fn parts_that_share_their_place_with_another_result_are_refused() {
    let refused = |change: fn(&mut Op)| {
        let mut program = linear_program();
        let mut second = program.steps[3].clone();
        change(&mut second.op);
        program.steps.push(second);
        program.new().unwrap_err().to_string()
    };
    let error = refused(|op| {
        if let Op::Output { at, .. } = op {
            *at = vec![3, 3, 67, 69];
        }
    });
    assert!(
        error.contains("the place of a part of a result is 3"),
        "{error}"
    );
    let error = refused(|op| {
        if let Op::Output { rows, .. } = op {
            rows[1] = rows[0];
        }
    });
    assert!(
        error.contains("a result given twice in one ciphertext"),
        "{error}"
    );
}

#[test]
fn masks_of_answers_are_those_of_fresh_ciphertexts() {
    // The client of a linear model knows `c_1` of its query and could divide by it.
    let run = Run::new(linear_program(), 42);
    let mask = |ct: &bfv::Ciphertext| ct.rlwe().components()[1].to_coeff();
    let [first, second] = [run.answer(), run.answer()].map(|a| mask(&a.ciphertexts()[0]));
    let raw = mask(&run.raw.ciphertexts[0]);
    check_difference("a mask from its raw form", first.clone(), &raw, &[]);
    check_difference("two masks", first.clone(), &second, &[]);
    // The added mask is no multiple of the public key by a constant, such as the key itself.
    let (_, seed) = run.keys.public().unwrap().parts();
    let own = ring::sample::uniform_from_seed::<ring::Eval>(raw.basis(), seed, 0).into_coeff();
    let mut added = first;
    added.sub_assign(&raw);
    check_difference("what was added from the public key", added, &own, &[]);
}

/// The attack that this prevents: weights of a linear model are read from the products at
/// coefficients that are no outputs.
#[test]
fn products_of_single_weights_are_in_raw_answers_alone() {
    let run = Run::new(linear_program(), 43);
    let bfv = run.prepared.params().bfv();
    let weights = &run.prepared.program().constants[0].values;
    let read = |ct: &bfv::Ciphertext| -> Vec<i64> {
        let message = bfv::decrypt_unchecked(bfv, run.client.keys().secret(), ct).unwrap();
        // The image ends at coefficient 15, so coefficient 17 has the last weight alone.
        let product = bfv.t().center(message.coefficients()[17]);
        vec![product / image()[15], product % image()[15]]
    };
    let stolen = vec![*weights.last().unwrap(), 0];
    assert_eq!(read(&run.raw.ciphertexts[0]), stolen);
    let answers = (0..4).map(|_| read(&run.answer().ciphertexts()[0]));
    assert!(answers.filter(|found| *found == stolen).count() < 2);
}

/// The attack on models with a layer from slots, such as trees, whose last layer adds up the leaves
/// that were reached: the slots of a raw answer are products of one value and one weight.
#[test]
fn weights_and_reached_leaves_are_in_the_slots_of_raw_answers_alone() {
    const LEAVES: usize = 8;
    let tree = |weight: fn(usize) -> i64| {
        let first = dense(0, INPUTS, LEAVES, |i| {
            i64::from(i % 9 == 1) - i64::from(i % 5 == 1)
        });
        // Noise has a deviation of 8.5, and no leaf is 0 within 5 of them.
        let table = Lut::new(100, |x| ((x + 60) / 12).clamp(0, 7));
        let last = dense(1, LEAVES, 1, weight);
        let mut layers = vec![
            layer("leaves", vec![first], LEAVES, Some(table)),
            layer("sum", vec![last], 1, None),
        ];
        layers[1].bound = 2_000;
        network(layers)
    };
    let weight = |i: usize| i as i64 * 11 - 30;
    let input: Vec<i64> = (0..INPUTS as i64).map(|i| i * 5 % 4).collect();
    let compiled = |network| compile(&network, Options::default()).unwrap();
    let run = Run::of(compiled(tree(weight)), 46, &input);
    // With weights of 1 the products are the values and what the client can compute itself.
    let known = Prepared::new(compiled(tree(|_| 1))).unwrap();
    let query = &run.query;
    let server = Server::new(&known, &run.keys);
    let (known, _) = server.raw_answer(query, None, |_| true, |_| true).unwrap();
    let bfv = run.prepared.params().bfv();
    let (t, secret) = (bfv.t(), run.client.keys().secret());
    let slots = |ct: &bfv::Ciphertext| {
        let message = bfv::decrypt_unchecked(bfv, secret, ct).unwrap();
        bfv.encoder().slots_of(&message)
    };
    let values = slots(&known.ciphertexts[0]);
    let read = |ct: &bfv::Ciphertext| -> Vec<Option<i64>> {
        let products = slots(ct);
        let leaves = values.iter().zip(products).take(LEAVES);
        leaves
            .map(|(&value, product)| Some(t.center(t.mul(product, t.inv(value)?))))
            .collect()
    };
    let stolen = read(&run.raw.ciphertexts[0]);
    let reached: Vec<usize> = (0..LEAVES).filter(|&leaf| values[leaf] != 0).collect();
    assert_eq!(reached.len(), LEAVES, "{reached:?}");
    for &leaf in &reached {
        assert_eq!(stolen[leaf], Some(weight(leaf)));
    }
    let hidden = read(&run.answer().ciphertexts()[0]);
    let read = reached.iter().filter(|&&leaf| hidden[leaf] == stolen[leaf]);
    assert!(read.count() < 2, "{hidden:?}");
}
