//! Encryption with the factor 1, and decryption.

use crate::ciphertext::Ciphertext;
use exact::{Params, Plaintext, Result};
use rand::CryptoRng;
use ring::sample::Masks;
use rlwe::noise::Size;
use rlwe::{PublicKey, SecretKey};
use zeroize::Zeroizing;

/// Encrypts at `level` under a public key.
///
/// # Errors
/// If `level` is above the highest level, or if the message or the key was made for other
/// parameters.
pub fn encrypt_public(
    params: &Params,
    key: &PublicKey,
    message: &Plaintext,
    level: usize,
    rng: &mut impl CryptoRng,
) -> Result<Ciphertext> {
    let scaled = high_end(params, message, level)?;
    let ct = exact::encrypt_public(params, key, &scaled, level, rng)?;
    Ok(low_end(params, ct))
}

/// Encrypts at `level` under the secret key, with the next mask.
///
/// # Errors
/// If `level` is above the highest level, or if the message or the key was made for other
/// parameters.
pub fn encrypt(
    params: &Params,
    secret: &SecretKey,
    message: &Plaintext,
    level: usize,
    masks: &mut Masks,
    rng: &mut impl CryptoRng,
) -> Result<Ciphertext> {
    let scaled = high_end(params, message, level)?;
    let ct = exact::encrypt(params, secret, &scaled, level, masks, rng)?;
    Ok(low_end(params, ct))
}

/// The ciphertext `(message, 0)`, which hides nothing. It serves as a constant among ciphertexts.
///
/// # Errors
/// If `level` is above the highest level, or if the message was made for other parameters.
pub fn trivial(params: &Params, message: &Plaintext, level: usize) -> Result<Ciphertext> {
    let scaled = high_end(params, message, level)?;
    Ok(low_end(params, exact::trivial(params, &scaled, level)))
}

/// Decrypts: `m = r / f mod t`, where `r` is the centred residual.
///
/// The result is right if `|r| < Q / 2`. [`measure`] computes the distance to this bound, which is
/// the noise budget.
///
/// # Errors
/// [`Error::NoiseBudget`](exact::Error::NoiseBudget) if less than
/// [`LEAST_BUDGET`](exact::LEAST_BUDGET) is left, [`rlwe::Error::KeyMismatch`] if the ciphertext
/// belongs to another secret, and [`Error::OtherParameters`](exact::Error::OtherParameters) if the
/// key has other parameters than the ciphertext.
pub fn decrypt(secret: &SecretKey, ct: &Ciphertext) -> Result<Plaintext> {
    exact::decrypt(ct.params(), secret, ct.exact())
}

/// As [`decrypt`], without a look at the noise: if the budget is used up, the message is another
/// one.
///
/// # Errors
/// As [`decrypt`], except for the noise budget.
pub fn decrypt_unchecked(secret: &SecretKey, ct: &Ciphertext) -> Result<Plaintext> {
    exact::decrypt_unchecked(ct.params(), secret, ct.exact())
}

/// Measured size of the residual `r`, and the noise budget in bits: `log2(Q / (2 max |r|))`.
/// Decryption fails when the budget is used up.
///
/// # Errors
/// [`rlwe::Error::KeyMismatch`], and [`Error::OtherParameters`](exact::Error::OtherParameters) if
/// the key has other parameters than the ciphertext.
pub fn measure(secret: &SecretKey, ct: &Ciphertext) -> Result<(Size, f64)> {
    exact::measure(ct.params(), secret, ct.exact())
}

/// The factor `mu = -1 / Q` of a ciphertext with `f = 1`.
fn unit(params: &Params, level: usize) -> u64 {
    let t = params.t();
    let inverse = t.inv(params.q_mod_t(level));
    t.neg(inverse.expect("the moduli are units modulo t"))
}

/// `mu m`: encoded in the high bits, it is the encoding of `m` in the low bits.
fn high_end(params: &Params, message: &Plaintext, level: usize) -> Result<Zeroizing<Plaintext>> {
    params.check_level(level)?;
    params.check_message(message)?;
    let (t, unit) = (params.t(), unit(params, level));
    let scaled = message.coefficients().iter().map(|&m| t.mul(m, unit));
    Ok(params.encoder().from_residues(scaled.collect()).into())
}

/// A fresh ciphertext of [`high_end`] as a BGV ciphertext of the message itself.
fn low_end(params: &Params, ct: exact::Ciphertext) -> Ciphertext {
    let unit = unit(params, ct.level());
    let ct = exact::Ciphertext::new(ct.into_rlwe(), unit);
    Ciphertext::wrap(params, ct)
}
