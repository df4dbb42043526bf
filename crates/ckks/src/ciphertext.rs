//! Plaintexts and ciphertexts, encryption and decryption.

use crate::decrypt::Doubt;
use crate::error::{Error, Result};
use crate::params::Params;
use crate::size::Size;
use num_complex::Complex64;
use rand::CryptoRng;
use ring::sample::Masks;
use ring::{Basis, Coeff, Eval, Modulus, Poly};
use rlwe::{PublicKey, SecretKey};
use zeroize::{Zeroize, Zeroizing};

/// An encoded message: a polynomial over the moduli of a level, a scale, and the [size](Size) of
/// the message. Two plaintexts are equal if polynomial and scale are.
#[derive(Clone, Debug)]
pub struct Plaintext {
    poly: Poly<Eval>,
    scale: f64,
    size: Size,
    pub(crate) doubt: Option<Doubt>,
}

impl PartialEq for Plaintext {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            poly,
            scale,
            size: _,
            doubt: _,
        } = self;
        (poly, scale) == (&other.poly, &other.scale)
    }
}

impl Plaintext {
    /// A polynomial whose message has the given scale, and an unknown size.
    pub fn new(poly: Poly<Eval>, scale: f64) -> Self {
        Self {
            poly,
            scale,
            size: Size::UNKNOWN,
            doubt: None,
        }
    }

    /// Encodes complex slots at a level and scale. Fewer than `N/2` values are filled up with zeros
    /// to a power of two, and repeat.
    ///
    /// # Errors
    /// [`Error::TooManyValues`], [`Error::NotFinite`], [`Error::Overflow`], [`Error::Scale`], and
    /// [`Error::LevelExhausted`] if `level` is above the highest level.
    pub fn encode(params: &Params, values: &[Complex64], level: usize, scale: f64) -> Result<Self> {
        let coefficients = Zeroizing::new(params.encoder().embed(values)?);
        let mut message = Self::encode_coefficients(params, &coefficients, level, scale)?;
        message.size = Size::of_slots(values).with_coefficients(&coefficients);
        Ok(message)
    }

    /// As [`Plaintext::encode`], for real slots.
    ///
    /// # Errors
    /// As [`Plaintext::encode`].
    pub fn encode_real(params: &Params, values: &[f64], level: usize, scale: f64) -> Result<Self> {
        let values: Vec<Complex64> = values.iter().map(|&v| v.into()).collect();
        Self::encode(params, &values, level, scale)
    }

    /// Encodes at most `N` real coefficients. Missing ones are zero.
    ///
    /// # Errors
    /// As [`Plaintext::encode`].
    pub fn encode_coefficients(
        params: &Params,
        values: &[f64],
        level: usize,
        scale: f64,
    ) -> Result<Self> {
        if !(scale.is_finite() && scale > 0.0) {
            return Err(Error::Scale { found: scale });
        }
        let have = params.max_level();
        if level > have {
            return Err(Error::LevelExhausted { need: level, have });
        }
        let (found, limit) = (values.len(), params.n());
        if found > limit {
            return Err(Error::TooManyValues { found, limit });
        }
        if let Some(index) = values.iter().position(|v| !v.is_finite()) {
            let found = values[index].to_string();
            return Err(Error::NotFinite { index, found });
        }
        let largest = values.iter().fold(0.0f64, |max, v| max.max(v.abs())) * scale;
        let ring_level = params.ring_level(level);
        let limit = params.rlwe().log_q(ring_level);
        if largest >= (limit - 1.0).exp2() {
            let found = largest.log2() + 1.0;
            return Err(Error::Overflow {
                found,
                limit,
                level,
            });
        }
        let mut scaled = Zeroizing::new(
            values
                .iter()
                .map(|v| (v * scale).round())
                .collect::<Vec<_>>(),
        );
        scaled.resize(params.n(), 0.0);
        let basis = params.rlwe().basis(ring_level);
        let poly = if largest < i64::MAX as f64 {
            let integers = Zeroizing::new(scaled.iter().map(|&v| v as i64).collect::<Vec<_>>());
            Poly::from_signed(basis, &integers)
        } else {
            let mut poly: Poly<Coeff> = Poly::zero(basis);
            poly.for_each_limb(|i, limb| {
                let q = basis.modulus(i);
                limb.iter_mut()
                    .zip(scaled.iter())
                    .for_each(|(x, &v)| *x = residue(q, v));
            });
            poly
        };
        Ok(Self {
            poly: poly.into_eval(),
            scale,
            size: Size::of_coefficients(values),
            doubt: None,
        })
    }

