//! Connections between the two parties: TCP with TLS 1.3, each known by its certificate's hash.

use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use mpc::{Clients, Duplex, Fingerprint, Identity, Patience};

use crate::error::{Error, Result};

/// Longest wait for the other party: more than a layer takes.
pub const PATIENCE: Duration = Duration::from_secs(300);
/// Longest handshake.
pub const HANDSHAKE: Duration = Duration::from_secs(10);

/// Connects to `HOST:PORT`, to the server whose certificate has the hash `trusted`, as the client
/// with this identity if the server asks for one. The server has `reach` to accept and for the
/// handshake, and `patience` for each message.
///
/// # Errors
/// [`Error::Unreachable`] if nothing answers there, [`Error::Protocol`] for another server.
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
    let mut found = address
        .to_socket_addrs()
        .map_err(|e| unreachable(format!("{e}; expected HOST:PORT of a server")))?;
    let first = found
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

/// The server's end of a connection, and the certificate of the client if it was asked for one.
///
/// # Errors
/// [`Error::Protocol`] for a client that does not speak TLS 1.3 in time, or is not known.
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
