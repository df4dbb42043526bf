//! The byte form of parameters, keys and ciphertexts: the container of [`rlwe::bytes`], with words
//! in little endian.
//!
//! Masks of keys and of fresh ciphertexts are stored as their seeds. All objects except parameters
//! are sealed with the fingerprint of their parameters, and the reader passes the parameters it
//! expects. Every count follows from these and is checked before memory is allocated.

use crate::client::{ClientKey, Compressed};
use crate::error::Result;
use crate::evaluation::{EvaluationKeys, bootstrap_rows};
use crate::gates::Bit;
use crate::glwe::GlweList;
use crate::integer::Integer;
use crate::lwe::{Lwe, LweList};
use crate::params::{KeySwitch, Params, ParamsSpec, from_numbers, numbers};
use crate::secret::{GlweSecret, LweSecret};
use crate::switch::SwitchKey;
use ring::sample::Seed;
use ring::torus::Torus;
use rlwe::KeyId;
use rlwe::bytes::{BytesError, Kind, Reader, Writer};
use zeroize::Zeroizing;

const fn kind(tag: &[u8; 4], words: &'static str, version: u32) -> Kind {
    Kind {
        tag: *tag,
        words,
        version,
    }
}

/// The last version without identities of keys. Files of this version are read as belonging to any
/// secret.
const BARE: u32 = 1;

/// Reads the identity of a secret, where the version has one.
fn read_id(r: &mut Reader<'_>, kind: &Kind) -> Result<KeyId> {
    if kind.version == BARE {
        return Ok(KeyId::ANY);
    }
    Ok(r.key_id()?)
}

const PARAMS: Kind = kind(b"TPAR", "parameters of TFHE", 1);
const SECRET: Kind = kind(b"TSEC", "a secret key of TFHE", 2);
const EVALUATION: Kind = kind(b"TEVA", "evaluation keys of TFHE", 2);
const COMPRESSED: Kind = kind(b"TCOM", "fresh ciphertexts of TFHE", 2);
const INTEGERS: Kind = kind(b"TINT", "integers of TFHE", 2);
const BITS: Kind = kind(b"TBIT", "bits of TFHE", 2);

fn write_words<T: Torus>(w: &mut Writer, words: &[T]) {
    let size = T::BITS as usize / 8;
    let mut bytes = Vec::with_capacity(words.len() * size);
    for word in words {
        bytes.extend_from_slice(&word.to_u64().to_le_bytes()[..size]);
    }
    w.block(&bytes);
}

/// Reads `count` words, or any number of words if it is `None`.
fn read_words<T: Torus>(
    r: &mut Reader<'_>,
    what: &'static str,
    count: Option<usize>,
) -> Result<Vec<T>> {
    let size = T::BITS as usize / 8;
    let bytes = r.block(what)?;
    let fits = match count {
        Some(count) => count.checked_mul(size) == Some(bytes.len()),
        None => bytes.len().is_multiple_of(size),
    };
    if !fits {
        let expected = match count {
            Some(count) => format!("{count} words of {size} bytes"),
            None => format!("words of {size} bytes"),
        };
        return Err(BytesError::Value {
            what,
            found: bytes.len() as u64,
            expected,
        }
        .into());
    }
    let word = |b: &[u8]| T::from_low_bits(b.iter().rev().fold(0, |x, &b| (x << 8) | u64::from(b)));
    Ok(bytes.chunks_exact(size).map(word).collect())
}

fn write_list<T: Torus>(w: &mut Writer, (seed, bodies): (&Seed, &[T])) {
    w.seed(seed);
    write_words(w, bodies);
}

fn read_list<T: Torus>(
    r: &mut Reader<'_>,
    what: &'static str,
    count: Option<usize>,
) -> Result<(Seed, Vec<T>)> {
    Ok((r.seed()?, read_words(r, what, count)?))
}

/// Reads `count` bits of a secret, packed into bytes by [`write_bits`].
fn read_bits(r: &mut Reader<'_>, count: usize) -> Result<Zeroizing<Vec<i32>>> {
    let bits = r.small("a bit of a secret", count, 1)?;
    if bits.iter().any(|&b| b < 0) {
        let expected = "0 or 1".into();
        return Err(BytesError::Value {
            what: "a bit of a secret",
            found: 255,
            expected,
        }
        .into());
    }
    Ok(Zeroizing::new(bits.iter().map(|&b| b as i32).collect()))
}

fn write_bits(w: &mut Writer, bits: &[i32]) {
    let wide: Zeroizing<Vec<i64>> = Zeroizing::new(bits.iter().map(|&b| b.into()).collect());
    w.small(&wide);
}