    /// The polynomial.
    pub fn poly(&self) -> &Poly<Eval> {
        &self.poly
    }

    /// The scale.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// A doubt about a decrypted message, which may be another one.
    pub fn doubt(&self) -> Option<Doubt> {
        self.doubt
    }

    /// The known bounds on the message's size.
    pub fn size(&self) -> Size {
        self.size
    }

    /// The coefficients divided by the scale.
    pub fn coefficients(&self) -> Vec<f64> {
        let mut values = centred(&self.poly, self.scale);
        values.iter_mut().for_each(|v| *v /= self.scale);
        values
    }

    /// The first `slots` slots of a plaintext whose slots repeat with that period.
    ///
    /// # Errors
    /// [`Error::Slots`] for a number that is no power of two up to `N/2`.
    pub fn decode(&self, params: &Params, slots: usize) -> Result<Vec<Complex64>> {
        let coefficients = Zeroizing::new(self.coefficients());
        params.encoder().slots_of(&coefficients, slots)
    }
}

impl Zeroize for Plaintext {
    fn zeroize(&mut self) {
        self.poly.zeroize();
    }
}

/// An integer, given as a double of any size, modulo `q`.
pub(crate) fn residue(q: &Modulus, v: f64) -> u64 {
    const MANTISSA: i32 = 53;
    let exponent = (v.abs().max(1.0).log2() as i32 + 1 - MANTISSA).max(0);
    let mantissa = (v / f64::from(exponent).exp2()) as i64;
    q.mul(q.from_i64(mantissa), q.pow(2, exponent as u64))
}

/// The centred coefficients as doubles, for a message of the given scale.
///
/// The function first reads only the moduli needed for the scale and messages of usual size. One
/// more modulus shows whether these moduli were enough.
fn centred(poly: &Poly<Eval>, scale: f64) -> Vec<f64> {
    const MESSAGE_BITS: f64 = 32.0;
    let basis = poly.basis();
    let mut bits = 0.0;
    let mut limbs = 0;
    for q in basis.moduli() {
        let more = bits + (q.value() as f64).log2();
        if more > 126.0 || bits > scale.log2() + MESSAGE_BITS {
            break;
        }
        (bits, limbs) = (more, limbs + 1);
    }
    let checked = (limbs + 1).min(basis.len());
    let coeff = Zeroizing::new(poly.prefix(checked).into_coeff());
    let garner = Garner::new(&coeff, limbs);
    let values: Option<Vec<f64>> = (0..poly.n()).map(|k| garner.centred(&coeff, k)).collect();
    values.unwrap_or_else(|| {
        let whole = Zeroizing::new(poly.to_coeff());
        std::mem::take(&mut *rlwe::noise::centred(&whole))
    })
}

/// Mixed-radix digits of integers below 2^126.
struct Garner {
    /// `(q_0 .. q_(i-1))^{-1} mod q_i`.
    inverses: Vec<u64>,
    /// `q_0 .. q_(i-1)`.
    products: Vec<i128>,
    whole: i128,
}

impl Garner {
    fn new(poly: &Poly<Coeff>, limbs: usize) -> Self {
        let basis = poly.basis().prefix(limbs);
        let (mut inverses, mut products, mut whole) = (Vec::new(), Vec::new(), 1i128);
        for q in basis.moduli() {
            let product = q.reduce((whole % i128::from(q.value())) as u64);
            inverses.push(q.inv(product).expect("moduli are pairwise coprime"));
            products.push(whole);
            whole *= i128::from(q.value());
        }
        Self {
            inverses,
            products,
            whole,
        }
    }

    /// Coefficient `k`, or `None` if the limb after those of the product does not match it.
    fn centred(&self, poly: &Poly<Coeff>, k: usize) -> Option<f64> {
        let basis = poly.basis();
        let mut value = 0i128;
        for (i, (&inverse, &product)) in self.inverses.iter().zip(&self.products).enumerate() {
            let q = basis.modulus(i);
            let known = (value % i128::from(q.value())) as u64;
            let digit = q.mul(q.sub(poly.limb(i)[k], known), inverse);
            value += product * i128::from(digit);
        }
        if value > self.whole / 2 {
            value -= self.whole;
        }
        if poly.limbs() > self.inverses.len() {
            let last = basis.modulus(self.inverses.len());
            let expected = value.rem_euclid(i128::from(last.value())) as u64;
            if expected != poly.limb(self.inverses.len())[k] {
                return None;
            }
        }
        Some(value as f64)
    }
}

