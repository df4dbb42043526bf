//! TCP with TLS 1.3 as a channel. The client trusts one certificate, by its hash.
//!
//! Each end has a thread that takes bytes from the network even while nobody reads, so that two
//! parties that send long messages at once do not wait for each other.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mpc::Duplex;
use rlwe::bytes::{Fingerprint, fingerprint};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring::default_provider, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, Connection, DigitallySignedStruct, ServerConfig,
    ServerConnection, SignatureScheme, version,
};

use crate::error::{Error, Result};

/// Longest wait for the other party's next bytes.
const PATIENCE: Duration = Duration::from_secs(300);
/// Longest wait for the other party to accept bytes, or to greet.
const WRITE_PATIENCE: Duration = Duration::from_secs(60);
/// Bytes taken from the network at once.
const CHUNK: usize = 1 << 16;

/// A server's certificate with its key.
#[derive(Clone)]
pub struct Identity {
    config: Arc<ServerConfig>,
    fingerprint: Fingerprint,
}

fn tls(reason: impl ToString) -> Error {
    Error::Tls {
        reason: reason.to_string(),
    }
}

impl Identity {
    /// A fresh certificate, signed by itself.
    ///
    /// # Errors
    /// [`Error::Tls`].
    pub fn fresh() -> Result<Self> {
        let made = rcgen::generate_simple_self_signed(["palladion".to_owned()]).map_err(tls)?;
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).map_err(tls)?;
        Self::new(vec![made.cert.der().clone()], key)
    }

    /// A certificate and its key from files in PEM form.
    ///
    /// # Errors
    /// [`Error::Tls`], naming the file.
    pub fn from_files(certificate: &Path, key: &Path) -> Result<Self> {
        let fault = |path: &Path, what: &str, reason: String| {
            tls(format!(
                "{}: no {what} in PEM form: {reason}",
                path.display()
            ))
        };
        let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect);
        let chain: Vec<CertificateDer<'static>> =
            chain.map_err(|e| fault(certificate, "certificate", e.to_string()))?;
        let private = PrivateKeyDer::from_pem_file(key)
            .map_err(|e| fault(key, "private key", e.to_string()))?;
        Self::new(chain, private)
    }

    fn new(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<Self> {
        let Some(first) = chain.first() else {
            return Err(tls(
                "the file of the certificate has none, expected at least 1",
            ));
        };
        let fingerprint = fingerprint(first);
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&version::TLS13])
            .map_err(tls)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(tls)?;
        Ok(Self {
            config: Arc::new(config),
            fingerprint,
        })
    }

    /// SHA-256 of the certificate, by which clients know it.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }
}

/// SHA-256 of the first certificate of a file in PEM form.
///
/// # Errors
/// [`Error::Tls`], naming the file.
pub fn fingerprint_of_file(path: &Path) -> Result<Fingerprint> {
    let found = CertificateDer::from_pem_file(path);
    let found = found.map_err(|e| tls(format!("{}: no certificate: {e}", path.display())))?;
    Ok(fingerprint(&found))
}

/// Trusts the one certificate with this hash.
#[derive(Debug)]
struct Pinned {
    expected: Fingerprint,
    provider: CryptoProvider,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        let found = fingerprint(end_entity);
        if found == self.expected {
            return Ok(ServerCertVerified::assertion());
        }
        Err(rustls::Error::General(format!(
            "the server's certificate has the hash {}, expected {}: this is another server",
            crate::hex(&found),
            crate::hex(&self.expected)
        )))
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.2 is not offered".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// Connects to a server that has the certificate with the hash `expected`.
///
/// # Errors
/// [`Error::Tls`] if there is no such server, or it has another certificate.
pub fn connect(address: &str, expected: &Fingerprint) -> Result<Duplex> {
    let provider = default_provider();
    let pinned = Pinned {
        expected: *expected,
        provider: provider.clone(),
    };
    let config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&version::TLS13])
        .map_err(tls)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(pinned))
        .with_no_client_auth();
    let unreachable = |e: io::Error| tls(format!("cannot connect to {address}: {e}"));
    let mut addresses = address.to_socket_addrs().map_err(unreachable)?;
    let Some(first) = addresses.next() else {
        return Err(tls(format!(
            "cannot connect to {address}: it has no address"
        )));
    };
    let socket = TcpStream::connect_timeout(&first, WRITE_PATIENCE).map_err(unreachable)?;
    let name = ServerName::try_from("palladion").map_err(tls)?;
    let connection = ClientConnection::new(Arc::new(config), name).map_err(tls)?;
    establish(socket, connection.into())
}

