//! The byte form: one sealed container for all objects that leave a process.
//!
//! | bytes | content |
//! |---|---|
//! | 8 | `PALLADIO` |
//! | 4 | kind, four letters |
//! | 4 | version of the kind's format, little endian |
//! | 32 | fingerprint of the parameters |
//! | 8 | length of the payload, little endian |
//! | .. | payload |
//! | 32 | SHA-256 of all bytes before |
//!
//! Residues are packed to the bits of their modulus. The uniform half of keys and fresh ciphertexts
//! is a seed of 32 bytes. Reading checks every count before it allocates.

use crate::ciphertext::Ciphertext;
use crate::dimension::{DimensionKey, DimensionParams};
use crate::key_id::KeyId;
use crate::keys::SwitchKey;
use crate::lwe::LweBatch;
use crate::params::Params;
use ring::sample::Seed;
use ring::{Basis, Domain, Poly};
use sha2::{Digest, Sha256};
use thiserror::Error;
use zeroize::Zeroizing;

mod parts;

pub use parts::{Sealer, Unsealer};

const MAGIC: &[u8; 8] = b"PALLADIO";
const HEADER: usize = 8 + 4 + 4 + 32 + 8;
const CHECKSUM: usize = 32;

/// Fingerprint of the parameters or the program that a file was made for: SHA-256 of its
/// description.
pub type Fingerprint = [u8; 32];

/// Errors in bytes from outside.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BytesError {
    /// The bytes are not a Palladion file.
    #[error("this is no Palladion file: it does not begin with PALLADIO")]
    Magic,
    /// A Palladion file of another kind.
    #[error("this file holds {found}, expected {expected}")]
    Kind {
        /// Kind found.
        found: String,
        /// Kind expected.
        expected: String,
    },
    /// Written by another version of the format.
    #[error("format version {found} of {kind}, expected {expected}")]
    Version {
        /// Kind of file.
        kind: String,
        /// Version found.
        found: u32,
        /// Version expected.
        expected: u32,
    },
    /// Made for other parameters or another program.
    #[error(
        "this file holds {kind} made for other parameters: fingerprint {found}, expected {expected}"
    )]
    Fingerprint {
        /// Kind of file.
        kind: String,
        /// First bytes of the fingerprint found.
        found: String,
        /// First bytes of the fingerprint expected.
        expected: String,
    },
    /// The file ends early, or has bytes after its end.
    #[error("{found} bytes, expected {expected}: the file is truncated or has bytes appended")]
    Length {
        /// Bytes found.
        found: u64,
        /// Bytes expected.
        expected: u64,
    },
    /// At least one byte was changed.
    #[error("the checksum does not fit the content: the file is damaged")]
    Checksum,
    /// The payload ends inside an object.
    #[error("the payload ends inside {what}: {need} bytes needed, {have} left")]
    Truncated {
        /// The object that was read.
        what: &'static str,
        /// Bytes needed.
        need: u64,
        /// Bytes left.
        have: u64,
    },
    /// The payload goes on after the last object.
    #[error("{left} bytes are left after the last object of the payload")]
    Trailing {
        /// Bytes left.
        left: u64,
    },
    /// A value that is not allowed at its place.
    #[error("{what} is {found}, expected {expected}")]
    Value {
        /// The value that was read, in words.
        what: &'static str,
        /// Value found.
        found: u64,
        /// The values allowed, in words.
        expected: String,
    },
}

impl BytesError {
    /// The error for a `kind` of object made for other parameters or another program.
    pub fn other_program(kind: &str, found: &Fingerprint, expected: &Fingerprint) -> Self {
        Self::Fingerprint {
            kind: kind.into(),
            found: short(found),
            expected: short(expected),
        }
    }
}

type Result<T> = std::result::Result<T, BytesError>;

/// Kind of a sealed object: the four letters, the words in errors and the version.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Four letters in the header.
    pub tag: [u8; 4],
    /// The words for this kind in errors.
    pub words: &'static str,
    /// The version that is written, and the only one that is read.
    pub version: u32,
}

