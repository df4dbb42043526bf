//! Parameters of the three schemes, under one fingerprint.

use crate::error::{Error, Result};
use crate::scheme::Scheme;
use crate::secret::SecretKey;
use crate::sets;
use crate::spec::{PARAMETERS, Spec};
use rand::CryptoRng;
use rlwe::bytes::{BytesError, Fingerprint, Reader, fingerprint};
use rlwe::security::Security;
use std::fmt::{Debug, Display, Formatter};
use std::sync::Arc;

/// Checked parameters of a scheme. Cheap to clone. They have 128-bit security, unless made with a
/// function whose name says that they are insecure.
pub struct Params<S: Scheme>(Arc<Inner<S>>);

struct Inner<S: Scheme> {
    evaluator: S::Evaluator,
    spec: Spec,
    fingerprint: Fingerprint,
    bytes: Vec<u8>,
}

impl<S: Scheme> Params<S> {
    /// Builds the parameters. They may be below 128-bit security only if `insecure` says so. That
    /// is for the caller to say, never for bytes.
    pub(crate) fn of_spec(spec: Spec, insecure: bool) -> Result<Self> {
        let evaluator = S::build(&spec, insecure)?;
        let insecure = !S::rlwe(&evaluator).is_secure();
        // The fingerprint is that of the bytes with an empty fingerprint.
        let fingerprint = fingerprint(&spec.write(insecure).seal(&PARAMETERS, &[0; 32]));
        let bytes = spec.write(insecure).seal(&PARAMETERS, &fingerprint);
        Ok(Self(Arc::new(Inner {
            evaluator,
            spec,
            fingerprint,
            bytes,
        })))
    }

    /// Names of the sets that `named` knows, smallest first.
    pub fn names() -> Vec<String> {
        sets::names::<S>()
    }

    /// Generates a secret key.
    pub fn generate_secret(&self, rng: &mut impl CryptoRng) -> SecretKey<S> {
        SecretKey::generate(self, rng)
    }

    /// Ring degree `N`.
    pub fn n(&self) -> usize {
        self.0.spec.n
    }

    /// Number of values of a ciphertext: `N/2` in CKKS, `N` in BFV and BGV.
    pub fn slots(&self) -> usize {
        S::slots(self.n())
    }

    /// Number of slots of a row. Rotations are cyclic in each row: CKKS has one, BFV and BGV two.
    pub fn row(&self) -> usize {
        self.n() / 2
    }

    /// The highest level, which a fresh ciphertext has.
    pub fn max_level(&self) -> usize {
        self.0.spec.levels.len() - 1
    }

    /// The moduli of each level, level 0 first.
    pub fn moduli(&self) -> &[Vec<u64>] {
        &self.0.spec.levels
    }

    /// The special moduli of key switching.
    pub fn special(&self) -> &[u64] {
        &self.0.spec.special
    }

    /// log2 of the product of all moduli and special moduli, on which security depends.
    pub fn log_qp(&self) -> f64 {
        self.rlwe().log_qp()
    }

    /// Estimated security.
    pub fn security(&self) -> Security {
        self.rlwe().security()
    }

    /// The name of the parameters in messages about other parameters: the first bytes of their
    /// fingerprint.
    pub fn fingerprint(&self) -> String {
        let bytes = self.0.fingerprint.iter().take(6);
        bytes.map(|b| format!("{b:02x}")).collect()
    }

    /// The parameters as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.bytes.clone()
    }

    /// Reads parameters from the bytes of [`Params::to_bytes`].
    ///
    /// # Errors
    /// Of the kind [`Format`](crate::ErrorKind::Format) for damaged bytes,
    /// [`Security`](crate::ErrorKind::Security) for parameters below 128 bits, whatever the bytes
    /// say, and [`Error::OtherScheme`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(bytes, false)
    }

    /// As [`Params::from_bytes`], for parameters below 128-bit security too. For tests.
    ///
    /// # Errors
    /// As [`Params::from_bytes`], except for security.
    pub fn from_bytes_insecure(bytes: &[u8]) -> Result<Self> {
        Self::read(bytes, true)
    }

    fn read(bytes: &[u8], insecure: bool) -> Result<Self> {
        let (spec, found) = opened(bytes)?;
        if spec.scheme != S::NAME {
            return Err(Error::OtherScheme {
                found: spec.scheme.into(),
                expected: S::NAME,
            });
        }
        let params = Self::of_spec(spec, insecure)?;
        if found != *params.made_for() {
            let expected = params.made_for();
            return Err(BytesError::other_program(PARAMETERS.words, &found, expected).into());
        }
        Ok(params)
    }

    /// Checks that an object with the parameters `found` is for these parameters.
    ///
    /// # Errors
    /// [`Error::OtherParameters`].
    pub fn check(&self, what: &'static str, found: &Self) -> Result<()> {
        if self.0.fingerprint == found.0.fingerprint {
            return Ok(());
        }
        Err(Error::OtherParameters {
            what,
            found: found.to_string(),
            expected: self.to_string(),
        })
    }

    /// The level asked for, or the highest level if none is.
    pub(crate) fn level(&self, level: Option<usize>) -> Result<usize> {
        let highest = self.max_level();
        let level = level.unwrap_or(highest);
        if level > highest {
            return Err(Error::argument(
                "the level",
                level,
                format!("0 to {highest}"),
            ));
        }
        Ok(level)
    }

    /// The operations of the layer below.
    pub fn evaluator(&self) -> &S::Evaluator {
        &self.0.evaluator
    }

    /// Parameters of the ring, of the layer below.
    pub fn rlwe(&self) -> &rlwe::Params {
        S::rlwe(&self.0.evaluator)
    }

    /// Fingerprint in the bytes of everything that was made for these parameters.
    pub fn made_for(&self) -> &[u8; 32] {
        &self.0.fingerprint
    }

    /// The scale's logarithm as the bits of a double, or the plaintext modulus.
    pub(crate) fn number(&self) -> u64 {
        self.0.spec.number
    }
}

fn opened(bytes: &[u8]) -> Result<(Spec, Fingerprint)> {
    let (mut reader, found) = Reader::open_any(bytes, &PARAMETERS)?;
    let spec = Spec::read(&mut reader)?;
    reader.end()?;
    Ok((spec, found))
}

/// The name of the scheme of stored parameters: `ckks`, `bfv` or `bgv`.
///
/// # Errors
/// Of the kind [`Format`](crate::ErrorKind::Format) for other bytes.
pub fn scheme_of(bytes: &[u8]) -> Result<&'static str> {
    Ok(opened(bytes)?.0.scheme)
}

impl<S: Scheme> Clone for Params<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: Scheme> PartialEq for Params<S> {
    fn eq(&self, other: &Self) -> bool {
        self.0.fingerprint == other.0.fingerprint
    }
}

impl<S: Scheme> Eq for Params<S> {}

impl<S: Scheme> Display for Params<S> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let rlwe = self.rlwe();
        let (log_n, log_qp) = (rlwe.log_n(), rlwe.log_qp());
        write!(f, "{}, N = 2^{log_n}, ", S::NAME)?;
        write!(
            f,
            "{} levels, log2(QP) = {log_qp:.1}, ",
            self.0.spec.levels.len()
        )?;
        if S::NAME == "ckks" {
            write!(f, "scale 2^{}", f64::from_bits(self.number()))?;
        } else {
            write!(f, "t = {}", self.number())?;
        }
        write!(f, ", {} ({})", rlwe.security(), self.fingerprint())
    }
}

impl<S: Scheme> Debug for Params<S> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "Params({self})")
    }
}
