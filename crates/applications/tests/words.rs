//! Applications in words of 32 bits: right under encryption, as precise as predicted, and replayed to the same words.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use bgv::T_FERMAT;
use circuits::approximate::Samples;
use ckks::{Complex64, Params, ParamsSpec};
use client::circuit_keys;
use evaluate::circuit::{
    Argument, Runner, Slots, arithmetic, needs, predict, predict_noise, run_clear,
};
use palladion_applications::lookup::{Database, ROW, word_name};
use palladion_applications::{Benchmarks, Written, bootstrapping, helr, lola_mnist};
use program::circuit::{Circuit, Weights};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::sample::Masks;
use rlwe::{SecretKey, Words};
use std::collections::BTreeMap;
use trace::Trace;

const WORDS: Words = Words {
    bits: 32,
    digit_limbs: 2,
};

fn fits_words(trace: &Trace) {
    let largest = trace.moduli.iter().max().unwrap();
    assert!(largest >> 32 == 0, "{largest}");
}

/// Runs a circuit encrypted: each result's slots, after its trace was replayed to the same words.
fn run(params: &Params, circuit: &Circuit, inputs: &Slots, seed: u64) -> Slots {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let mut masks = Masks::random(&mut rng);
    let runner = Runner::new(params, circuit).unwrap();
    let mut encrypted = BTreeMap::new();
    for (name, slots) in inputs {
        let message = runner.encode(name, slots).unwrap();
        let ct = ckks::encrypt(&secret, &message, &mut masks, &mut rng).unwrap();
        encrypted.insert(name.as_str(), ct);
    }
    let given = encrypted.iter();
    let given = given
        .map(|(&name, ct)| (name, Argument::Ciphertext(ct)))
        .collect();
    let keys = circuit_keys(&secret, &needs(params, &circuit.keys()), &mut rng).unwrap();
    let results = runner.run(&given, &keys).unwrap();
    let trace = runner.lower(&BTreeMap::new()).unwrap();
    fits_words(&trace);
    let (replayed, _) = runner.replay(&trace, &given, &keys, |_| true).unwrap();
    assert!(replayed == results);
    let decoded = results.into_iter().map(|(name, ct)| {
        let message = ckks::decrypt(&secret, &ct).unwrap();
        let mut slots = message.decode(params, params.slots()).unwrap();
        slots.truncate(circuit.slots);
        (name, slots)
    });
    decoded.collect()
}

/// The precision of what was found, against what is predicted, from both sides.
fn as_predicted(params: &Params, circuit: &Circuit, (inputs, found): (&Slots, &Slots), bits: f64) {
    let clear = run_clear(circuit, inputs).unwrap();
    let predicted = predict(params, circuit, inputs).unwrap();
    for (name, found) in found {
        let errors = found.iter().zip(&clear[name]);
        let sum: f64 = errors.map(|(a, b)| (a - b).norm_sqr()).sum();
        let measured = -(sum / found.len() as f64).log2() / 2.0;
        let expected = predicted[name].noise(circuit.slots).precision();
        println!("{name}: {measured:.2} bits, predicted {expected:.2}");
        assert!((measured - expected).abs() < bits, "{name}");
    }
}

fn complex(slots: Vec<f64>) -> Vec<Complex64> {
    slots.into_iter().map(Complex64::from).collect()
}

/// At the size of the benchmark, which is secure.
#[test]
fn lola_mnist_gives_the_networks_logits() {
    let network = lola_mnist::Network::synthetic().unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let pixels: Vec<u8> = (0..28 * 28).map(|_| rng.random()).collect();
    let Written::Approximate(params, _) = Benchmarks::named("lola-mnist")
        .and_then(|benchmark| benchmark.write(1))
        .unwrap()
    else {
        panic!("CKKS");
    };
    for encrypted in [false, true] {
        let mut kept = BTreeMap::new();
        let weights = match encrypted {
            true => Weights::Encrypted(&mut kept),
            false => Weights::Plain,
        };
        let at = (params.slots(), params.scale());
        let circuit = network.circuit(arithmetic(&params), at, weights).unwrap();
        let given = lola_mnist::inputs(&pixels, params.slots()).chain(kept);
        let inputs: Slots = given.map(|(name, v)| (name, complex(v))).collect();
        let found = run(&params, &circuit, &inputs, 2);
        // Errors of ten logits or so are independent: the tolerance is two deviations of their mean.
        as_predicted(&params, &circuit, (&inputs, &found), 1.0);
        let expected = network.evaluate(&pixels);
        let predicted = predict(&params, &circuit, &inputs).unwrap();
        let error = predicted["logits"].noise(lola_mnist::CLASSES).0.sqrt();
        for (found, expected) in found["logits"].iter().zip(&expected) {
            assert!((found.re - expected).abs() < 6.0 * error);
        }
    }
}

