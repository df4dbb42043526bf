//! Connections between the two parties: TCP with TLS 1.3. A certificate is identified by its hash.

use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use mpc::{Clients, Duplex, Fingerprint, Identity, Patience};

use crate::error::{Error, Result};

/// Longest wait for a message: more than the computation of a layer takes.
pub const PATIENCE: Duration = Duration::from_secs(300);
/// Longest time of a handshake.
pub const HANDSHAKE: Duration = Duration::from_secs(10);

/// Connects to the server at `HOST:PORT` whose certificate has the hash `trusted`. The client shows
/// `identity` if the server asks for a certificate. The server has `reach` to accept and for the
/// handshake, and `patience` for each message.
///
/// # Errors
/// [`Error::Unreachable`] if no server answers at the address, [`Error::Protocol`] for another
/// server.
pub fn connect(
    address: &str,
    trusted: Fingerprint,
    identity: Option<&Identity>,
    [reach, patience]: [Duration; 2],
) -> Result<Duplex> {
    let unreachable = |reason: String| Error::Unreachable {
        address: address.to_owned(),
        reason,
    };
    let mut addresses = address
        .to_socket_addrs()
        .map_err(|e| unreachable(format!("{e}; expected HOST:PORT of a server")))?;
    let first = addresses
        .next()
        .ok_or_else(|| unreachable("it has no address".to_owned()))?;
    let socket = TcpStream::connect_timeout(&first, reach);
    let socket = socket.map_err(|e| {
        unreachable(format!(
            "{e}; check the address, and that palladion serve-hybrid runs there"
        ))
    })?;
    let patience = Patience {
        handshake: reach,
        message: patience,
    };
    match mpc::connect(socket, trusted, identity, patience) {
        Err(mpc::Error::Connection { source, .. }) => Err(unreachable(format!(
            "{source}; something listens there, and does not greet as palladion serve-hybrid does"
        ))),
        other => Ok(other?),
    }
}

/// Accepts a client. Returns the server's end of the connection, and the client's certificate if
/// `clients` asks for one.
///
/// # Errors
/// [`Error::Protocol`] for a client that does not speak TLS 1.3 in time, or whose certificate is
/// unknown.
pub fn accept(
    socket: TcpStream,
    identity: &Identity,
    clients: &Clients,
) -> Result<(Duplex, Option<Fingerprint>)> {
    let unreachable = |e: std::io::Error| Error::Unreachable {
        address: "the client".to_owned(),
        reason: e.to_string(),
    };
    socket.set_nonblocking(false).map_err(unreachable)?;
    let patience = Patience {
        handshake: HANDSHAKE,
        message: PATIENCE,
    };
    Ok(mpc::accept(socket, identity, clients, patience)?)
}
