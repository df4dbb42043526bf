//! Operations of CKKS, and its bootstrapping.

use crate::error::{Error, Result};
use crate::meter::{GoOn, Hear, Meter, meter};
use ::ckks::{Complex64, Evaluator, Params, ParamsSpec, Plaintext, decrypt, encrypt};
use circuits::approximate::{BootstrapSpec, Bootstrapper};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::ntt_primes;
use ring::sample::Masks;
use rlwe::{GaloisKeys, SecretKey};

const N: usize = 1 << 16;
const LIMBS: usize = 30;
const DIGITS: usize = 5;
/// Rotations of one ciphertext that share a decomposition. A row gives the time of one rotation.
const HOISTED: isize = 8;

fn sizes(params: &Params) -> [(&'static str, u64); 4] {
    let rlwe = params.rlwe();
    let level = rlwe.max_level();
    [
        ("log_n", rlwe.log_n().into()),
        ("limbs", level as u64 + 1),
        ("log_q", rlwe.log_q(level).round() as u64),
        ("log_qp", rlwe.log_qp().round() as u64),
    ]
}

fn message(params: &Params, rng: &mut ChaCha20Rng) -> Vec<Complex64> {
    let mut part = || rng.random_range(-1.0..1.0);
    let slots = 0..params.slots();
    slots.map(|_| Complex64::new(part(), part())).collect()
}

/// Measures operations at `N = 2^16`: 30 moduli of 48 bits, 6 special ones, 5 digits, 128-bit
/// security. Then three of them with CROSS's set 6 as published, which is not secure.
///
/// # Errors
/// [`Error::Stopped`].
pub fn ckks(samples: usize, hear: Hear<'_>, go_on: GoOn<'_>) -> Result<()> {
    let mut meter = meter(samples, hear, go_on);
    let primes = ntt_primes(48, N, LIMBS + LIMBS / DIGITS).map_err(rlwe::Error::from)?;
    let (moduli, special) = primes.split_at(LIMBS);
    let params = Params::new(&ParamsSpec {
        n: N,
        levels: moduli.iter().map(|&q| vec![q]).collect(),
        special: special.to_vec(),
        digit_limbs: LIMBS / DIGITS,
        log_scale: 48.0,
    })?;
    operations(&mut meter, &params)?;
    drop(params);
    cross(&mut meter)
}

/// CROSS's set 6: 51 moduli of 28 bits and 17 special ones in 3 digits. log2(QP) is 1904, where up
/// to 1747 is 128-bit secure. Levels have two moduli, and a rescale divides by both.
fn cross(meter: &mut Meter<'_>) -> Result<()> {
    let primes = ntt_primes(28, N, 51 + 17).map_err(rlwe::Error::from)?;
    let (moduli, special) = primes.split_at(51);
    let (first, others) = moduli.split_at(1);
    let mut levels = vec![first.to_vec()];
    levels.extend(others.chunks(2).map(<[u64]>::to_vec));
    let params = Params::new_insecure(&ParamsSpec {
        n: N,
        levels,
        special: special.to_vec(),
        digit_limbs: 17,
        log_scale: 56.0,
    })?;
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let top = params.rlwe().max_level();
    let key = secret.relinearization_key(top, &mut rng);
    let element = params.encoder().rotation_element(1);
    let mut galois = GaloisKeys::new();
    galois.insert(element, secret.galois_key(element, top, &mut rng));
    let values = message(&params, &mut rng);
    let plain = Plaintext::encode(&params, &values, params.max_level(), params.scale())?;
    let a = encrypt(&secret, &plain, &mut Masks::random(&mut rng), &mut rng)?;
    let (eval, sizes) = (Evaluator::new(&params), sizes(&params));
    meter.row(
        "insecure_cross6_mul_relin",
        &sizes,
        || (),
        |()| eval.relinearize(&eval.mul(&a, &a.clone())?, &key),
    )?;
    let copy = || a.clone();
    meter.row("insecure_cross6_rescale", &sizes, copy, |mut a| {
        eval.rescale(&mut a).map(|()| a)
    })?;
    meter.row(
        "insecure_cross6_rotate",
        &sizes,
        || (),
        |()| eval.rotate(&a, 1, &galois),
    )
}

fn operations(meter: &mut Meter<'_>, params: &Params) -> Result<()> {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let (level, scale, sizes) = (params.max_level(), params.scale(), sizes(params));
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let key = secret.relinearization_key(params.rlwe().max_level(), &mut rng);
    let mut galois = GaloisKeys::new();
    let encoder = params.encoder();
    let steps: Vec<isize> = (1..=HOISTED).collect();
    let elements = steps.iter().map(|&k| encoder.rotation_element(k));
    for element in elements.chain([encoder.conjugation_element()]) {
        let top = params.rlwe().max_level();
        galois.insert(element, secret.galois_key(element, top, &mut rng));
    }
    let values = message(params, &mut rng);
    let encode = || Plaintext::encode(params, &values, level, scale);
    let plain = encode()?;
    let mut fresh = || encrypt(&secret, &plain, &mut Masks::random(&mut rng), &mut rng);
    let (a, b) = (fresh()?, fresh()?);
    let eval = Evaluator::new(params);
    let none = || ();
    let copy = || a.clone();
    meter.row("encode", &sizes, none, |()| encode())?;
    meter.row("encrypt", &sizes, none, |()| {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        Ok::<_, Error>(encrypt(
            &secret,
            &plain,
            &mut Masks::random(&mut rng),
            &mut rng,
        )?)
    })?;
    meter.row("decrypt_decode", &sizes, none, |()| {
        decrypt(&secret, &a)?.decode(params, params.slots())
    })?;
    meter.row("add", &sizes, copy, |mut a| {
        eval.add_assign(&mut a, &b).map(|()| a)
    })?;
    meter.row("mul_plain", &sizes, copy, |mut a| {
        eval.mul_plain_assign(&mut a, &plain).map(|()| a)
    })?;
    meter.row("mul_relin", &sizes, none, |()| {
        eval.relinearize(&eval.mul(&a, &b)?, &key)
    })?;
    meter.row("square_relin", &sizes, none, |()| {
        eval.relinearize(&eval.mul(&a, &a)?, &key)
    })?;
    meter.row("mul_relin_rescale", &sizes, none, |()| {
        eval.mul_and_rescale(&a, &b, &key)
    })?;
    meter.row("rescale", &sizes, copy, |mut a| {
        eval.rescale(&mut a).map(|()| a)
    })?;
    meter.row("rotate", &sizes, none, |()| eval.rotate(&a, 1, &galois))?;
    meter.row("rotate_8_hoisted", &sizes, none, |()| {
        eval.rotate_hoisted(&a, &steps, &galois)
    })?;
    meter.row("conjugate", &sizes, none, |()| eval.conjugate(&a, &galois))
}

/// Measures bootstrapping at `N = 2^16` and 128-bit security: of all `2^15` slots with either set,
/// and of one slot. Needs 7 GB of memory.
///
/// # Errors
/// [`Error::Stopped`].
pub fn bootstrap(samples: usize, hear: Hear<'_>, go_on: GoOn<'_>) -> Result<()> {
    let mut meter = meter(samples, hear, go_on);
    let (usual, precise) = (
        Bootstrapper::params_2_16()?,
        Bootstrapper::params_2_16_precise()?,
    );
    let all = BootstrapSpec::default();
    refresh(&mut meter, "bootstrap", &usual, &all)?;
    refresh(&mut meter, "bootstrap_precise", &precise, &all)?;
    let one = BootstrapSpec::for_slots(1);
    refresh(&mut meter, "bootstrap_one_slot", &usual, &one)
}

fn refresh(meter: &mut Meter<'_>, name: &str, params: &Params, spec: &BootstrapSpec) -> Result<()> {
    let bootstrapper = Bootstrapper::new(params, spec)?;
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let keys = bootstrapper.generate_keys(&secret, &mut rng);
    let mut values = message(params, &mut rng);
    values.truncate(spec.slots.unwrap_or(params.slots()));
    let plain = Plaintext::encode(params, &values, 0, params.scale())?;
    let ct = encrypt(&secret, &plain, &mut Masks::random(&mut rng), &mut rng)?;
    let [log_n, limbs, log_q, log_qp] = sizes(params);
    let sizes = [
        log_n,
        limbs,
        log_q,
        log_qp,
        ("slots", values.len() as u64),
        ("levels_left", bootstrapper.output_level() as u64),
        ("key_bytes", keys.byte_len() as u64),
    ];
    meter.row(name, &sizes, || (), |()| bootstrapper.bootstrap(&ct, &keys))
}