/// A trained network has the instructions of the synthetic one.
#[test]
fn no_instruction_depends_on_a_weight() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../models/lola_mnist.safetensors"
    );
    let Written::Approximate(params, synthetic) = Benchmarks::named("lola-mnist")
        .and_then(|benchmark| benchmark.write(1))
        .unwrap()
    else {
        panic!("CKKS");
    };
    let network = lola_mnist::Network::load(path.as_ref()).unwrap();
    let at = (params.slots(), params.scale());
    let trained = network
        .circuit(arithmetic(&params), at, Weights::Plain)
        .unwrap();
    let [a, b] = [&synthetic, &trained].map(|circuit| {
        let runner = Runner::new(&params, circuit).unwrap();
        runner.lower(&BTreeMap::new()).unwrap().counts()
    });
    assert_eq!(a, b);
    let other = lola_mnist::Network::load("nowhere".as_ref()).err().unwrap();
    assert!(
        other.to_string().starts_with("nowhere: the file is "),
        "{other}"
    );
}

#[test]
fn an_iteration_of_helr_is_as_precise_as_predicted_insecure() {
    let levels = [vec![42], vec![32; helr::DEPTH]].concat();
    let spec = ParamsSpec::in_words(1 << 10, &levels, WORDS, 32.0).unwrap();
    let params = Params::new_insecure(&spec).unwrap();
    let layout = Samples::new(8, params.slots() / 8).unwrap();
    let circuit = helr::iteration(&params, (layout, 2), [1.0 / 16.0, -0.28]).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let mut rows = |count: usize| -> Vec<Vec<f64>> {
        let mut row = |_| (0..64).map(|_| rng.random_range(-0.3..0.3)).collect();
        (0..count).map(&mut row).collect()
    };
    let [w, v] = [rows(1), rows(1)];
    let batch = [rows(8), rows(8)];
    let mut inputs = Slots::from([
        ("w".into(), complex(layout.repeat(&w[0]).unwrap())),
        ("v".into(), complex(layout.repeat(&v[0]).unwrap())),
    ]);
    for (i, rows) in batch.iter().enumerate() {
        inputs.insert(helr::part(0, i), complex(layout.pack(rows).unwrap()));
    }
    // The definition: gradient step and momentum.
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut next = v[0].clone();
    for z in batch.iter().flatten() {
        let x = dot(z, &v[0]);
        let slope = (0.5 + helr::A1 * x + helr::A3 * x.powi(3)) / 16.0;
        next.iter_mut().zip(z).for_each(|(w, z)| *w += slope * z);
    }
    let clear = run_clear(&circuit, &inputs).unwrap();
    let differs = |(a, b): (&Complex64, f64)| (a - b).norm() > 1e-9;
    let expected = layout.repeat(&next).unwrap();
    assert!(!clear["w"].iter().zip(expected).any(differs));

    let found = run(&params, &circuit, &inputs, 4);
    // Sums over samples copy one error of each of 64 features: three deviations of their mean.
    as_predicted(&params, &circuit, (&inputs, &found), 0.5);

    let short = ParamsSpec::in_words(1 << 10, &levels[..4], WORDS, 32.0).unwrap();
    let short = Params::new_insecure(&short).unwrap();
    let refused = helr::iteration(&short, (layout, 2), [1.0, 0.0]).unwrap_err();
    let expected = "the level of the weights is 3, expected at least 4";
    assert_eq!(refused.to_string(), expected);
}

