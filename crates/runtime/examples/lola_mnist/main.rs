//! LoLa's MNIST network on encrypted images, with weights in plain or encrypted; 128-bit security at N = 2^13.
//!
//!     cargo run --release -p palladion-runtime --example lola_mnist -- --data DIR [--weights encrypted] [--images 20] [--threads 1]
//!
//! An image is sent as 26 vectors, what each pixel of the kernel sees at all places, four to a ciphertext: the convolution
//! is 7 products and a sum. Squares and dense layers follow, on 5 levels in all. The network is one circuit, which is run
//! encrypted and in the clear; both are compared with the network's layers by their definition.
//!
//! Source: Brutzkus, Gilad-Bachrach, Elisha, "Low Latency Privacy Preserving Inference", ICML 2019.

#[path = "../../../circuits/examples/common/mod.rs"]
mod common;
mod network;
#[path = "../../../circuits/examples/common/tensors.rs"]
mod tensors;

use ckks::{Ciphertext, Complex64, Params, ParamsSpec, Plaintext, decrypt, encrypt};
use common::{Images, Result, number, option, timed};
use network::{CLASSES, Network, inputs};
use program::circuit::{Circuit, Weights};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use ring::ntt_primes;
use ring::sample::Seed;
use rlwe::SecretKey;
use runtime::circuit::{Argument, Keys, Runner, Slots, arithmetic, predict, run_clear};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

/// Levels: one for each linear layer and each square.
const TOP: usize = 5;
/// Largest difference of a logit from that of the plain network.
const TOLERANCE: f64 = 0.02;
/// The same for the circuit in the clear: doubles, summed in another order.
const TOLERANCE_CLEAR: f64 = 1e-9;

fn main() -> Result<()> {
    let threads = number("threads", 1)?;
    ring::in_pool(threads, run)
}

fn params() -> Result<Params> {
    let n = 1 << 13;
    let wide = ntt_primes(36, n, 2).map_err(ckks::Error::from)?;
    let narrow = ntt_primes(28, n, TOP).map_err(ckks::Error::from)?;
    let mut levels = vec![vec![wide[0]]];
    levels.extend(narrow.into_iter().map(|q| vec![q]));
    Ok(Params::new(&ParamsSpec {
        n,
        levels,
        special: vec![wide[1]],
        digit_limbs: 1,
        log_scale: 28.0,
    })?)
}

/// The client: secret, and a source of masks.
struct Client {
    secret: SecretKey,
    seed: Seed,
    count: u32,
    rng: ChaCha20Rng,
}

impl Client {
    fn encrypt(&mut self, message: &Plaintext) -> ckks::Result<Ciphertext> {
        self.count += 1;
        let mask = (&self.seed, self.count);
        encrypt(&self.secret, message, mask, &mut self.rng)
    }

    /// Inputs of the circuit, encrypted.
    fn encrypt_all(
        &mut self,
        runner: &Runner,
        slots: &Slots,
    ) -> Result<BTreeMap<String, Ciphertext>> {
        let encrypted = slots.iter().map(|(name, slots)| {
            let message = runner.encode(name, slots)?;
            Ok((name.clone(), self.encrypt(&message)?))
        });
        encrypted.collect()
    }
}

fn complex(values: impl IntoIterator<Item = (String, Vec<f64>)>) -> Slots {
    let slots = |v: Vec<f64>| v.into_iter().map(Complex64::from).collect();
    values
        .into_iter()
        .map(|(name, v)| (name, slots(v)))
        .collect()
}

