//! HELR: training of a logistic regression on encrypted images of the digits 3 and 8, 14 x 14
//! pixels; N = 2^16, 128-bit security.
//!
//!     cargo run --release -p palladion-evaluate --example helr -- --data DIR [--iterations 32] [--batch 1024] [--threads 1] [--predict]
//!
//! Nesterov's method with a sigmoid of degree 3. The whole training is one circuit with a part that
//! repeats. The final weights are decrypted and compared with those of the same training in plain
//! numbers. `--predict` predicts their precision before there are keys.
//!
//! Source: Han, Song, Cheon, Park, "Logistic Regression on Homomorphic Encrypted Data at Scale",
//! AAAI 2019.

mod clock;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/mnist.rs"]
mod mnist;
mod plain;

use applications::helr::{IMAGINARY, Training, imaginary, part};
use circuits::approximate::{Bootstrapper, Samples};
use ckks::{Ciphertext, Complex64, decrypt, encrypt};
use clock::Clock;
use common::{Result, number, option, timed};
use palladion_evaluate::circuit::{Argument, Runner, Slots, needs, predict, run_clear};
use plain::{Data, exact, momenta, polynomial};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use ring::sample::Masks;
use rlwe::SecretKey;
use std::collections::BTreeMap;
use std::path::Path;

/// Learning rate.
const RATE: f64 = 1.0;
/// Largest difference between a weight of the circuit in the clear and of the plain training.
/// Doubles are added up in another order.
const TOLERANCE_CLEAR: f64 = 1e-9;
/// Largest difference between an encrypted weight and that of the plain training.
const TOLERANCE: f64 = 1e-3;

fn main() -> Result<()> {
    let threads = number("threads", 1)?;
    ring::in_pool(threads, run)
}

/// The client: its secret, and a source of masks.
struct Client {
    secret: SecretKey,
    masks: Masks,
    rng: ChaCha20Rng,
}

impl Client {
    /// Encrypts the inputs.
    fn encrypt(&mut self, runner: &Runner, slots: &Slots) -> Result<BTreeMap<String, Ciphertext>> {
        let mut made = BTreeMap::new();
        for (name, ty) in runner.circuit().inputs() {
            if ty.encrypted {
                let message = runner.encode(name, &slots[name])?;
                let ct = encrypt(&self.secret, &message, &mut self.masks, &mut self.rng)?;
                made.insert(name.to_owned(), ct);
            }
        }
        Ok(made)
    }
}

