//! Identities of parties: a certificate, its key, and the fingerprint by which the other party
//! knows it.

use std::fmt;
use std::str::FromStr;

use ring::digest::{SHA256, digest};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use zeroize::Zeroizing;

use super::tls::tls;
use crate::{Error, Result};

/// SHA-256 of a certificate. Its text form has 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of the first certificate of a PEM file.
    ///
    /// # Errors
    /// [`Error::Tls`] if the file has no certificate.
    pub fn of_pem(pem: &[u8]) -> Result<Self> {
        let certificate = CertificateDer::from_pem_slice(pem);
        let certificate =
            certificate.map_err(|e| tls(format!("no certificate in the file: {e}")))?;
        Ok(Self::of(&certificate))
    }

    pub(super) fn of(certificate: &CertificateDer<'_>) -> Self {
        let digest = digest(&SHA256, certificate);
        Self(digest.as_ref().try_into().expect("SHA-256 has 32 bytes"))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Fingerprint {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            tls(format!(
                "the fingerprint {text:?} is no 64 hexadecimal digits"
            ))
        };
        let text = text.trim();
        if text.len() != 64 || !text.is_ascii() {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

/// A party's certificate and its private key.
pub struct Identity {
    pub(super) certificates: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Generates a key and a self-signed certificate.
    ///
    /// # Errors
    /// [`Error::Tls`] if the operating system has no randomness.
    pub fn generate() -> Result<Self> {
        let generated = generate()?;
        let key = PrivatePkcs8KeyDer::from(generated.signing_key.serialize_der());
        Ok(Self {
            certificates: vec![generated.cert.der().clone()],
            key: key.into(),
        })
    }

    /// Generates an identity as [`generate`](Self::generate) does, in PEM form: the certificate,
    /// and then the private key.
    ///
    /// # Errors
    /// The errors of [`generate`](Self::generate).
    pub fn generate_pem() -> Result<Zeroizing<String>> {
        let generated = generate()?;
        let key = Zeroizing::new(generated.signing_key.serialize_pem());
        Ok(Zeroizing::new(generated.cert.pem() + &key))
    }

    /// Reads a certificate chain, the party's own certificate first, and a private key.
    ///
    /// # Errors
    /// [`Error::Tls`] if either is missing or unreadable.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self> {
        let read: std::result::Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(certificates).collect();
        let certificates = read.map_err(|e| tls(format!("the certificate is unreadable: {e}")))?;
        if certificates.is_empty() {
            return Err(tls("the file of the certificate has none"));
        }
        let key = PrivateKeyDer::from_pem_slice(key);
        let key = key.map_err(|e| tls(format!("the private key is unreadable: {e}")))?;
        Ok(Self { certificates, key })
    }

    /// The fingerprint, by which the other party knows this one.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.certificates[0])
    }
}

fn generate() -> Result<rcgen::CertifiedKey<rcgen::KeyPair>> {
    let generated = rcgen::generate_simple_self_signed(["palladion".to_owned()]);
    generated.map_err(|e| tls(format!("no certificate can be made: {e}")))
}
