//! The file of a program. The file holds weights, so it stays with the server.

use rlwe::bytes::{Fingerprint, Kind, Reader, Writer, fingerprint};

use crate::error::{Error, Result};
use crate::program::Program;

const KIND: Kind = Kind {
    tag: *b"HYBR",
    words: "a program of the hybrid mode",
    version: 1,
};

impl Program {
    /// Hash of the public part. Both parties compare it to agree on a program.
    pub fn fingerprint(&self) -> Fingerprint {
        fingerprint(self.public.to_json().as_bytes())
    }

    /// Writes the program with its weights.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.block(self.to_json().as_bytes());
        writer.seal(&KIND, &self.fingerprint())
    }

    /// Reads and checks a program.
    ///
    /// # Errors
    /// [`Error::File`] for bytes of another kind or damaged bytes, [`Error::Program`] for a program
    /// that does not pass its check.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (mut reader, _) = Reader::open_any(bytes, &KIND)?;
        let json = reader.block("the program")?;
        reader.end()?;
        let text = std::str::from_utf8(json);
        let text = text.map_err(|error| Error::program("the program", error, "text"))?;
        Self::from_json(text)
    }
}
