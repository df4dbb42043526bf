//! The trait [`Scheme`] for BFV and BGV.

use super::{ExactOptions, residues};
use crate::ciphertext::Packing;
use crate::error::{Error, Result};
use crate::operand::Plain;
use crate::scheme::{Scheme, Sealed};
use crate::spec::Spec;
use ::exact::noise::Model;
use ::exact::{Ciphertext, Evaluator, Params, Plaintext};
use rand::CryptoRng;
use ring::sample::Masks;
use rlwe::bytes::BytesError;
use rlwe::{GaloisKeys, ParamsSpec, PublicKey, SecretKey, SwitchKey};
use std::borrow::Cow;

/// A scheme of exact arithmetic: [`Bfv`](crate::Bfv) or [`Bgv`](crate::Bgv). The two schemes differ
/// in encryption and products.
pub trait Exact: Sealed + Sized + Send + Sync + 'static {
    #[doc(hidden)]
    const SCHEME: &'static str;
    #[doc(hidden)]
    type Operations: Send + Sync;

    #[doc(hidden)]
    fn operations(params: &Params) -> Self::Operations;
    #[doc(hidden)]
    fn exact(e: &Self::Operations) -> &Evaluator;
    #[doc(hidden)]
    fn encrypt_exact(
        e: &Self::Operations,
        secret: &SecretKey,
        at: (&Plaintext, usize),
        masks: &mut Masks,
        rng: &mut impl CryptoRng,
    ) -> Result<Ciphertext>;
    #[doc(hidden)]
    fn encrypt_public_exact(
        e: &Self::Operations,
        key: &PublicKey,
        at: (&Plaintext, usize),
        rng: &mut impl CryptoRng,
    ) -> Result<Ciphertext>;
    /// Bits of moduli for `depth` products in a row, level 0 first. More than `limit` bits in all
    /// are not secure.
    #[doc(hidden)]
    fn chain(model: &Model, depth: usize, limit: f64) -> Result<Vec<u32>>;
    /// The product of two ciphertexts of one level.
    #[doc(hidden)]
    fn mul_exact(
        e: &Self::Operations,
        a: &Ciphertext,
        b: &Ciphertext,
        key: &SwitchKey,
    ) -> Result<Ciphertext>;
}

impl<S: Exact> Scheme for S {
    const NAME: &'static str = S::SCHEME;
    const CONJUGATION: &'static str = "the swap of rows";
    type Value = i64;
    type Number = i64;
    type Options = ExactOptions;
    type Evaluator = S::Operations;
    type Raw = Ciphertext;
    type Message = Plaintext;

    fn build(spec: &Spec, insecure: bool) -> Result<S::Operations> {
        let ring = ParamsSpec {
            n: spec.n,
            q: spec.levels.concat(),
            p: spec.special.clone(),
            digit_limbs: spec.checked_digit_limbs()?,
        };
        let params = if insecure {
            Params::new_insecure(&ring, spec.number)
        } else {
            Params::new(&ring, spec.number)
        };
        Ok(S::operations(&params?))
    }

    fn rlwe(e: &S::Operations) -> &rlwe::Params {
        S::exact(e).params().rlwe()
    }

    fn slots(n: usize) -> usize {
        n
    }

    fn inner(ct: &Ciphertext) -> &rlwe::Ciphertext {
        ct.rlwe()
    }

    fn with_inner(ct: &Ciphertext, inner: rlwe::Ciphertext) -> Ciphertext {
        Ciphertext::new(inner, ct.factor())
    }

    fn number(ct: &Ciphertext) -> u64 {
        ct.factor()
    }

    fn open(e: &S::Operations, inner: rlwe::Ciphertext, number: u64) -> Result<Ciphertext> {
        let t = S::exact(e).params().t().value();
        if (1..t).contains(&number) {
            return Ok(Ciphertext::new(inner, number));
        }
        Err(BytesError::Value {
            what: "the factor of a ciphertext",
            found: number,
            expected: format!("1 to {}", t - 1),
        }
        .into())
    }

    fn level(e: &S::Operations, ct: &Ciphertext) -> Result<usize> {
        S::exact(e).params().check_ciphertexts(&[ct])?;
        Ok(ct.level())
    }

    fn packing(options: &ExactOptions) -> Packing {
        options.packing
    }

    fn level_of(options: &ExactOptions) -> Option<usize> {
        options.level
    }

    fn encode(
        e: &S::Operations,
        values: &[i64],
        _: usize,
        options: &ExactOptions,
    ) -> Result<Plaintext> {
        encode(S::exact(e).params(), values, options.packing)
    }

    fn encrypt(
        e: &S::Operations,
        secret: &SecretKey,
        at: (&Plaintext, usize),
        masks: &mut Masks,
        rng: &mut impl CryptoRng,
    ) -> Result<Ciphertext> {
        S::encrypt_exact(e, secret, at, masks, rng)
    }

    fn encrypt_public(
        e: &S::Operations,
        key: &PublicKey,
        at: (&Plaintext, usize),
        rng: &mut impl CryptoRng,
    ) -> Result<Ciphertext> {
        S::encrypt_public_exact(e, key, at, rng)
    }

    fn decrypt(
        e: &S::Operations,
        secret: &SecretKey,
        ct: &Ciphertext,
        packing: Packing,
    ) -> Result<Vec<i64>> {
        let params = S::exact(e).params();
        let message = ::exact::decrypt(params, secret, ct)?;
        let residues = match packing {
            Packing::Slots => params.encoder().slots_of(&message),
            Packing::Coefficients => message.coefficients().to_vec(),
        };
        Ok(residues.into_iter().map(|v| v as i64).collect())
    }

