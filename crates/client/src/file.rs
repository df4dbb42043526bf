//! The file of a client's secret.

use crate::error::Result;
use crate::secret::ClientSecret;
use exchange::files::kind;
use exchange::{Label, hex};
use rlwe::bytes::{BytesError, Fingerprint, Kind, Reader, Writer};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

const SECRET_KEY: Kind = kind(b"SKEY", "a secret key", 2);
/// Has the coefficients of both secrets of one program, and its fingerprint.
const OF_PROGRAM: Kind = kind(b"SKEY", "a secret key", 1);
/// The fingerprint of files that belong to no program.
const NONE: Fingerprint = [0; 32];
const MAX_HEAD: usize = 1 << 12;
/// Largest seed, sealed or not. A secret of version 1 has a byte for each coefficient.
const MAX_BODY: usize = 1 << 18;
const MAX_COEFFICIENTS: usize = 1 << 17;

/// The content of a secret's file: a label that anyone may read, and the secret or a seal around
/// it.
#[derive(Clone)]
pub struct StoredSecret {
    label: Label,
    seal: Seal,
    /// Label and seal, as in the file. A later version may have written more than is known here.
    head: Vec<u8>,
    body: Body,
}

#[derive(Clone)]
enum Body {
    Open(ClientSecret),
    Sealed(Vec<u8>),
}

/// How the secret in a file is protected. What is said here is no secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Seal {
    /// Not at all: whoever has the file has the secret.
    #[default]
    None,
    /// The seed is encrypted by ChaCha20-Poly1305, under a key that Argon2id derives from a
    /// passphrase. The label is authenticated with it.
    Passphrase {
        /// Memory of Argon2id, in KiB.
        memory: u32,
        /// Its passes.
        passes: u32,
        /// Its lanes.
        lanes: u32,
        /// Its salt.
        #[serde(with = "hex")]
        salt: [u8; 16],
        /// Nonce of the encryption.
        #[serde(with = "hex")]
        nonce: [u8; 12],
    },
    /// The seed is encrypted by someone else, such as a service that manages keys.
    Wrapped {
        /// Who that is, in the user's words.
        by: String,
    },
}

/// The readable part of a file. Fields that are not known are passed over.
#[derive(Serialize, Deserialize)]
struct Head {
    label: Label,
    #[serde(default)]
    seal: Seal,
}

impl StoredSecret {
    /// The content of a file that protects a secret by `seal`. `encrypt` gets the readable part of
    /// the file, which it should authenticate, and [`ClientSecret::to_seed`].
    ///
    /// # Errors
    /// The errors of `encrypt`.
    pub fn sealed<E>(
        secret: &ClientSecret,
        seal: Seal,
        encrypt: impl FnOnce(&[u8], &[u8]) -> std::result::Result<Vec<u8>, E>,
    ) -> std::result::Result<Self, E> {
        let label = *secret.label();
        let head = head(&label, &seal);
        let sealed = encrypt(&head, &secret.to_seed())?;
        Ok(Self {
            label,
            seal,
            head,
            body: Body::Sealed(sealed),
        })
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If the bytes are no secret key.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let kind = SECRET_KEY.since(OF_PROGRAM.version, bytes);
        let (mut r, _) = Reader::open_any(bytes, &kind)?;
        if kind.version == OF_PROGRAM.version {
            let count = r.left();
            if count > MAX_COEFFICIENTS {
                return Err(length(count, MAX_COEFFICIENTS).into());
            }
            let coefficients = r.small("a coefficient of a secret", count, 1)?;
            r.end()?;
            return Ok(ClientSecret::from_coefficients(coefficients).into());
        }
        let head = r.bounded_block("the label of a secret", MAX_HEAD)?;
        let Head { label, seal } = serde_json::from_slice(head)
            .map_err(|error| program::Error::Json(error.to_string()))
            .map_err(exchange::Error::from)?;
        let body = r.bounded_block("a secret", MAX_BODY)?;
        let body = match seal {
            Seal::None => Body::Open(open(body, &label)?),
            _ => Body::Sealed(body.to_vec()),
        };
        r.end()?;
        Ok(Self {
            label,
            seal,
            head: head.to_vec(),
            body,
        })
    }

    /// The byte form, overwritten when dropped.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let body = match &self.body {
            Body::Open(secret) => secret.to_seed(),
            Body::Sealed(sealed) => sealed.clone().into(),
        };
        let mut w = Writer::with_room(2 * size_of::<u64>() + self.head.len() + body.len());
        w.block(&self.head);
        w.block(&body);
        w.seal(&SECRET_KEY, &NONE).into()
    }

    /// Name and life. What a seal of a passphrase protects cannot be changed without it.
    pub fn label(&self) -> &Label {
        &self.label
    }

    /// How the secret is protected.
    pub fn seal(&self) -> &Seal {
        &self.seal
    }

    /// The readable part of the file, which a seal authenticates.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The secret, if no seal is around it.
    pub fn secret(&self) -> Option<&ClientSecret> {
        match &self.body {
            Body::Open(secret) => Some(secret),
            Body::Sealed(_) => None,
        }
    }

    /// The encrypted seed, if there is a seal.
    pub fn sealed_seed(&self) -> Option<&[u8]> {
        match &self.body {
            Body::Open(_) => None,
            Body::Sealed(sealed) => Some(sealed),
        }
    }

    /// Makes the secret of the seed that was in the seal.
    ///
    /// # Errors
    /// If it is not the secret that the label names.
    pub fn with_seed(&self, seed: &[u8]) -> Result<ClientSecret> {
        open(seed, &self.label)
    }
}

impl From<ClientSecret> for StoredSecret {
    /// The secret without a seal.
    fn from(secret: ClientSecret) -> Self {
        let label = *secret.label();
        Self {
            label,
            seal: Seal::None,
            head: head(&label, &Seal::None),
            body: Body::Open(secret),
        }
    }
}

fn head(label: &Label, seal: &Seal) -> Vec<u8> {
    let head = Head {
        label: *label,
        seal: seal.clone(),
    };
    serde_json::to_vec(&head).expect("a label has no keys that are not strings")
}

fn open(seed: &[u8], label: &Label) -> Result<ClientSecret> {
    let secret = ClientSecret::from_bytes(seed)?;
    let own = secret.label().key;
    own.join("label of a secret", label.key)
        .map_err(rlwe::Error::from)?;
    Ok(secret.with_life(label.created, label.expires))
}

fn length(found: usize, expected: usize) -> BytesError {
    BytesError::Length {
        found: found as u64,
        expected: expected as u64,
    }
}
