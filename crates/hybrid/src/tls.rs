//! Connections between the two parties: TCP with TLS 1.3, the server known by its certificate's
//! hash.

use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use mpc::{Duplex, ServerIdentity};

use crate::error::{Error, Result};

/// Longest wait for the other party: more than a layer takes.
const PATIENCE: Duration = Duration::from_secs(300);
/// Longest wait for a server to accept.
const REACH: Duration = Duration::from_secs(30);

/// Connects to `HOST:PORT`, to the server whose certificate has the hash `trusted`.
///
/// # Errors
/// [`Error::Unreachable`] if nothing listens there, [`Error::Protocol`] for another server.
pub fn connect(address: &str, trusted: mpc::Fingerprint) -> Result<Duplex> {
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
    let socket = TcpStream::connect_timeout(&first, REACH);
    let socket = socket.map_err(|e| {
        unreachable(format!(
            "{e}; check the address, and that palladion serve-hybrid runs there"
        ))
    })?;
    Ok(mpc::connect(socket, trusted, PATIENCE)?)
}

/// The server's end of a connection.
///
/// # Errors
/// [`Error::Protocol`] for a client that does not speak TLS 1.3.
pub fn accept(socket: TcpStream, identity: &ServerIdentity) -> Result<Duplex> {
    let unreachable = |e: std::io::Error| Error::Unreachable {
        address: "the client".to_owned(),
        reason: e.to_string(),
    };
    socket.set_nonblocking(false).map_err(unreachable)?;
    Ok(mpc::accept(socket, identity, PATIENCE)?)
}
