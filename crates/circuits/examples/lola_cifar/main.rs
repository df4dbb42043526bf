//! LoLa's CIFAR-10 network on encrypted images, weights in plain; 128-bit security at N = 2^14.
//!
//!     cargo run --release -p palladion-circuits --example lola_cifar -- --data DIR [--images 3] [--threads 1]
//!
//! An image is sent as 38 ciphertexts in which each of 7 x 7 places sees the 10 x 10 pixels that matter to it, shifted by 8 from one
//! to the next (`layout.rs`). Convolutions and the dense layer are products with short plaintexts and rotations, 5 levels in all
//! with the two squares.
//!
//! Source: Brutzkus, Gilad-Bachrach, Elisha, "Low Latency Privacy Preserving Inference", ICML 2019.

#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "MNIST's images are for the other examples")]
mod common;
mod layout;
mod network;
#[path = "../common/tensors.rs"]
mod tensors;

use circuits::approximate::{BlockTransform, sum_rotations, sum_strided};
use ckks::{Ciphertext, Evaluator, Params, ParamsSpec, Plaintext, decrypt, encrypt};
use common::{Result, number, option, timed};
use layout::{HALF, PERIOD, SLOTS};
use network::{CLASSES, COLORS, Network, SIDE};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use ring::ntt_primes_of_sizes;
use ring::sample::Seed;
use rlwe::{GaloisKeys, SecretKey, SwitchKey};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

/// Levels: one for each linear layer and each square.
const TOP: usize = 5;
/// Levels of the inputs of the three linear layers.
const LEVELS: [usize; 3] = [5, 3, 1];
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
    let sizes = [vec![FIRST; 2], vec![SCALE; TOP]].concat();
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

/// The three linear layers.
struct Model {
    layers: [BlockTransform; 3],
    biases: [Vec<Vec<f64>>; 3],
}

impl Model {
    fn new(params: &Params, network: &Network) -> Result<Self> {
        let blocks = layout::BLOCKS;
        let [a, b, c] = LEVELS;
        Ok(Self {
            layers: [
                BlockTransform::new(params, a, layout::IMAGES, layout::first(network))?,
                BlockTransform::new(params, b, blocks, layout::second(network))?,
                BlockTransform::new(params, c, blocks, layout::last(network))?,
            ],
            biases: layout::biases(network),
        })
    }

    /// The rotations whose keys it needs, with the highest level at which each is used.
    fn rotations(&self) -> BTreeMap<isize, usize> {
        let mut all = BTreeMap::new();
        let mut need = |k: isize, level: usize| {
            let most = all.entry(k).or_insert(level);
            *most = level.max(*most);
        };
        for (layer, level) in self.layers.iter().zip(LEVELS) {
            layer.rotations().into_iter().for_each(|k| need(k, level));
        }
        need(HALF as isize, LEVELS[1] - 1);
        let strides = sum_rotations(PERIOD as isize, SLOTS / PERIOD);
        strides.for_each(|k| need(k, LEVELS[2] - 1));
        all
    }

    /// Encrypted logits in the first 10 slots, and the seconds of each of the five steps.
    fn run(&self, server: &Server, image: &[Ciphertext]) -> Result<(Ciphertext, [f64; 5])> {
        let (e, relin, galois) = (&server.evaluator, &server.relin, &server.galois);
        let mut seconds = [0.0; 5];
        let mut start = Instant::now();
        let mut lap = |step: usize| {
            seconds[step] = start.elapsed().as_secs_f64();
            start = Instant::now();
        };
        let square = |x: Vec<Ciphertext>| -> Result<Vec<Ciphertext>> {
            let squares = x.iter().map(|x| e.mul_and_rescale(x, x, relin));
            Ok(squares.collect::<ckks::Result<_>>()?)
        };
        let mut x = self.layers[0].apply(image, galois)?;
        add_biases(e, &mut x, &self.biases[0])?;
        lap(0);
        let x = square(x)?;
        lap(1);
        let x = self.layers[1].apply(&x, galois)?;
        let halves = x
            .iter()
            .map(|x| sum_strided(e, x, (HALF as isize, 2), galois));
        let mut x: Vec<Ciphertext> = halves.collect::<circuits::Result<_>>()?;
        add_biases(e, &mut x, &self.biases[1])?;
        lap(2);
        let x = square(x)?;
        lap(3);
        let x = self.layers[2].apply(&x, galois)?;
        let strides = (PERIOD as isize, SLOTS / PERIOD);
        let mut x = vec![sum_strided(e, &x[0], strides, galois)?];
        add_biases(e, &mut x, &self.biases[2])?;
        lap(4);
        Ok((x.remove(0), seconds))
    }
}

