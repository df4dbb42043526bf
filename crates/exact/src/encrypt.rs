//! Ciphertexts, encryption and decryption.

use crate::encoder::Plaintext;
use crate::error::{Error, Result};
use crate::params::Params;
use rand::CryptoRng;
use ring::sample::Masks;
use ring::{Coeff, Eval, Poly};
use rlwe::noise::Size;
use rlwe::{PublicKey, SecretKey};
use zeroize::Zeroizing;

/// Noise budget in bits below which a decryption may be wrong. Noise that fills the modulus leaves
/// a fraction of a bit.
pub const LEAST_BUDGET: f64 = 1.0;

/// A ciphertext of exact arithmetic: its components and the factor of its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ciphertext {
    inner: rlwe::Ciphertext,
    factor: u64,
}

impl Ciphertext {
    /// A ciphertext from its components and the factor `mu` of its message.
    pub fn new(inner: rlwe::Ciphertext, factor: u64) -> Self {
        Self { inner, factor }
    }

    /// The components.
    pub fn rlwe(&self) -> &rlwe::Ciphertext {
        &self.inner
    }

    /// Returns the components without a copy.
    pub fn into_rlwe(self) -> rlwe::Ciphertext {
        self.inner
    }

    /// The components, mutable.
    pub fn rlwe_mut(&mut self) -> &mut rlwe::Ciphertext {
        &mut self.inner
    }

    /// Factor `mu` modulo `t`: the message in the high bits is `mu` times the user's message.
    pub fn factor(&self) -> u64 {
        self.factor
    }

    pub(crate) fn set_factor(&mut self, factor: u64) {
        self.factor = factor;
    }

    /// The level: the number of limbs minus one.
    pub fn level(&self) -> usize {
        self.inner.level()
    }

    /// The degree: the number of components minus one.
    pub fn degree(&self) -> usize {
        self.inner.degree()
    }

    /// Bytes in memory.
    pub fn byte_len(&self) -> usize {
        self.inner.byte_len()
    }
}

/// Encrypts at `level` under a public key of that level or above: an encryption of zero plus the
/// message.
///
/// # Errors
/// [`rlwe::Error::LevelTooLow`] if `level` is above the highest level or that of the key, and
/// [`Error::OtherParameters`] if the key or the message was made for other parameters.
pub fn encrypt_public(
    params: &Params,
    key: &PublicKey,
    message: &Plaintext,
    level: usize,
    rng: &mut impl CryptoRng,
) -> Result<Ciphertext> {
    params.check_level(level)?;
    params.check_message(message)?;
    let rlwe = params.rlwe();
    let (found, expected) = (key.basis(), rlwe.basis(key.level().min(rlwe.max_level())));
    if found != expected {
        return Err(Error::other("public key", found, expected));
    }
    let mut ct = key.encrypt_zero(params.rlwe(), level, rng)?;
    ct.components_mut()[0].add_assign(&Zeroizing::new(scaled(params, message, level, 1)));
    Ok(Ciphertext::new(ct, 1))
}

/// Encrypts at `level` under the secret key, with the next mask.
///
/// # Errors
/// [`Error::OtherParameters`] if the key or the message was made for other parameters, and an error
/// if `level` is above the highest level.
pub fn encrypt(
    params: &Params,
    secret: &SecretKey,
    message: &Plaintext,
    level: usize,
    masks: &mut Masks,
    rng: &mut impl CryptoRng,
) -> Result<Ciphertext> {
    check_secret(params, secret)?;
    params.check_level(level)?;
    params.check_message(message)?;
    let mut ct = secret.encrypt_zero(level, masks, rng);
    ct.components_mut()[0].add_assign(&Zeroizing::new(scaled(params, message, level, 1)));
    Ok(Ciphertext::new(ct, 1))
}

/// The ciphertext `(message, 0)`, which hides nothing. It serves as a constant among ciphertexts.
///
/// # Panics
/// If `level` is above the highest level, or if the message was made for another degree.
pub fn trivial(params: &Params, message: &Plaintext, level: usize) -> Ciphertext {
    let body = scaled(params, message, level, 1);
    let mask = Poly::zero(body.basis());
    Ciphertext::new(rlwe::Ciphertext::new(vec![body, mask]), 1)
}