/// A CKKS ciphertext: its components, the scale of its message, and the known bounds on the
/// message's [size](Size). Two ciphertexts are equal if components and scale are.
#[derive(Clone, Debug)]
pub struct Ciphertext {
    inner: rlwe::Ciphertext,
    scale: f64,
    size: Size,
}

impl PartialEq for Ciphertext {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            inner,
            scale,
            size: _,
        } = self;
        (inner, scale) == (&other.inner, &other.scale)
    }
}

impl Ciphertext {
    /// A ciphertext from its components and the scale of its message, whose size is unknown.
    pub fn new(inner: rlwe::Ciphertext, scale: f64) -> Self {
        Self::sized(inner, scale, Size::UNKNOWN)
    }

    /// As [`Ciphertext::new`], with bounds on the message's size.
    pub fn sized(inner: rlwe::Ciphertext, scale: f64, size: Size) -> Self {
        Self { inner, scale, size }
    }

    /// The same ciphertext, whose slots are said to be at most `bound` in absolute value. This is
    /// for ciphertexts from outside, and for messages that are smaller than their operations tell.
    ///
    /// # Errors
    /// [`Error::Bound`] for a bound that is no number from 0 on, or that does not fit the modulus.
    pub fn bounded(mut self, bound: f64) -> Result<Self> {
        let room = self.room();
        if !(0.0..room).contains(&bound) {
            return Err(Error::Bound { found: bound, room });
        }
        self.set_size(Size::at_most(bound));
        Ok(self)
    }

    /// The known bounds on the message's size.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Sets the known bounds on the message's size.
    pub fn set_size(&mut self, size: Size) {
        self.size = size;
    }

    /// The first coefficient that does not fit, in units of the message: half of the modulus at the
    /// scale.
    pub fn room(&self) -> f64 {
        let log_q = self.inner.components()[0].basis().log2();
        (log_q - 1.0 - self.scale.log2()).exp2()
    }

    /// The components.
    pub fn rlwe(&self) -> &rlwe::Ciphertext {
        &self.inner
    }

    /// The components, mutable.
    pub fn rlwe_mut(&mut self) -> &mut rlwe::Ciphertext {
        &mut self.inner
    }

    /// The scale of the message.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Sets the scale without changing the components. This multiplies the message by the old scale
    /// divided by the new one, at no cost.
    pub fn set_scale(&mut self, scale: f64) {
        self.size = self.size.scaled(self.scale / scale);
        self.scale = scale;
    }

    /// Sets scale and size after an operation that changed the components.
    pub(crate) fn restate(&mut self, scale: f64, size: Size) {
        self.scale = scale;
        self.size = size;
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

/// Encrypts under the secret key, with the next mask.
///
/// # Errors
/// [`Error::OtherKey`] if the message is not over moduli of the key.
pub fn encrypt(
    secret: &SecretKey,
    message: &Plaintext,
    masks: &mut Masks,
    rng: &mut impl CryptoRng,
) -> Result<Ciphertext> {
    check_secret(secret, message.poly.basis())?;
    let level = message.poly.limbs() - 1;
    let mut ct = secret.encrypt_zero(level, masks, rng);
    ct.components_mut()[0].add_assign(&message.poly);
    Ok(Ciphertext::sized(ct, message.scale, message.size))
}

/// Encrypts under a public key.
///
/// # Errors
/// [`Error::OtherKey`] if the message is not over moduli of the key.
pub fn encrypt_public(
    params: &Params,
    key: &PublicKey,
    message: &Plaintext,
    rng: &mut impl CryptoRng,
) -> Result<Ciphertext> {
    let level = message.poly.limbs() - 1;
    let (found, expected) = (key.basis(), params.rlwe().basis(params.rlwe().max_level()));
    if found != expected {
        return Err(Error::OtherKey {
            what: "public key",
            found: format!("{} limbs of N = {}", found.len(), found.n()),
            expected: format!("{:?}", params.rlwe()),
        });
    }
    if level > params.rlwe().max_level() || message.poly.basis() != params.rlwe().basis(level) {
        return Err(params.other(message.poly.limbs(), message.poly.n()));
    }
    let mut ct = key.encrypt_zero(params.rlwe(), level, rng)?;
    ct.components_mut()[0].add_assign(&message.poly);
    Ok(Ciphertext::sized(ct, message.scale, message.size))
}

pub(crate) fn check_secret(secret: &SecretKey, basis: &Basis) -> Result<()> {
    if secret.is_over(basis) {
        return Ok(());
    }
    Err(Error::OtherKey {
        what: "secret key",
        found: format!("{:?}", secret.params()),
        expected: format!("{} limbs of N = {}", basis.len(), basis.n()),
    })
}
