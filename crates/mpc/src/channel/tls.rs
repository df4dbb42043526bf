//! A channel over TCP with TLS 1.3.
//!
//! The server has a certificate, and the client trusts exactly one certificate, by its fingerprint.
//! The server accepts clients whose certificates it knows, or all clients.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::ServerName;
use rustls::{
    AlertDescription, ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection,
};

use super::Duplex;
use super::ahead::Ahead;
use super::identity::{Fingerprint, Identity};
use super::verify::{Clients, Listed, Pinned};
use crate::{Error, Result};

/// Largest number of bytes of one read or write: a few records of TLS.
const CHUNK: usize = 1 << 16;

/// Longest time of one call of the socket, after which its caller looks at the clock.
const TICK: Duration = Duration::from_millis(250);

/// Longest wait of a dropped channel for the other party to read the last bytes.
const GRACE: Duration = Duration::from_millis(500);

/// Longest waits of a party for the other party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Longest time of the whole handshake.
    pub handshake: Duration,
    /// Longest wait for a message to arrive, or to be taken by the other party.
    pub message: Duration,
}

/// Accepts a client. Returns the server's end of the connection, and the client's certificate if
/// `clients` asks for one.
///
/// # Errors
/// [`Error::Tls`] if the handshake fails or the client is unknown, [`Error::Connection`].
pub fn accept(
    socket: TcpStream,
    identity: &Identity,
    clients: &Clients,
    patience: Patience,
) -> Result<(Duplex, Option<Fingerprint>)> {
    let builder = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|e| tls(e.to_string()))?;
    let listed = match clients {
        Clients::Any => None,
        Clients::Known(known) => Some(Arc::new(Listed {
            known: known.clone(),
            shown: Mutex::default(),
            provider: provider(),
        })),
    };
    let builder = match &listed {
        None => builder.with_no_client_auth(),
        Some(listed) => builder.with_client_cert_verifier(Arc::clone(listed) as _),
    };
    let mut config = builder
        .with_single_cert(identity.certificates.clone(), identity.key.clone_key())
        .map_err(|e| tls(format!("the certificate and its key: {e}")))?;
    // No client resumes a session, so only the protocol's bytes follow the handshake.
    config.send_tls13_tickets = 0;
    let connection = ServerConnection::new(Arc::new(config)).map_err(|e| tls(e.to_string()))?;
    let shown = || listed.as_ref().and_then(|listed| listed.shown());
    match open(socket, connection.into(), patience) {
        Ok(channel) => Ok((channel, shown())),
        Err(Error::Tls { reason }) => Err(tls(match shown() {
            Some(found) => format!("{reason}: the client's certificate has the hash {found}"),
            None => reason,
        })),
        Err(error) => Err(error),
    }
}

