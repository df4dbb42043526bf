//! The secret of a client, apart from any program.

use crate::error::{Error, Result};
use crate::keys::ClientKeys;
use exchange::{Label, LoopParams};
use rand::CryptoRng;
use ring::sample::ternary_from_seed;
use rlwe::lwe::LweSecret;
use rlwe::{KeyId, SecretKey};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// Streams of the seed: the secret polynomials and the LWE secrets. The lower half of a stream is a
/// degree or a dimension, so that each has a secret of its own.
const RING: u64 = 1 << 32;
const LWE: u64 = 2 << 32;
/// Bytes of a seed.
const SEED: usize = 32;
/// Put before the seed, or before the coefficients of an old file, and hashed for the identity.
const ID_OF: &[u8] = b"palladion key id/1";

/// The secret of a client: a seed of 32 bytes, and its label.
///
/// The secrets of each program expand from the seed, by ring degree and LWE dimension. Programs
/// with equal ones, whatever their moduli, share a secret, and a set of evaluation keys may serve
/// several of them.
#[derive(Clone)]
pub struct ClientSecret {
    source: Source,
    label: Label,
}

#[derive(Clone)]
enum Source {
    Seed(Zeroizing<[u8; SEED]>),
    /// Both secrets of a file of version 1, which has no seed: that of the ring, then that of the
    /// LWE samples.
    Coefficients(Zeroizing<Vec<i64>>),
}

impl ClientSecret {
    /// Generates a secret.
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        let mut seed = Zeroizing::new([0; SEED]);
        rng.fill_bytes(seed.as_mut());
        Self::from_seed(seed)
    }

    /// The secret with this seed. Whoever has the seed has the secret.
    pub fn from_seed(seed: Zeroizing<[u8; SEED]>) -> Self {
        let label = Label::of_key(id(seed.as_ref()));
        Self {
            source: Source::Seed(seed),
            label,
        }
    }

    /// The secret of a file of version 1.
    pub(crate) fn from_coefficients(coefficients: Zeroizing<Vec<i64>>) -> Self {
        Self {
            label: Label::of_key(id(&bytes_of(&coefficients))),
            source: Source::Coefficients(coefficients),
        }
    }

    /// The same secret, which was made at `created` and is not to be used from `expires` on, in
    /// seconds since 1970.
    #[must_use]
    pub fn with_life(mut self, created: Option<u64>, expires: Option<u64>) -> Self {
        self.label = Label {
            created,
            expires,
            ..self.label
        };
        self
    }

    /// Name and life of the secret, which everything made under it carries.
    pub fn label(&self) -> &Label {
        &self.label
    }

    /// The seed, or for a secret of a file of version 1 a byte for each coefficient. Whoever has
    /// these bytes has the secret.
    pub fn to_seed(&self) -> Zeroizing<Vec<u8>> {
        match &self.source {
            Source::Seed(seed) => seed.to_vec().into(),
            Source::Coefficients(both) => bytes_of(both),
        }
    }

    /// Reads the bytes of [`to_seed`](Self::to_seed).
    ///
    /// # Errors
    /// [`Error::Key`] for bytes that are neither a seed nor coefficients.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        if let Ok(seed) = <[u8; SEED]>::try_from(bytes) {
            return Ok(Self::from_seed(Zeroizing::new(seed)));
        }
        let signed = bytes.iter().map(|&byte| i64::from(byte as i8));
        let coefficients: Zeroizing<Vec<i64>> = signed.collect::<Vec<_>>().into();
        if bytes.len() < SEED || coefficients.iter().any(|c| !(-1..=1).contains(c)) {
            return Err(Error::Key {
                what: "the seed of a secret",
                found: format!("{} bytes", bytes.len()),
                expected: format!("{SEED} bytes, or coefficients from -1 to 1"),
            });
        }
        Ok(Self::from_coefficients(coefficients))
    }

    /// Expands the secrets for the parameters of a program.
    ///
    /// # Errors
    /// [`Error::Key`] if the secret is of a file of version 1, which fits one degree and one
    /// dimension alone, and the parameters have others.
    pub fn keys(&self, params: &LoopParams) -> Result<ClientKeys> {
        let (n, dimension) = (params.bfv().n(), params.dimension());
        let (ring, lwe) = match &self.source {
            Source::Seed(seed) => (
                ternary_from_seed(n, seed, RING | n as u64),
                ternary_from_seed(dimension, seed, LWE | dimension as u64),
            ),
            Source::Coefficients(both) => {
                if both.len() != n + dimension {
                    return Err(Error::Key {
                        what: "the number of coefficients of a secret without a seed",
                        found: both.len().to_string(),
                        expected: format!("{n} + {dimension}, as for the program's parameters"),
                    });
                }
                let (ring, lwe) = both.split_at(n);
                let own = |part: &[i64]| Zeroizing::new(part.to_vec());
                (own(ring), own(lwe))
            }
        };
        let secret = SecretKey::from_coefficients(params.bfv().rlwe(), ring);
        let secret = secret.of_key(self.label.key);
        let lwe = LweSecret::from_coefficients(lwe);
        Ok(ClientKeys::from_parts(params, secret, lwe))
    }
}

fn bytes_of(coefficients: &[i64]) -> Zeroizing<Vec<u8>> {
    let bytes = coefficients.iter().map(|&c| c as i8 as u8);
    bytes.collect::<Vec<_>>().into()
}

/// Identity of a secret: the first bytes of a hash. The secret has 256 bits or more, which nobody
/// finds from a hash. A copy that was restored from the seed has the same identity.
fn id(secret: &[u8]) -> KeyId {
    let mut hash = Sha256::new_with_prefix(ID_OF);
    hash.update(secret);
    let mut bytes = [0; KeyId::LEN];
    bytes.copy_from_slice(&hash.finalize()[..KeyId::LEN]);
    KeyId::from_bytes(bytes)
}
