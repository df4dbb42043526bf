//! Values computed from a secret are gone from the process's memory when the secret is gone.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests may panic")]

#[path = "../../ring/tests/common/memory.rs"]
mod memory;

use memory::{MASK, places};
use palladion_exact::{Params, T_FERMAT};
use rand::RngCore;
use ring::sample::{self, Masks, SecretRng};
use ring::{Basis, Eval, Poly, ntt_primes};
use rlwe::lwe::LweSecret;
use rlwe::{DimensionKey, DimensionParams, ParamsSpec, PublicKey, SecretKey};
use std::sync::{Mutex, PoisonError};
use zeroize::Zeroizing;

const N: usize = 1 << 12;
/// Limbs of the chain. Integers of so many bits take buffers of a size that little else has.
const LIMBS: usize = 24;
const LEN: usize = 8;

/// Words as [`places`] takes them.
fn masked(words: &[u64]) -> Vec<u64> {
    words.iter().map(|w| w ^ MASK).collect()
}

/// The key of the generator that draws all secrets, masked.
const KEY: [u64; 4] = [
    0x0123_4567_89ab_cdef,
    0x1133_5577_99bb_ddff,
    0xfedc_ba98_7654_3210,
    0x0f1e_2d3c_4b5a_6978,
];

/// Never inlined, and cleared, so that only the generator holds the key afterwards.
#[inline(never)]
fn generator() -> SecretRng {
    let mut key = Zeroizing::new([0; 32]);
    for (bytes, word) in key.chunks_exact_mut(8).zip(KEY) {
        bytes.copy_from_slice(&std::hint::black_box(word ^ MASK).to_le_bytes());
    }
    SecretRng::from_seed(&key)
}

/// Runs `work` further down the stack than the search will reach, so that its traces there can be
/// found.
#[inline(never)]
fn deep<T>(work: impl FnOnce() -> T) -> T {
    let mut room = [0u64; 4096];
    std::hint::black_box(&mut room);
    let out = work();
    std::hint::black_box(&mut room);
    out
}

/// `(Q / q_i)^{-1} mod q_i`, and the words of `Q / q_i`.
fn hat(basis: &Basis, i: usize) -> (u64, Vec<u64>) {
    let q = basis.modulus(i);
    let (mut residue, mut words) = (1, vec![1]);
    for other in basis.moduli().filter(|&other| other != q) {
        residue = q.mul(residue, q.reduce(other.value()));
        words = times(&words, other.value());
    }
    (q.inv(residue).unwrap(), words)
}

fn times(words: &[u64], factor: u64) -> Vec<u64> {
    let mut carry = 0;
    let mut out = Vec::with_capacity(words.len() + 1);
    for &word in words {
        carry += u128::from(word) * u128::from(factor);
        out.push(carry as u64);
        carry >>= 64;
    }
    out.push(carry as u64);
    out
}

/// The residual and two values that decryption and measuring compute from it, masked: scaled limbs,
/// and a multiple of `Q / q_i`.
fn traces(secret: &SecretKey, ct: &palladion_exact::Ciphertext) -> [Vec<u64>; 3] {
    let basis = ct.rlwe().components()[0].basis();
    let mut residual = secret.phase(ct.rlwe());
    residual.scalar_mul_assign(|_| T_FERMAT);
    let (inverse, _) = hat(basis, 0);
    // Values of the last columns worked on, since later ones do not overwrite their memory. Not the
    // first words, because the allocator writes there when memory is freed.
    let scaled = |k: usize| basis.modulus(0).mul(residual.limb(0)[k], inverse) ^ MASK;
    let last = LIMBS - 1;
    let (inverse, words) = hat(basis, last);
    let factor = basis.modulus(last).mul(residual.limb(last)[N - 1], inverse);
    let multiple = Zeroizing::new(times(&words, factor));
    [
        masked(&residual.limb(0)[N - 512..N - 512 + LEN]),
        (N - 512..N - 512 + LEN).map(scaled).collect(),
        masked(&multiple[4..6]),
    ]
}

