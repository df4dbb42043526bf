//! The trait [`Scheme`] for CKKS.

use super::{Complex64, Number, Options};
use crate::ciphertext::Packing;
use crate::error::{Error, Result};
use crate::operand::Plain;
use crate::scheme::{Ckks, Scheme};
use crate::spec::Spec;
use ::ckks::{Ciphertext, Evaluator, ParamsSpec, Plaintext};
use rand::CryptoRng;
use ring::sample::Masks;
use rlwe::bytes::BytesError;
use rlwe::{GaloisKeys, PublicKey, SecretKey, SwitchKey};
use std::borrow::Cow;

/// Integers up to this size are exact as doubles.
const EXACT: u64 = 1 << 53;

impl Scheme for Ckks {
    const NAME: &'static str = "ckks";
    const CONJUGATION: &'static str = "the conjugation";
    type Value = Complex64;
    type Number = Number;
    type Options = Options;
    type Evaluator = Evaluator;
    type Raw = Ciphertext;
    type Message = Plaintext;

    fn build(spec: &Spec, insecure: bool) -> Result<Evaluator> {
        let spec = ParamsSpec {
            n: spec.n,
            levels: spec.levels.clone(),
            special: spec.special.clone(),
            digit_limbs: spec.checked_digit_limbs()?,
            log_scale: f64::from_bits(spec.number),
        };
        let params = if insecure {
            ::ckks::Params::new_insecure(&spec)
        } else {
            ::ckks::Params::new(&spec)
        };
        Ok(Evaluator::new(&params?))
    }

    fn rlwe(e: &Evaluator) -> &rlwe::Params {
        e.params().rlwe()
    }

    fn slots(n: usize) -> usize {
        n / 2
    }

    fn inner(ct: &Ciphertext) -> &rlwe::Ciphertext {
        ct.rlwe()
    }

    fn with_inner(ct: &Ciphertext, inner: rlwe::Ciphertext) -> Ciphertext {
        Ciphertext::sized(inner, ct.scale(), ct.size())
    }

    fn number(ct: &Ciphertext) -> u64 {
        ct.scale().to_bits()
    }

    fn open(e: &Evaluator, inner: rlwe::Ciphertext, number: u64) -> Result<Ciphertext> {
        e.params().level_of(&inner)?;
        let scale = f64::from_bits(number);
        if scale.is_finite() && scale > 0.0 {
            return Ok(Ciphertext::new(inner, scale));
        }
        Err(BytesError::Value {
            what: "the scale of a ciphertext, as bits of a double,",
            found: number,
            expected: "a finite number above 0".into(),
        }
        .into())
    }

    fn level(e: &Evaluator, ct: &Ciphertext) -> Result<usize> {
        Ok(e.level(ct)?)
    }

    fn packing(_: &Options) -> Packing {
        Packing::Slots
    }

    fn level_of(options: &Options) -> Option<usize> {
        options.level
    }

    fn encode(
        e: &Evaluator,
        values: &[Complex64],
        level: usize,
        options: &Options,
    ) -> Result<Plaintext> {
        let scale = options.scale.unwrap_or_else(|| e.params().scale_at(level));
        encode(e, values, level, scale)
    }

    fn encrypt(
        _: &Evaluator,
        secret: &SecretKey,
        (message, _): (&Plaintext, usize),
        masks: &mut Masks,
        rng: &mut impl CryptoRng,
    ) -> Result<Ciphertext> {
        Ok(::ckks::encrypt(secret, message, masks, rng)?)
    }

    fn encrypt_public(
        e: &Evaluator,
        key: &PublicKey,
        (message, _): (&Plaintext, usize),
        rng: &mut impl CryptoRng,
    ) -> Result<Ciphertext> {
        Ok(::ckks::encrypt_public(e.params(), key, message, rng)?)
    }

    fn decrypt(
        e: &Evaluator,
        secret: &SecretKey,
        ct: &Ciphertext,
        _: Packing,
    ) -> Result<Vec<Complex64>> {
        let message = ::ckks::decrypt(secret, ct)?;
        Ok(message.decode(e.params(), e.params().slots())?)
    }

    fn add(e: &Evaluator, a: &Ciphertext, b: &Ciphertext, subtract: bool) -> Result<Ciphertext> {
        let same = e.level(a)? == e.level(b)? && ::ckks::check_scales(a.scale(), b.scale()).is_ok();
        if same {
            return Ok(if subtract { e.sub(a, b)? } else { e.add(a, b)? });
        }
        let [mut a, b] = e.align(a, b)?;
        if subtract {
            e.sub_assign(&mut a, &b)?;
        } else {
            e.add_assign(&mut a, &b)?;
        }
        Ok(a)
    }