impl Kind {
    /// The kind by which `bytes` are read: of their version, if it is `oldest` or newer. Otherwise
    /// the kind itself, which refuses them.
    #[must_use]
    pub fn since(self, oldest: u32, bytes: &[u8]) -> Self {
        let found = bytes.get(12..16).and_then(|word| word.try_into().ok());
        match found.map(u32::from_le_bytes) {
            Some(version) if (oldest..=self.version).contains(&version) => Self { version, ..self },
            _ => self,
        }
    }
}

/// Fingerprint of a description.
pub fn fingerprint(description: &[u8]) -> Fingerprint {
    Sha256::digest(description).into()
}

/// The first bytes of a fingerprint, as messages show them.
pub fn short(fingerprint: &[u8]) -> String {
    fingerprint
        .iter()
        .take(6)
        .map(|b| format!("{b:02x}"))
        .collect()
}

/// A payload while it is written.
#[derive(Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// An empty payload, with room left for the header.
    pub fn new() -> Self {
        Self::with_room(0)
    }

    /// As [`new`](Self::new). A payload of up to `len` bytes is never moved, since that would leave
    /// a copy.
    pub fn with_room(len: usize) -> Self {
        let mut bytes = Vec::with_capacity(HEADER + len + CHECKSUM);
        bytes.resize(HEADER, 0);
        Self { bytes }
    }

    /// Appends a number.
    pub fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends a length and that many bytes.
    pub fn block(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends a seed.
    pub fn seed(&mut self, seed: &Seed) {
        self.bytes.extend_from_slice(&seed.0);
    }

    /// Appends the identity of a secret.
    pub fn key_id(&mut self, id: KeyId) {
        self.bytes.extend_from_slice(&id.to_bytes());
    }

    /// Appends signed numbers of magnitude below 2^7, one byte each.
    pub fn small(&mut self, values: &[i64]) {
        self.bytes.extend(values.iter().map(|&v| v as i8 as u8));
    }

    /// Appends the residues of a polynomial, packed to the bits of their moduli.
    pub fn poly<D: Domain>(&mut self, poly: &Poly<D>) {
        for (i, q) in poly.basis().moduli().enumerate() {
            self.packed(poly.limb(i), q.bits());
        }
    }

    /// Appends words of at most `bits` bits without gaps between them, filled up to a whole byte.
    fn packed(&mut self, words: &[u64], bits: u32) {
        self.bytes.reserve(packed_len(words.len(), bits));
        let (mut held, mut count) = (0u64, 0u32);
        for &word in words {
            held |= word << count;
            let free = u64::BITS - count;
            count += bits;
            if count >= u64::BITS {
                self.bytes.extend_from_slice(&held.to_le_bytes());
                held = word.checked_shr(free).unwrap_or(0); // no bit is left of a word of 64
                count -= u64::BITS;
            }
        }
        let rest = held.to_le_bytes();
        self.bytes
            .extend_from_slice(&rest[..count.div_ceil(8) as usize]);
    }

    /// Appends LWE samples, packed to the bits of their modulus. The reader must know their number
    /// and kind.
    pub fn lwe_batch(&mut self, batch: &LweBatch) {
        let bits = bits_of_residues(batch.modulus());
        batch
            .words()
            .iter()
            .for_each(|part| self.packed(part, bits));
    }

    /// Appends the components of a ciphertext. The reader must know their number and the level.
    pub fn ciphertext(&mut self, ct: &Ciphertext) {
        ct.components().iter().for_each(|c| self.poly(c));
    }

    /// Appends a key: level, seed, bodies.
    pub fn switch_key(&mut self, key: &SwitchKey) {
        self.u64(key.level() as u64);
        self.seed(key.seed());
        (0..key.digits()).for_each(|j| self.poly(&key.digit(j, 0).to_poly()));
    }

    /// Appends a key of the dimension switch: seed, bodies.
    pub fn dimension_key(&mut self, key: &DimensionKey) {
        self.seed(key.seed());
        key.bodies().for_each(|body| self.poly(body));
    }

    /// Bytes appended so far.
    pub fn payload_len(&self) -> usize {
        self.bytes.len() - HEADER
    }

    /// SHA-256 of the payload.
    pub fn digest(&self) -> Fingerprint {
        fingerprint(&self.bytes[HEADER..])
    }

    /// Adds header and checksum.
    pub fn seal(mut self, kind: &Kind, fingerprint: &Fingerprint) -> Vec<u8> {
        let length = self.payload_len() as u64;
        self.bytes[..HEADER].copy_from_slice(&header(kind, fingerprint, length));
        let checksum = Sha256::digest(&self.bytes);
        self.bytes.extend_from_slice(&checksum);
        self.bytes
    }
}

