//! Is an encrypted run of the MNIST networks right, layer by layer? Full size, real images.
//!
//! Rounding to LWE samples adds noise before each table, so an encrypted run differs from the exact
//! network. But everything else is exact, and each part is checked:
//!
//! - the values that enter a table are the linear layer of the activations of this run, plus noise
//!   of the predicted deviation;
//! - the values that leave it are the table's values for what really entered, in every slot;
//! - the logits are the last layer of the last activations, without any noise.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use client::Client;
use compiler::{Moduli, Options, WordSize, compile};
use exchange::LoopParams;
use exchange::files;
use network::{Evaluator, IntNetwork, Layer};
use palladion_runtime::{Event, Prepared, Server, StepResult};
use program::{Form, Op, Packed, Program, Type, ValueId};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use rlwe::lwe::LweBatch;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

const PIXELS: usize = 28 * 28;
const DATA: &[u8; 32 * (PIXELS + 1)] = include_bytes!("data/mnist_32.raw");

/// Only one of these tests runs at a time. Each uses all threads and up to 2 GB.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The network of the package.
const PACKAGED: &str = "mnist.json";
/// The same layers with weights of 7 bits and tables of 32,731 entries.
const WIDE: &str = "mnist_w7a7.json";

fn of_model(name: &str) -> IntNetwork {
    let path = format!("{}/../../models/{name}", env!("CARGO_MANIFEST_DIR"));
    IntNetwork::from_json(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Images in the form of the network's input, and their labels.
fn images(network: &IntNetwork, count: usize) -> Vec<(Vec<i64>, usize)> {
    let (pixels, labels) = DATA.split_at(32 * PIXELS);
    pixels
        .chunks(PIXELS)
        .map(|image| {
            image
                .iter()
                .map(|&pixel| f64::from(pixel) / 255.0)
                .collect()
        })
        .map(|image: Vec<f64>| network.input.integers(&image).unwrap())
        .zip(labels.iter().map(|&label| usize::from(label)))
        .take(count)
        .collect()
}

/// Decrypted values of a run.
#[derive(Default)]
struct Trail {
    samples: BTreeMap<ValueId, LweBatch>,
    /// Centred slots after packings and tables.
    slots: BTreeMap<ValueId, Vec<i64>>,
}

impl Trail {
    fn observe(&mut self, prepared: &Prepared, client: &Client, event: &Event<'_>) {
        let &Event::End { step, value } = event else {
            return;
        };
        let op = &prepared.program().steps[step].op;
        match value {
            StepResult::Samples(batch) => drop(self.samples.insert(step, batch.as_ref().clone())),
            StepResult::Ciphertext(value) if matches!(op, Op::Pack { .. } | Op::Table { .. }) => {
                let bfv = prepared.params().bfv();
                let ct = value.ciphertext();
                let message = bfv::decrypt(bfv, client.keys().secret(), ct).unwrap();
                let slots = bfv.encoder().slots_of(&message).into_iter();
                let slots = slots.map(|x| bfv.t().center(x)).collect();
                self.slots.insert(step, slots);
            }
            StepResult::Ciphertext(_) => {}
        }
    }
}

/// Noise of accumulators: the difference between what entered a table and the exact layer.
struct Noise {
    layer: String,
    errors: Vec<i64>,
}

impl Noise {
    /// Checks that mean and variance are within six deviations of the prediction. The deviations
    /// follow from the sample size and the key's norm.
    fn check(&self, params: &LoopParams) {
        let (n, sigma) = (self.errors.len() as f64, params.rounding_sigma());
        let mean = self.errors.iter().sum::<i64>() as f64 / n;
        let variance = self.errors.iter().map(|e| (e * e) as f64).sum::<f64>() / n;
        let largest = self.errors.iter().map(|e| e.abs()).max().unwrap();
        println!(
            "{}: noise of {n} accumulators: mean {mean:.2}, deviation {:.2}, predicted {sigma:.2}, largest {largest}",
            self.layer,
            variance.sqrt()
        );
        assert!(mean.abs() < 6.0 * sigma / n.sqrt(), "mean {mean}");
        // The squared norm of a ternary key of dimension d has a relative deviation of 1 / sqrt(2
        // d).
        let key = 1.0 / (2.0 * params.dimension() as f64);
        let tolerance = 6.0 * (2.0 / n + key).sqrt();
        let ratio = variance / sigma.powi(2);
        assert!((ratio - 1.0).abs() < tolerance, "ratio {ratio:.3}");
    }
}

/// Runs a program of the network `name` for `batch` images on `count` of them and compares every
/// layer with the exact integers.
fn check_loop(name: &str, [count, batch]: [usize; 2], words: WordSize, seed: u64) -> Prepared {
    let network = of_model(name);
    let exact = Evaluator::new(&network).unwrap();
    let program = compile(
        &network,
        Options {
            moduli: Moduli::of_words(words),
            ..Options::of_batch(batch)
        },
    )
    .unwrap();
    let prepared = Prepared::new(program).unwrap();
    let program = prepared.program();
    println!(
        "{name}, {count} images in a batch of {batch}, seed {seed}: margin {:.1}",
        program.prediction.margin_bits
    );

    let client = Client::generate_from(&prepared, &mut ChaCha20Rng::seed_from_u64(seed));
    let started = Instant::now();
    let key_bytes =
        files::keys_to_bytes(prepared.params(), &client.evaluation_keys().unwrap()).unwrap();
    let predicted = program.prediction.key_bytes;
    println!("{} bytes of keys, predicted {predicted}", key_bytes.len());
    assert_eq!(key_bytes.len() as u64, predicted);
    let keys = files::keys_from_bytes(&prepared, &key_bytes).unwrap();
    drop(key_bytes);
    println!("keys in {:.1} s", started.elapsed().as_secs_f64());

    let images = images(&network, count);
    let pixels: Vec<Vec<i64>> = images.iter().map(|(image, _)| image.clone()).collect();
    let input = client.encrypt(&pixels).unwrap();
    let mut trail = Trail::default();
    let (output, report) = Server::new(&prepared, &keys)
        .run(&input, |event| {
            trail.observe(&prepared, &client, &event);
            true
        })
        .unwrap();
    println!("run in {:.1} s", report.seconds);
    let decrypted = client.decrypt(&output, &input).unwrap();
    println!("margin of the results {:.1} bits", decrypted.margin_bits);
    // The measured margin is that of the largest of N coefficients. The prediction is for six
    // deviations.
    assert!(decrypted.margin_bits > program.prediction.margin_bits - 0.5);

    let mut outputs: Vec<Vec<Vec<i64>>> = vec![Vec::new(); count];
    let expected = |layer: usize, image: usize, outputs: &[Vec<i64>]| {
        let sums = exact.accumulate_from(layer, &pixels[image], outputs);
        sums.unwrap()
    };
    let last = network.layers.len() - 1;
    for (layer, described) in network.layers[..last].iter().enumerate() {
        let mut errors = Vec::new();
        let sums: Vec<Vec<i64>> = (0..count)
            .map(|image| expected(layer, image, &outputs[image]))
            .collect();
        let mut entered: Vec<Vec<Option<i64>>> = vec![vec![None; sums[0].len()]; count];
        for pack in steps_of(program, &described.name, "pack") {
            for (Packed(_, image, output, samples), phase) in
                check_packing(&prepared, &client, &trail, pack)
            {
                if *image >= count {
                    continue;
                }
                assert_eq!(
                    samples.len(),
                    1,
                    "one rounding is what the prediction is for"
                );
                errors.push(phase - sums[*image][*output]);
                let first = entered[*image][*output].replace(phase);
                assert_eq!(first, None, "every accumulator is packed once");
            }
        }
        assert!(entered.iter().flatten().all(Option::is_some));
        let noise = Noise {
            layer: described.name.clone(),
            errors,
        };
        noise.check(prepared.params());
        for table in steps_of(program, &described.name, "table") {
            check_table(program, &trail, table, described);
        }
        for (outputs, entered) in outputs.iter_mut().zip(&entered) {
            let entered: Vec<i64> = entered.iter().flatten().copied().collect();
            outputs.push(described.activate(&entered));
        }
    }
    for (image, logits) in decrypted.logits.iter().enumerate() {
        assert_eq!(&expected(last, image, &outputs[image]), logits);
    }
    check_classes(&exact, &images, &decrypted.logits);
    prepared
}

fn values_of(ty: &Type) -> usize {
    match ty {
        Type::Ciphertext {
            form: Form::Slots(values),
            ..
        } => *values,
        other => panic!("{other:?} is not in slots"),
    }
}

/// Steps of a layer with one operation.
fn steps_of<'p>(
    program: &'p Program,
    layer: &'p str,
    op: &'p str,
) -> impl Iterator<Item = ValueId> + 'p {
    let steps = program.steps.iter().enumerate();
    let wanted = steps.filter(move |(_, s)| s.layer == layer && s.op.name() == op);
    wanted.map(|(id, _)| id)
}