    fn add_plain(
        e: &Evaluator,
        a: &Ciphertext,
        plain: Plain<'_, Self>,
        _: Packing,
        subtract: bool,
    ) -> Result<Ciphertext> {
        let mut sum = a.clone();
        let sign = if subtract { -1.0 } else { 1.0 };
        match plain {
            Plain::Number(number) => e.add_const_assign(&mut sum, complex(number) * sign)?,
            Plain::Values(values) => {
                let values: Vec<Complex64> = values.iter().map(|v| v * sign).collect();
                e.add_plain_assign(&mut sum, &like(e, a, &values)?)?;
            }
        }
        Ok(sum)
    }

    fn negate(e: &Evaluator, a: &Ciphertext) -> Result<Ciphertext> {
        let mut out = a.clone();
        e.neg_assign(&mut out);
        Ok(out)
    }

    fn mul(
        e: &Evaluator,
        [a, b]: [&Ciphertext; 2],
        same: bool,
        key: &SwitchKey,
    ) -> Result<Ciphertext> {
        let level = e.level(a)?.min(e.level(b)?);
        let a = at_level(e, a, level)?;
        if same {
            return Ok(e.mul_and_rescale(&a, &a, key)?);
        }
        let b = at_level(e, b, level)?;
        Ok(e.mul_and_rescale(&a, &b, key)?)
    }

    fn mul_plain(
        e: &Evaluator,
        a: &Ciphertext,
        plain: Plain<'_, Self>,
        _: Packing,
    ) -> Result<Ciphertext> {
        let mut product = a.clone();
        match plain {
            Plain::Number(Number::Integer(integer)) if integer.unsigned_abs() < EXACT => {
                e.mul_const_assign(&mut product, integer as f64, 1.0)?;
                return Ok(product);
            }
            Plain::Number(number) if complex(number).im == 0.0 => {
                e.mul_const_assign(&mut product, complex(number).re, a.scale())?;
            }
            Plain::Number(number) => {
                let values = vec![complex(number); e.params().slots()];
                e.mul_plain_assign(&mut product, &like(e, a, &values)?)?;
            }
            Plain::Values(values) => e.mul_plain_assign(&mut product, &like(e, a, values)?)?,
        }
        e.rescale(&mut product)?;
        Ok(product)
    }

    fn rotate(
        e: &Evaluator,
        a: &Ciphertext,
        steps: &[isize],
        keys: &GaloisKeys,
    ) -> Result<Vec<Ciphertext>> {
        Ok(e.rotate_hoisted(a, steps, keys)?)
    }

    fn conjugate(e: &Evaluator, a: &Ciphertext, keys: &GaloisKeys) -> Result<Ciphertext> {
        Ok(e.conjugate(a, keys)?)
    }

    fn lower(e: &Evaluator, a: &Ciphertext, level: usize) -> Result<Ciphertext> {
        let (need, have) = (level, e.level(a)?);
        if need > have {
            return Err(Error::Ckks(::ckks::Error::LevelExhausted { need, have }));
        }
        let mut out = a.clone();
        e.drop_to(&mut out, level)?;
        Ok(out)
    }
}

/// Values padded with zeros to all slots.
fn encode(e: &Evaluator, values: &[Complex64], level: usize, scale: f64) -> Result<Plaintext> {
    let slots = e.params().slots();
    let mut padded = Cow::Borrowed(values);
    if values.len() < slots {
        padded.to_mut().resize(slots, Complex64::ZERO);
    }
    Ok(Plaintext::encode(e.params(), &padded, level, scale)?)
}

/// Values encoded at the level and scale of a ciphertext.
fn like(e: &Evaluator, ct: &Ciphertext, values: &[Complex64]) -> Result<Plaintext> {
    encode(e, values, e.level(ct)?, ct.scale())
}

/// The ciphertext at a level. It is copied only if it is at another one.
fn at_level<'a>(e: &Evaluator, ct: &'a Ciphertext, level: usize) -> Result<Cow<'a, Ciphertext>> {
    let mut out = Cow::Borrowed(ct);
    if e.level(ct)? != level {
        e.drop_to(out.to_mut(), level)?;
    }
    Ok(out)
}

fn complex(number: Number) -> Complex64 {
    match number {
        Number::Integer(integer) => (integer as f64).into(),
        Number::Complex(number) => number,
    }
}