fn header(kind: &Kind, fingerprint: &Fingerprint, length: u64) -> Vec<u8> {
    let mut header = Vec::with_capacity(HEADER);
    header.extend_from_slice(MAGIC);
    header.extend_from_slice(&kind.tag);
    header.extend_from_slice(&kind.version.to_le_bytes());
    header.extend_from_slice(fingerprint);
    header.extend_from_slice(&length.to_le_bytes());
    header
}

/// Reads the fingerprint and the length of the payload from the first bytes of an object.
fn read_header(bytes: &[u8], kind: &Kind) -> Result<(Fingerprint, u64)> {
    if !bytes.starts_with(MAGIC) {
        return Err(BytesError::Magic);
    }
    let Some((header, _)) = bytes.split_at_checked(HEADER) else {
        return Err(BytesError::Length {
            found: bytes.len() as u64,
            expected: (HEADER + CHECKSUM) as u64,
        });
    };
    let tag = &header[8..12];
    if tag != kind.tag {
        return Err(BytesError::Kind {
            found: format!("an object of kind {:?}", String::from_utf8_lossy(tag)),
            expected: kind.words.into(),
        });
    }
    let version = header[12..16].try_into().expect("four bytes");
    let found = u32::from_le_bytes(version);
    if found != kind.version {
        return Err(BytesError::Version {
            kind: kind.words.into(),
            found,
            expected: kind.version,
        });
    }
    let fingerprint = header[16..48].try_into().expect("thirty-two bytes");
    let length = header[48..].try_into().expect("eight bytes");
    Ok((fingerprint, u64::from_le_bytes(length)))
}

/// Bytes of a sealed object with a payload of `length` bytes.
pub fn sealed_len(length: usize) -> usize {
    HEADER + length + CHECKSUM
}

/// Bytes of a polynomial over a basis.
pub fn poly_len(basis: &Basis) -> usize {
    let limbs = basis.moduli().map(|q| packed_len(basis.n(), q.bits()));
    limbs.sum()
}

/// Bytes of [`Writer::switch_key`] for a key made for `level`.
pub fn switch_key_len(params: &Params, level: usize) -> usize {
    let digits = SwitchKey::digit_count(params, level);
    8 + size_of::<Seed>() + digits * poly_len(&params.extended(level))
}

/// Bytes of [`Writer::dimension_key`].
pub fn dimension_key_len(params: &DimensionParams) -> usize {
    size_of::<Seed>() + params.digits() * poly_len(params.basis())
}

/// The bytes that a checksum covers, and the checksum found.
struct Sum<'a> {
    content: &'a [u8],
    checksum: &'a [u8],
}

impl Sum<'_> {
    fn check(&self) -> Result<()> {
        match Sha256::digest(self.content).as_slice() == self.checksum {
            true => Ok(()),
            false => Err(BytesError::Checksum),
        }
    }
}

