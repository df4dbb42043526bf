//! Attacks of clients on a host: on its memory, its time, its threads and sockets.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use mpc::{Channel, Clients, Fingerprint, Identity};
use network::IntNetwork;
use palladion_hybrid::{
    Activations, Client, HANDSHAKE, HostEvent, Limits, PATIENCE, Server, compile, connect, host,
};

/// 2 Gbit/s in bytes per second.
const LAN: f64 = 250e6;

const LIMITS: Limits = Limits {
    sessions: None,
    at_once: 1,
    of_address: 1,
    inputs_of_client: 4,
    least_rate: 1e5,
    grace: Duration::from_secs(60),
};

fn server(activations: Activations) -> Server {
    let text = serde_json::json!({
        "format": "palladion-int-network/3",
        "name": "one layer",
        "input": {"shape": [8, 1, 1], "min": -20, "max": 20, "scale": 1.0, "mean": [], "std": []},
        "layers": [
            {
                "name": "last",
                "terms": [{"source": 0, "linear": {"dense": {
                    "inputs": 8, "outputs": 4,
                    "weights": (0..32).map(|i| i * 11 % 17 - 8).collect::<Vec<i64>>(),
                }}}],
                "bias": [1, 2, 3, -4],
                "bound": 20000,
                "lut": null,
                "scale": 1.0,
            },
        ],
    });
    let network = IntNetwork::from_json(&text.to_string()).unwrap();
    Server::new(&compile(&network, activations, LAN).unwrap(), 100).unwrap()
}

/// A host that runs while `work` does, and the reasons of connections that failed.
fn hosted(
    server: &Server,
    (clients, limits): (&Clients, &Limits),
    work: impl FnOnce(SocketAddr, Fingerprint),
) -> Vec<String> {
    let identity = Identity::generate().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let (reasons, is_on) = (Mutex::new(Vec::new()), AtomicBool::new(true));
    let hear = |_, event| {
        if let HostEvent::Failed(reason) = event {
            reasons.lock().unwrap().push(reason);
        }
        true
    };
    let go_on = || is_on.load(Ordering::Relaxed);
    let parties = (&listener, &identity);
    thread::scope(|scope| {
        scope.spawn(|| host(server, parties, (clients, limits), (&hear, &go_on)));
        let work = std::panic::AssertUnwindSafe(|| work(address, identity.fingerprint()));
        let done = std::panic::catch_unwind(work);
        is_on.store(false, Ordering::Relaxed);
        done.unwrap();
    });
    reasons.into_inner().unwrap()
}

/// A whole session of so many inputs.
fn query(
    address: SocketAddr,
    trusted: Fingerprint,
    own: Option<&Identity>,
    inputs: u32,
) -> palladion_hybrid::Result<()> {
    let channel = connect(&address.to_string(), trusted, own, [HANDSHAKE, PATIENCE])?;
    let ready = Client::meet(channel, None)?.prepare(inputs, &mut |_| true)?;
    let values = vec![vec![3; 8]; inputs as usize];
    ready.run(&values, &mut |_| true).map(drop)
}

/// A client that has sent its wish, and has its place.
fn placed(
    address: SocketAddr,
    trusted: Fingerprint,
    server: &Server,
) -> palladion_hybrid::Connection {
    let waits = [HANDSHAKE, PATIENCE];
    let mut channel = connect(&address.to_string(), trusted, None, waits).unwrap();
    channel.send(b"PLDNHYBR").unwrap();
    channel.send(&1u32.to_le_bytes()).unwrap();
    channel.send(&[0; 32]).unwrap();
    channel.send(server.fingerprint()).unwrap();
    channel
        .send(&[8u32, 1, 1, 1].map(u32::to_le_bytes).concat())
        .unwrap();
    channel.flush().unwrap();
    let mut greeting = vec![0; 44 + 8 + server.public().to_json().len() + 2];
    channel.receive(&mut greeting).unwrap();
    assert!(greeting.ends_with(&[0, 0]), "agreed");
    channel
}

#[test]
fn silent_connections_keep_no_client_waiting() {
    let server = server(Activations::Revealed);
    let reasons = hosted(&server, (&Clients::Any, &LIMITS), |address, trusted| {
        let mut silent = Vec::new();
        for _ in 0..200 {
            silent.push(TcpStream::connect(address).unwrap());
        }
        silent[199].write_all(&[22, 3]).unwrap();
        let began = Instant::now();
        query(address, trusted, None, 1).unwrap();
        assert!(
            began.elapsed() < HANDSHAKE,
            "before the silent ones are late"
        );
    });
    let said = reasons
        .iter()
        .filter(|reason| reason.contains("no greeting and wish"));
    assert!(said.count() > 100, "{reasons:?}");
}