fn run() -> Result<()> {
    let folder = option("data").ok_or("--data DIR: the folder of MNIST's IDX files")?;
    let (iterations, size) = (number("iterations", 32)?, number("batch", 1024)?);
    let train = Data::load(Path::new(&folder), "train")?;
    let test = Data::load(Path::new(&folder), "t10k")?;
    let features = train.features();
    if !(1..=train.0.len()).contains(&size) {
        return Err(format!("--batch is {size}, expected 1 to {}", train.0.len()).into());
    }
    if iterations < 2 || !iterations.is_multiple_of(2) {
        let text = format!("--iterations is {iterations}, expected an even number from 2 on");
        return Err(text.into());
    }
    let params = Bootstrapper::params_2_16()?;
    let room = features.next_power_of_two();
    let layout = Samples::new(params.slots() / room, room)?;
    println!(
        "N = 2^{}, log2(QP) = {:.0}, {} threads; {} samples of {} features to train, {} to test, {size} in a batch: {} ciphertexts",
        params.rlwe().log_n(),
        params.rlwe().log_qp(),
        ring::threads(),
        train.0.len(),
        features - 1,
        test.0.len(),
        size.div_ceil(layout.samples())
    );
    let mut rng = ChaCha20Rng::from_os_rng();
    let mut client = Client {
        secret: SecretKey::generate(params.rlwe(), &mut rng),
        masks: Masks::random(&mut rng),
        rng,
    };
    let training = Training {
        params: &params,
        layout,
        count: size.div_ceil(layout.samples()),
        step: RATE / size as f64,
        momenta: momenta().take(iterations).collect(),
    };
    let circuit = training.circuit()?;
    println!(
        "a circuit of {} steps and a body of {} that repeats; {} bootstrappings",
        circuit.steps.len(),
        circuit
            .bodies
            .iter()
            .map(|body| body.steps.len())
            .sum::<usize>(),
        circuit.counts().total("bootstrap")
    );

    let mut twin = plain::State::new(features);
    let mut reference = plain::State::new(features);
    let mut slots = Slots::from([
        ("w".into(), vec![Complex64::ZERO]),
        ("v".into(), vec![Complex64::ZERO]),
        (IMAGINARY.into(), imaginary()),
    ]);
    for (t, &gamma) in training.momenta.iter().enumerate() {
        let rows = train.batch(t, size);
        twin.step(rows, RATE, gamma, polynomial);
        reference.step(rows, RATE, gamma, exact);
        for (i, rows) in rows.chunks(layout.samples()).enumerate() {
            slots.insert(part(t, i), complex(layout.pack(rows)?));
        }
    }
    // With a single pair of iterations there is no repeated part, so `i` is not an input.
    slots.retain(|name, _| circuit.inputs().any(|(input, _)| input == name));
    let clear = timed("in the clear", || Ok(run_clear(&circuit, &slots)?))?;
    let expected = layout.repeat(&twin.w)?;
    within("w in the clear", &clear["w"], &expected, TOLERANCE_CLEAR)?;
    let predicted = match std::env::args().any(|a| a == "--predict") {
        true => Some(timed("predicted", || {
            Ok(predict(&params, &circuit, &slots)?)
        })?),
        false => None,
    };

    let runner = timed("tables", || Ok(Runner::new(&params, &circuit)?))?;
    let needs = needs(&params, &circuit.keys());
    let keys = timed("keys", || {
        Ok(client::circuit_keys(
            &client.secret,
            &needs,
            &mut client.rng,
        )?)
    })?;
    println!("{:.0} MB of keys", keys.byte_len() as f64 / 1e6);
    let encrypted = timed("client's encryption", || client.encrypt(&runner, &slots))?;
    let mut inputs: BTreeMap<&str, Argument> = BTreeMap::new();
    for (name, slots) in &slots {
        let ct = encrypted.get(name).map(Argument::Ciphertext);
        inputs.insert(name, ct.unwrap_or(Argument::Plain(slots)));
    }
    let clock = Clock::new(runner.circuit());
    let outputs = runner.run_observed(&inputs, &keys, |step| clock.begin(step))?;
    clock.print();

    let found = decrypt(&client.secret, &outputs["w"])?.decode(&params, params.slots())?;
    let deviation = within("w", &found, &expected, TOLERANCE)?;
    let weights: Vec<f64> = found
        .iter()
        .step_by(layout.samples())
        .map(|v| v.re)
        .collect();
    println!(
        "accuracy on test images: encrypted {:.4}, same in plain {:.4}, exact sigmoid {:.4}; largest difference of a weight {deviation:.2e}, largest |z v| {:.1}",
        test.accuracy(&weights[..features]),
        test.accuracy(&twin.w),
        test.accuracy(&reference.w),
        twin.largest
    );
    if let Some(predicted) = predicted {
        let errors = found
            .iter()
            .zip(&clear["w"])
            .map(|(a, b)| (a - b).norm_sqr());
        let square = errors.sum::<f64>() / found.len() as f64;
        println!(
            "precision {:.2} bits, predicted {:.2}",
            -square.log2() / 2.0,
            predicted["w"].noise(params.slots()).precision()
        );
    }
    Ok(())
}

fn complex(slots: Vec<f64>) -> Vec<Complex64> {
    slots.into_iter().map(Complex64::from).collect()
}

/// The largest difference in any slot.
///
/// # Errors
/// If it is above the tolerance.
fn within(what: &str, found: &[Complex64], expected: &[f64], tolerance: f64) -> Result<f64> {
    let differences = found.iter().zip(expected).map(|(a, b)| (a - b).norm());
    let worst = differences.fold(0.0, f64::max);
    // Not `worst > tolerance`, which a NaN would pass.
    if worst <= tolerance {
        return Ok(worst);
    }
    Err(format!("{what} differs by {worst:e}, expected at most {tolerance:e}").into())
}
