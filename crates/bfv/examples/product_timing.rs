//! Prints how long operations take at N = 2^15, t = 65537, Q of 720 bits, and the parts of a
//! product with relinearisation: `cargo run --release -p palladion-bfv --example product_timing
//! [threads [name [seconds]]]`. Times are medians in milliseconds. With a name, only that line is
//! printed.

use palladion_bfv::{Ciphertext, Evaluator, Params, T_FERMAT, encrypt};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::sample::Masks;
use ring::{Poly, Scaler, ntt_primes, ntt_primes_avoiding, tensor, tensor_coeff};
use rlwe::{Decomposed, GaloisKeys, ParamsSpec, SecretKey, switch_coeff};
use std::hint::black_box;
use std::time::{Duration, Instant};

const N: usize = 1 << 15;

/// Prints the median time of `work` on a fresh `input`.
fn line<I, O>(name: &str, mut input: impl FnMut() -> I, mut work: impl FnMut(I) -> O) {
    if std::env::args().nth(2).is_some_and(|only| only != name) {
        return;
    }
    for _ in 0..3 {
        black_box(work(input())); // makes tables, allocates memory
    }
    let seconds = std::env::args().nth(3).and_then(|s| s.parse().ok());
    let time = Duration::from_secs_f64(seconds.unwrap_or(0.7));
    let mut samples = Vec::new();
    let start = Instant::now();
    while samples.len() < 9 || start.elapsed() < time {
        let given = input();
        let before = Instant::now();
        let result = work(given);
        samples.push(before.elapsed().as_secs_f64() * 1e3);
        drop(black_box(result));
    }
    samples.sort_by(f64::total_cmp);
    let median = samples[samples.len() / 2];
    println!("{name:44} {median:8.3}   (least {:.3})", samples[0]);
}

fn main() {
    let threads = std::env::args().nth(1).and_then(|a| a.parse().ok());
    ring::in_pool(threads.unwrap_or(1), run);
}

fn run() {
    let spec = ParamsSpec {
        n: N,
        q: ntt_primes(48, N, 15).expect("primes of 48 bits"),
        p: ntt_primes(49, N, 3).expect("primes of 49 bits"),
        digit_limbs: 3,
    };
    let params = Params::new(&spec, T_FERMAT).expect("a secure set");
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let level = params.rlwe().max_level();
    let eval = Evaluator::new(&params);
    let key = secret.relinearization_key(level, &mut rng);
    let g = params.encoder().rotation_element(1);
    let mut galois = GaloisKeys::new();
    galois.insert(g, secret.galois_key(g, level, &mut rng));
    let mut fresh = || -> Ciphertext {
        let slots: Vec<u64> = (0..N).map(|_| rng.random_range(0..T_FERMAT)).collect();
        let message = params.encoder().slots_to_plaintext(&slots);
        let mut masks = Masks::random(&mut rng);
        encrypt(&params, &secret, &message, level, &mut masks, &mut rng)
            .expect("a key of the parameters")
    };
    let (a, b) = (fresh(), fresh());
    let message = params.encoder().slots_to_plaintext(&[1, 2, 3]);
    let plain = eval
        .lift(&message, level)
        .expect("a level of the parameters");

    println!("{params:?}, {} threads", ring::threads());
    let none = || ();
    line("mul", none, |()| eval.mul(&a, &b, &key));
    line("mul, square", none, |()| eval.mul(&a, &a, &key));
    line("mul_no_relin", none, |()| eval.mul_no_relin(&a, &b));
    line("mul_and_switch, none dropped", none, |()| {
        eval.mul_and_switch(&a, &b, &key, 0)
    });
    line("mul_and_switch, one dropped", none, |()| {
        eval.mul_and_switch(&a, &b, &key, 1)
    });
    line("tensor_sum", none, |()| eval.tensor_sum(&[&a], &[&b]));
    line("rotation", none, |()| eval.automorphism(&a, g, &galois));
    let shared = eval.decompose(&a).expect("two components");
    line("rotation, decomposition shared", none, |()| {
        eval.automorphism_hoisted(&a, &shared, g, &galois)
    });
    line("decomposition", none, |()| eval.decompose(&a));
    line(
        "plaintext product",
        || a.clone(),
        |mut c| {
            let done = eval.mul_plain_assign(&mut c, &plain);
            done.expect("lifted at the level");
            c
        },
    );
    line(
        "sum",
        || a.clone(),
        |mut c| {
            eval.add_assign(&mut c, &b).expect("one level");
            c
        },
    );
    line(
        "modulus switch by one limb",
        || a.clone(),
        |mut c| {
            eval.switch_to(&mut c, level - 1).expect("a lower level");
            c
        },
    );

    println!("what a product is made of");
    let basis = params.rlwe().basis(level);
    let avoid = params.rlwe().extended(level).values();
    let auxiliary = ntt_primes_avoiding(47, N, 16, &avoid).expect("primes of 47 bits");
    let auxiliary = ring::Basis::new(N, &auxiliary).expect("the primes split the ring");
    let scaler = Scaler::new(basis, &auxiliary, T_FERMAT);
    let output = scaler.output(|_| 1);
    let [a0, a1] = [0, 1].map(|i| &a.rlwe().components()[i]);
    let [b0, b1] = [0, 1].map(|i| &b.rlwe().components()[i]);
    line("4 inverse transforms", none, |()| {
        [a0, a1, b0, b1].map(Poly::to_coeff)
    });
    let coeff = [a0, a1, b0, b1].map(Poly::to_coeff);
    line(
        "4 extensions",
        || coeff.clone(),
        |c| c.map(|c| scaler.extend(c)),
    );
    let pair = |x, y| [x, y].map(|i: usize| scaler.extend(coeff[i].clone()));
    line(
        "tensor product, auxiliary",
        || (pair(0, 1), pair(2, 3)),
        |(a, b)| tensor_coeff(a, Some(b)),
    );
    line("tensor product", none, |()| tensor([a0, a1], [b0, b1]));
    let over_r = tensor_coeff(pair(0, 1), Some(pair(2, 3)));
    let over_q = tensor([a0, a1], [b0, b1]);
    line(
        "3 scalings",
        || over_q.clone(),
        |d| {
            let mut over_r = over_r.iter();
            d.map(|d| scaler.scale(d, over_r.next().expect("three"), &output))
        },
    );
    line(
        "key switching",
        || coeff[0].clone(),
        |d| switch_coeff(d, &key, [&coeff[1], &coeff[2]]),
    );
    line(
        "  digits to evaluation domain",
        || coeff[0].clone(),
        |d| Decomposed::from_coeff(params.rlwe(), d),
    );
}