    fn add(
        e: &S::Operations,
        a: &Ciphertext,
        b: &Ciphertext,
        subtract: bool,
    ) -> Result<Ciphertext> {
        let e = S::exact(e);
        if a.level() == b.level() && a.factor() == b.factor() {
            return Ok(if subtract { e.sub(a, b)? } else { e.add(a, b)? });
        }
        let (mut a, mut b) = (a.clone(), b.clone());
        let level = a.level().min(b.level());
        e.switch_to(&mut a, level)?;
        e.switch_to(&mut b, level)?;
        e.match_factors(&mut a, &mut b)?;
        if subtract {
            e.sub_assign(&mut a, &b)?;
        } else {
            e.add_assign(&mut a, &b)?;
        }
        Ok(a)
    }

    fn add_plain(
        e: &S::Operations,
        a: &Ciphertext,
        plain: Plain<'_, Self>,
        packing: Packing,
        subtract: bool,
    ) -> Result<Ciphertext> {
        let e = S::exact(e);
        let mut message = encode_plain(e.params(), plain, packing)?;
        if subtract {
            let t = e.params().t();
            let negative = message.coefficients().iter().map(|&c| t.neg(c));
            message = e.params().encoder().from_residues(negative.collect());
        }
        let mut sum = a.clone();
        e.add_plain_assign(&mut sum, &message)?;
        Ok(sum)
    }

    fn negate(e: &S::Operations, a: &Ciphertext) -> Result<Ciphertext> {
        mul_number(S::exact(e), a, -1)
    }

    fn mul(
        e: &S::Operations,
        [a, b]: [&Ciphertext; 2],
        _: bool,
        key: &SwitchKey,
    ) -> Result<Ciphertext> {
        let level = a.level().min(b.level());
        let (a, b) = (
            at_level(S::exact(e), a, level)?,
            at_level(S::exact(e), b, level)?,
        );
        S::mul_exact(e, &a, &b, key)
    }

    fn mul_plain(
        e: &S::Operations,
        a: &Ciphertext,
        plain: Plain<'_, Self>,
        packing: Packing,
    ) -> Result<Ciphertext> {
        let e = S::exact(e);
        let message = match plain {
            Plain::Number(number) => return mul_number(e, a, number),
            Plain::Values(values) => encode(e.params(), values, packing)?,
        };
        let mut product = a.clone();
        e.mul_plain_assign(&mut product, &e.lift(&message, a.level())?)?;
        Ok(product)
    }

    fn rotate(
        e: &S::Operations,
        a: &Ciphertext,
        steps: &[isize],
        keys: &GaloisKeys,
    ) -> Result<Vec<Ciphertext>> {
        let e = S::exact(e);
        let element = |k: isize| e.params().encoder().rotation_element(k);
        if let &[k] = steps {
            return Ok(vec![e.automorphism(a, element(k), keys)?]);
        }
        let shared = e.decompose(a)?;
        let rotated = steps.iter();
        let rotated = rotated.map(|&k| Ok(e.automorphism_hoisted(a, &shared, element(k), keys)?));
        rotated.collect()
    }

    fn conjugate(e: &S::Operations, a: &Ciphertext, keys: &GaloisKeys) -> Result<Ciphertext> {
        let e = S::exact(e);
        Ok(e.automorphism(a, e.params().encoder().swap_element(), keys)?)
    }

    fn lower(e: &S::Operations, a: &Ciphertext, level: usize) -> Result<Ciphertext> {
        let (need, have) = (level, a.level());
        if need > have {
            return Err(Error::Level { need, have });
        }
        let mut out = a.clone();
        S::exact(e).switch_to(&mut out, level)?;
        Ok(out)
    }
}

fn encode(params: &Params, values: &[i64], packing: Packing) -> Result<Plaintext> {
    let encoder = params.encoder();
    let mut residues = residues(encoder.modulus().value(), values)?;
    encoder.check(&residues)?;
    if packing == Packing::Coefficients {
        residues.resize(params.n(), 0);
        return Ok(encoder.from_residues(residues));
    }
    Ok(encoder.encode_slots(&residues)?)
}

/// A plain operand of a sum. A number is put into every slot, or into the constant coefficient:
/// both are one polynomial.
fn encode_plain<S: Exact>(
    params: &Params,
    plain: Plain<'_, S>,
    packing: Packing,
) -> Result<Plaintext> {
    match plain {
        Plain::Number(number) => encode(params, &[number], Packing::Coefficients),
        Plain::Values(values) => encode(params, values, packing),
    }
}

/// The product with an integer modulo `t`, which is centred first.
fn mul_number(e: &Evaluator, a: &Ciphertext, number: i64) -> Result<Ciphertext> {
    let mut out = a.clone();
    e.mul_scalar_assign(&mut out, e.params().t().from_i64(number))?;
    Ok(out)
}

/// The ciphertext at a level. It is copied only if it is at another one.
fn at_level<'a>(e: &Evaluator, ct: &'a Ciphertext, level: usize) -> Result<Cow<'a, Ciphertext>> {
    let mut out = Cow::Borrowed(ct);
    if ct.level() != level {
        e.switch_to(out.to_mut(), level)?;
    }
    Ok(out)
}