fn add_biases(e: &Evaluator, x: &mut [Ciphertext], biases: &[Vec<f64>]) -> Result<()> {
    for (x, biases) in x.iter_mut().zip(biases) {
        let biases = Plaintext::encode_real(e.params(), biases, e.level(x)?, x.scale())?;
        e.add_plain_assign(x, &biases)?;
    }
    Ok(())
}

/// Evaluation keys.
struct Server {
    evaluator: Evaluator,
    relin: SwitchKey,
    galois: GaloisKeys,
}

impl Server {
    fn new(params: &Params, secret: &SecretKey, model: &Model, rng: &mut ChaCha20Rng) -> Self {
        let mut galois = GaloisKeys::new();
        for (k, level) in model.rotations() {
            let element = params.encoder().rotation_element(k);
            let key = secret.galois_key(element, params.ring_level(level), rng);
            galois.insert(element, key);
        }
        Self {
            evaluator: Evaluator::new(params),
            relin: secret.relinearization_key(params.ring_level(LEVELS[0] - 1), rng),
            galois,
        }
    }
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
        "N = 2^{}, log2(QP) = {:.0}, {TOP} levels, {} threads",
        params.rlwe().log_n(),
        params.rlwe().log_qp(),
        ring::threads(),
    );
    let logits: Vec<Vec<f64>> = timed("plain, all test images", || {
        Ok(ring::par_map(images.len(), |i| {
            network.evaluate(&images[i])
        }))
    })?;
    let right = logits.iter().zip(&labels);
    let right = right.filter(|(l, label)| largest(l) == usize::from(**label));
    println!("plain accuracy {} of {}", right.count(), labels.len());

    let mut rng = ChaCha20Rng::from_os_rng();
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let seed = Seed::random(&mut rng);
    let model = timed("model", || Model::new(&params, &network))?;
    for layer in &model.layers {
        println!(
            "{:?}, {:.1} MB of plaintexts",
            layer.counts(),
            layer.byte_len() as f64 / 1e6
        );
    }
    let server = timed("keys", || {
        Ok(Server::new(&params, &secret, &model, &mut rng))
    })?;
    let bytes = server.galois.byte_len() as f64 / 1e6;
    println!("{} Galois keys, {bytes:.1} MB", model.rotations().len());

    let (mut seconds, mut worst, mut right, mut masks) = (Vec::new(), 0.0f64, 0, 0);
    for (i, pixels) in images.iter().enumerate().take(count) {
        let mut send = |slots: &Vec<f64>| -> Result<Ciphertext> {
            masks += 1;
            let message = Plaintext::encode_real(&params, slots, TOP, params.scale())?;
            Ok(encrypt(&secret, &message, (&seed, masks), &mut rng)?)
        };
        let image: Vec<Ciphertext> = layout::image(pixels)
            .iter()
            .map(&mut send)
            .collect::<Result<_>>()?;
        let start = Instant::now();
        let (result, steps) = model.run(&server, &image)?;
        seconds.push(start.elapsed().as_secs_f64());
        let found = decrypt(&secret, &result)?.decode(&params, PERIOD)?;
        let found: Vec<f64> = found[..CLASSES].iter().map(|v| v.re).collect();
        let differences = found.iter().zip(&logits[i]).map(|(a, b)| (a - b).abs());
        let difference = differences.fold(0.0, f64::max);
        worst = worst.max(difference);
        right += usize::from(largest(&found) == usize::from(labels[i]));
        println!(
            "image {i}: label {}, class {}, largest difference of a logit {difference:.2e}, seconds of the steps {steps:.3?}",
            labels[i],
            largest(&found)
        );
        if largest(&found) != largest(&logits[i]) || difference > TOLERANCE {
            let text = format!("image {i}: encrypted {found:?}, plain {:?}", logits[i]);
            return Err(text.into());
        }
    }
    seconds.sort_by(f64::total_cmp);
    println!(
        "{right} of {} encrypted images right, the plain class in all; largest difference of a logit {worst:.2e}",
        seconds.len()
    );
    if let (Some(fastest), Some(median)) = (seconds.first(), seconds.get(seconds.len() / 2)) {
        println!("inference: median {median:.3} s, fastest {fastest:.3} s");
    }
    Ok(())
}

/// Pixels, channel by channel, and labels of `test_batch.bin`, or of its first 1,000 records where only those are there.
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

fn largest(values: &[f64]) -> usize {
    let order = |&a: &usize, &b: &usize| values[a].total_cmp(&values[b]);
    (0..values.len()).max_by(order).expect("ten logits")
}
