//! Prints times of key generation, gates and tables, sizes of keys, and measured beside predicted
//! noise of outputs.
//!
//! `cargo run --release -p palladion-tfhe --example measure_tfhe [SET] [COUNT]`, on one thread.

use palladion_tfhe::{ClientKey, Encoding, Gate, Params, Scratch, ServerKey, Table, sets};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use ring::torus::{Fft, Torus};
use std::time::{Duration, Instant};

fn main() {
    let mut args = std::env::args().skip(1);
    let wanted = args.next();
    let count = args.next().and_then(|c| c.parse().ok()).unwrap_or(20);
    for (name, params) in sets::all() {
        if wanted.as_ref().is_some_and(|w| w != name) {
            continue;
        }
        println!(
            "{name}: {}, failures 2^{:.1}",
            params.security(),
            params.log2_failure()
        );
        if params.spec().word_bits == 32 {
            ring::in_pool(1, || measure::<u32>(&params, count));
        } else {
            ring::in_pool(1, || measure::<u64>(&params, count));
        }
    }
}

fn measure<T: Torus>(params: &Params, count: usize) {
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    let fft = || Fft::new(params.n()).expect("a degree of the transform");
    let client = ClientKey::<T>::generate(params, rng).expect("words fit");
    let start = Instant::now();
    let keys = client.evaluation_keys(&fft(), rng).expect("fits");
    let generated = start.elapsed();
    let start = Instant::now();
    let server = ServerKey::new(&keys, fft()).expect("fits");
    let prepared = start.elapsed();
    println!(
        "  keys: made in {generated:.2?}, {} bytes stored; prepared in {prepared:.2?}, {} bytes of bootstrapping key",
        keys.to_bytes().len(),
        server.bootstrapper().key_bytes()
    );
    let mut errors = Vec::new();
    let lwe = match params.encoding() {
        Encoding::Gates => {
            let mut encrypt = |bit| client.encrypt_bit(bit, rng).expect("gates");
            let pairs: Vec<_> = (0..count)
                .map(|i| (encrypt(i % 2 == 0), encrypt(false)))
                .collect();
            let mut outputs = Vec::new();
            let time = best(count, |i| {
                let (x, y) = &pairs[i];
                outputs.push(server.gate(Gate::Nand, x, y).expect("of this key"));
            });
            println!("  nand: {time:.2?}");
            errors.extend(
                outputs
                    .iter()
                    .map(|o| client.phase(o.lwe()).to_torus() - 0.125),
            );
            pairs[0].0.lwe().clone()
        }
        Encoding::Integers { .. } => {
            let inputs = client.compress(&vec![1; count], rng).expect("messages");
            let inputs = inputs.integers().expect("integers");
            let table = Table::of(params, |v| v).expect("a table");
            let mut outputs = Vec::new();
            let time = best(count, |i| {
                outputs.push(server.apply(&inputs[i], &table).expect("of this key"))
            });
            println!("  table: {time:.2?}");
            let value = 0.5 / params.values() as f64;
            errors.extend(
                outputs
                    .iter()
                    .map(|o| client.phase(o.lwe()).to_torus() - value),
            );
            inputs[0].lwe().clone()
        }
    };
    let mut scratch = Scratch::new(params, server.bootstrapper().multiplier());
    let time = best(count, |_| {
        std::hint::black_box(server.bootstrapper().key_switch(&lwe, &mut scratch));
    });
    println!("  key switch: {time:.2?}");
    let found = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
    println!(
        "  noise of {} outputs: 2^{:.2} as a deviation, predicted 2^{:.2} without the multiplier's",
        errors.len(),
        found.log2() / 2.0,
        params.noise().output().log2() / 2.0
    );
}

/// Shortest of `count` runs.
fn best(count: usize, mut run: impl FnMut(usize)) -> Duration {
    let time = |i| {
        let start = Instant::now();
        run(i);
        start.elapsed()
    };
    (0..count).map(time).min().unwrap_or_default()
}
