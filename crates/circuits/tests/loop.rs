//! Is every step of the loop exact, and does its noise match the prediction?

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use crate::common::conv::ConvShape;
use crate::common::{N, Setup, T, alone, ciphertext, deviation, setup, timed};
use exchange::{Layout, LoopParams};
use palladion_circuits::dense::Layer;
use palladion_circuits::lut::{Lut, interpolate};
use palladion_circuits::operations::{Operations, Plain, Sample, Words};
use palladion_circuits::pack::pack;
use palladion_circuits::transform::{SlotsToCoeffs, coefficient_of_slot};
use palladion_circuits::{EncryptedValue, Engine, Squares, Value, ValueOf, engine};
use program::TableShape;
use rand::Rng;
use rlwe::lwe::LweBatch;

/// Like the first layer of the MNIST network: 4 kernels of 7x7, stride 3, on padded images.
const CONV: ConvShape = ConvShape {
    channels: 1,
    kernels: 4,
    input: [28, 28],
    kernel: [7, 7],
    stride: 3,
};
const VALUES: usize = 256;
/// `|sum| <= 49 * 15 * 3 = 2205`, and rounding adds noise with a deviation of 10.7.
const BOUND: i64 = 4095;

fn relu(x: i64) -> i64 {
    (x.max(0) / 8).min(127)
}

/// Product with a plaintext that has the given coefficients, not switched down.
fn mul_coefficients<O: Operations>(
    engine: &Engine<O>,
    x: &ValueOf<O>,
    weights: &[i64],
) -> ValueOf<O> {
    let squares = Squares::of(weights.iter().copied(), engine.params().n());
    let plain = |_| {
        let weights = weights.iter().copied().enumerate();
        Plain::Coefficients(Words::Sparse(weights.collect()))
    };
    let product = engine.mul_plain_sum(&[x], squares, x.factor(), plain);
    product.unwrap()
}

fn random_weights(s: &mut Setup, count: usize, bound: i64) -> Vec<i64> {
    (0..count)
        .map(|_| s.rng.random_range(-bound..=bound))
        .collect()
}

/// Returns the encrypted product, and the convolution's outputs of the images side by side.
fn convolve(s: &mut Setup, level: usize, images: usize) -> (EncryptedValue, Vec<(usize, i64)>) {
    let weights = random_weights(s, 4 * 49, 3);
    let span = CONV.image_span();
    let pixels: Vec<Vec<i64>> = (0..images)
        .map(|_| {
            (0..CONV.input_len())
                .map(|_| s.rng.random_range(0..16))
                .collect()
        })
        .collect();
    let mut message = vec![0; N];
    for (image, pixels) in pixels.iter().enumerate() {
        message[image * span..][..pixels.len()].copy_from_slice(pixels);
    }
    let x = s.encrypt(&s.bfv().encoder().coefficients(&message), level);
    s.check_noise("fresh", &x);
    let keys = s.keys_for(|_| ());
    let engine = engine(&s.params, &keys);
    let y = mul_coefficients(&engine, &x, &CONV.kernel_polynomial(&weights));
    let mut want = Vec::new();
    let [height, width] = CONV.output();
    for (image, pixels) in pixels.iter().enumerate() {
        for place in 0..4 * height * width {
            let (k, row, column) = (
                place / (height * width),
                place / width % height,
                place % width,
            );
            let sum = (0..49)
                .map(|i| {
                    let (r, c) = (row * 3 + i / 7, column * 3 + i % 7);
                    pixels[r * 28 + c] * weights[k * 49 + i]
                })
                .sum();
            let coefficient = CONV.output_coefficient(image * span, [k, row, column]);
            want.push((coefficient, sum));
        }
    }
    (y, want)
}

fn check_integers(s: &Setup, what: &str, value: &EncryptedValue, want: &[(usize, i64)]) {
    let (t, got) = (s.bfv().t(), s.coefficients(value));
    let wrong = want
        .iter()
        .filter(|&&(k, sum)| t.center(got[k]) != sum)
        .count();
    println!("{what}: {} outputs, {wrong} wrong", want.len());
    assert_eq!(wrong, 0, "{what}");
}

