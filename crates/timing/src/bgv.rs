//! Operations of BGV.

use crate::error::Result;
use crate::meter::{GoOn, Hear, N, meter};
use ::bgv::{Ciphertext, Evaluator, Params, T_FERMAT, decrypt, encrypt};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::ntt_primes;
use ring::sample::Masks;
use rlwe::{GaloisKeys, ParamsSpec, SecretKey};

/// Rotations of one ciphertext that share a decomposition.
const HOISTED: isize = 8;

/// Measures operations at `N = 2^15`: 15 moduli of 48 bits, 3 special ones, 5 digits, 128-bit
/// security.
///
/// # Errors
/// [`Error::Stopped`](crate::Error::Stopped).
pub fn bgv(samples: usize, hear: Hear<'_>, go_on: GoOn<'_>) -> Result<()> {
    let mut meter = meter(samples, hear, go_on);
    let primes = ntt_primes(48, N, 18).map_err(rlwe::Error::from)?;
    let (q, p) = primes.split_at(15);
    let spec = ParamsSpec {
        n: N,
        q: q.to_vec(),
        p: p.to_vec(),
        digit_limbs: 3,
    };
    let params = Params::new(&spec, T_FERMAT)?;
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let level = params.rlwe().max_level();
    let eval = Evaluator::new(&params);
    let key = secret.relinearization_key(level, &mut rng);
    let mut galois = GaloisKeys::new();
    let steps: Vec<isize> = (1..=HOISTED).collect();
    let encoder = params.encoder();
    let elements = steps.iter().map(|&k| encoder.rotation_element(k));
    for element in elements.chain([encoder.swap_element()]) {
        galois.insert(element, secret.galois_key(element, level, &mut rng));
    }
    let slots: Vec<u64> = (0..N).map(|_| rng.random_range(0..T_FERMAT)).collect();
    let message = params.encoder().slots_to_plaintext(&slots);
    let mut fresh = || -> Result<Ciphertext> {
        let masks = &mut Masks::random(&mut rng);
        Ok(encrypt(&params, &secret, &message, level, masks, &mut rng)?)
    };
    let (a, b) = (fresh()?, fresh()?);
    let plain = eval.lift(&message, level)?;
    let sizes = [
        ("log_n", N.ilog2().into()),
        ("limbs", level as u64 + 1),
        ("log_q", params.rlwe().log_q(level).round() as u64),
        ("log_qp", params.rlwe().log_qp().round() as u64),
        ("plaintext_modulus", T_FERMAT),
    ];
    let none = || ();
    let copy = || a.clone();
    meter.row("encode", &sizes, none, |()| {
        eval.lift(&params.encoder().slots_to_plaintext(&slots), level)
    })?;
    meter.row("encrypt", &sizes, none, |()| {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        encrypt(
            &params,
            &secret,
            &message,
            level,
            &mut Masks::random(&mut rng),
            &mut rng,
        )
    })?;
    meter.row("decrypt", &sizes, none, |()| decrypt(&secret, &a))?;
    meter.row("add", &sizes, copy, |mut a| {
        eval.add_assign(&mut a, &b).map(|()| a)
    })?;
    meter.row("mul_plain", &sizes, copy, |mut a| {
        eval.mul_plain_assign(&mut a, &plain).map(|()| a)
    })?;
    meter.row("mul_relin", &sizes, none, |()| eval.mul(&a, &b, &key))?;
    meter.row("square_relin", &sizes, none, |()| eval.square(&a, &key))?;
    meter.row("modswitch", &sizes, copy, |mut a| {
        eval.switch_to(&mut a, level - 1).map(|()| a)
    })?;
    meter.row("rotate", &sizes, none, |()| eval.rotate(&a, 1, &galois))?;
    meter.row("rotate_8_hoisted", &sizes, none, |()| {
        eval.rotate_hoisted(&a, &steps, &galois)
    })?;
    meter.row("swap_rows", &sizes, none, |()| eval.swap_rows(&a, &galois))
}