/// Connects to a server. Returns the client's end of the connection. The client shows `identity` if
/// the server asks for a certificate.
///
/// # Errors
/// [`Error::Tls`] if the server has another certificate or the handshake fails otherwise,
/// [`Error::Connection`].
pub fn connect(
    socket: TcpStream,
    trusted: Fingerprint,
    identity: Option<&Identity>,
    patience: Patience,
) -> Result<Duplex> {
    let provider = provider();
    let verifier = Pinned {
        trusted,
        provider: provider.clone(),
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|e| tls(e.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let config = match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => builder
            .with_client_auth_cert(identity.certificates.clone(), identity.key.clone_key())
            .map_err(|e| tls(format!("the client's certificate and its key: {e}")))?,
    };
    let name = ServerName::try_from("palladion").expect("a DNS name");
    let connection = ClientConnection::new(Arc::new(config), name);
    let connection = connection.map_err(|e| tls(e.to_string()))?;
    open(socket, connection.into(), patience)
}

fn open(socket: TcpStream, connection: Connection, patience: Patience) -> Result<Duplex> {
    let preparing = |source| Error::Connection {
        doing: "preparing the socket",
        source,
    };
    socket.set_nodelay(true).map_err(preparing)?;
    socket.set_read_timeout(Some(TICK)).map_err(preparing)?;
    socket.set_write_timeout(Some(TICK)).map_err(preparing)?;
    let (connection, first) = shake_hands(&socket, connection, patience.handshake)?;
    let reading = socket.try_clone().map_err(preparing)?;
    let connection = Arc::new(Mutex::new(connection));
    let ahead = Ahead::new();
    let (queue, state) = (ahead.clone(), Arc::clone(&connection));
    let reader = thread::Builder::new().spawn(move || {
        let failure = read_ahead(reading, &state, &queue).err();
        queue.end(failure);
    });
    let writer = TlsWriter {
        socket,
        connection,
        waiting: Vec::new(),
        patience: patience.message,
        is_broken: false,
        ahead: ahead.clone(),
        reader: Some(reader.map_err(|source| Error::Connection {
            doing: "starting a thread",
            source,
        })?),
    };
    let reader = TlsReader {
        ahead: ahead.clone(),
        patience: patience.message,
        chunk: first,
        at: 0,
    };
    Ok(Duplex::reading_ahead(writer, reader, ahead))
}

/// Completes the handshake within `patience`, however the other party cuts its bytes. Returns the
/// first plain bytes after the handshake.
fn shake_hands(
    mut socket: &TcpStream,
    mut connection: Connection,
    patience: Duration,
) -> Result<(Connection, Vec<u8>)> {
    let failed = |source| Error::Connection {
        doing: "greeting the other party",
        source,
    };
    let until = Instant::now() + patience;
    loop {
        let step = match connection.wants_write() {
            true => connection.write_tls(&mut socket),
            false if !connection.is_handshaking() => break,
            false => connection
                .read_tls(&mut socket)
                .and_then(|count| match count {
                    0 => Err(io::Error::new(
                        ErrorKind::UnexpectedEof,
                        "it closed the connection",
                    )),
                    count => Ok(count),
                }),
        };
        match step {
            Err(error) if is_a_wait(&error) => {}
            step => drop(step.map_err(failed)?),
        }
        if let Err(error) = connection.process_new_packets() {
            // Sends the alert with the reason, and lets the other party read it.
            while connection.wants_write() && connection.write_tls(&mut socket).is_ok() {}
            let _ = socket.shutdown(Shutdown::Write);
            drain(socket, until.min(Instant::now() + GRACE));
            return Err(tls(format!("the handshake failed: {error}")));
        }
        if Instant::now() >= until && (connection.is_handshaking() || connection.wants_write()) {
            let text = format!("no handshake within {} s", patience.as_secs_f32());
            return Err(failed(io::Error::new(ErrorKind::TimedOut, text)));
        }
    }
    // The first message may have come together with the end of the handshake.
    let first = take_plain(&mut connection).map_err(failed)?;
    Ok((connection, first))
}

/// Reads and drops bytes until the other party closes or the time is over.
fn drain(mut socket: &TcpStream, until: Instant) {
    let mut bytes = [0; 4096];
    while Instant::now() < until {
        match socket.read(&mut bytes) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if is_a_wait(&error) => {}
            Err(_) => return,
        }
    }
}

