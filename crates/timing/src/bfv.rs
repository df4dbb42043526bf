//! Operations of BFV.

use crate::error::{Error, Result};
use crate::meter::{GoOn, Hear, N, meter};
use ::bfv::{Ciphertext, Evaluator, Params, T_FERMAT, decrypt, encrypt};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::ntt_primes;
use ring::sample::Masks;
use rlwe::{GaloisKeys, ParamsSpec, SecretKey};

/// Measures operations on ciphertexts: 15 moduli of 48 bits, 3 special ones of 49, digits of 3.
///
/// # Errors
/// [`Error::Stopped`].
pub fn bfv(samples: usize, hear: Hear<'_>, go_on: GoOn<'_>) -> Result<()> {
    let mut meter = meter(samples, hear, go_on);
    let spec = ParamsSpec {
        n: N,
        q: ntt_primes(48, N, 15).map_err(rlwe::Error::from)?,
        p: ntt_primes(49, N, 3).map_err(rlwe::Error::from)?,
        digit_limbs: 3,
    };
    let params = Params::new(&spec, T_FERMAT)?;
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let level = params.rlwe().max_level();
    let eval = Evaluator::new(&params);
    let key = secret.relinearization_key(level, &mut rng);
    let step = params.encoder().rotation_element(1);
    let mut galois = GaloisKeys::new();
    galois.insert(step, secret.galois_key(step, level, &mut rng));
    let mut fresh = || -> Result<Ciphertext> {
        let slots: Vec<u64> = (0..N).map(|_| rng.random_range(0..T_FERMAT)).collect();
        let message = params.encoder().slots_to_plaintext(&slots);
        let masks = &mut Masks::random(&mut rng);
        Ok(encrypt(&params, &secret, &message, level, masks, &mut rng)?)
    };
    let (a, b) = (fresh()?, fresh()?);
    let message = params.encoder().slots_to_plaintext(&[1, 2, 3]);
    let plain = eval.lift(&message, level)?;
    let sizes = [
        ("log_n", N.ilog2().into()),
        ("log_q", params.rlwe().log_q(level).round() as u64),
        ("log_qp", params.rlwe().log_qp().round() as u64),
        ("plaintext_modulus", T_FERMAT),
    ];
    let none = || ();
    let copy = || a.clone();
    meter.row("bfv encrypt", &sizes, none, |()| {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let masks = &mut Masks::random(&mut rng);
        Ok::<_, Error>(encrypt(&params, &secret, &message, level, masks, &mut rng)?)
    })?;
    meter.row("bfv decrypt", &sizes, none, |()| {
        Ok::<_, Error>(decrypt(&params, &secret, &a)?)
    })?;
    meter.row("bfv product, relinearised", &sizes, none, |()| {
        eval.mul(&a, &b, &key)
    })?;
    meter.row("bfv residual product and switch", &sizes, none, |()| {
        eval.mul_and_switch(&a, &b, &key, 1)
    })?;
    meter.row("bfv rotation", &sizes, none, |()| {
        eval.automorphism(&a, step, &galois)
    })?;
    let shared = eval.decompose(&a)?;
    meter.row("bfv rotation, hoisted", &sizes, none, |()| {
        eval.automorphism_hoisted(&a, &shared, step, &galois)
    })?;
    meter.row("bfv plaintext product", &sizes, copy, |mut a| {
        eval.mul_plain_assign(&mut a, &plain).map(|()| a)
    })?;
    meter.row("bfv sum", &sizes, copy, |mut a| {
        eval.add_assign(&mut a, &b).map(|()| a)
    })?;
    meter.row("bfv modulus switch", &sizes, copy, |mut a| {
        eval.switch_to(&mut a, level - 1).map(|()| a)
    })
}
