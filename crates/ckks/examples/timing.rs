//! Milliseconds of each operation at N = 2^16, 30 limbs of 48 bits, 5 digits, 128-bit security.
//!
//!     cargo run --release -p palladion-ckks --example timing -- [THREADS]

use palladion_ckks::{Complex64, Evaluator, Params, ParamsSpec, Plaintext, decrypt, encrypt};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use ring::ntt_primes;
use ring::sample::Masks;
use rlwe::{GaloisKeys, SecretKey};
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let threads = std::env::args().nth(1).map_or(Ok(1), |t| t.parse())?;
    ring::in_pool(threads, run)
}

fn time<T>(name: &str, mut work: impl FnMut() -> T) {
    const ROUNDS: usize = 9;
    black_box(work());
    let mut samples: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            black_box(work());
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    println!(
        "{name:16} {:8.2} ms (fastest {:.2})",
        samples[ROUNDS / 2],
        samples[0]
    );
}

fn run() -> Result<(), Box<dyn Error + Send + Sync>> {
    let n = 1 << 16;
    let primes = ntt_primes(48, n, 36)?;
    let params = Params::new(&ParamsSpec {
        n,
        levels: primes[..30].iter().map(|&q| vec![q]).collect(),
        special: primes[30..].to_vec(),
        digit_limbs: 6,
        log_scale: 48.0,
    })?;
    println!(
        "log2(QP) = {:.0}, {} threads",
        params.rlwe().log_qp(),
        ring::threads()
    );
    let mut rng = ChaCha20Rng::from_os_rng();
    let (level, top) = (params.max_level(), params.rlwe().max_level());
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let key = secret.relinearization_key(top, &mut rng);
    let mut keys = GaloisKeys::new();
    let encoder = params.encoder();
    let steps: Vec<isize> = (1..=8).collect();
    for &k in &steps {
        let element = encoder.rotation_element(k);
        keys.insert(element, secret.galois_key(element, top, &mut rng));
    }
    let values: Vec<Complex64> = (0..n / 2).map(|j| Complex64::cis(j as f64)).collect();
    let message = Plaintext::encode(&params, &values, level, params.scale())?;
    let mut masks = Masks::random(&mut rng);
    let ct = encrypt(&secret, &message, &mut masks, &mut rng)?;
    let e = Evaluator::new(&params);
    let product = e.mul(&ct, &ct)?;
    time("encode", || {
        Plaintext::encode(&params, &values, level, params.scale())
    });
    time("encrypt", || {
        encrypt(&secret, &message, &mut masks, &mut rng)
    });
    time("decrypt", || decrypt(&secret, &ct));
    let plain = decrypt(&secret, &ct)?;
    time("decode", || plain.decode(&params, n / 2));
    time("add", || e.add_assign(&mut ct.clone(), &ct));
    time("mul_plain", || {
        e.mul_plain_assign(&mut ct.clone(), &message)
    });
    time("mul", || e.mul(&ct, &ct));
    time("relinearize", || e.relinearize(&product, &key));
    time("mul_relin", || e.relinearize(&e.mul(&ct, &ct)?, &key));
    time("mul_and_rescale", || e.mul_and_rescale(&ct, &ct, &key));
    time("rescale", || e.rescale(&mut ct.clone()));
    time("rotate", || e.rotate(&ct, 1, &keys));
    time("rotate_hoisted 8", || e.rotate_hoisted(&ct, &steps, &keys));
    Ok(())
}
