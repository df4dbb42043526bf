//! HELR: training of a logistic regression on encrypted images of the digits 3 and 8, 14 x 14 pixels; N = 2^16, 128-bit security.
//!
//!     cargo run --release -p palladion-runtime --example helr -- --data DIR [--iterations 32] [--batch 1024] [--threads 1]
//!
//! Nesterov's method with a sigmoid of degree 3. After each iteration the weights are decrypted, for comparison with the same iteration in
//! plain numbers; training goes on with the ciphertext. About 7.1 GB of memory.
//!
//! Source: Han, Song, Cheon, Park, "Logistic Regression on Homomorphic Encrypted Data at Scale", AAAI 2019.

#[path = "../common/mod.rs"]
mod common;
mod encrypted;
mod iteration;
#[path = "../common/mnist.rs"]
mod mnist;
mod plain;

use circuits::approximate::{Bootstrapper, Samples};
use ckks::{Ciphertext, Complex64, Params, Plaintext, decrypt, encrypt};
use common::{Result, number, option, timed};
use encrypted::Trainer;
use iteration::{DEPTH, part};
use plain::{Data, exact, momenta, polynomial};
use program::circuit::Circuit;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use ring::sample::Masks;
use rlwe::SecretKey;
use runtime::circuit::{Slots, run_clear};
use std::path::Path;
use std::time::Instant;

/// Learning rate.
const RATE: f64 = 1.0;
/// Largest difference of a weight of the circuit in the clear from the twin's: doubles, summed in another order.
const TOLERANCE_CLEAR: f64 = 1e-9;
/// Largest difference of a weight from that of the plain twin.
const TOLERANCE: f64 = 1e-3;

fn main() -> Result<()> {
    let threads = number("threads", 1)?;
    ring::in_pool(threads, run)
}

/// The client: secret, and a source of masks.
struct Client {
    params: Params,
    layout: Samples,
    secret: SecretKey,
    masks: Masks,
    rng: ChaCha20Rng,
}

impl Client {
    fn encrypt(&mut self, rows: &[Vec<f64>], level: usize) -> Result<Ciphertext> {
        let slots = self.layout.pack(rows)?;
        let scale = self.params.scale();
        let message = Plaintext::encode_real(&self.params, &slots, level, scale)?;
        let masks = &mut self.masks;
        Ok(encrypt(&self.secret, &message, masks, &mut self.rng)?)
    }

    /// Largest difference of a weight, in any slot.
    fn deviation(&self, w: &Ciphertext, expected: &[f64]) -> Result<f64> {
        let found = decrypt(&self.secret, w)?.decode(&self.params, self.params.slots())?;
        let expected = self.layout.repeat(expected)?;
        let differences = found.iter().zip(&expected).map(|(a, b)| (a - b).norm());
        Ok(differences.fold(0.0, f64::max))
    }

    /// The weights, from the first sample of each feature.
    fn weights(&self, w: &Ciphertext, features: usize) -> Result<Vec<f64>> {
        let found = decrypt(&self.secret, w)?.decode(&self.params, self.params.slots())?;
        let first = found.iter().step_by(self.layout.samples());
        Ok(first.take(features).map(|v| v.re).collect())
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
        params: params.clone(),
        layout,
        rng,
    };
    let trainer = timed("tables and keys", || {
        Trainer::new(&params, layout, &client.secret, &mut client.rng)
    })?;
    println!("{:.0} MB of keys", trainer.key_bytes() as f64 / 1e6);

    let zero = client.encrypt(&[], trainer.top())?;
    let mut state = encrypted::State {
        w: zero.clone(),
        v: zero,
    };
    let mut twin = plain::State::new(features);
    let mut reference = plain::State::new(features);
    let (mut computing, mut refreshing, mut encrypting, mut worst) = (0.0, 0.0, 0.0, 0.0f64);
    for (t, gamma) in momenta().take(iterations).enumerate() {
        let rows = train.batch(t, size);
        let start = Instant::now();
        let batch: Vec<Ciphertext> = rows
            .chunks(layout.samples())
            .map(|rows| client.encrypt(rows, trainer.top()))
            .collect::<Result<_>>()?;
        let encrypted = start.elapsed().as_secs_f64();
        let start = Instant::now();
        // What is left after an iteration must still reach level 0 at one scale.
        let refresh = trainer.level(&state)? <= DEPTH;
        if refresh {
            state = trainer.refresh(&state)?;
        }
        let refreshed = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let circuit = trainer.circuit(&state, batch.len(), RATE / size as f64, gamma)?;
        state = trainer.step(&circuit, &state, &batch)?;
        let computed = start.elapsed().as_secs_f64();
        let before = twin.clone();
        twin.step(rows, RATE, gamma, polynomial);
        check_clear(&circuit, &layout, rows, [&before, &twin])?;
        reference.step(rows, RATE, gamma, exact);
        let deviation = client.deviation(&state.w, &twin.w)?;
        println!(
            "iteration {:2}  {computed:6.2} s, bootstrapping {refreshed:6.2} s, client's encryption {encrypted:5.2} s; difference {deviation:.2e}, accuracy {:.4}",
            t + 1,
            test.accuracy(&client.weights(&state.w, features)?)
        );
        if deviation > TOLERANCE {
            return Err(
                format!("weights differ by {deviation}, expected at most {TOLERANCE}").into(),
            );
        }
        computing += computed;
        refreshing += refreshed;
        encrypting += encrypted;
        worst = worst.max(deviation);
    }
    println!(
        "training {:.1} s: iterations {computing:.1} s, bootstrapping {refreshing:.1} s; client's encryption {encrypting:.1} s",
        computing + refreshing
    );
    println!(
        "accuracy on test images: encrypted {:.4}, same in plain {:.4}, exact sigmoid {:.4}; largest difference of a weight {worst:.2e}, largest |z v| {:.1}",
        test.accuracy(&client.weights(&state.w, features)?),
        test.accuracy(&twin.w),
        test.accuracy(&reference.w),
        twin.largest
    );
    Ok(())
}

/// The circuit in the clear against the twin, before and after its step.
fn check_clear(
    circuit: &Circuit,
    layout: &Samples,
    rows: &[Vec<f64>],
    [before, after]: [&plain::State; 2],
) -> Result<()> {
    let complex = |slots: Vec<f64>| slots.into_iter().map(Complex64::from).collect::<Vec<_>>();
    let mut inputs = Slots::new();
    for (i, rows) in rows.chunks(layout.samples()).enumerate() {
        inputs.insert(part(i), complex(layout.pack(rows)?));
    }
    inputs.insert("w".into(), complex(layout.repeat(&before.w)?));
    inputs.insert("v".into(), complex(layout.repeat(&before.v)?));
    let found = run_clear(circuit, &inputs)?;
    for (name, expected) in [("w", &after.w), ("v", &after.v)] {
        let expected = layout.repeat(expected)?;
        let differences = found[name]
            .iter()
            .zip(&expected)
            .map(|(a, b)| (a - b).norm());
        let worst = differences.fold(0.0, f64::max);
        if worst > TOLERANCE_CLEAR {
            return Err(format!(
                "{name} in the clear differs by {worst:e}, expected at most {TOLERANCE_CLEAR:e}"
            )
            .into());
        }
    }
    Ok(())
}