/// A payload while it is read.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Checks header, length and checksum, and returns the payload.
    ///
    /// # Errors
    /// Every variant of [`BytesError`] but those of the payload.
    pub fn open(bytes: &'a [u8], kind: &Kind, expected: &Fingerprint) -> Result<Self> {
        let (reader, found) = Self::open_any(bytes, kind)?;
        if found != *expected {
            return Err(BytesError::other_program(kind.words, &found, expected));
        }
        Ok(reader)
    }

    /// As [`Reader::open`], without an expected fingerprint. Also returns the fingerprint found.
    ///
    /// # Errors
    /// As [`Reader::open`], except [`BytesError::Fingerprint`].
    pub fn open_any(bytes: &'a [u8], kind: &Kind) -> Result<(Self, Fingerprint)> {
        let (reader, found, sum) = Self::unchecked(bytes, kind)?;
        sum.check()?;
        Ok((reader, found))
    }

    /// Passes the payload to `read` while another thread computes the checksum. For large objects.
    /// `read` must read the payload to its end.
    ///
    /// # Errors
    /// As [`Reader::open`], and those of `read`. A wrong checksum is reported first, because an
    /// error of `read` may follow from it.
    pub fn open_with<T: Send, E: From<BytesError> + Send>(
        bytes: &'a [u8],
        kind: &Kind,
        expected: &Fingerprint,
        read: impl FnOnce(&mut Self) -> std::result::Result<T, E> + Send,
    ) -> std::result::Result<T, E> {
        Self::open_any_with(bytes, kind, |reader, found| {
            if found != *expected {
                return Err(BytesError::other_program(kind.words, &found, expected).into());
            }
            read(reader)
        })
    }

    /// As [`Reader::open_with`], without an expected fingerprint. `read` also gets the fingerprint
    /// found.
    ///
    /// # Errors
    /// As [`Reader::open_with`], except [`BytesError::Fingerprint`].
    pub fn open_any_with<T: Send, E: From<BytesError> + Send>(
        bytes: &'a [u8],
        kind: &Kind,
        read: impl FnOnce(&mut Self, Fingerprint) -> std::result::Result<T, E> + Send,
    ) -> std::result::Result<T, E> {
        let (mut reader, found, sum) = Self::unchecked(bytes, kind)?;
        let (checked, value) = rayon::join(
            || sum.check(),
            || {
                let value = read(&mut reader, found)?;
                reader.end()?;
                Ok(value)
            },
        );
        checked?;
        value
    }

    /// Checks header and length. The caller checks the checksum.
    fn unchecked(bytes: &'a [u8], kind: &Kind) -> Result<(Self, Fingerprint, Sum<'a>)> {
        let (fingerprint, length) = read_header(bytes, kind)?;
        let found = bytes.len() as u64;
        let expected = length.saturating_add((HEADER + CHECKSUM) as u64);
        if found != expected {
            return Err(BytesError::Length { found, expected });
        }
        let (content, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
        let bytes = &content[HEADER..];
        Ok((Self { bytes }, fingerprint, Sum { content, checksum }))
    }

    /// Bytes not yet read.
    pub fn left(&self) -> usize {
        self.bytes.len()
    }

    fn take(&mut self, what: &'static str, count: usize) -> Result<&'a [u8]> {
        if count > self.bytes.len() {
            return Err(BytesError::Truncated {
                what,
                need: count as u64,
                have: self.bytes.len() as u64,
            });
        }
        let (head, tail) = self.bytes.split_at(count);
        self.bytes = tail;
        Ok(head)
    }

    /// Reads a number.
    ///
    /// # Errors
    /// [`BytesError::Truncated`], as for every method that reads.
    #[expect(clippy::missing_panics_doc, reason = "as many bytes are taken")]
    pub fn u64(&mut self, what: &'static str) -> Result<u64> {
        let bytes = self.take(what, 8)?;
        Ok(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
    }

    /// Reads a number that must lie in `range`.
    ///
    /// # Errors
    /// [`BytesError::Value`] if the number does not lie in it.
    pub fn bounded(
        &mut self,
        what: &'static str,
        range: std::ops::RangeInclusive<usize>,
    ) -> Result<usize> {
        let found = self.u64(what)?;
        match usize::try_from(found) {
            Ok(value) if range.contains(&value) => Ok(value),
            _ => Err(BytesError::Value {
                what,
                found,
                expected: format!("{} to {}", range.start(), range.end()),
            }),
        }
    }

    /// Passes over `count` bytes.
    ///
    /// # Errors
    /// As [`Reader::u64`].
    pub fn skip(&mut self, what: &'static str, count: usize) -> Result<()> {
        self.take(what, count).map(drop)
    }

    /// Reads a length and that many bytes.
    ///
    /// # Errors
    /// As [`Reader::u64`].
    pub fn block(&mut self, what: &'static str) -> Result<&'a [u8]> {
        let left = self.bytes.len().saturating_sub(8); // bytes after the length
        let length = self.bounded(what, 0..=left)?;
        self.take(what, length)
    }

    /// As [`Reader::block`], for at most `longest` bytes.
    ///
    /// # Errors
    /// [`BytesError::Value`] for a longer block, and as [`Reader::u64`].
    pub fn bounded_block(&mut self, what: &'static str, longest: usize) -> Result<&'a [u8]> {
        let left = self.bytes.len().saturating_sub(8); // bytes after the length
        let length = self.bounded(what, 0..=left.min(longest))?;
        self.take(what, length)
    }

    /// Reads a seed.
    ///
    /// # Errors
    /// As [`Reader::u64`].
    #[expect(clippy::missing_panics_doc, reason = "as many bytes are taken")]
    pub fn seed(&mut self) -> Result<Seed> {
        let bytes = self.take("a seed", 32)?;
        Ok(Seed(bytes.try_into().expect("thirty-two bytes")))
    }

    /// Reads the identity of a secret.
    ///
    /// # Errors
    /// As [`Reader::u64`].
    #[expect(clippy::missing_panics_doc, reason = "as many bytes are taken")]
    pub fn key_id(&mut self) -> Result<KeyId> {
        let bytes = self.take("the identity of a key", KeyId::LEN)?;
        Ok(KeyId::from_bytes(bytes.try_into().expect("sixteen bytes")))
    }

    /// Reads `count` signed bytes of magnitude at most `bound`.
    ///
    /// # Errors
    /// [`BytesError::Value`] for a larger magnitude.
    pub fn small(
        &mut self,
        what: &'static str,
        count: usize,
        bound: i64,
    ) -> Result<Zeroizing<Vec<i64>>> {
        let bytes = self.take(what, count)?;
        let mut values = Zeroizing::new(Vec::with_capacity(count));
        for &b in bytes {
            let value = i64::from(b as i8);
            if value.abs() > bound {
                return Err(BytesError::Value {
                    what,
                    found: u64::from(b),
                    expected: format!("a magnitude of at most {bound}"),
                });
            }
            values.push(value);
        }
        Ok(values)
    }

    /// Reads the residues of a polynomial over `basis`.
    ///
    /// # Errors
    /// [`BytesError::Value`] for a residue that is not below its modulus.
    pub fn poly<D: Domain>(&mut self, basis: &Basis) -> Result<Poly<D>> {
        let n = basis.n();
        let need: usize = basis.moduli().map(|q| packed_len(n, q.bits())).sum();
        let mut bytes = self.take("a polynomial", need)?;
        let packed: Vec<(&[u8], u32)> = basis
            .moduli()
            .map(|q| {
                let (packed, rest) = bytes.split_at(packed_len(n, q.bits()));
                bytes = rest;
                (packed, q.bits())
            })
            .collect();
        let read = |i: usize, limb: &mut [u64]| unpack(packed[i].0, packed[i].1, limb);
        Poly::from_limbs(basis, read).map_err(|error| match error {
            ring::Error::Residue { found, q, .. } => BytesError::Value {
                what: "a residue",
                found,
                expected: format!("less than {q}"),
            },
            other => unreachable!("limbs have no other error: {other}"),
        })
    }

    /// Reads a ciphertext of `components` components at `level`.
    ///
    /// # Errors
    /// As [`Reader::poly`].
    pub fn ciphertext(
        &mut self,
        params: &Params,
        level: usize,
        components: usize,
    ) -> Result<Ciphertext> {
        let basis = params.basis(level);
        let parts: Result<Vec<_>> = (0..components).map(|_| self.poly(basis)).collect();
        Ok(Ciphertext::new(parts?))
    }

    /// Reads LWE samples modulo `t` of the coefficients of a ring of degree `n`.
    ///
    /// # Errors
    /// As [`Reader::poly`].
    ///
    /// # Panics
    /// If `dimension` does not divide `n`.
    pub fn lwe_batch(&mut self, n: usize, dimension: usize, t: u64) -> Result<LweBatch> {
        let bits = bits_of_residues(t);
        let bytes = self.take("LWE samples", 2 * packed_len(n, bits))?;
        let (body, mask) = bytes.split_at(packed_len(n, bits));
        let [body, mask] = [body, mask].map(|packed| {
            let mut words = vec![0; n];
            unpack(packed, bits, &mut words);
            words
        });
        if let Some(&found) = body.iter().chain(&mask).find(|&&word| word >= t) {
            return Err(BytesError::Value {
                what: "a residue of an LWE sample",
                found,
                expected: format!("less than {t}"),
            });
        }
        Ok(LweBatch::from_words(t, dimension, body, mask))
    }

    /// Reads a key.
    ///
    /// # Errors
    /// As [`Reader::poly`].
    pub fn switch_key(&mut self, params: &Params) -> Result<SwitchKey> {
        let level = self.bounded("the level of a key", 0..=params.max_level())?;
        let seed = self.seed()?;
        let basis = params.extended(level);
        let count = SwitchKey::digit_count(params, level);
        let bodies: Result<Vec<_>> = (0..count).map(|_| self.poly(&basis)).collect();
        Ok(SwitchKey::from_parts(params, level, seed, bodies?))
    }

    /// Reads a key of the dimension switch.
    ///
    /// # Errors
    /// As [`Reader::poly`].
    pub fn dimension_key(&mut self, params: &DimensionParams) -> Result<DimensionKey> {
        let seed = self.seed()?;
        let bodies: Result<Vec<_>> = (0..params.digits())
            .map(|_| self.poly(params.basis()))
            .collect();
        Ok(DimensionKey::from_parts(params, seed, bodies?))
    }

    /// Checks that the payload was read to its end.
    ///
    /// # Errors
    /// [`BytesError::Trailing`] if bytes are left.
    pub fn end(self) -> Result<()> {
        match self.bytes.len() {
            0 => Ok(()),
            left => Err(BytesError::Trailing { left: left as u64 }),
        }
    }
}

/// Bits of a residue modulo `t`.
fn bits_of_residues(t: u64) -> u32 {
    u64::BITS - (t - 1).leading_zeros()
}

/// Bytes of `count` words of `bits` bits.
fn packed_len(count: usize, bits: u32) -> usize {
    (count * bits as usize).div_ceil(8)
}

/// Reads `out.len()` words of fewer than 64 bits, packed without gaps between them.
fn unpack(packed: &[u8], bits: u32, out: &mut [u64]) {
    let mask = (1u64 << bits) - 1;
    for (index, word) in out.iter_mut().enumerate() {
        let first = index * bits as usize;
        let (byte, shift) = (first / 8, first % 8);
        let around = match packed.get(byte..byte + 16) {
            Some(around) => around.try_into().expect("sixteen bytes"),
            // The last words may lie less than sixteen bytes before the end.
            None => std::array::from_fn(|k| packed.get(byte + k).copied().unwrap_or(0)),
        };
        *word = (u128::from_le_bytes(around) >> shift) as u64 & mask;
    }
}
