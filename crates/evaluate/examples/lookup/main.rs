//! Looks up one image of MNIST by an encrypted key, with BGV and 128-bit security at N = 2^15.
//!
//!     cargo run --release -p palladion-evaluate --example lookup -- [--data DIR] [--threads 1] [--replay]
//!
//! The first 32,768 images of `DIR`, the folder of MNIST's IDX files, are the table. Without it,
//! the table is the 32 images of the tests. A key is the pixels of an image as a polynomial modulo
//! `t`, at two points. The values are its label, and row 14 of its pixels, two in a word. The
//! lookup is one circuit (`table.rs`), which runs in the clear and encrypted, for a key of the
//! table and for a key that is not in it. With `--replay`, the circuit's trace is replayed for the
//! first key, and must give the same ciphertexts.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/mnist.rs"]
mod mnist;
#[path = "../common/replay.rs"]
mod replay;
#[path = "../common/trace.rs"]
mod trace;

use applications::lookup::{Database, ROW, word_name};
use bgv::{Ciphertext, Params, T_FERMAT, decrypt, encrypt, measure};
use common::{Result, number, option, timed};
use mnist::Images;
use palladion_evaluate::circuit::{
    Argument, Budget, Runner, Slots, arithmetic, needs, predict_noise, run_clear,
};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use replay::replay;
use ring::sample::Masks;
use ring::{ntt_primes, ntt_primes_avoiding};
use rlwe::{ParamsSpec, SecretKey};
use std::collections::BTreeMap;
use std::path::Path;
use trace::counted;

const N: usize = 1 << 15;
const SIDE: usize = 28;
const PIXELS: usize = SIDE * SIDE;
const SAMPLE: &[u8; 32 * (PIXELS + 1)] = include_bytes!("../../../runtime/tests/data/mnist_32.raw");
/// Points at which the words of a key evaluate an image.
const POINTS: [u64; 2] = [3, 5];

fn main() -> Result<()> {
    let threads = number("threads", 1)?;
    ring::in_pool(threads, run)
}

/// 26 + 19 * 34 bits, special moduli of 147.
fn params() -> Result<Params> {
    let primes = |bits, count| ntt_primes(bits, N, count).map_err(bgv::Error::from);
    let mut q = primes(26, 1)?;
    q.extend(primes(34, 19)?);
    let p = ntt_primes_avoiding(49, N, 3, &q).map_err(bgv::Error::from)?;
    let spec = ParamsSpec {
        n: N,
        q,
        p,
        digit_limbs: 4,
    };
    Ok(Params::new(&spec, T_FERMAT)?)
}