impl Params {
    /// Every field in bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::new();
        numbers(self.spec())
            .into_iter()
            .for_each(|number| w.u64(number));
        w.seal(&PARAMS, self.fingerprint())
    }

    /// Reads parameters, and checks them as [`Params::new`] does.
    ///
    /// # Errors
    /// [`Error::Bytes`](crate::Error::Bytes), and those of [`Params::new`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(bytes, Self::new)
    }

    /// As [`Params::from_bytes`], without the security check. For the sets of papers.
    ///
    /// # Errors
    /// [`Error::Bytes`](crate::Error::Bytes), and those of [`Params::new_insecure`].
    pub fn from_bytes_insecure(bytes: &[u8]) -> Result<Self> {
        Self::read(bytes, Self::new_insecure)
    }

    fn read(bytes: &[u8], check: impl Fn(&ParamsSpec) -> Result<Self>) -> Result<Self> {
        let (mut r, found) = Reader::open_any(bytes, &PARAMS)?;
        let mut all = [0; 13];
        for number in &mut all {
            *number = r.u64("a parameter")?;
        }
        r.end()?;
        let params = check(&from_numbers(all)?)?;
        crate::error::same("parameters", &found, params.fingerprint())?;
        Ok(params)
    }
}

impl<T: Torus> ClientKey<T> {
    /// The secrets in bytes, which are overwritten when dropped.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let (big, small) = (self.big_secret().bits(), self.small_secret().bits());
        let mut w = Writer::with_room(big.len() + small.len() + KeyId::LEN);
        write_bits(&mut w, big);
        write_bits(&mut w, small);
        w.key_id(self.id());
        w.seal(&SECRET, self.params().fingerprint()).into()
    }

    /// Reads secrets made for these parameters.
    ///
    /// # Errors
    /// [`Error::Bytes`](crate::Error::Bytes), [`Error::Word`](crate::Error::Word).
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Self> {
        params.check_word::<T>()?;
        let kind = SECRET.since(BARE, bytes);
        let mut r = Reader::open(bytes, &kind, params.fingerprint())?;
        let big = GlweSecret::from_bits(params.n(), read_bits(&mut r, params.big_dimension())?);
        let small = LweSecret::from_bits(read_bits(&mut r, params.lwe_dimension())?);
        let id = read_id(&mut r, &kind)?;
        r.end()?;
        Ok(Self::from_secrets(params, (big, small), id))
    }
}

impl<T: Torus> EvaluationKeys<T> {
    /// The seeds and bodies in bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::new();
        write_list(&mut w, self.bootstrap().parts());
        match self.switch() {
            SwitchKey::Lwe(list) => write_list(&mut w, list.parts()),
            SwitchKey::Ring(list) => write_list(&mut w, list.parts()),
        }
        w.key_id(self.key());
        w.seal(&EVALUATION, self.params().fingerprint())
    }

    /// Reads keys made for these parameters.
    ///
    /// # Errors
    /// [`Error::Bytes`](crate::Error::Bytes), [`Error::Word`](crate::Error::Word).
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Self> {
        params.check_word::<T>()?;
        let kind = EVALUATION.since(BARE, bytes);
        let mut r = Reader::open(bytes, &kind, params.fingerprint())?;
        let (n, rank) = (params.n(), params.rank());
        let (seed, bodies) = read_list(
            &mut r,
            "a bootstrapping key",
            Some(bootstrap_rows(params) * n),
        )?;
        let bootstrap = GlweList::from_parts(n, rank, seed, bodies);
        let what = "a key switching key";
        let levels = params.spec().key_switch.decomposition().levels() as usize;
        // For either kind of key, one word for each bit of the big secret and each level.
        let (seed, bodies) = read_list(&mut r, what, Some(rank * n * levels))?;
        let switch = match params.spec().key_switch {
            KeySwitch::Lwe(_) => {
                SwitchKey::Lwe(LweList::from_parts(params.lwe_dimension(), seed, bodies))
            }
            KeySwitch::Ring(_) => {
                SwitchKey::Ring(GlweList::from_parts(n, params.partial_rank(), seed, bodies))
            }
        };
        let key = read_id(&mut r, &kind)?;
        r.end()?;
        Ok(Self::from_parts(params, bootstrap, switch).of_key(key))
    }
}

