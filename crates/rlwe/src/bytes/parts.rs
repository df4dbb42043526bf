//! Sealed objects that are written and read in parts, so that they are never whole in memory.

use super::{BytesError, CHECKSUM, Fingerprint, HEADER, Kind, Reader, Writer, header, read_header};
use sha2::{Digest, Sha256};
use std::io::{self, Read, Write};

/// Writes a sealed object in parts, so that it is never whole in memory.
pub struct Sealer<W> {
    out: W,
    hash: Sha256,
    /// Bytes of the payload that are not yet written.
    left: u64,
}

impl<W: Write> Sealer<W> {
    /// Writes the header of an object whose payload will have `length` bytes.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn new(
        mut out: W,
        kind: &Kind,
        fingerprint: &Fingerprint,
        length: u64,
    ) -> io::Result<Self> {
        let header = header(kind, fingerprint, length);
        out.write_all(&header)?;
        Ok(Self {
            out,
            hash: Sha256::new_with_prefix(header),
            left: length,
        })
    }

    /// Writes a part of the payload.
    ///
    /// # Errors
    /// The errors of the output.
    ///
    /// # Panics
    /// If the payload is longer than announced.
    pub fn part(&mut self, part: Writer) -> io::Result<()> {
        let bytes = &part.bytes[HEADER..];
        let left = self.left.checked_sub(bytes.len() as u64);
        self.left = left.expect("a payload of the length that was said");
        self.hash.update(bytes);
        self.out.write_all(bytes)
    }

    /// Writes the checksum. Returns the digest of the whole object: SHA-256 of all its bytes, the
    /// checksum included.
    ///
    /// # Errors
    /// The errors of the output.
    ///
    /// # Panics
    /// If the payload is shorter than announced.
    pub fn end(mut self) -> io::Result<Fingerprint> {
        assert_eq!(self.left, 0, "a payload of the length that was said");
        let checksum = self.hash.clone().finalize();
        self.out.write_all(&checksum)?;
        self.out.flush()?;
        self.hash.update(checksum);
        Ok(self.hash.finalize().into())
    }
}

/// Reads a sealed object in parts, so that it is never whole in memory.
pub struct Unsealer<R> {
    input: R,
    kind: Kind,
    fingerprint: Fingerprint,
    hash: Sha256,
    /// Bytes of the payload.
    length: u64,
    /// Bytes of the object that have been read.
    done: u64,
    /// The latest part.
    part: Vec<u8>,
}

impl<R: Read + Send> Unsealer<R> {
    /// Reads the header of an object: of the kind, or of one of its versions since `oldest`.
    ///
    /// # Errors
    /// [`BytesError::Magic`], [`BytesError::Kind`], [`BytesError::Version`] and
    /// [`BytesError::Length`], and the errors of the input.
    pub fn new<E: From<BytesError> + From<io::Error>>(
        mut input: R,
        kind: Kind,
        oldest: u32,
    ) -> Result<Self, E> {
        let mut header = Vec::with_capacity(HEADER);
        input
            .by_ref()
            .take(HEADER as u64)
            .read_to_end(&mut header)?;
        let kind = kind.since(oldest, &header);
        let (fingerprint, length) = read_header(&header, &kind)?;
        Ok(Self {
            input,
            kind,
            fingerprint,
            hash: Sha256::new_with_prefix(header),
            length,
            done: HEADER as u64,
            part: Vec::new(),
        })
    }

