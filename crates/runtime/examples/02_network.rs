//! Runs any integer network encrypted on random inputs, and compares every layer with the exact
//! network.
//!
//!     cargo run --release -p palladion-runtime --example 02_network -- [NETWORK.json [BATCH [LIMB,SPECIAL,SLACK | words32]]]
//!
//! The last argument gives the bits of a limb, of a special modulus, and of noise that is carried
//! on: 34,49,1.5. Or it is `words32`.
//!
//! This is only for studying a network, with the secret at hand: client and server are one process
//! here.

#![allow(clippy::unwrap_used, reason = "an example may panic")]

use client::Client;
use compiler::{Moduli, WordSize};
use inspect::{Exact, Inspector};
use network::{Evaluator, IntNetwork};
use palladion_runtime::{Prepared, Server};
use rand::{Rng, SeedableRng};
use std::time::Instant;

struct Integers {
    network: IntNetwork,
    evaluator: Evaluator,
}

impl Exact for Integers {
    fn layers(&self) -> usize {
        self.network.layers.len()
    }

    fn accumulate(&self, layer: usize, image: &[i64], outputs: &[Vec<i64>]) -> Option<Vec<i64>> {
        self.evaluator.accumulate_from(layer, image, outputs).ok()
    }

    fn activate(&self, layer: usize, accumulator: i64) -> Option<i64> {
        let lut = &self.network.layers.get(layer)?.lut;
        Some(
            lut.as_ref()
                .map_or(accumulator, |lut| lut.apply(accumulator)),
        )
    }

    fn bound(&self, layer: usize) -> i64 {
        self.network.layers[layer].bound
    }
}

fn moduli(text: &str) -> Moduli {
    if text == "words32" {
        return Moduli::of_words(WordSize::Bits(32));
    }
    let parts: Vec<&str> = text.split(',').collect();
    Moduli {
        limb_bits: parts[0].parse().unwrap(),
        special_bits: parts[1].parse().unwrap(),
        slack_bits: parts[2].parse().unwrap(),
        ..Moduli::default()
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let packaged = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/mnist.json");
    let path = arguments.first().map_or(packaged, String::as_str);
    let text = std::fs::read_to_string(path).unwrap();
    let batch = arguments.get(1).map_or(1, |b| b.parse().unwrap());
    let network = IntNetwork::from_json(&text).unwrap();
    let begin = Instant::now();
    let options = compiler::Options {
        moduli: arguments.get(2).map_or_else(Moduli::default, |m| moduli(m)),
        ..compiler::Options::of_batch(batch)
    };
    let program = compiler::compile(&network, options).unwrap();
    if std::env::var_os("SHOW").is_some() {
        println!("{program}");
    }
    let predicted: f64 = program.steps.iter().map(|s| s.seconds).sum();
    println!(
        "compiled in {:.1} s: {predicted:.1} s predicted on one thread, {} steps, keys {:.0} MB, margin {:.1}, failure 2^{:.1}",
        begin.elapsed().as_secs_f64(),
        program.steps.len(),
        program.prediction.key_bytes as f64 / 1e6,
        program.prediction.margin_bits,
        program.prediction.log2_failure
    );
    let prepared = Prepared::new(program).unwrap();
    let client = Client::generate(&prepared);
    let keys = client.evaluation_keys().unwrap();
    println!(
        "prepared, keys made: {:.1} s",
        begin.elapsed().as_secs_f64()
    );
    let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
    let input = &network.input;
    let image = |_| {
        let pixels = (0..input.values()).map(|_| rng.random_range(input.min..=input.max));
        pixels.collect()
    };
    let images: Vec<Vec<i64>> = (0..batch).map(image).collect();
    let evaluator = Evaluator::new(&network).unwrap();
    let mut found = Inspector::new(&client, &prepared, Integers { network, evaluator });
    found.begin(&images).unwrap();
    let input = client.encrypt(&images).unwrap();
    let (output, report) = Server::new(&prepared, &keys)
        .run(&input, |event| {
            found.observe(&event).unwrap();
            true
        })
        .unwrap();
    let decrypted = client.decrypt(&output, &input);
    if let Ok(decrypted) = &decrypted {
        found.end(decrypted).unwrap();
    }
    let mut by_name = std::collections::BTreeMap::<String, (f64, f64, usize)>::new();
    for step in &report.steps {
        let name = step.name.rsplit(": ").next().unwrap().to_owned();
        let sum = by_name.entry(name).or_default();
        sum.0 += step.seconds;
        sum.1 += step.predicted_seconds;
        sum.2 += step.count;
    }
    for (name, (seconds, predicted, count)) in by_name {
        println!("{name:24} {count:5} {seconds:8.2} s, predicted {predicted:8.2} s a thread");
    }
    for layer in found.layers() {
        let changed: u64 = layer.changes.values().sum();
        println!(
            "{:16} noise {:6.2} mean {:6.2}, beyond {}, wrong {} of {}, changed {changed} of {}",
            layer.name,
            layer.noise.sigma(),
            layer.noise.mean(),
            layer.beyond_bound,
            layer.wrong,
            layer.slots,
            layer.values
        );
    }
    let off = |n: &&inspect::StepNoise| (n.measured_bits - n.predicted_bits).abs() > 0.1;
    for n in found.noise().iter().filter(off).take(8) {
        println!("{n:?}");
    }
    let off = found.noise().iter().filter(off).count();
    println!(
        "{off} of {} ciphertexts off their predicted noise by more than 0.1 bits",
        found.noise().len()
    );
    println!("margin {:.1} bits", decrypted.unwrap().margin_bits);
}
