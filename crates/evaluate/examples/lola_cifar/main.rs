//! LoLa's CIFAR-10 network on encrypted images with weights in plain, with 128-bit security at N =
//! 2^14.
//!
//!     cargo run --release -p palladion-evaluate --example lola_cifar -- --data DIR [--images 3] [--threads 1]
//!
//! An image is sent as 38 ciphertexts. In each, every one of 7 x 7 places has the 10 x 10 pixels
//! that it needs, shifted by 8 from one ciphertext to the next (`layout.rs`). Convolutions and the
//! dense layer are products with short plaintexts and rotations. With the two squares they take 5
//! levels. The network is one circuit (`circuit.rs`), which is run encrypted and in the clear. Both
//! are compared with the network's layers by their definition.
//!
//! Source: Brutzkus, Gilad-Bachrach, Elisha, "Low Latency Privacy Preserving Inference", ICML 2019.

#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "MNIST's images are for the other examples")]
mod common;
#[path = "../common/inference.rs"]
mod inference;
#[path = "../common/replay.rs"]
mod replay;
#[path = "../common/trace.rs"]
mod trace;

use applications::lola_cifar::{COLORS, LEVELS, Network, SIDE, SLOTS, circuit, inputs};
use ckks::{Params, ParamsSpec};
use common::{Result, number, option, timed};
use inference::{Image, complex, infer, plain};
use palladion_evaluate::circuit::{Slots, arithmetic};
use ring::ntt_primes_of_sizes;
use std::path::Path;

/// Largest difference of a logit from that of the plain network.
const TOLERANCE: f64 = 0.001;

fn main() -> Result<()> {
    let threads = number("threads", 1)?;
    ring::in_pool(threads, run)
}

fn params() -> Result<Params> {
    const FIRST: u32 = 46;
    const SCALE: u32 = 36;
    let n = 2 * SLOTS;
    let sizes = [vec![FIRST; 2], vec![SCALE; LEVELS]].concat();
    let mut primes = ntt_primes_of_sizes(&sizes, n).map_err(ckks::Error::from)?;
    let special = vec![primes.remove(0)];
    Ok(Params::new(&ParamsSpec {
        n,
        levels: primes.into_iter().map(|q| vec![q]).collect(),
        special,
        digit_limbs: 1,
        log_scale: f64::from(SCALE),
    })?)
}

fn run() -> Result<()> {
    let folder = option("data").ok_or("--data DIR: the folder of CIFAR-10's binary files")?;
    let count = number("images", 3)?;
    let (images, labels) = test_images(Path::new(&folder))?;
    let default = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../models/lola_cifar.safetensors"
    );
    let weights = option("weights").unwrap_or_else(|| default.into());
    let network = Network::load(Path::new(&weights))?;
    let params = params()?;
    println!(
        "N = 2^{}, log2(QP) = {:.0}, {LEVELS} levels, {} threads",
        params.rlwe().log_n(),
        params.rlwe().log_qp(),
        ring::threads(),
    );
    let logits = plain(&images, &labels, |pixels| network.evaluate(pixels))?;
    let circuit = timed("circuit", || {
        let at = (params.slots(), params.scale());
        Ok(circuit(&network, arithmetic(&params), at)?)
    })?;
    let image = |i: usize| Image {
        inputs: complex(inputs(&images[i])),
        logits: &logits[i],
        label: labels[i],
    };
    let all = (0..images.len().min(count)).map(image);
    infer(&params, &circuit, &Slots::new(), all, TOLERANCE)
}

/// Pixels, channel by channel, and labels of `test_batch.bin`, or of its first 1,000 records if
/// only those are there.
fn test_images(folder: &Path) -> Result<(Vec<Vec<u8>>, Vec<u8>)> {
    let names = ["test_batch.bin", "test_batch_first1000.bin"];
    let path = names
        .map(|name| folder.join(name))
        .into_iter()
        .find(|path| path.exists());
    let path = path.ok_or(format!(
        "{} has no {}",
        folder.display(),
        names.join(", no ")
    ))?;
    let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let record = 1 + COLORS * SIDE * SIDE;
    if bytes.is_empty() || bytes.len() % record != 0 {
        let (found, path) = (bytes.len(), path.display());
        return Err(format!("{path} has {found} bytes, expected records of {record}").into());
    }
    let records = bytes.chunks_exact(record);
    Ok(records.map(|r| (r[1..].to_vec(), r[0])).unzip())
}
