//! The channel over TLS, with right and wrong peers.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use mpc::{Channel, Duplex, Error, Fingerprint, Result, ServerIdentity, accept, connect};

const PATIENCE: Duration = Duration::from_secs(20);

/// Both ends over loopback. The client trusts `trusted`, or the server's own certificate.
fn ends(trusted: Option<Fingerprint>) -> (Result<Duplex>, Result<Duplex>) {
    let identity = ServerIdentity::generate().expect("randomness");
    let trusted = trusted.unwrap_or(identity.fingerprint());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    thread::scope(|scope| {
        let server = scope.spawn(move || {
            let (socket, _) = listener.accept().expect("a client");
            accept(socket, &identity, PATIENCE)
        });
        let socket = TcpStream::connect(address).expect("listening");
        let client = connect(socket, trusted, PATIENCE);
        (server.join().expect("the server ends"), client)
    })
}

fn both_send(server: &mut Duplex, client: &mut Duplex, length: usize) {
    let message = |seed: usize| {
        (0..length)
            .map(|i| (i * 7 + seed) as u8)
            .collect::<Vec<u8>>()
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            let received = server.exchange(&message(1), length).expect("connected");
            assert!(received == message(2), "the client's bytes");
        });
        let received = client.exchange(&message(2), length).expect("connected");
        assert!(received == message(1), "the server's bytes");
    });
}

/// The longest message is far above what sockets hold: neither party may wait for the other to read.
#[test]
fn both_parties_send_at_once() {
    let (server, client) = ends(None);
    let (mut server, mut client) = (server.expect("trusted"), client.expect("trusted"));
    for length in [1, 65_536, 24 << 20] {
        both_send(&mut server, &mut client, length);
    }
    let traffic = server.traffic();
    assert_eq!((traffic.sent, traffic.rounds), (traffic.received, 3));
    assert_eq!(traffic.sent, 1 + 65_536 + (24 << 20));

    // What was sent before the end arrives, and then the end is an error.
    server.send(b"last").expect("connected");
    server.flush().expect("connected");
    drop(server);
    let mut last = [0; 4];
    client.receive(&mut last).expect("sent before the end");
    assert_eq!(&last, b"last");
    let error = client.receive(&mut last).expect_err("the end");
    assert!(matches!(error, Error::Connection { .. }), "{error}");
}

#[test]
fn another_certificate_is_refused() {
    let other = ServerIdentity::generate()
        .expect("randomness")
        .fingerprint();
    let (server, client) = ends(Some(other));
    let error = client.err().expect("another certificate").to_string();
    assert!(
        error.contains("the server's certificate has the fingerprint"),
        "{error}"
    );
    assert!(error.contains(&other.to_string()), "{error}");
    assert!(server.is_err());
}

#[test]
fn a_peer_without_tls_is_refused() {
    let identity = ServerIdentity::generate().expect("randomness");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let mut socket = TcpStream::connect(listener.local_addr().expect("bound")).expect("listening");
    socket
        .write_all(b"GET / HTTP/1.1\r\n\r\n")
        .expect("connected");
    let (accepted, _) = listener.accept().expect("a client");
    let error = accept(accepted, &identity, PATIENCE)
        .err()
        .expect("no TLS")
        .to_string();
    assert!(error.starts_with("TLS: the handshake failed"), "{error}");
}

#[test]
fn a_silent_peer_times_out() {
    let (server, client) = ends(None);
    drop(client.expect("trusted"));
    drop(server);
    let identity = ServerIdentity::generate().expect("randomness");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let _silent = TcpStream::connect(listener.local_addr().expect("bound")).expect("listening");
    let (accepted, _) = listener.accept().expect("a client");
    let error = accept(accepted, &identity, Duration::from_millis(50))
        .err()
        .expect("silence");
    assert!(matches!(error, Error::Connection { .. }), "{error}");
}

#[test]
fn files_without_a_certificate_or_key_are_named() {
    let error = ServerIdentity::from_pem(b"", b"")
        .err()
        .expect("empty")
        .to_string();
    assert!(error.contains("certificate"), "{error}");
    assert!(Fingerprint::of_pem(b"no certificate").is_err());
    assert!("12ab".parse::<Fingerprint>().is_err());
    let fingerprint = ServerIdentity::generate()
        .expect("randomness")
        .fingerprint();
    assert_eq!(
        fingerprint
            .to_string()
            .parse::<Fingerprint>()
            .expect("hexadecimal"),
        fingerprint
    );
}

/// The client's first bytes may come in the same packet as the end of its handshake.
#[test]
fn a_first_message_right_after_the_handshake_arrives() {
    let identity = ServerIdentity::generate().expect("randomness");
    let trusted = identity.fingerprint();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    thread::scope(|scope| {
        scope.spawn(move || {
            let socket = TcpStream::connect(address).expect("listening");
            let mut client = connect(socket, trusted, PATIENCE).expect("trusted");
            client.send(b"first").expect("connected");
            client.flush().expect("connected");
            let mut answer = [0; 1];
            client.receive(&mut answer).expect("the server has read");
        });
        let (socket, _) = listener.accept().expect("a client");
        let mut server = accept(socket, &identity, PATIENCE).expect("a client");
        let mut first = [0; 5];
        server.receive(&mut first).expect("sent at once");
        assert_eq!(&first, b"first");
        server.send(&[1]).expect("connected");
        server.flush().expect("connected");
    });
}