/// Tests run one at a time. Otherwise each would find the values that another holds.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn nothing_of_a_secret_stays() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut q = ntt_primes(33, N, LIMBS + 1).unwrap();
    let p = vec![q.pop().unwrap()];
    let spec = ParamsSpec {
        n: N,
        q,
        p,
        digit_limbs: 1,
    };
    let params = Params::new_insecure(&spec, T_FERMAT).unwrap();
    let mut rng = generator();
    assert_eq!(places(&KEY), 1, "the generator is found where it is");
    let rng = &mut rng;
    let secret = SecretKey::generate(params.rlwe(), rng);
    let level = LIMBS - 1;
    // The secret's residues modulo q_0, and their products with the public mask of an encryption.
    let values = masked(&secret.at_level(level).limb(0)[..LEN]);
    // The last residual is not zero, which memory is full of.
    let message = [&[1, 2, 3][..], &[0; N - 4], &[4]].concat();
    let message = params.encoder().coefficients(&message);
    let ct = palladion_exact::encrypt(
        &params,
        &secret,
        &message,
        level,
        &mut Masks::random(rng),
        rng,
    )
    .unwrap();
    // Computed word by word. A polynomial would overwrite memory that may hold a trace.
    let q_0 = params.rlwe().basis(level).modulus(0);
    let products = |mask: &Poly<Eval>| -> Vec<u64> {
        let product = |(s, &a): (&u64, &u64)| q_0.mul(s ^ MASK, a) ^ MASK;
        values.iter().zip(mask.limb(0)).map(product).collect()
    };
    let product = products(&ct.rlwe().components()[1]);
    let copy = secret.at_level(level);
    assert!(
        places(&values) >= 2,
        "the search finds the secret and its copy"
    );
    drop(copy);

    // At each step only the secret and the generator may be found. The pool of buffers would soon
    // hide a copy.
    let [residual, scaled, multiple] = traces(&secret, &ct);
    let alone = |step| {
        let found = [&values, &product, &residual, &scaled, &multiple].map(|v| places(v));
        assert_eq!(found, [1, 0, 0, 0, 0], "{step}");
        assert_eq!(places(&KEY), 1, "{step}");
    };
    alone("encryption");
    assert_eq!(
        palladion_exact::decrypt(&params, &secret, &ct).unwrap(),
        message
    );
    alone("decryption");
    palladion_exact::measure(&params, &secret, &ct).unwrap();
    alone("measuring");
    let zero = secret.encrypt_zero(level, &mut Masks::random(rng), rng);
    assert_eq!(places(&products(&zero.components()[1])), 0);
    alone("encryption of zero");
    PublicKey::generate(&secret, rng);
    alone("public key");
    let key = secret.relinearization_key(1, rng);
    for j in 0..key.digits() {
        assert_eq!(
            places(&products(&key.digit(j, 1).to_poly())),
            0,
            "digit {j}"
        );
    }
    alone("relinearisation key");
    secret.galois_key(5, 1, rng);
    alone("Galois key");
    drop(secret);
    assert_eq!(places(&values), 0);
}

/// A key of the dimension switch leaves neither of its secrets, nor a product of the small one with a
/// public mask, from which it could be computed.
#[test]
fn nothing_of_a_dimension_switch_stays() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let [q, p] = [26, 40].map(|bits| ntt_primes(bits, N, 1).unwrap());
    let params = DimensionParams::new(N, q[0], 1024, 3).unwrap();
    let basis = params.basis();
    let ring = rlwe::Params::new(&ParamsSpec {
        n: N,
        q,
        p,
        digit_limbs: 1,
    })
    .unwrap();
    let make = || {
        let mut rng = generator();
        let secret = SecretKey::generate(&ring, &mut rng);
        let small = LweSecret::generate(params.dimension(), &mut rng);
        let key = DimensionKey::generate(&params, &secret, &small, &mut rng);
        (secret, small, key)
    };
    // Everything is made a second time from the same seed, and searched for at once. What is computed
    // here takes buffers from the pool, and would overwrite a trace. Not the first words, because the
    // allocator writes there.
    let some = N / 2..N / 2 + LEN;
    let (secret, small, key) = make();
    let eval = |coefficients: &[i64]| {
        let poly = Zeroizing::new(Poly::from_signed(basis, coefficients).into_eval());
        masked(&poly.limb(0)[some.clone()])
    };
    let (from, to) = (eval(secret.coefficients()), eval(&small.in_ring(N)));
    let spread: Vec<u64> = small.in_ring(N)[N / 2..N / 2 + 32]
        .iter()
        .map(|&z| z as u64 ^ MASK)
        .collect();
    let last = key.bodies().len() - 1;
    let mask: Poly<Eval> = sample::uniform_from_seed(basis, key.seed(), last as u32);
    let product = |(s, &a): (&u64, &u64)| basis.modulus(0).mul(s ^ MASK, a) ^ MASK;
    let mask = &mask.limb(0)[some.clone()];
    let products: Vec<u64> = to.iter().zip(mask).map(product).collect();
    drop((secret, small, key));
    let made = make();
    let found = [&from, &to, &products, &spread].map(|v| places(v));
    assert_eq!(found, [1, 0, 0, 0], "the ring's secret alone is kept");
    drop(made);
}

/// A dropped generator leaves neither its key nor the words it has drawn ahead, however it was
/// used.
#[test]
fn nothing_of_a_generator_stays() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut rng = deep(generator);
    assert_eq!(places(&KEY), 1, "making a generator leaves a copy");
    let drawn = [rng.next_u64() ^ MASK, rng.next_u64() ^ MASK];
    deep(|| sample::gaussian(1000, &mut rng));
    let moved = Box::new(rng);
    assert_eq!(places(&KEY), 1);
    deep(move || drop(moved));
    assert_eq!([&KEY[..], &drawn[..]].map(places), [0, 0]);
}
