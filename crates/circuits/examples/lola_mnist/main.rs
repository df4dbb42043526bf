//! LoLa's MNIST network on encrypted images, with weights in plain or encrypted; 128-bit security at N = 2^13.
//!
//!     cargo run --release -p palladion-circuits --example lola_mnist -- --data DIR [--weights encrypted] [--images 20] [--threads 1]
//!
//! An image is sent as 26 vectors, what each pixel of the kernel sees at all places, four to a ciphertext: the convolution
//! is 7 products and a sum. Squares and dense layers follow, on 5 levels in all.
//!
//! Source: Brutzkus, Gilad-Bachrach, Elisha, "Low Latency Privacy Preserving Inference", ICML 2019.

#[path = "../common/mod.rs"]
mod common;
mod network;
#[path = "../common/tensors.rs"]
mod tensors;

use circuits::approximate::{Dense, EncryptedDense, dot, sum_rotations, sum_strided};
use ckks::{Ciphertext, Evaluator, Params, ParamsSpec, Plaintext, decrypt, encrypt};
use common::{Images, Result, number, option, timed};
use network::{BLOCK, Network, taps};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use ring::ntt_primes;
use ring::sample::Seed;
use rlwe::{GaloisKeys, SecretKey, SwitchKey};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

/// Levels: one for each linear layer and each square.
const TOP: usize = 5;
/// Largest difference of a logit from that of the plain network.
const TOLERANCE: f64 = 0.02;

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
    params: Params,
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

    /// Vectors of [`BLOCK`] values, as many to a plaintext as fit, at the highest level.
    fn encode(&self, vectors: &[Vec<f64>], scale: f64) -> Result<Vec<Plaintext>> {
        let groups = vectors.chunks(self.params.slots() / BLOCK);
        let encode = |group: &[Vec<f64>]| {
            let mut slots = group.concat();
            slots.resize(self.params.slots(), 0.0);
            Ok(Plaintext::encode_real(&self.params, &slots, TOP, scale)?)
        };
        groups.map(encode).collect()
    }
}

/// The server's weights, encoded or encrypted.
enum Model {
    Plain(Vec<Plaintext>, Dense, Dense),
    Encrypted(Vec<Ciphertext>, EncryptedDense, EncryptedDense),
}

impl Model {
    /// Each layer at the level where it is used, at the scale of the level's modulus.
    fn new(network: &Network, encrypted: bool, owner: &mut Client) -> Result<Self> {
        let params = owner.params.clone();
        let taps = owner.encode(&network.taps, params.level_modulus(TOP))?;
        let (hidden, last) = (&network.hidden, &network.last);
        Ok(if encrypted {
            let taps = taps
                .iter()
                .map(|t| owner.encrypt(t))
                .collect::<ckks::Result<_>>()?;
            let hidden = EncryptedDense::new(&params, hidden, 3, 16, |m| owner.encrypt(m))?;
            let last = EncryptedDense::new(&params, last, 1, 4, |m| owner.encrypt(m))?;
            Self::Encrypted(taps, hidden, last)
        } else {
            let hidden = Dense::new(&params, hidden, 3, 16)?;
            Self::Plain(taps, hidden, Dense::new(&params, last, 1, 4)?)
        })
    }

    /// The rotations whose keys it needs.
    fn rotations(&self, params: &Params) -> BTreeSet<usize> {
        let mut all: BTreeSet<usize> = match self {
            Self::Plain(_, a, b) => a.rotations() | b.rotations(),
            Self::Encrypted(_, a, b) => a.rotations() | b.rotations(),
        };
        let groups = sum_rotations(BLOCK as isize, params.slots() / BLOCK);
        all.extend(groups.map(|k| k as usize));
        all
    }