    /// Kind of the object, with the version found.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The fingerprint found.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    /// Reads the whole payload by `read`, and checks length and checksum. Returns the result of
    /// `read` and the checksum.
    ///
    /// # Errors
    /// [`BytesError::Length`], [`BytesError::Checksum`], [`BytesError::Trailing`] if `read` leaves
    /// bytes, and the errors of `read` and of the input. A wrong length and a wrong checksum are
    /// reported first, because an error of `read` may follow from them.
    pub fn read_all<T, E: From<BytesError> + From<io::Error>>(
        mut self,
        read: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<(T, Fingerprint), E> {
        let value = read(&mut self);
        let trailing = self.left();
        self.skip_rest::<E>()?;
        let mut checksum = [0; CHECKSUM];
        self.fill::<E>(&mut checksum)?;
        let more = io::copy(&mut self.input, &mut io::sink())?;
        if more > 0 {
            let expected = self.whole();
            let found = expected.saturating_add(more);
            return Err(BytesError::Length { found, expected }.into());
        }
        if self.hash.finalize().as_slice() != checksum {
            return Err(BytesError::Checksum.into());
        }
        match value? {
            value if trailing == 0 => Ok((value, checksum)),
            _ => Err(BytesError::Trailing { left: trailing }.into()),
        }
    }

    /// Reads the next `count` bytes of the payload by `read`, which must read them all, while
    /// another thread adds them to the checksum. `what` names them in errors.
    ///
    /// # Errors
    /// [`BytesError::Truncated`] if the payload has fewer bytes, [`BytesError::Length`] if the
    /// input has, and the errors of `read` and of the input.
    pub fn part<T: Send, E: From<BytesError> + From<io::Error> + Send>(
        &mut self,
        what: &'static str,
        count: usize,
        read: impl FnOnce(&mut Reader<'_>) -> Result<T, E> + Send,
    ) -> Result<T, E> {
        let (need, have) = (count as u64, self.left());
        if need > have {
            return Err(BytesError::Truncated { what, need, have }.into());
        }
        let mut part = std::mem::take(&mut self.part);
        part.resize(count, 0);
        self.fill::<E>(&mut part)?;
        let ((), value) = rayon::join(
            || self.hash.update(&part),
            || {
                let mut reader = Reader { bytes: &part };
                let value = read(&mut reader)?;
                reader.end()?;
                Ok(value)
            },
        );
        self.part = part;
        value
    }

    /// Passes over the rest of the payload. It enters the checksum.
    ///
    /// # Errors
    /// [`BytesError::Length`] if the input has fewer bytes, and the errors of the input.
    pub fn skip_rest<E: From<BytesError> + From<io::Error>>(&mut self) -> Result<(), E> {
        let mut rest = vec![0; 1 << 16];
        while self.left() > 0 {
            let count = self.left().min(rest.len() as u64) as usize;
            self.fill::<E>(&mut rest[..count])?;
            self.hash.update(&rest[..count]);
        }
        Ok(())
    }

    /// Reads a length and that many bytes, at most `longest`.
    ///
    /// # Errors
    /// [`BytesError::Value`] for a longer block, and as [`part`](Self::part).
    pub fn bounded_block<E: From<BytesError> + From<io::Error> + Send>(
        &mut self,
        what: &'static str,
        longest: usize,
    ) -> Result<Vec<u8>, E> {
        let most = self.left().saturating_sub(8).min(longest as u64) as usize;
        let length = self.part(what, 8, |r| Ok::<_, E>(r.bounded(what, 0..=most)?))?;
        self.part(what, length, |r| Ok::<_, E>(r.take(what, length)?.to_vec()))
    }

    /// Bytes of the payload that are not yet read.
    fn left(&self) -> u64 {
        let end = self.length.saturating_add(HEADER as u64);
        end.saturating_sub(self.done)
    }

    /// Bytes of the object.
    fn whole(&self) -> u64 {
        self.length.saturating_add((HEADER + CHECKSUM) as u64)
    }

    /// Fills `bytes` from the input.
    fn fill<E: From<BytesError> + From<io::Error>>(&mut self, bytes: &mut [u8]) -> Result<(), E> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.input.read(rest) {
                Ok(0) => {
                    let (found, expected) = (self.done, self.whole());
                    return Err(BytesError::Length { found, expected }.into());
                }
                Ok(count) => {
                    self.done += count as u64;
                    rest = &mut rest[count..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
