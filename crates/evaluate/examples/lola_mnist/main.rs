//! LoLa's MNIST network on encrypted images, with weights in plain or encrypted, and 128-bit
//! security at N = 2^13.
//!
//!     cargo run --release -p palladion-evaluate --example lola_mnist -- --data DIR [--weights encrypted] [--images 20] [--threads 1] [--replay]
//!
//! An image is sent as 26 vectors, four to a ciphertext. Each vector has what one tap of the kernel
//! sees at all places. The convolution is then 7 products and a sum. Squares and dense layers
//! follow, on 5 levels in all. The network is one circuit, which is run encrypted and in the clear.
//! Both are compared with the network's layers by their definition. With `--replay`, the circuit's
//! trace is replayed for the first image, and must give the same ciphertexts.
//!
//! Source: Brutzkus, Gilad-Bachrach, Elisha, "Low Latency Privacy Preserving Inference", ICML 2019.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/inference.rs"]
mod inference;
#[path = "../common/mnist.rs"]
mod mnist;
#[path = "../common/replay.rs"]
mod replay;
#[path = "../common/trace.rs"]
mod trace;

use applications::lola_mnist::{LEVELS, Network, inputs};
use ckks::{Params, ParamsSpec};
use common::{Result, number, option};
use inference::{Image, complex, infer, plain};
use mnist::Images;
use palladion_evaluate::circuit::arithmetic;
use program::circuit::Weights;
use ring::ntt_primes;
use std::collections::BTreeMap;
use std::path::Path;

/// Largest difference of a logit from that of the plain network.
const TOLERANCE: f64 = 0.02;

fn main() -> Result<()> {
    let threads = number("threads", 1)?;
    ring::in_pool(threads, run)
}

fn params() -> Result<Params> {
    let n = 1 << 13;
    let wide = ntt_primes(36, n, 2).map_err(ckks::Error::from)?;
    let narrow = ntt_primes(28, n, LEVELS).map_err(ckks::Error::from)?;
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
        LEVELS,
        ring::threads(),
        if encrypted { "encrypted" } else { "in plain" }
    );
    let logits = plain(&test.pixels, &test.labels, |pixels| {
        network.evaluate(pixels)
    })?;
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
    let image = |i: usize| Image {
        inputs: complex(inputs(&test.pixels[i], params.slots())),
        logits: &logits[i],
        label: test.labels[i],
    };
    let all = (0..test.pixels.len().min(count)).map(image);
    infer(&params, &circuit, &kept, all, TOLERANCE)
}
