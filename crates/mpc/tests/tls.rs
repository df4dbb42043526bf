//! The channel over TLS, with right and wrong peers.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use palladion_mpc::{
    Channel, Clients, Duplex, Error, Fingerprint, Identity, Patience, Result, accept, connect,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, ServerConnection};

const PATIENCE: Patience = Patience {
    handshake: Duration::from_secs(20),
    message: Duration::from_secs(20),
};

fn serve(socket: TcpStream, identity: &Identity) -> Result<Duplex> {
    accept(socket, identity, &Clients::Any, PATIENCE).map(|(channel, _)| channel)
}

/// Both ends over loopback. The client trusts `trusted`, or the server's own certificate.
fn ends(trusted: Option<Fingerprint>) -> (Result<Duplex>, Result<Duplex>) {
    let identity = Identity::generate().expect("randomness");
    let trusted = trusted.unwrap_or(identity.fingerprint());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    thread::scope(|scope| {
        let server = scope.spawn(move || {
            let (socket, _) = listener.accept().expect("a client");
            serve(socket, &identity)
        });
        let socket = TcpStream::connect(address).expect("listening");
        let client = connect(socket, trusted, None, PATIENCE);
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

/// The longest message is far larger than the buffers of sockets: neither party may wait for the
/// other to read.
#[test]
fn both_parties_send_at_once() {
    let (server, client) = ends(None);
    let (mut server, mut client) = (server.expect("trusted"), client.expect("trusted"));
    server.limit_ahead(24 << 20);
    client.limit_ahead(24 << 20);
    for length in [1, 65_536, 24 << 20] {
        both_send(&mut server, &mut client, length);
    }
    let traffic = server.traffic();
    assert_eq!((traffic.sent, traffic.rounds), (traffic.received, 3));
    assert_eq!(traffic.sent, 1 + 65_536 + (24 << 20));

    // Bytes sent before the end arrive. Then the end is an error.
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
    let other = Identity::generate().expect("randomness").fingerprint();
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
    let identity = Identity::generate().expect("randomness");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let mut socket = TcpStream::connect(listener.local_addr().expect("bound")).expect("listening");
    socket
        .write_all(b"GET / HTTP/1.1\r\n\r\n")
        .expect("connected");
    let (accepted, _) = listener.accept().expect("a client");
    let error = serve(accepted, &identity)
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
    let identity = Identity::generate().expect("randomness");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let _silent = TcpStream::connect(listener.local_addr().expect("bound")).expect("listening");
    let (accepted, _) = listener.accept().expect("a client");
    let patience = Patience {
        handshake: Duration::from_millis(50),
        ..PATIENCE
    };
    let error = accept(accepted, &identity, &Clients::Any, patience)
        .err()
        .expect("silence");
    assert!(matches!(error, Error::Connection { .. }), "{error}");
}

#[test]
fn files_without_a_certificate_or_key_are_named() {
    let error = Identity::from_pem(b"", b"")
        .err()
        .expect("empty")
        .to_string();
    assert!(error.contains("certificate"), "{error}");
    assert!(Fingerprint::of_pem(b"no certificate").is_err());
    assert!("12ab".parse::<Fingerprint>().is_err());
    let fingerprint = Identity::generate().expect("randomness").fingerprint();
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
    let identity = Identity::generate().expect("randomness");
    let trusted = identity.fingerprint();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    thread::scope(|scope| {
        scope.spawn(move || {
            let socket = TcpStream::connect(address).expect("listening");
            let mut client = connect(socket, trusted, None, PATIENCE).expect("trusted");
            client.send(b"first").expect("connected");
            client.flush().expect("connected");
            let mut answer = [0; 1];
            client.receive(&mut answer).expect("the server has read");
        });
        let (socket, _) = listener.accept().expect("a client");
        let mut server = serve(socket, &identity).expect("a client");
        let mut first = [0; 5];
        server.receive(&mut first).expect("sent at once");
        assert_eq!(&first, b"first");
        server.send(&[1]).expect("connected");
        server.flush().expect("connected");
    });
}

/// A connection of a server that serves `clients` and a client that shows `own`. The client's end is
/// used, since a refusal comes after its handshake.
fn met(clients: &Clients, own: Option<&Identity>) -> (Result<Option<Fingerprint>>, Result<()>) {
    let identity = Identity::generate().expect("randomness");
    let trusted = identity.fingerprint();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    thread::scope(|scope| {
        let server = scope.spawn(move || {
            let (socket, _) = listener.accept().expect("a client");
            let (mut channel, client) = accept(socket, &identity, clients, PATIENCE)?;
            channel.send(&[7])?;
            channel.flush()?;
            Ok(client)
        });
        let socket = TcpStream::connect(address).expect("listening");
        let client = connect(socket, trusted, own, PATIENCE);
        let client = client.and_then(|mut channel| channel.receive(&mut [0]));
        (server.join().expect("the server ends"), client)
    })
}

#[test]
fn clients_are_known_by_their_certificates() {
    let [own, other] = [(); 2].map(|()| Identity::generate().expect("randomness"));
    let known = Clients::Known(vec![other.fingerprint(), own.fingerprint()]);
    let (server, client) = met(&known, Some(&own));
    client.expect("known");
    assert_eq!(server.expect("known"), Some(own.fingerprint()));
    // Where all are served, nobody is asked.
    assert_eq!(met(&Clients::Any, Some(&own)).0.expect("any"), None);

    let known = Clients::Known(vec![other.fingerprint()]);
    let (server, client) = met(&known, Some(&own));
    let text = server.expect_err("unknown").to_string();
    assert!(text.contains(&own.fingerprint().to_string()), "{text}");
    let text = client.expect_err("unknown").to_string();
    assert!(text.contains("answers only clients"), "{text}");
    let (server, client) = met(&known, None);
    server.expect_err("no certificate");
    let text = client.expect_err("no certificate").to_string();
    assert!(text.contains("palladion identity"), "{text}");
}

/// A refusal may come while the client sends. It has the same words then.
#[test]
fn a_client_that_sends_learns_that_it_is_refused() {
    let [own, server] = [(); 2].map(|()| Identity::generate().expect("randomness"));
    let trusted = server.fingerprint();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    thread::scope(|scope| {
        let server = scope.spawn(move || {
            let (socket, _) = listener.accept().expect("a client");
            accept(socket, &server, &Clients::Known(Vec::new()), PATIENCE).map(drop)
        });
        let socket = TcpStream::connect(address).expect("listening");
        let mut client = connect(socket, trusted, Some(&own), PATIENCE).expect("its own half");
        server
            .join()
            .expect("the server ends")
            .expect_err("unknown");
        // The alert is read by then, or the socket is closed.
        thread::sleep(Duration::from_millis(200));
        let mut send = || {
            client.send(&[0; 1 << 17])?;
            client.flush()
        };
        let error = (0..100).find_map(|_| send().err()).expect("refused");
        assert!(error.to_string().contains("palladion identity"), "{error}");
    });
}

/// Shows a certificate, and signs with another key.
#[derive(Debug)]
struct Thief(Arc<CertifiedKey>);

impl ResolvesServerCert for Thief {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

/// A certificate is public. Who shows it must sign with its key.
#[test]
fn the_certificate_without_its_key_is_refused() {
    let [shown, own] = [(); 2].map(|()| Identity::generate_pem().expect("randomness"));
    let trusted = Fingerprint::of_pem(shown.as_bytes()).expect("a certificate");
    let certificate = CertificateDer::from_pem_slice(shown.as_bytes()).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(own.as_bytes()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = provider.key_provider.load_private_key(key).expect("a key");
    let thief = Thief(Arc::new(CertifiedKey::new(vec![certificate], key)));
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("known")
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(thief));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("a client");
        let mut server = ServerConnection::new(Arc::new(config)).expect("sound");
        while server
            .complete_io(&mut socket)
            .is_ok_and(|(read, _)| read > 0)
        {}
    });
    let socket = TcpStream::connect(address).expect("listening");
    let error = connect(socket, trusted, None, PATIENCE)
        .err()
        .expect("a thief")
        .to_string();
    assert!(error.contains("BadSignature"), "{error}");
}

/// Bytes of a handshake that come one by one do not make it last longer.
#[test]
fn a_handshake_has_one_limit_in_all() {
    let identity = Identity::generate().expect("randomness");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let mut slow = TcpStream::connect(listener.local_addr().expect("bound")).expect("listening");
    let (accepted, _) = listener.accept().expect("a client");
    let trickle = thread::spawn(move || {
        // The head of a long record, and then its bytes.
        slow.write_all(&[22, 3, 1, 0x30, 0, 1, 0, 0x2f, 0xfc])
            .expect("connected");
        while slow.write_all(&[0]).is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
    });
    let patience = Patience {
        handshake: Duration::from_millis(300),
        ..PATIENCE
    };
    let error = accept(accepted, &identity, &Clients::Any, patience)
        .err()
        .expect("too slow");
    assert!(error.to_string().contains("no handshake within"), "{error}");
    trickle.join().expect("the socket is closed");
}

/// A channel is dropped while the other party stays. No thread and no socket of it may remain.
#[cfg(target_os = "linux")]
#[test]
fn no_thread_and_no_socket_outlives_a_channel() {
    // A thread of its own name, so that tests beside this one do not count.
    let own = || {
        let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
        let names =
            tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
        names.filter(|name| name.trim() == "leaking").count()
    };
    let identity = Identity::generate().expect("randomness");
    let trusted = identity.fingerprint();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let client = thread::spawn(move || {
        let socket = TcpStream::connect(address).expect("listening");
        let handle = socket.try_clone().expect("a handle");
        let channel = connect(socket, trusted, None, PATIENCE).expect("trusted");
        // It stays, and neither reads nor closes.
        (handle, channel)
    });
    let (socket, _) = listener.accept().expect("a client");
    let mut watch = socket.try_clone().expect("a handle");
    // Threads take the name of the one that starts them.
    let server = thread::Builder::new()
        .name("leaking".to_owned())
        .spawn(move || {
            let channel = serve(socket, &identity).expect("a client");
            drop(channel);
        });
    server.expect("a thread").join().expect("it ends");
    let (_handle, _channel) = client.join().expect("connected");
    assert_eq!(own(), 0, "the thread that read ahead");
    watch.set_nonblocking(true).expect("a socket");
    assert!(watch.read(&mut [0; 1 << 16]).is_ok_and(|count| count == 0));
}

/// A party that does not read takes no memory of the one that reads, beyond the limit.
#[test]
fn no_more_is_read_ahead_than_was_asked_for() {
    let (server, client) = ends(None);
    let (mut server, mut client) = (server.expect("trusted"), client.expect("trusted"));
    server.limit_ahead(1 << 20);
    let blocks = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&blocks);
    let written = thread::spawn(move || {
        let block = vec![7; 1 << 20];
        while client.send(&block).and_then(|()| client.flush()).is_ok() {
            if count.fetch_add(1, Ordering::Relaxed) == 64 {
                return;
            }
        }
    });
    thread::sleep(Duration::from_millis(300));
    let blocks = blocks.load(Ordering::Relaxed);
    drop(server);
    written.join().expect("the server has gone");
    assert!(
        blocks < 24,
        "{blocks} MB were taken, of which sockets hold some"
    );
}
