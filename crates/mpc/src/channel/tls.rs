//! A channel over TCP with TLS 1.3.
//!
//! The server has a certificate. The client trusts exactly one, by its fingerprint: no authority is
//! asked, and no name is compared.

use std::io::{self, BufWriter, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, Connection, DigitallySignedStruct, ServerConfig,
    ServerConnection, SignatureScheme,
};

use super::Duplex;
use super::identity::{Fingerprint, ServerIdentity};
use crate::{Error, Result};

/// Bytes that are written or read at once: some records of TLS.
const CHUNK: usize = 1 << 16;

/// Chunks that are read ahead: up to 512 MB, more than any exchange sends. Beyond that the other
/// party has to wait.
const CHUNKS_AHEAD: usize = 1 << 13;

/// The server's end of a connection. `timeout` limits the handshake and every wait for the client.
///
/// # Errors
/// [`Error::Tls`] if the handshake fails, [`Error::Connection`].
pub fn accept(socket: TcpStream, identity: &ServerIdentity, timeout: Duration) -> Result<Duplex> {
    let builder = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|e| tls(e.to_string()))?;
    let mut config = builder
        .with_no_client_auth()
        .with_single_cert(identity.certificates.clone(), identity.key.clone_key())
        .map_err(|e| tls(format!("the certificate and its key: {e}")))?;
    // Nobody resumes a session, so nothing but the protocol's bytes follows the handshake.
    config.send_tls13_tickets = 0;
    let connection = ServerConnection::new(Arc::new(config)).map_err(|e| tls(e.to_string()))?;
    open(socket, connection.into(), timeout)
}

/// The client's end of a connection. `timeout` limits the handshake and every wait for the server.
///
/// # Errors
/// [`Error::Tls`] if the server has another certificate or the handshake fails otherwise,
/// [`Error::Connection`].
pub fn connect(socket: TcpStream, trusted: Fingerprint, timeout: Duration) -> Result<Duplex> {
    let provider = provider();
    let verifier = Pinned {
        trusted,
        provider: provider.clone(),
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|e| tls(e.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    let name = ServerName::try_from("palladion").expect("a DNS name");
    let connection = ClientConnection::new(Arc::new(config), name);
    let connection = connection.map_err(|e| tls(e.to_string()))?;
    open(socket, connection.into(), timeout)
}

fn open(mut socket: TcpStream, mut connection: Connection, timeout: Duration) -> Result<Duplex> {
    let failed = |doing| move |source| Error::Connection { doing, source };
    let preparing = failed("preparing the socket");
    socket.set_nodelay(true).map_err(preparing)?;
    socket.set_read_timeout(Some(timeout)).map_err(preparing)?;
    while connection.is_handshaking() {
        connection.complete_io(&mut socket).map_err(|source| {
            match source
                .get_ref()
                .and_then(|e| e.downcast_ref::<rustls::Error>())
            {
                Some(error) => tls(format!("the handshake failed: {error}")),
                None => failed("greeting the other party")(source),
            }
        })?;
    }
    // The client's last words of the handshake.
    while connection.wants_write() {
        connection
            .write_tls(&mut socket)
            .map_err(failed("greeting the other party"))?;
    }
    // The first message may have come together with the end of the handshake.
    let mut chunk = Vec::new();
    let state = connection.process_new_packets();
    let state = state.map_err(|e| tls(format!("the handshake failed: {e}")))?;
    chunk.resize(state.plaintext_bytes_to_read(), 0);
    let first = connection.reader().read_exact(&mut chunk);
    first.map_err(failed("greeting the other party"))?;
    socket.set_read_timeout(None).map_err(preparing)?;
    let reading = socket.try_clone().map_err(preparing)?;
    let connection = Arc::new(Mutex::new(connection));
    let (ahead, chunks) = sync_channel(CHUNKS_AHEAD);
    let reader_connection = Arc::clone(&connection);
    thread::spawn(move || read_ahead(reading, &reader_connection, &ahead));
    let writer = TlsWriter { socket, connection };
    let reader = TlsReader {
        chunks,
        timeout,
        chunk,
        at: 0,
    };
    Ok(Duplex::new(BufWriter::with_capacity(CHUNK, writer), reader))
}

/// Reads until the other party closes, so that it never waits for us to read.
fn read_ahead(
    mut socket: TcpStream,
    connection: &Mutex<Connection>,
    ahead: &SyncSender<io::Result<Vec<u8>>>,
) {
    let mut encrypted = vec![0; CHUNK];
    loop {
        let read = match socket.read(&mut encrypted) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
            Ok(0) => return,
            Ok(count) => decrypt(&mut lock(connection), &encrypted[..count]),
        };
        let (chunk, ended) = match read {
            Ok((chunk, ended)) => (Ok(chunk), ended),
            Err(error) => (Err(error), true),
        };
        // The channel is gone if nobody reads any more.
        if ahead.send(chunk).is_err() || ended {
            return;
        }
    }
}

/// What a piece of the encrypted stream completes, and whether the other party has closed it.
fn decrypt(connection: &mut Connection, mut encrypted: &[u8]) -> io::Result<(Vec<u8>, bool)> {
    let mut plain = Vec::new();
    let mut ended = false;
    while !encrypted.is_empty() && !ended {
        connection.read_tls(&mut encrypted)?;
        let state = connection.process_new_packets();
        let state = state.map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))?;
        ended = state.peer_has_closed();
        let count = state.plaintext_bytes_to_read();
        let at = plain.len();
        plain.resize(at + count, 0);
        connection.reader().read_exact(&mut plain[at..])?;
    }
    Ok((plain, ended))
}

