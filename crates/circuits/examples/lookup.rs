//! Looks up one image of MNIST by an encrypted key: BGV on the client's side, 128-bit secure.
//!
//! `cargo run --release -p palladion-circuits --example lookup [IMAGES LABELS]`, two unpacked IDX files
//! of MNIST, of which the first 32,768 images are the table; without them, the 32 images of the tests. A key is
//! the pixels of an image as a polynomial modulo t at two points; the values are its label, and row 14 of its pixels, two
//! in a word.

use bgv::noise::Model;
use bgv::{Ciphertext, Params, T_FERMAT, decrypt, encrypt, measure};
use circuits::lookup::Table;
use circuits::{ClientKeys, Engine, LoopParams, Value};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use ring::sample::Seed;
use ring::{ntt_primes, ntt_primes_avoiding};
use rlwe::ParamsSpec;
use std::time::Instant;

const N: usize = 1 << 15;
const SIDE: usize = 28;
const PIXELS: usize = SIDE * SIDE;
const SAMPLE: &[u8; 32 * (PIXELS + 1)] = include_bytes!("../../runtime/tests/data/mnist_32.raw");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (images, labels) = data()?;
    let images: Vec<&[u8]> = images.chunks_exact(PIXELS).take(N).collect();
    let words: Vec<Vec<u64>> = [3, 5]
        .map(|x| images.iter().map(|i| hash(i, x)).collect())
        .into();
    let mut columns = vec![labels.iter().take(N).map(|&l| u64::from(l)).collect()];
    for pair in 0..SIDE / 2 {
        let at = SIDE * SIDE / 2 + 2 * pair;
        let word = |image: &&[u8]| u64::from(image[at]) << 8 | u64::from(image[at + 1]);
        columns.push(images.iter().map(word).collect::<Vec<u64>>());
    }

    // Both sides know the parameters: 26 + 19 * 33 bits, special moduli of 147.
    let mut q = ntt_primes(26, N, 1)?;
    q.extend(ntt_primes(33, N, 19)?);
    let p = ntt_primes_avoiding(49, N, 3, &q)?;
    let digit_limbs = 4;
    let params = Params::new(
        &ParamsSpec {
            n: N,
            q,
            p,
            digit_limbs,
        },
        T_FERMAT,
    )?;
    let (encoder, top) = (params.encoder(), params.rlwe().max_level());
    let started = Instant::now();
    let table = Table::new(encoder, &words, &columns)?;
    let rows = images.len();
    println!(
        "table of {rows} rows and {} columns: {:.2?}",
        columns.len(),
        started.elapsed()
    );

    // The client: keys, and the words of a key as BGV ciphertexts.
    let mut rng = ChaCha20Rng::from_os_rng();
    let loop_params = LoopParams::new(&params, 1024, 3)?;
    let client = ClientKeys::generate(&loop_params, &mut rng);
    let dry = Engine::dry(&params);
    let fresh = Model::new(&params).fresh();
    table.look_up(&dry, &[Value::dry(top, fresh), Value::dry(top, fresh)])?;
    let keys = client.evaluation_keys(&dry.needs(), &mut rng)?;
    let row = rows / 2;
    let key = [words[0][row], words[1][row]];
    let mut query = Vec::new();
    for word in Table::query(encoder, &key)? {
        let seed = Seed::random(&mut rng);
        let ct = encrypt(&params, client.secret(), &word, top, (&seed, 0), &mut rng)?;
        query.push(Value::encrypted(ct.into_exact(), fresh));
    }
    println!("keys of {} MB, query of {key:?}", keys.byte_len() >> 20);

    // The server, which has no secret.
    let engine = Engine::new(&params, &keys);
    let started = Instant::now();
    let answer = table.look_up(&engine, &query)?;
    println!(
        "looked up in {:.2?} on {} threads",
        started.elapsed(),
        ring::threads()
    );

    // The client again.
    let mut least = f64::INFINITY;
    for (column, value) in columns.iter().zip(&answer) {
        let ct = value.ciphertext().ok_or("an engine with keys encrypts")?;
        let ct = Ciphertext::from_exact(&params, ct.clone())?;
        let slots = encoder.slots_of(&decrypt(client.secret(), &ct)?);
        least = least.min(measure(client.secret(), &ct)?.1);
        if slots != vec![column[row]; N] {
            return Err(format!("{} found, expected {}", slots[0], column[row]).into());
        }
    }
    println!(
        "label {} and {} pixels are right, {least:.1} bits of budget left",
        columns[0][row], SIDE
    );
    Ok(())
}

fn hash(image: &[u8], point: u64) -> u64 {
    let pixels = image.iter();
    pixels.fold(0, |sum, &p| (sum * point + u64::from(p)) % T_FERMAT)
}

/// Pixels and labels, from the files of the command line or from the tests'.
fn data() -> Result<(Vec<u8>, Vec<u8>), Box<dyn std::error::Error>> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let [images, labels] = files.as_slice() else {
        let (images, labels) = SAMPLE.split_at(32 * PIXELS);
        return Ok((images.to_vec(), labels.to_vec()));
    };
    let body = |path: &String, magic: [u8; 4], header: usize| {
        let bytes = std::fs::read(path)?;
        match bytes.strip_prefix(&magic) {
            Some(rest) if rest.len() + 4 >= header => Ok(rest[header - 4..].to_vec()),
            _ => Err(std::io::Error::other(format!(
                "{path} is no IDX file with {magic:?}"
            ))),
        }
    };
    let (images, labels) = (
        body(images, [0, 0, 8, 3], 16)?,
        body(labels, [0, 0, 8, 1], 8)?,
    );
    if images.len() != labels.len() * PIXELS {
        let (found, expected) = (images.len(), labels.len() * PIXELS);
        return Err(format!("{found} pixels, expected {expected} for these labels").into());
    }
    Ok((images, labels))
}