#[test]
fn a_session_that_is_slower_than_the_least_rate_ends() {
    let server = server(Activations::Revealed);
    assert!(LIMITS.time(&server, 100) > LIMITS.time(&server, 1) + Duration::from_secs(50));
    // Of the time limit, only half a second for each message remains.
    let limits = Limits {
        least_rate: 1e9,
        grace: Duration::ZERO,
        ..LIMITS
    };
    let reasons = hosted(&server, (&Clients::Any, &limits), |address, trusted| {
        let mut held = placed(address, trusted, &server);
        // It says nothing more, and the channel would wait for minutes.
        held.receive(&mut [0]).unwrap_err();
        query(address, trusted, None, 1).unwrap();
    });
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    assert!(reasons[0].contains("its time is over"), "{reasons:?}");
}

#[test]
fn an_address_has_its_share_of_the_places() {
    let server = server(Activations::Revealed);
    let limits = Limits {
        at_once: 4,
        ..LIMITS
    };
    hosted(&server, (&Clients::Any, &limits), |address, trusted| {
        let held = placed(address, trusted, &server);
        let error = query(address, trusted, None, 1).unwrap_err().to_string();
        assert!(error.contains("sessions of this address"), "{error}");
        drop(held);
    });
    // The only place is taken, so one more waits for it, and a third is refused at once.
    let limits = Limits {
        of_address: 2,
        ..LIMITS
    };
    hosted(&server, (&Clients::Any, &limits), |address, trusted| {
        let held = placed(address, trusted, &server);
        let (send, results) = mpsc::channel();
        thread::scope(|scope| {
            for _ in 0..2 {
                let send = send.clone();
                scope.spawn(move || send.send(query(address, trusted, None, 1)));
            }
            let error = results.recv().unwrap().unwrap_err().to_string();
            assert!(error.contains("2 sessions of this address"), "{error}");
            drop(held);
            results.recv().unwrap().unwrap();
        });
    });
}

#[test]
fn inputs_of_a_client_are_counted() {
    let server = server(Activations::Revealed);
    let [own, other] = [(); 2].map(|()| Identity::generate().unwrap());
    let known = Clients::Known(vec![own.fingerprint(), other.fingerprint()]);
    hosted(&server, (&known, &LIMITS), |address, trusted| {
        query(address, trusted, Some(&own), 3).unwrap();
        let error = query(address, trusted, Some(&own), 2)
            .unwrap_err()
            .to_string();
        assert!(error.contains("3 of this one's are answered"), "{error}");
        query(address, trusted, Some(&own), 1).unwrap();
        query(address, trusted, Some(&other), 4).unwrap();
        let error = query(address, trusted, None, 1).unwrap_err().to_string();
        assert!(error.contains("palladion identity"), "{error}");
    });
    hosted(&server, (&Clients::Any, &LIMITS), |address, trusted| {
        query(address, trusted, None, 4).unwrap();
        query(address, trusted, None, 4).unwrap();
        let error = query(address, trusted, None, 5).unwrap_err().to_string();
        assert!(error.contains("4 inputs of one client"), "{error}");
    });
}

/// Of this process, which has no other test with so many connections.
#[cfg(target_os = "linux")]
#[test]
fn sessions_that_have_ended_leave_no_socket() {
    let server = server(Activations::Revealed);
    let sockets = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    hosted(&server, (&Clients::Any, &LIMITS), |address, trusted| {
        let waits = [HANDSHAKE, PATIENCE];
        let before = sockets();
        let mut held = Vec::new();
        for _ in 0..30 {
            let mut channel = connect(&address.to_string(), trusted, None, waits).unwrap();
            channel
                .send(b"GET / HTTP/1.1 and more, so that a greeting is whole")
                .unwrap();
            channel.flush().unwrap();
            held.push(channel);
        }
        // A channel has two handles of its socket. The other side's close after their grace.
        let until = Instant::now() + Duration::from_secs(20);
        while sockets() > before + 2 * held.len() + 20 && Instant::now() < until {
            thread::sleep(Duration::from_millis(50));
        }
        let left = sockets();
        assert!(
            left <= before + 2 * held.len() + 20,
            "{left} after {before}"
        );
    });
}
