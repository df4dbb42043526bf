//! Bootstrapping at N = 2^16 and 128-bit security, of all 2^15 slots or fewer: seconds, precision
//! and bytes.
//!
//!     cargo run --release -p palladion-circuits --example bootstrap -- [THREADS] [usual|precise] [SLOTS]

use ckks::{Complex64, Evaluator, Plaintext, decrypt, encrypt};
use palladion_circuits::approximate::{BootstrapSpec, Bootstrapper};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::sample::Masks;
use rlwe::SecretKey;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let threads = std::env::args().nth(1).map_or(Ok(1), |t| t.parse())?;
    ring::in_pool(threads, run)
}

fn run() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let params = match std::env::args().nth(2).as_deref() {
        None | Some("usual") => Bootstrapper::params_2_16()?,
        Some("precise") => Bootstrapper::params_2_16_precise()?,
        Some(other) => return Err(format!("found {other:?}, expected usual or precise").into()),
    };
    let spec = match std::env::args().nth(3) {
        None => BootstrapSpec::default(),
        Some(slots) => BootstrapSpec::for_slots(slots.parse()?),
    };
    let mut rng = ChaCha20Rng::from_os_rng();
    let start = Instant::now();
    let bootstrapper = Bootstrapper::new(&params, &spec)?;
    println!(
        "tables      {:8.2} s  {:8.0} MB",
        start.elapsed().as_secs_f64(),
        bootstrapper.byte_len() as f64 / 1e6
    );
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let start = Instant::now();
    let keys = bootstrapper.generate_keys(&secret, &mut rng);
    println!(
        "keys        {:8.2} s  {:8.0} MB, {} rotations",
        start.elapsed().as_secs_f64(),
        keys.byte_len() as f64 / 1e6,
        bootstrapper.rotations().len()
    );
    let mut part = || rng.random_range(-1.0..1.0);
    let x: Vec<Complex64> = (0..spec.slots.unwrap_or(params.slots()))
        .map(|_| Complex64::new(part(), part()))
        .collect();
    let message = Plaintext::encode(&params, &x, 0, params.scale())?;
    let ct = encrypt(&secret, &message, &mut Masks::random(&mut rng), &mut rng)?;
    for _ in 0..3 {
        let start = Instant::now();
        let y = bootstrapper.bootstrap(&ct, &keys)?;
        let seconds = start.elapsed().as_secs_f64();
        let found = decrypt(&secret, &y)?.decode(&params, x.len())?;
        let errors: Vec<f64> = found.iter().zip(&x).map(|(a, b)| (a - b).norm()).collect();
        let mean = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
        let worst = errors.iter().fold(0.0f64, |a, &b| a.max(b));
        println!(
            "bootstrap   {seconds:8.2} s  level {} of {}, log2(QP) {:.0}, precision {:.1} bits rms, {:.1} worst",
            Evaluator::new(&params).level(&y)?,
            params.max_level(),
            params.rlwe().log_qp(),
            -mean.log2() / 2.0,
            -worst.log2()
        );
    }
    Ok(())
}