impl<T: Torus> Compressed<T> {
    /// The seed and bodies in bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::new();
        write_list(&mut w, self.list().parts());
        w.key_id(self.key());
        w.seal(&COMPRESSED, self.made_for())
    }

    /// Reads ciphertexts made for these parameters.
    ///
    /// # Errors
    /// [`Error::Bytes`](crate::Error::Bytes), [`Error::Word`](crate::Error::Word).
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Self> {
        params.check_word::<T>()?;
        let kind = COMPRESSED.since(BARE, bytes);
        let mut r = Reader::open(bytes, &kind, params.fingerprint())?;
        let (seed, bodies) = read_list(&mut r, "fresh ciphertexts", None)?;
        let key = read_id(&mut r, &kind)?;
        r.end()?;
        let list = LweList::from_parts(params.big_dimension(), seed, bodies);
        Ok(Self::from_parts(params, list, key))
    }
}

/// The number of objects of at least `size` bytes that are left.
fn read_count(r: &mut Reader<'_>, size: usize) -> Result<usize> {
    let most = r.left() / size;
    Ok(r.bounded("a number of ciphertexts", 0..=most)?)
}

impl<T: Torus> Integer<T> {
    /// Integers of one set of parameters, in bytes.
    ///
    /// # Errors
    /// [`Error::Fingerprint`](crate::Error::Fingerprint) for an integer of other parameters.
    pub fn to_bytes(params: &Params, integers: &[Self]) -> Result<Vec<u8>> {
        let mut w = Writer::new();
        w.u64(integers.len() as u64);
        for x in integers {
            crate::error::same("an integer", x.made_for(), params.fingerprint())?;
            w.u64(x.max());
            w.u64(x.noise());
            write_words(&mut w, x.lwe().words());
            w.key_id(x.lwe().key());
        }
        Ok(w.seal(&INTEGERS, params.fingerprint()))
    }

    /// Reads integers made for these parameters.
    ///
    /// # Errors
    /// [`Error::Bytes`](crate::Error::Bytes), [`Error::Word`](crate::Error::Word),
    /// [`Error::Encoding`](crate::Error::Encoding).
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Vec<Self>> {
        params.check_word::<T>()?;
        params.check_integers()?;
        let kind = INTEGERS.since(BARE, bytes);
        let mut r = Reader::open(bytes, &kind, params.fingerprint())?;
        let size = (params.big_dimension() + 1) * T::BITS as usize / 8 + 24;
        let count = read_count(&mut r, size)?;
        let mut out = Vec::with_capacity(count);
        for _ in 0..count {
            let max = r.bounded(
                "the largest value of an integer",
                0..=params.values() as usize - 1,
            )? as u64;
            let noise =
                r.bounded("the noise of an integer", 0..=params.max_noise() as usize)? as u64;
            let words = read_words(&mut r, "an integer", Some(params.big_dimension() + 1))?;
            let key = read_id(&mut r, &kind)?;
            out.push(Self::new(
                Lwe::from_words(words).of_key(key),
                max,
                noise,
                params.fingerprint(),
            ));
        }
        r.end()?;
        Ok(out)
    }
}

impl<T: Torus> Bit<T> {
    /// Bits of one set of parameters, in bytes.
    ///
    /// # Errors
    /// [`Error::Fingerprint`](crate::Error::Fingerprint) for a bit of other parameters.
    pub fn to_bytes(params: &Params, bits: &[Self]) -> Result<Vec<u8>> {
        let mut w = Writer::new();
        w.u64(bits.len() as u64);
        for x in bits {
            crate::error::same("a bit", x.made_for(), params.fingerprint())?;
            write_words(&mut w, x.lwe().words());
            w.key_id(x.lwe().key());
        }
        Ok(w.seal(&BITS, params.fingerprint()))
    }

    /// Reads bits made for these parameters.
    ///
    /// # Errors
    /// [`Error::Bytes`](crate::Error::Bytes), [`Error::Word`](crate::Error::Word),
    /// [`Error::Encoding`](crate::Error::Encoding).
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Vec<Self>> {
        params.check_word::<T>()?;
        params.check_gates()?;
        let kind = BITS.since(BARE, bytes);
        let mut r = Reader::open(bytes, &kind, params.fingerprint())?;
        let size = (params.big_dimension() + 1) * T::BITS as usize / 8 + 8;
        let count = read_count(&mut r, size)?;
        let mut out = Vec::with_capacity(count);
        for _ in 0..count {
            let words = read_words(&mut r, "a bit", Some(params.big_dimension() + 1))?;
            let lwe = Lwe::from_words(words).of_key(read_id(&mut r, &kind)?);
            out.push(Self::new(lwe, params.fingerprint()));
        }
        r.end()?;
        Ok(out)
    }
}