    /// Encrypted logits in the first 10 slots.
    fn run(&self, server: &Server, image: &[Ciphertext]) -> Result<Ciphertext> {
        let (e, relin, galois) = (&server.evaluator, &server.relin, &server.galois);
        let mut sum = match self {
            Self::Plain(taps, ..) => {
                let mut sum: Option<Ciphertext> = None;
                for (pixels, weights) in image.iter().zip(taps) {
                    let mut product = pixels.clone();
                    e.mul_plain_assign(&mut product, weights)?;
                    match &mut sum {
                        Some(sum) => e.add_assign(sum, &product)?,
                        None => sum = Some(product),
                    }
                }
                sum.ok_or("an image without ciphertexts")?
            }
            Self::Encrypted(taps, ..) => e.relinearize(&dot(e, image, taps)?, relin)?,
        };
        e.rescale(&mut sum)?;
        let groups = (BLOCK as isize, e.params().slots() / BLOCK);
        let x = sum_strided(e, &sum, groups, galois)?;
        let x = e.mul_and_rescale(&x, &x, relin)?;
        let x = match self {
            Self::Plain(_, hidden, _) => hidden.apply(e, &x, galois)?,
            Self::Encrypted(_, hidden, _) => hidden.apply(e, &x, relin, galois)?,
        };
        let x = e.mul_and_rescale(&x, &x, relin)?;
        Ok(match self {
            Self::Plain(_, _, last) => last.apply(e, &x, galois)?,
            Self::Encrypted(_, _, last) => last.apply(e, &x, relin, galois)?,
        })
    }
}

/// Evaluation keys.
struct Server {
    evaluator: Evaluator,
    relin: SwitchKey,
    galois: GaloisKeys,
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
    let plain = |pixels: &Vec<u8>| network.evaluate(&taps(pixels));
    let logits: Vec<Vec<f64>> = timed("plain, all test images", || {
        Ok(test.pixels.iter().map(plain).collect())
    })?;
    let right = logits.iter().zip(&test.labels);
    let right = right.filter(|(l, label)| largest(l) == usize::from(**label));
    println!("plain accuracy {} of {}", right.count(), test.labels.len());

    let mut rng = ChaCha20Rng::from_os_rng();
    let mut client = Client {
        secret: SecretKey::generate(params.rlwe(), &mut rng),
        seed: Seed::random(&mut rng),
        params: params.clone(),
        count: 0,
        rng,
    };
    let model = timed("model", || Model::new(&network, encrypted, &mut client))?;
    let server = timed("keys", || Ok(keys(&mut client, &model.rotations(&params))))?;
    println!(
        "{:.1} MB of Galois keys",
        server.galois.byte_len() as f64 / 1e6
    );

    let (mut seconds, mut worst, mut right) = (Vec::new(), 0.0f64, 0);
    for (i, pixels) in test.pixels.iter().enumerate().take(count) {
        let vectors = taps(pixels);
        let image = client.encode(&vectors, params.scale())?;
        let image = image.iter().map(|m| client.encrypt(m));
        let image: Vec<Ciphertext> = image.collect::<ckks::Result<_>>()?;
        let start = Instant::now();
        let result = model.run(&server, &image)?;
        seconds.push(start.elapsed().as_secs_f64());
        let found = decrypt(&client.secret, &result)?.decode(&params, network.last.period_out())?;
        let found: Vec<f64> = found[..10].iter().map(|v| v.re).collect();
        let differences = found.iter().zip(&logits[i]).map(|(a, b)| (a - b).abs());
        worst = differences.fold(worst, f64::max);
        right += usize::from(largest(&found) == usize::from(test.labels[i]));
        if largest(&found) != largest(&logits[i]) || worst > TOLERANCE {
            let text = format!("image {i}: encrypted {found:?}, plain {:?}", logits[i]);
            return Err(text.into());
        }
    }
    seconds.sort_by(f64::total_cmp);
    println!(
        "{right} of {} encrypted images right, the plain class in all; largest difference of a logit {worst:.5}",
        seconds.len()
    );
    if let (Some(fastest), Some(median)) = (seconds.first(), seconds.get(seconds.len() / 2)) {
        println!("inference: median {median:.3} s, fastest {fastest:.3} s");
    }
    Ok(())
}

fn keys(client: &mut Client, rotations: &BTreeSet<usize>) -> Server {
    let top = client.params.rlwe().max_level();
    let mut galois = GaloisKeys::new();
    for &k in rotations {
        let element = client.params.encoder().rotation_element(k as isize);
        let key = client.secret.galois_key(element, top, &mut client.rng);
        galois.insert(element, key);
    }
    Server {
        evaluator: Evaluator::new(&client.params),
        relin: client.secret.relinearization_key(top, &mut client.rng),
        galois,
    }
}

fn largest(values: &[f64]) -> usize {
    let order = |&a: &usize, &b: &usize| values[a].total_cmp(&values[b]);
    (0..values.len()).max_by(order).expect("ten logits")
}