#[test]
fn a_number_is_bootstrapped_as_predicted_insecure() {
    let spec = bootstrapping::unpacked_spec(1 << 10, 2, WORDS).unwrap();
    let params = Params::new_insecure(&spec).unwrap();
    let circuit = bootstrapping::ckks(&params, &bootstrapping::unpacked()).unwrap();
    let (_, ty) = circuit.outputs().next().unwrap();
    assert_eq!(ty.level, 2);
    let inputs = Slots::from([("low".into(), vec![Complex64::new(0.4, -0.7)])]);
    let found = run(&params, &circuit, &inputs, 5);
    // The sine's part of the difference is in the predicted slots.
    let predicted = &predict(&params, &circuit, &inputs).unwrap()["high"];
    let sine = (predicted.slots[0] - inputs["low"][0]).norm();
    let error = (found["high"][0] - predicted.slots[0]).norm();
    let expected = predicted.noise(1).0.sqrt();
    println!(
        "sine 2^{:.1}, error 2^{:.1}, predicted 2^{:.1}",
        sine.log2(),
        error.log2(),
        expected.log2()
    );
    assert!(sine.max(expected) < 2f64.powi(-12));
    // It is one number: at most three deviations, and what the last matrix was rounded to, an integer of 17 bits.
    assert!(error < 3.0 * expected + 2f64.powi(-17));
    assert!(error > expected / 1024.0);
}

/// At the secure size of the benchmark: smaller rings need no second limb for every fourth squaring.
#[test]
fn a_row_is_found_in_words_of_32_bits() {
    let benchmark = Benchmarks::named("lookup").unwrap();
    let Written::Exact(params, circuit) = benchmark.write(1).unwrap() else {
        panic!("BGV");
    };
    let budgets = predict_noise(&params, &circuit).unwrap();
    let runner = Runner::new(&params, &circuit).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let mut masks = Masks::random(&mut rng);
    let keys = circuit_keys(&secret, &needs(&params, &circuit.keys()), &mut rng).unwrap();
    let trace = runner.lower(&BTreeMap::new()).unwrap();
    fits_words(&trace);
    let (row, top) = (12_345, params.rlwe().max_level());
    let mut query = BTreeMap::new();
    for (name, word) in [(word_name(0), row), (word_name(1), 2 * row)] {
        let message = runner.encode(&name, &[word]).unwrap();
        let ct = bgv::encrypt(&params, &secret, &message, top, &mut masks, &mut rng);
        query.insert(name, ct.unwrap());
    }
    let given = query.iter();
    let given = given
        .map(|(name, ct)| (name.as_str(), Argument::Ciphertext(ct)))
        .collect();
    let found = runner.run(&given, &keys).unwrap();
    let slots = bgv::decrypt(&secret, &found[ROW]).unwrap();
    let slots = params.encoder().slots_of(&slots);
    let value = |slot: u64| match slot % 16 {
        15 => 0,
        column => (row + column + 1) % T_FERMAT,
    };
    assert!((0..).zip(&slots).all(|(slot, &found)| found == value(slot)));
    let (size, _) = bgv::measure(&secret, &found[ROW]).unwrap();
    let (measured, expected) = (size.log2_rms, budgets[ROW].noise.bits());
    println!("noise {measured:.2} bits, predicted {expected:.2}");
    // That of a sum over slots is in few coefficients: 16 of them, so the mean square strays by a part of 0.35.
    assert!((measured - expected).abs() < 1.0);

    // Without the second limbs a run would be wrong, and is refused.
    let table = Database {
        keys: vec![(0..64).collect()],
        columns: vec![(0..64).collect()],
        cooled: Vec::new(),
    };
    let hot = table.circuit(arithmetic(&params), params.n()).unwrap();
    let refused = predict_noise(&params, &hot).unwrap_err().to_string();
    assert!(refused.contains("at single points"), "{refused}");
}

#[test]
fn benchmarks_have_names_and_128_bits_unless_they_say_otherwise() {
    let mut names: Vec<&str> = Benchmarks::ALL.iter().map(|b| b.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Benchmarks::ALL.len());
    for benchmark in Benchmarks::ALL {
        if benchmark.name == "lola-cifar" {
            continue; // half a minute
        }
        let written = benchmark.write(1).unwrap();
        let insecure = benchmark.name.contains("insecure");
        assert_eq!(written.rlwe().is_secure(), !insecure, "{}", benchmark.name);
    }
    let wide = Benchmarks::named("lola-mnist").and_then(|b| b.write(4));
    assert!(wide.err().unwrap().to_string().contains("128-bit security"));
    let unknown = Benchmarks::named("lola").err().unwrap();
    assert!(unknown.to_string().contains("expected one of lola-cifar, "));
}