fn run() -> Result<()> {
    let counted = counted()?;
    let table = table()?;
    let params = params()?;
    println!(
        "N = 2^{}, log2(QP) = {:.0}, {} levels, t = {T_FERMAT}, {} threads",
        params.rlwe().log_n(),
        params.rlwe().log_qp(),
        params.rlwe().max_level(),
        ring::threads()
    );
    let rows = table.columns[0].len();
    println!("{rows} rows of {} columns", table.columns.len());
    let circuit = timed("circuit", || Ok(table.circuit(arithmetic(&params), N)?))?;
    print!("{}", circuit.counts());
    let budgets = timed("noise", || Ok(predict_noise(&params, &circuit)?))?;
    let runner = timed("constants", || Ok(Runner::new(&params, &circuit)?))?;

    // The client: keys.
    let mut rng = ChaCha20Rng::from_os_rng();
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let keys = timed("keys", || {
        let needs = needs(&params, &circuit.keys());
        Ok(client::circuit_keys(&secret, &needs, &mut rng)?)
    })?;
    println!("{:.0} MB of keys", keys.byte_len() as f64 / 1e6);

    let row = rows / 2;
    let present: Vec<u64> = table.keys.iter().map(|word| word[row]).collect();
    let absent = [present[0], (present[1] + 1) % T_FERMAT].to_vec();
    for (key, there) in [(present, Some(row)), (absent, None)] {
        let words: Slots<u64> = (0..)
            .map(word_name)
            .zip(key.iter().map(|&w| vec![w]))
            .collect();
        let clear = timed("in the clear", || Ok(run_clear(&circuit, &words)?))?;
        let mut masks = Masks::random(&mut rng);
        let mut query = BTreeMap::new();
        for (name, word) in &words {
            let (message, top) = (runner.encode(name, word)?, params.rlwe().max_level());
            let ct = encrypt(&params, &secret, &message, top, &mut masks, &mut rng)?;
            query.insert(name.as_str(), ct);
        }
        // The server. It has no secret.
        let arguments = query
            .iter()
            .map(|(&name, ct)| (name, Argument::Ciphertext(ct)));
        let arguments = arguments.collect();
        if let Some(counted) = counted {
            counted.take();
        }
        let answer = timed("encrypted", || Ok(runner.run(&arguments, &keys)?))?;
        if let (Some(counted), Some(_)) = (counted, there) {
            replay(&runner, (&arguments, &keys), &answer, counted.take())?;
        }
        // The client again.
        let period = table.period();
        let values = |slot: usize| match (table.columns.get(slot % period), there) {
            (Some(column), Some(row)) => column[row],
            _ => 0,
        };
        let expected: Vec<u64> = (0..N).map(values).collect();
        check(&params, &secret, &answer[ROW], (&clear[ROW], &expected))?;
        report(&secret, &answer[ROW], &budgets[ROW])?;
        println!(
            "key {key:?}: label {} and row 14 of the image, {}",
            clear[ROW][0],
            match there {
                Some(row) => format!("as of row {row}"),
                None => "all zero, as no row has it".into(),
            }
        );
    }
    Ok(())
}

/// Checks that every slot, encrypted and in the clear, has the expected value.
fn check(
    params: &Params,
    secret: &SecretKey,
    ct: &Ciphertext,
    (clear, expected): (&[u64], &[u64]),
) -> Result<()> {
    let found = params.encoder().slots_of(&decrypt(secret, ct)?);
    for given in [&found[..], clear] {
        let mut slots = given.iter().zip(expected).enumerate();
        if let Some((slot, (found, expected))) = slots.find(|(_, (a, b))| a != b) {
            return Err(format!("slot {slot} has {found}, expected {expected}").into());
        }
    }
    Ok(())
}

/// Prints measured and predicted noise. The noise of sums over slots is in few coefficients.
fn report(secret: &SecretKey, row: &Ciphertext, budget: &Budget) -> Result<()> {
    let (size, left) = measure(secret, row)?;
    println!(
        "noise of the result {:.1} bits, predicted {:.1}; {left:.1} bits of budget left, {:.1} promised",
        size.log2_rms,
        budget.noise.bits(),
        budget.margin_bits,
    );
    Ok(())
}

/// Makes a table of the images of the command line or of the tests.
fn table() -> Result<Database> {
    let (images, labels) = match option("data") {
        Some(folder) => {
            let Images { pixels, labels } = Images::load(Path::new(&folder), "train")?;
            (pixels, labels)
        }
        None => {
            let (images, labels) = SAMPLE.split_at(32 * PIXELS);
            let images = images.chunks_exact(PIXELS).map(<[u8]>::to_vec);
            (images.collect(), labels.to_vec())
        }
    };
    let images = &images[..images.len().min(N)];
    let hash = |image: &Vec<u8>, point: u64| {
        let pixels = image.iter();
        pixels.fold(0, |sum, &p| (sum * point + u64::from(p)) % T_FERMAT)
    };
    let word = |point| images.iter().map(|image| hash(image, point)).collect();
    let mut columns = vec![labels.iter().take(N).map(|&l| u64::from(l)).collect()];
    for pair in 0..SIDE / 2 {
        let at = PIXELS / 2 + 2 * pair;
        let word = |image: &Vec<u8>| u64::from(image[at]) << 8 | u64::from(image[at + 1]);
        columns.push(images.iter().map(word).collect());
    }
    Ok(Database {
        keys: POINTS.map(word).into(),
        columns,
        cooled: Vec::new(),
    })
}