/// Decrypts: `m = -r / (Q mu) mod t`, where `r` is the centred residual.
///
/// The result is right if `|r| < Q / 2`. [`measure`] computes the distance to this bound, which is
/// the noise budget.
///
/// # Errors
/// [`Error::NoiseBudget`] if less than [`LEAST_BUDGET`] is left, [`rlwe::Error::KeyMismatch`] if
/// the ciphertext belongs to another secret, and [`Error::OtherParameters`] if the key or the
/// ciphertext has other parameters.
pub fn decrypt(params: &Params, secret: &SecretKey, ct: &Ciphertext) -> Result<Plaintext> {
    let residual = residual(params, secret, ct)?;
    let (_, budget) = size_and_budget(params, &residual, ct.level());
    if budget < LEAST_BUDGET {
        let least = LEAST_BUDGET;
        return Err(Error::NoiseBudget { budget, least });
    }
    Ok(message_of(params, &residual, ct))
}

/// As [`decrypt`], without a look at the noise: if the budget is used up, the message is another
/// one.
///
/// # Errors
/// As [`decrypt`], except [`Error::NoiseBudget`].
pub fn decrypt_unchecked(
    params: &Params,
    secret: &SecretKey,
    ct: &Ciphertext,
) -> Result<Plaintext> {
    let residual = residual(params, secret, ct)?;
    Ok(message_of(params, &residual, ct))
}

/// The message of a ciphertext with a residual.
fn message_of(params: &Params, residual: &Poly<Coeff>, ct: &Ciphertext) -> Plaintext {
    let t = params.t();
    let unit = t.neg(t.mul(params.q_mod_t(ct.level()), ct.factor()));
    let inverse = t.inv(unit).expect("Q and the factor are units modulo t");
    let words = params.to_t(ct.level()).exact(residual);
    let coefficients = words.into_iter().map(|r| t.mul(r, inverse)).collect();
    params.encoder().from_residues(coefficients)
}

fn check_secret(params: &Params, secret: &SecretKey) -> Result<()> {
    if secret.params() == params.rlwe() {
        return Ok(());
    }
    Err(Error::other("secret key", secret.params(), params.rlwe()))
}

/// Residual `t phase mod Q`. It is as secret as the phase.
fn residual(
    params: &Params,
    secret: &SecretKey,
    ct: &Ciphertext,
) -> Result<Zeroizing<Poly<Coeff>>> {
    check_secret(params, secret)?;
    let basis = ct.rlwe().components()[0].basis();
    if !secret.is_over(basis) {
        let found = format!("{} limbs of N = {}", basis.len(), basis.n());
        return Err(Error::other("ciphertext", found, params.rlwe()));
    }
    secret.check_key(ct.rlwe())?;
    let mut phase = secret.phase(ct.rlwe());
    phase.scalar_mul_assign(|_| params.t().value());
    Ok(phase)
}

/// The centred coefficients of the residual `r`. They are as secret as the phase.
///
/// # Errors
/// As [`decrypt`].
pub fn residuals(
    params: &Params,
    secret: &SecretKey,
    ct: &Ciphertext,
) -> Result<Zeroizing<Vec<f64>>> {
    Ok(rlwe::noise::centred(&*residual(params, secret, ct)?))
}

/// Measured size of the residual `r`, and the noise budget in bits: `log2(Q / (2 max |r|))`.
/// Decryption fails when the budget is used up.
///
/// # Errors
/// As [`decrypt`].
pub fn measure(params: &Params, secret: &SecretKey, ct: &Ciphertext) -> Result<(Size, f64)> {
    let residual = residual(params, secret, ct)?;
    Ok(size_and_budget(params, &residual, ct.level()))
}

fn size_and_budget(params: &Params, residual: &Poly<Coeff>, level: usize) -> (Size, f64) {
    let size = Size::of(&rlwe::noise::centred(residual));
    let budget = params.rlwe().log_q(level) - 1.0 - size.log2_max;
    (size, budget)
}

/// The phase of a noiseless encryption: `t^{-1} [-Q mu m]_t`, centred, modulo `Q`.
pub(crate) fn scaled(
    params: &Params,
    message: &Plaintext,
    level: usize,
    factor: u64,
) -> Poly<Eval> {
    let t = params.t();
    let unit = t.neg(t.mul(params.q_mod_t(level), factor));
    let centred: Zeroizing<Vec<i64>> = message
        .coefficients()
        .iter()
        .map(|&m| t.center(t.mul(m, unit)))
        .collect::<Vec<_>>()
        .into();
    let mut poly = Poly::from_signed(params.rlwe().basis(level), &centred);
    poly.scalar_mul_assign(|i| params.t_inverse(i));
    poly.into_eval()
}