#[test]
fn convolutions_on_coefficients_are_the_exact_integers() {
    let _alone = alone();
    let mut s = setup(2, 7);
    let (y, want) = convolve(&mut s, 1, 4);
    check_integers(&s, "convolution of 4 images", &y, &want);
    s.check_noise("convolution", &y);
    let low = s.switched(y, 0);
    check_integers(&s, "at level 0", &low, &want);
    s.check_noise("switch to level 0", &low);
}

#[test]
fn products_are_exact_and_their_noise_follows_the_formula() {
    let _alone = alone();
    let mut s = setup(6, 8);
    let top = s.top();
    let keys = s.keys_for(|engine| {
        let x = Value::dry(top, engine.model().fresh());
        engine.mul("a test", &x, &x).unwrap();
    });
    let (a, b) = (s.residues(N), s.residues(N));
    let (x, y) = (s.encrypt_slots(&a, top), s.encrypt_slots(&b, top));
    s.check_noise("fresh", &x);
    let engine = Engine::new(s.params.bfv(), &keys);
    let product = engine.mul("a test", &x, &y).unwrap();
    let want: Vec<u64> = a.iter().zip(&b).map(|(a, b)| a * b % T).collect();
    assert_eq!(s.slots(&product), want);
    s.check_noise("product", &product);
    let square = engine.mul("a test", &product, &product).unwrap();
    let want: Vec<u64> = want.iter().map(|x| x * x % T).collect();
    assert_eq!(s.slots(&square), want);
    s.check_noise("square", &square);
}

/// The circuits of the loop after the dimension switch, for making the keys and for the run.
struct Circuits {
    layout: Layout,
    lut: Lut,
    to_coeffs: SlotsToCoeffs,
    dense: Layer,
    next: Vec<i64>,
}

/// Results of the loop's steps.
struct Steps<C> {
    packed: Value<C>,
    table: Value<C>,
    dense: Value<C>,
    coeffs: Value<C>,
    next: Value<C>,
}