/// Returns what was packed, with the phases. Checks that every copy in the slots equals its phase
/// and that other slots are 0.
fn check_packing<'c>(
    prepared: &'c Prepared,
    client: &Client,
    trail: &Trail,
    id: ValueId,
) -> Vec<(&'c Packed, i64)> {
    let step = &prepared.program().steps[id];
    let Op::Pack {
        sources, values, ..
    } = &step.op
    else {
        panic!("step {id} packs");
    };
    let t = prepared.params().bfv().t();
    let phase = |packed: &Packed| {
        let phases = packed.3.iter().map(|&[source, at]| {
            let batch = &trail.samples[&sources[source]];
            batch.phase(at, client.keys().lwe())
        });
        t.center(t.reduce(phases.sum()))
    };
    let packed: Vec<(&Packed, i64)> = values.iter().map(|v| (v, phase(v))).collect();
    let mut wanted = vec![0; values_of(&step.ty)];
    for (Packed(slot, ..), phase) in &packed {
        wanted[*slot] = *phase;
    }
    for (slot, &found) in trail.slots[&id].iter().enumerate() {
        assert_eq!(found, wanted[slot % wanted.len()], "step {id}, slot {slot}");
    }
    packed
}

/// Checks that every slot has the table's value of what was there before, if that is an accumulator
/// or 0.
fn check_table(program: &Program, trail: &Trail, id: ValueId, layer: &Layer) {
    let &[packed] = program.steps[id].op.operands().as_slice() else {
        panic!("step {id} is a table");
    };
    let wanted = layer.activate(&trail.slots[&packed]);
    for (slot, (found, wanted)) in trail.slots[&id].iter().zip(&wanted).enumerate() {
        assert_eq!(found, wanted, "step {id}, slot {slot}");
    }
}