/// Greets a client that has connected.
///
/// # Errors
/// [`Error::Tls`] for a client that does not speak TLS 1.3.
pub fn accept(socket: TcpStream, identity: &Identity) -> Result<Duplex> {
    let connection = ServerConnection::new(identity.config.clone()).map_err(tls)?;
    establish(socket, connection.into())
}

fn establish(mut socket: TcpStream, mut connection: Connection) -> Result<Duplex> {
    socket.set_nonblocking(false).map_err(tls)?;
    socket.set_nodelay(true).map_err(tls)?;
    socket
        .set_write_timeout(Some(WRITE_PATIENCE))
        .map_err(tls)?;
    socket.set_read_timeout(Some(WRITE_PATIENCE)).map_err(tls)?;
    while connection.is_handshaking() {
        connection.complete_io(&mut socket).map_err(tls)?;
    }
    while connection.wants_write() {
        connection.write_tls(&mut socket).map_err(tls)?;
    }
    // The other party's first message may have come with the end of its handshake.
    let state = connection.process_new_packets().map_err(tls)?;
    let mut first = vec![0; state.plaintext_bytes_to_read()];
    connection.reader().read_exact(&mut first).map_err(tls)?;
    socket.set_read_timeout(None).map_err(tls)?;
    let connection = Arc::new(Mutex::new(connection));
    let (to_reader, plain) = channel();
    let (mut incoming, shared) = (socket.try_clone().map_err(tls)?, connection.clone());
    std::thread::spawn(move || {
        let mut bytes = vec![0; CHUNK];
        loop {
            let read = pull(&mut incoming, &shared, &mut bytes);
            let last = !matches!(&read, Ok(plain) if !plain.is_empty());
            // Records without content, such as tickets, are no end.
            if matches!(&read, Err(e) if e.kind() == io::ErrorKind::WouldBlock) {
                continue;
            }
            if to_reader.send(read).is_err() || last {
                return;
            }
        }
    });
    let writer = TlsWriter {
        socket,
        connection,
        waiting: Vec::new(),
    };
    let reader = TlsReader {
        plain,
        bytes: first,
        at: 0,
    };
    Ok(Duplex::new(writer, reader))
}

fn lock(connection: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    // A connection whose thread has panicked fails at its next record.
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes bytes from the network, and returns the plain ones. None at the end;
/// [`io::ErrorKind::WouldBlock`] if there are none yet.
fn pull(
    socket: &mut TcpStream,
    connection: &Mutex<Connection>,
    bytes: &mut [u8],
) -> io::Result<Vec<u8>> {
    let count = socket.read(bytes)?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut given = &bytes[..count];
    let mut connection = lock(connection);
    let mut plain = Vec::with_capacity(count);
    while !given.is_empty() {
        connection.read_tls(&mut given)?;
        let state = connection.process_new_packets().map_err(io::Error::other)?;
        let start = plain.len();
        plain.resize(start + state.plaintext_bytes_to_read(), 0);
        connection.reader().read_exact(&mut plain[start..])?;
    }
    if plain.is_empty() {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    Ok(plain)
}

struct TlsWriter {
    socket: TcpStream,
    connection: Arc<Mutex<Connection>>,
    waiting: Vec<u8>,
}

impl TlsWriter {
    fn push(&mut self) -> io::Result<()> {
        for part in std::mem::take(&mut self.waiting).chunks(CHUNK / 2) {
            let mut sealed = Vec::with_capacity(part.len() + 1024);
            {
                let mut connection = lock(&self.connection);
                connection.writer().write_all(part)?;
                while connection.wants_write() {
                    connection.write_tls(&mut sealed)?;
                }
            }
            // Without the lock, so that this end reads while the other one does not.
            self.socket.write_all(&sealed)?;
        }
        Ok(())
    }
}

impl Write for TlsWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= CHUNK {
            self.push()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.push()?;
        self.socket.flush()
    }
}

impl Drop for TlsWriter {
    fn drop(&mut self) {
        // An end that is said, so that the other party does not take it for a broken connection.
        lock(&self.connection).send_close_notify();
        let _ = self.push();
        let mut sealed = Vec::new();
        if lock(&self.connection).write_tls(&mut sealed).is_ok() {
            let _ = self.socket.write_all(&sealed);
        }
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

struct TlsReader {
    plain: Receiver<io::Result<Vec<u8>>>,
    bytes: Vec<u8>,
    at: usize,
}

impl Read for TlsReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        while self.at == self.bytes.len() {
            match self.plain.recv_timeout(PATIENCE) {
                Ok(Ok(bytes)) if bytes.is_empty() => return Ok(0),
                Ok(bytes) => (self.bytes, self.at) = (bytes?, 0),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) => {
                    let words = format!("nothing came for {} s", PATIENCE.as_secs());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, words));
                }
            }
        }
        let count = into.len().min(self.bytes.len() - self.at);
        into[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}