impl Circuits {
    fn run<O: Operations>(
        &self,
        engine: &Engine<O>,
        params: &LoopParams,
        samples: &[Vec<Sample<'_, O::Samples>>],
    ) -> Steps<O::Ciphertext> {
        let top = params.bfv().rlwe().max_level();
        let packed = timed("packing", || {
            pack(engine, params, self.layout, samples, top).unwrap()
        });
        let table = timed("table", || {
            self.lut.apply(engine, self.layout, &packed).unwrap()
        });
        let dense = timed("dense", || self.dense.apply(engine, &table).unwrap());
        let coeffs = timed("slots to coefficients", || {
            self.to_coeffs.apply(engine, &table).unwrap()
        });
        let next = mul_coefficients(engine, &coeffs, &self.next);
        Steps {
            packed,
            table,
            dense,
            coeffs,
            next,
        }
    }
}

#[test]
fn the_loop_is_exact_and_its_noise_as_predicted_after_every_step() {
    let _alone = alone();
    let mut s = setup(21, 9);
    let t = *s.bfv().t();
    let layout = Layout::new(N, VALUES).unwrap();
    let shape = TableShape {
        segments: 128,
        digits: [8, 8, 1],
    };
    let rows: Vec<(usize, Vec<i64>)> = (0..64)
        .map(|_| (0, random_weights(&mut s, VALUES, 63)))
        .collect();
    let mut next = vec![0; N];
    for _ in 0..64 {
        let place = s.rng.random_range(0..N);
        next[place] = s.rng.random_range(-63..=63);
    }
    let circuits = Circuits {
        layout,
        lut: Lut::new(interpolate(&t, BOUND, relu).unwrap(), shape).unwrap(),
        to_coeffs: SlotsToCoeffs::balanced(s.bfv()).unwrap(),
        dense: Layer::new(layout, rows.clone()).unwrap(),
        next,
    };
    let params = s.params.clone();
    let keys = s.keys_for(|engine| circuits.run(engine, &params, &[]));
    println!("{:.0} MB of keys", keys.byte_len() as f64 / 1e6);

    // Linear layer, level 0, LWE samples.
    let (y, sums) = convolve(&mut s, 1, 1);
    let low = s.switched(y, 0);
    check_integers(&s, "convolution at level 0", &low, &sums);
    s.check_noise("switch to level 0", &low);
    let batch = to_lwe(&mut s, &low);
    let phases: Vec<i64> = sums
        .iter()
        .map(|&(k, _)| t.center(batch.phase(k, s.keys.lwe())))
        .collect();
    let errors = phases
        .iter()
        .zip(&sums)
        .map(|(phase, (_, sum))| phase - sum);
    // A root mean square of 256 samples deviates by 4.4 %. 20 % is more than four deviations.
    check_rounding(&s, deviation(errors), 0.2);

    // Slots, table, and both ways to the next layer.
    let samples: Vec<Vec<Sample<'_, LweBatch>>> = sums
        .iter()
        .map(|&(coefficient, _)| {
            vec![Sample {
                batch: &batch,
                coefficient,
            }]
        })
        .collect();
    let engine = Engine::new(s.params.bfv(), &keys);
    let steps = circuits.run(&engine, &params, &samples);
    let per_slot = |of: &dyn Fn(i64) -> i64| -> Vec<u64> {
        (0..N)
            .map(|slot| t.from_i64(of(phases[layout.value_of(slot)])))
            .collect()
    };
    assert_eq!(s.slots(&steps.packed), per_slot(&|x| x));
    s.check_noise("packing", &steps.packed);
    let activations = per_slot(&relu);
    assert_eq!(s.slots(&steps.table), activations);
    let carried = s.check_noise_carried("table", &steps.table, VALUES, 0.0);

    let outputs: Vec<(usize, i64)> = rows
        .iter()
        .enumerate()
        .map(|(o, (_, row))| {
            let sum: i64 = row.iter().zip(&phases).map(|(w, &x)| w * relu(x)).sum();
            (o, t.center(t.from_i64(sum)))
        })
        .collect();
    check_integers(&s, "dense layer from slots", &steps.dense, &outputs);
    s.check_noise_carried("dense layer from slots", &steps.dense, N, carried);
    let low = engine.switch_to(steps.dense, 0).unwrap();
    check_integers(&s, "dense layer at level 0", &low, &outputs);
    s.check_noise("dense layer at level 0", &low);

    let mut message = vec![0; N];
    for (slot, &activation) in activations.iter().enumerate() {
        message[coefficient_of_slot(N, slot)] = activation;
    }
    assert_eq!(s.coefficients(&steps.coeffs), message);
    s.check_noise_carried("slots to coefficients", &steps.coeffs, VALUES, 0.0);

    let want = negacyclic(&message, &circuits.next);
    check_integers(&s, "next linear layer", &steps.next, &want);
    s.check_noise_carried("next linear layer", &steps.next, VALUES, 0.0);
    let low = engine.switch_to(steps.next, 0).unwrap();
    check_integers(&s, "next linear layer at level 0", &low, &want);
    s.check_noise("next linear layer at level 0", &low);
    let batch = to_lwe(&mut s, &low);
    let errors = want
        .iter()
        .map(|&(k, sum)| t.center(t.sub(batch.phase(k, s.keys.lwe()), t.from_i64(sum))));
    // The key's norm deviates by 0.8 %, N samples by 0.4 %.
    check_rounding(&s, deviation(errors), 0.04);
}

fn to_lwe(s: &mut Setup, low: &EncryptedValue) -> LweBatch {
    let key = s.dimension_key();
    LweBatch::switch(ciphertext(low).rlwe(), &key, T).unwrap()
}

fn check_rounding(s: &Setup, measured: f64, tolerance: f64) {
    let predicted = s.params.rounding_sigma();
    println!("rounding to t: deviation {measured:.3}, predicted {predicted:.3}");
    assert!((measured / predicted - 1.0).abs() < tolerance);
}

/// The product with sparse weights modulo `X^N + 1` and `t`, centred.
fn negacyclic(message: &[u64], weights: &[i64]) -> Vec<(usize, i64)> {
    let mut sums = vec![0i64; N];
    for (shift, &weight) in weights.iter().enumerate().filter(|(_, w)| **w != 0) {
        for (k, &m) in message.iter().enumerate() {
            let place = (k + shift) % N;
            let sign = if k + shift < N { 1 } else { -1 };
            sums[place] += sign * weight * m as i64;
        }
    }
    let centred = |sum: i64| (sum + T as i64 / 2).rem_euclid(T as i64) - T as i64 / 2;
    sums.into_iter().map(centred).enumerate().collect()
}