fn is_a_wait(error: &io::Error) -> bool {
    use ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

/// Reads until the other party closes, as long as the queue has room, so that the other party never
/// waits for a reader. The thread ends with the socket, which a dropped channel shuts.
fn read_ahead(
    mut socket: TcpStream,
    connection: &Mutex<Connection>,
    ahead: &Ahead,
) -> io::Result<()> {
    let mut encrypted = vec![0; CHUNK];
    loop {
        ahead.wait_for_room();
        match socket.read(&mut encrypted) {
            Err(error) if is_a_wait(&error) => {}
            Err(error) => return Err(error),
            Ok(0) => return Ok(()),
            Ok(count) => {
                let (chunk, ended) = decrypt(&mut lock(connection), &encrypted[..count])?;
                ahead.push(chunk);
                if ended {
                    return Ok(());
                }
            }
        }
    }
}

/// Decrypts a piece of the encrypted stream. Returns the completed plain bytes, and true if the
/// other party has closed the stream.
fn decrypt(connection: &mut Connection, mut encrypted: &[u8]) -> io::Result<(Vec<u8>, bool)> {
    let mut plain = Vec::new();
    let mut ended = false;
    while !encrypted.is_empty() && !ended {
        connection.read_tls(&mut encrypted)?;
        let state = connection.process_new_packets();
        ended = state.map_err(refusal)?.peer_has_closed();
        plain.append(&mut take_plain(connection)?);
    }
    Ok((plain, ended))
}

fn take_plain(connection: &mut Connection) -> io::Result<Vec<u8>> {
    let state = connection.process_new_packets().map_err(refusal)?;
    let mut plain = vec![0; state.plaintext_bytes_to_read()];
    connection.reader().read_exact(&mut plain)?;
    Ok(plain)
}

/// Converts an error of TLS. A server refuses a client by an alert after the client's handshake.
fn refusal(error: rustls::Error) -> io::Error {
    use AlertDescription::{AccessDenied, CertificateRequired};
    match error {
        rustls::Error::AlertReceived(CertificateRequired | AccessDenied) => io::Error::new(
            ErrorKind::PermissionDenied,
            "the server answers only clients whose certificates it knows, and not this one: make \
             one with `palladion identity`, and let the server's owner add its hash",
        ),
        error => io::Error::new(ErrorKind::InvalidData, error),
    }
}

struct TlsReader {
    ahead: Ahead,
    patience: Duration,
    chunk: Vec<u8>,
    at: usize,
}

impl Read for TlsReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        if self.at == self.chunk.len() {
            match self.ahead.next(self.patience)? {
                Some(chunk) => (self.chunk, self.at) = (chunk, 0),
                None => return Ok(0),
            }
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
    /// Plain bytes in the buffer.
    waiting: Vec<u8>,
    patience: Duration,
    is_broken: bool,
    ahead: Ahead,
    reader: Option<JoinHandle<()>>,
}

impl TlsWriter {
    /// Encrypts under the lock and sends without it, so that the reader is not blocked.
    fn send(&mut self, mut plain: &[u8]) -> io::Result<()> {
        while !plain.is_empty() {
            let mut encrypted = Vec::new();
            let mut connection = lock(&self.connection);
            // A refusal that has arrived meanwhile becomes an error with its reason.
            connection.process_new_packets().map_err(refusal)?;
            let count = connection.writer().write(plain)?;
            while connection.wants_write() {
                connection.write_tls(&mut encrypted)?;
            }
            drop(connection);
            let sent = self.write_socket(&encrypted);
            sent.map_err(|error| self.reason(error))?;
            plain = &plain[count..];
        }
        Ok(())
    }

    /// The reason why the other party takes no more bytes: its refusal, if one arrives, or the
    /// error of the socket.
    fn reason(&self, error: io::Error) -> io::Error {
        self.ahead.wait_for_end(GRACE);
        let state = lock(&self.connection).process_new_packets().map(drop);
        state.map_or_else(refusal, |()| error)
    }

    /// Writes to the socket. The other party has `patience` to take each part.
    fn write_socket(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        if self.is_broken {
            return Err(ErrorKind::BrokenPipe.into());
        }
        let mut began = Instant::now();
        while !bytes.is_empty() {
            match self.socket.write(bytes) {
                Ok(count) => {
                    bytes = &bytes[count..];
                    began = Instant::now();
                }
                Err(error) if is_a_wait(&error) && began.elapsed() < self.patience => {}
                Err(error) => {
                    self.is_broken = true;
                    if !is_a_wait(&error) {
                        return Err(error);
                    }
                    let text = format!("nothing was read within {} s", self.patience.as_secs_f32());
                    return Err(io::Error::new(ErrorKind::TimedOut, text));
                }
            }
        }
        Ok(())
    }
}

impl Write for TlsWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.waiting.len() + bytes.len() > CHUNK {
            self.flush()?;
        }
        match bytes.len() >= CHUNK {
            true => self.send(bytes)?,
            false => self.waiting.extend_from_slice(bytes),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        self.send(&waiting)?;
        self.waiting = waiting;
        self.waiting.clear();
        Ok(())
    }
}

impl Drop for TlsWriter {
    /// Announces the end of the stream, and waits a moment for the other party to close too. Then
    /// the socket and its thread end, whatever the other party does.
    fn drop(&mut self) {
        self.ahead.close();
        let mut last = Vec::new();
        let mut connection = lock(&self.connection);
        connection.send_close_notify();
        while connection.wants_write() && connection.write_tls(&mut last).is_ok() {}
        drop(connection);
        self.patience = GRACE;
        if self.write_socket(&last).is_ok() && self.socket.shutdown(Shutdown::Write).is_ok() {
            self.ahead.wait_for_end(GRACE);
        }
        let _ = self.socket.shutdown(Shutdown::Both);
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
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