struct TlsReader {
    chunks: Receiver<io::Result<Vec<u8>>>,
    timeout: Duration,
    chunk: Vec<u8>,
    at: usize,
}

impl Read for TlsReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        while self.at == self.chunk.len() {
            self.chunk = match self.chunks.recv_timeout(self.timeout) {
                Ok(chunk) => chunk?,
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) => {
                    let text = format!("no answer within {} s", self.timeout.as_secs_f32());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, text));
                }
            };
            self.at = 0;
        }
        let count = into.len().min(self.chunk.len() - self.at);
        into[..count].copy_from_slice(&self.chunk[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

struct TlsWriter {
    socket: TcpStream,
    connection: Arc<Mutex<Connection>>,
}

impl TlsWriter {
    /// Encrypts under the lock and sends without it, so that reading goes on meanwhile.
    fn send(
        &mut self,
        fill: impl FnOnce(&mut Connection) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut encrypted = Vec::new();
        let mut connection = lock(&self.connection);
        let count = fill(&mut connection)?;
        while connection.wants_write() {
            connection.write_tls(&mut encrypted)?;
        }
        drop(connection);
        self.socket.write_all(&encrypted)?;
        Ok(count)
    }
}

impl Write for TlsWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send(|connection| connection.writer().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl Drop for TlsWriter {
    /// Says that nothing follows. The other party may be gone already.
    fn drop(&mut self) {
        let close = |connection: &mut Connection| {
            connection.send_close_notify();
            Ok(0)
        };
        if self.send(close).is_ok() {
            let _ = self.socket.shutdown(Shutdown::Write);
        }
    }
}

fn lock(connection: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

pub(super) fn tls(reason: impl Into<String>) -> Error {
    let reason = reason.into();
    Error::Tls { reason }
}

/// Accepts one certificate.
#[derive(Debug)]
struct Pinned {
    trusted: Fingerprint,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        let found = Fingerprint::of(end_entity);
        if found == self.trusted {
            return Ok(ServerCertVerified::assertion());
        }
        let text = format!(
            "the server's certificate has the fingerprint {found}, expected {}: it is another \
             server, or has a new certificate since",
            self.trusted
        );
        Err(rustls::Error::General(text))
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.2 is not spoken".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