fn run() -> Result<()> {
    let folder = option("data").ok_or("--data DIR: the folder of MNIST's IDX files")?;
    let encrypted = match option("weights").as_deref() {
        None | Some("plain") => false,
        Some("encrypted") => true,
        Some(other) => {
            return Err(format!("--weights is {other}, expected plain or encrypted").into());
        }
    };
    let count = number("images", 20)?;
    let test = Images::load(Path::new(&folder), "t10k")?;
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../models/lola_mnist.safetensors"
    );
    let network = Network::load(Path::new(path))?;
    let params = params()?;
    println!(
        "N = 2^{}, log2(QP) = {:.0}, {} levels, {} threads, weights {}",
        params.rlwe().log_n(),
        params.rlwe().log_qp(),
        TOP,
        ring::threads(),
        if encrypted { "encrypted" } else { "in plain" }
    );
    let plain = |pixels: &Vec<u8>| network.evaluate(pixels);
    let logits: Vec<Vec<f64>> = timed("plain, all test images", || {
        Ok(test.pixels.iter().map(plain).collect())
    })?;
    let right = logits.iter().zip(&test.labels);
    let right = right.filter(|(l, label)| largest(l) == usize::from(**label));
    println!("plain accuracy {} of {}", right.count(), test.labels.len());

    let mut kept = BTreeMap::new();
    let weights = if encrypted {
        Weights::Encrypted(&mut kept)
    } else {
        Weights::Plain
    };
    let circuit = network.circuit(
        arithmetic(&params),
        (params.slots(), params.scale()),
        weights,
    )?;
    let kept = complex(kept);
    print!("{}", circuit.counts());

    let mut rng = ChaCha20Rng::from_os_rng();
    let mut client = Client {
        secret: SecretKey::generate(params.rlwe(), &mut rng),
        seed: Seed::random(&mut rng),
        count: 0,
        rng,
    };
    let (runner, weights) = timed("model", || {
        let runner = Runner::new(&params, &circuit)?;
        let weights = client.encrypt_all(&runner, &kept)?;
        Ok((runner, weights))
    })?;
    let keys = timed("keys", || {
        Ok(Keys::generate(
            &params,
            &circuit.keys(),
            &client.secret,
            &mut client.rng,
        ))
    })?;
    println!(
        "{:.1} MB of Galois keys",
        keys.galois.byte_len() as f64 / 1e6
    );

    let (mut seconds, mut worst, mut right) = (Vec::new(), 0.0f64, 0);
    let (mut squares, mut compared) = (0.0, 0.0);
    for (i, pixels) in test.pixels.iter().enumerate().take(count) {
        let mut slots = complex(inputs(pixels, params.slots()));
        let image = client.encrypt_all(&runner, &slots)?;
        let arguments = image.iter().chain(&weights);
        let arguments = arguments
            .map(|(name, ct)| (name.as_str(), Argument::Ciphertext(ct)))
            .collect();
        let start = Instant::now();
        let result = runner.run(&arguments, &keys)?;
        seconds.push(start.elapsed().as_secs_f64());
        let found = decrypt(&client.secret, &result["logits"])?
            .decode(&params, CLASSES.next_power_of_two())?;
        let found: Vec<f64> = found[..CLASSES].iter().map(|v| v.re).collect();
        slots.extend(kept.clone());
        check_clear(&circuit, &slots, &logits[i])?;
        if i == 0 {
            let predicted = &predict(&params, &circuit, &slots)?["logits"];
            println!(
                "predicted for image 0: {:.1} bits in a logit",
                real_part(predicted.noise(CLASSES).precision())
            );
        }
        let differences = || found.iter().zip(&logits[i]).map(|(a, b)| (a - b).abs());
        worst = differences().fold(worst, f64::max);
        squares += differences().map(|d| d * d).sum::<f64>();
        compared += CLASSES as f64;
        right += usize::from(largest(&found) == usize::from(test.labels[i]));
        if largest(&found) != largest(&logits[i]) || worst > TOLERANCE {
            let text = format!("image {i}: encrypted {found:?}, plain {:?}", logits[i]);
            return Err(text.into());
        }
    }
    seconds.sort_by(f64::total_cmp);
    println!(
        "{right} of {} encrypted images right, the plain class in all; largest difference of a logit {worst:.5}, {:.1} bits on average",
        seconds.len(),
        -(squares / compared).log2() / 2.0
    );
    if let (Some(fastest), Some(median)) = (seconds.first(), seconds.get(seconds.len() / 2)) {
        println!("inference: median {median:.3} s, fastest {fastest:.3} s");
    }
    Ok(())
}

/// Half of an error's mean square is in the real part: half a bit more of precision.
fn real_part(precision: f64) -> f64 {
    precision + 0.5
}

/// The circuit in the clear against the layers by their definition.
fn check_clear(circuit: &Circuit, slots: &Slots, expected: &[f64]) -> Result<()> {
    let found = &run_clear(circuit, slots)?["logits"];
    let differences = found.iter().zip(expected).map(|(a, b)| (a - b).norm());
    let worst = differences.fold(0.0, f64::max);
    if worst < TOLERANCE_CLEAR {
        return Ok(());
    }
    Err(format!(
        "the circuit in the clear differs by {worst:e}, expected less than {TOLERANCE_CLEAR:e}"
    )
    .into())
}

fn largest(values: &[f64]) -> usize {
    let order = |&a: &usize, &b: &usize| values[a].total_cmp(&values[b]);
    (0..values.len()).max_by(order).expect("ten logits")
}
