//! Verification of certificates: a party knows the other's certificate by its hash. No authority is
//! asked, and no name is compared. The signature of the handshake shows that the other party has
//! the certificate's key.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

use super::identity::Fingerprint;

type Verdict<T> = std::result::Result<T, Error>;

/// The clients that a server accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clients {
    /// Every client. The server asks for no certificate.
    Any,
    /// Clients with one of these certificates.
    Known(Vec<Fingerprint>),
}

/// Verifier that accepts one server.
#[derive(Debug)]
pub(super) struct Pinned {
    pub(super) trusted: Fingerprint,
    pub(super) provider: Arc<CryptoProvider>,
}

/// Verifier that accepts known clients, and remembers the certificate that a client shows.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) known: Vec<Fingerprint>,
    pub(super) shown: Mutex<Option<Fingerprint>>,
    pub(super) provider: Arc<CryptoProvider>,
}

impl Listed {
    pub(super) fn shown(&self) -> Option<Fingerprint> {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Verdict<ServerCertVerified> {
        let fingerprint = Fingerprint::of(end_entity);
        if fingerprint == self.trusted {
            return Ok(ServerCertVerified::assertion());
        }
        let text = format!(
            "the server's certificate has the fingerprint {fingerprint}, expected {}: it is another \
             server, or has a new certificate since",
            self.trusted
        );
        Err(Error::General(text))
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Verdict<HandshakeSignatureValid> {
        Err(old())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Verdict<HandshakeSignatureValid> {
        signed(&self.provider, message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        schemes(&self.provider)
    }
}

impl ClientCertVerifier for Listed {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Verdict<ClientCertVerified> {
        let fingerprint = Fingerprint::of(end_entity);
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = Some(fingerprint);
        if self.known.contains(&fingerprint) {
            return Ok(ClientCertVerified::assertion());
        }
        Err(CertificateError::ApplicationVerificationFailure.into())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Verdict<HandshakeSignatureValid> {
        Err(old())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Verdict<HandshakeSignatureValid> {
        signed(&self.provider, message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        schemes(&self.provider)
    }
}

fn old() -> Error {
    Error::General("TLS 1.2 is not spoken".to_owned())
}

fn signed(
    provider: &CryptoProvider,
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signature: &DigitallySignedStruct,
) -> Verdict<HandshakeSignatureValid> {
    let algorithms = &provider.signature_verification_algorithms;
    verify_tls13_signature(message, certificate, signature, algorithms)
}

fn schemes(provider: &CryptoProvider) -> Vec<SignatureScheme> {
    provider
        .signature_verification_algorithms
        .supported_schemes()
}
