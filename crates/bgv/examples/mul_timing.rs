//! Prints how long BGV operations take at N = 2^15, t = 65537, Q of 720 bits, for two choices of
//! digits. Five digits of three limbs are covered by the special moduli. Four digits of four limbs
//! are not: a key switch then leaves about 70 bits of noise. After the switch by one limb that
//! follows a product, that is two bits more than a rounding.
//!
//! `cargo run --release -p palladion-bgv --example mul_timing [threads]`. Medians of 31 in
//! milliseconds, on one thread by default.

use palladion_bgv::{Ciphertext, Evaluator, Params, T_FERMAT, encrypt, measure};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::ntt_primes;
use ring::sample::Masks;
use rlwe::{GaloisKeys, ParamsSpec, SecretKey};
use std::hint::black_box;
use std::time::Instant;

const N: usize = 1 << 15;
const SAMPLES: usize = 31;

fn line<O>(name: &str, mut work: impl FnMut() -> O) {
    for _ in 0..3 {
        black_box(work()); // makes tables, allocates memory
    }
    let mut samples: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            let before = Instant::now();
            black_box(work());
            before.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    let (median, least) = (samples[SAMPLES / 2], samples[0]);
    println!("{name:44} {median:8.3}   (least {least:.3})");
}

fn main() {
    let threads = std::env::args().nth(1).and_then(|a| a.parse().ok());
    ring::in_pool(threads.unwrap_or(1), || {
        run(3);
        run(4);
    });
}

fn run(digit_limbs: usize) {
    let spec = ParamsSpec {
        n: N,
        q: ntt_primes(48, N, 15).expect("primes of 48 bits"),
        p: ntt_primes(49, N, 3).expect("primes of 49 bits"),
        digit_limbs,
    };
    let params = Params::new(&spec, T_FERMAT).expect("a secure set");
    let (level, encoder) = (params.rlwe().max_level(), params.encoder());
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let key = secret.relinearization_key(level, &mut rng);
    let mut galois = GaloisKeys::new();
    let steps: Vec<isize> = (1..=8).collect();
    let rotations = steps.iter().map(|&k| encoder.rotation_element(k));
    for g in rotations.chain([encoder.swap_element()]) {
        galois.insert(g, secret.galois_key(g, level, &mut rng));
    }
    let mut fresh = || -> Ciphertext {
        let slots: Vec<u64> = (0..N).map(|_| rng.random_range(0..T_FERMAT)).collect();
        let message = encoder.encode_slots(&slots).expect("residues modulo t");
        let seed = &mut Masks::random(&mut rng);
        encrypt(&params, &secret, &message, level, seed, &mut rng).expect("the highest level")
    };
    let (a, b) = (fresh(), fresh());
    let eval = Evaluator::new(&params);

    let (bits, threads) = (params.rlwe().log_q(level), ring::threads());
    println!("N = 2^15, log2(Q) = {bits:.0}, digits of {digit_limbs} limbs, {threads} threads");
    for dropped in [0, 1] {
        let product = eval
            .mul_and_switch(&a, &b, &key, dropped)
            .expect("operands that fit");
        let (size, budget) = measure(&secret, &product).expect("its secret");
        let noise = size.log2_rms;
        println!(
            "product with {dropped} limbs dropped: {noise:.1} bits of noise, {budget:.1} left"
        );
    }
    line("product, relinearised", || eval.mul(&a, &b, &key));
    line("square, relinearised", || eval.square(&a, &key));
    line("product, relinearised and switched", || {
        eval.mul_and_switch(&a, &b, &key, 1)
    });
    line("product", || eval.mul_no_relin(&a, &b));
    line("rotation", || eval.rotate(&a, 1, &galois));
    line("eight rotations, hoisted", || {
        eval.rotate_hoisted(&a, &steps, &galois)
    });
    line("row swap", || eval.swap_rows(&a, &galois));
    line("modulus switch by one limb, and a copy", || {
        let mut c = a.clone();
        eval.switch_to(&mut c, level - 1).map(|()| c)
    });
}
