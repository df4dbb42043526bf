//! What an answer shows a client that has the secret and decrypts all coefficients: the outputs, and
//! nothing else.

use crate::common::{CLASSES, deep_program, small_program};
use crate::halves::{client_of, image};
use client::{Client, system_rng};
use exchange::{Answer, EvaluationKeys, Query, RawAnswer};
use program::{Flood, Op, Patch, Program, Row, Type};
use ring::{Coeff, Poly};
use runtime::{Prepared, Server};

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

/// A program whose results are the packed values, in slots, with a flood.
fn slots_program(flood: Option<Flood>) -> Program {
    let mut program = deep_program();
    program.steps.truncate(5);
    let mut output = program.steps[4].clone();
    output.op = Op::Output {
        value: 4,
        rows: (0..CLASSES)
            .map(|output| Row { image: 0, output })
            .collect(),
        at: (0..CLASSES).map(|k| 2 * k).collect(),
        flood,
    };
    program.steps.push(output);
    program.new().unwrap()
}

struct Run {
    prepared: Prepared,
    client: Client,
    keys: EvaluationKeys,
    query: Query,
    raw: RawAnswer,
}

impl Run {
    fn new(program: Program, seed: u64) -> Self {
        let prepared = Prepared::new(program).unwrap();
        let client = client_of(&prepared, seed);
        let keys = client.evaluation_keys().unwrap();
        let query = client.encrypt(&[image()]).unwrap();
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

    fn answer(&self) -> Answer {
        let raw = self.raw.clone();
        raw.hide(&self.prepared, &self.keys, &mut system_rng())
            .unwrap()
    }

    /// Phase of a ciphertext: what the client computes from it.
    fn phase(&self, ct: &bfv::Ciphertext) -> Poly<Coeff> {
        (*self.client.keys().secret().phase(ct.rlwe())).clone()
    }

    /// Coefficients of the outputs that the client asked for.
    fn shown(&self) -> Vec<usize> {
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
    // What was added is no multiple of the public key by a constant, such as the key itself.
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

#[test]
fn slots_that_are_no_outputs_are_uniform_and_the_flood_has_its_size() {
    let t = bfv::T_FERMAT;
    let probe = deep_program();
    let Type::Ciphertext { noise_bits, .. } = probe.steps[4].ty else {
        panic!("a packing makes a ciphertext");
    };
    let flood = Flood::over(noise_bits, t, probe.parameters.n, 1);
    let run = Run::new(slots_program(Some(flood)), 44);
    let (bfv, secret) = (run.prepared.params().bfv(), run.client.keys().secret());
    let slots = |ct: &bfv::Ciphertext| {
        let message = bfv::decrypt_unchecked(bfv, secret, ct).unwrap();
        bfv.encoder().slots_of(&message)
    };
    let raw = slots(&run.raw.ciphertexts[0]);
    let answer = run.answer();
    let hidden = slots(&answer.ciphertexts()[0]);
    let shown = run.shown();
    let decrypted = run.client.decrypt(&answer, &run.query).unwrap();
    for (found, &place) in decrypted.logits[0].iter().zip(&shown) {
        assert_eq!(*found, bfv.t().center(raw[place]));
        assert_eq!(hidden[place], raw[place]);
    }
    let others = hidden.iter().enumerate();
    let others = others
        .filter(|(slot, _)| !shown.contains(slot))
        .map(|(_, &value)| value);
    check_uniform("other slots", others, t);
    // Two-sided: less noise hides less, and more may decrypt wrong.
    let residuals = bfv::residuals(bfv, secret, &answer.ciphertexts()[0]).unwrap();
    let n = residuals.len() as f64;
    let mean = residuals.iter().map(|r| r * r).sum::<f64>() / n;
    let ratio = mean / (2.0 * flood.residual_bits(t)).exp2();
    // The squares of a sum of four uniform numbers have a kurtosis of 3 - 6/5/4.
    let tolerance = 6.0 * ((3.0 - 0.3 - 1.0) / n).sqrt();
    assert!(
        (ratio - 1.0).abs() < tolerance,
        "variance {ratio:.4} of the flood's"
    );
    let largest = residuals.iter().fold(0.0f64, |most, r| most.max(r.abs()));
    assert!(largest < (f64::from(flood.bits) + 1.0 + (t as f64).log2()).exp2() * 1.001);
}

#[test]
fn a_flood_that_hides_too_little_is_refused() {
    let flood = |bits| slots_program(Some(Flood { bits, answers: 1 }));
    let least = Flood::over(
        match flood(0).steps[4].ty {
            Type::Ciphertext { noise_bits, .. } => noise_bits,
            Type::Samples => panic!("a packing makes a ciphertext"),
        },
        bfv::T_FERMAT,
        flood(0).parameters.n,
        1,
    );
    assert!(Prepared::new(flood(least.bits)).is_ok());
    let error = Prepared::new(flood(least.bits - 1)).err().unwrap();
    let words = error.to_string();
    assert!(
        words.contains("the statistical distance that the floods leave"),
        "{words}"
    );
    // And one beyond the modulus.
    let error = Prepared::new(flood(115)).err().unwrap().to_string();
    assert!(
        error.contains("the probability that a run is wrong"),
        "{error}"
    );
}