/// Checks the classes: where the exact network's margin is above the noise, the encrypted run must
/// give the same class.
fn check_classes(network: &Evaluator, images: &[(Vec<i64>, usize)], logits: &[Vec<i64>]) {
    let mut right = 0;
    for ((image, label), logits) in images.iter().zip(logits) {
        let exact = network.evaluate(image).unwrap();
        let found = (0..logits.len()).rev().max_by_key(|&i| logits[i]).unwrap();
        let off: Vec<i64> = logits
            .iter()
            .zip(&exact.logits)
            .map(|(a, b)| a - b)
            .collect();
        let largest = off.iter().map(|d| d.abs()).max().unwrap();
        right += usize::from(found == *label);
        if exact.margin() > 2 * largest {
            assert_eq!(found, exact.predicted);
        }
        if found != exact.predicted {
            println!(
                "label {label}: {found}, exactly {} by {}",
                exact.predicted,
                exact.margin()
            );
        }
    }
    println!("{right} of {} classes are the labels", images.len());
    assert!(right * 10 >= images.len() * 9, "{right}");
}

#[test]
fn two_digits_are_classified_and_every_layer_is_exact_but_for_the_rounding() {
    let _alone = alone();
    let prepared = check_loop(WIDE, [2, 2], WordSize::Any, 11);
    let ops = prepared.program().steps.iter().map(|s| &s.op);
    assert_eq!(ops.filter(|op| matches!(op, Op::Table { .. })).count(), 2);
}

#[test]
fn the_packaged_network_is_as_exact() {
    let _alone = alone();
    let prepared = check_loop(PACKAGED, [1, 1], WordSize::Any, 14);
    let constants = &prepared.program().constants;
    let mut tables = constants.iter().filter(|c| c.name.ends_with(".table"));
    assert!(tables.all(|table| table.values.len() <= 8193));
}

#[test]
fn a_batch_of_64_goes_through_coefficients_and_is_as_exact_half_full() {
    let _alone = alone();
    let prepared = check_loop(WIDE, [32, 64], WordSize::Any, 12);
    let mut steps = prepared.program().steps.iter();
    assert!(steps.any(|s| matches!(s.op, Op::SlotsToCoefficients { .. })));
}

#[test]
fn words_of_32_bits_are_as_exact() {
    let _alone = alone();
    let prepared = check_loop(WIDE, [1, 1], WordSize::Bits(32), 13);
    let p = &prepared.program().parameters;
    assert!(p.q.iter().chain(&p.p).all(|&q| q < 1 << 32));
}
