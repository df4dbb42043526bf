//! The host of a server: admits clients, and bounds their number and their time.
//!
//! A connection is a stranger until it has sent its wish. A stranger has [`GREETING`] for its whole
//! handshake, and the oldest strangers leave when there are too many. From the wish on a connection
//! is a session: it has one of the places, and as much time as its bytes take over a slow
//! connection.

use std::collections::HashMap;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mpc::{Clients, Fingerprint, Identity};

use crate::error::Result;
use crate::report::Report;
use crate::server::Server;
use crate::tls::{HANDSHAKE, accept};

/// Longest time for TLS, the greeting, the program and the wish.
const GREETING: Duration = HANDSHAKE;
/// Largest number of strangers: in all, and from one address.
const STRANGERS: usize = 64;
const STRANGERS_OF_ADDRESS: usize = 16;
/// Longest wait for a place.
const QUEUE: Duration = Duration::from_secs(60);
/// Longest time of a session, whatever its prediction.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);
/// Pause between two looks at new clients and at the clock.
const PAUSE: Duration = Duration::from_millis(5);

/// Bounds that a host sets for its clients.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Largest number of sessions in all; no limit if `None`. Strangers do not count.
    pub sessions: Option<usize>,
    /// Largest number of sessions side by side. Further sessions wait for at most a minute.
    pub at_once: usize,
    /// Largest number of sessions side by side from one address.
    pub of_address: usize,
    /// Largest number of inputs of one client while the server lives, if certificates identify
    /// clients. Otherwise the largest number of inputs of a session.
    pub inputs_of_client: u64,
    /// Smallest rate of a session in bytes per second, which bounds its time.
    pub least_rate: f64,
    /// Time of a session beside its prediction.
    pub grace: Duration,
}

impl Limits {
    /// The longest time of a session of `inputs` inputs: its predicted bytes at the least rate,
    /// half a second for each message, fifty times the predicted computation, and the grace.
    pub fn time(&self, server: &Server, inputs: u32) -> Duration {
        let predicted = server.predicted(inputs);
        let seconds = predicted.seconds(self.least_rate, 1.0) + 49.0 * predicted.compute_seconds;
        let predicted = Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST);
        (self.grace + predicted).min(LONGEST)
    }
}

/// An event of a connection.
#[derive(Clone, Debug)]
pub enum HostEvent {
    /// A connection was opened.
    Connected,
    /// A client was served.
    Served {
        /// Certificate of the client, if the host asks for one.
        client: Option<Fingerprint>,
        /// The client's inputs since the host began; without a certificate, the inputs of all
        /// strangers.
        inputs: u64,
        /// Time, bytes and rounds of the session.
        report: Report,
    },
    /// A connection ended without being served, for this reason.
    Failed(String),
}

/// Receives events, with the address of the connection. The answer `false` ends the host.
pub type Listener<'a> = &'a (dyn Fn(SocketAddr, HostEvent) -> bool + Sync);

/// Serves clients until `hear` or `go_on` answers `false`, or the last allowed session has ended.
/// Each connection has a thread of its own.
pub fn host(
    server: &Server,
    (listener, identity): (&TcpListener, &Identity),
    (clients, limits): (&Clients, &Limits),
    (hear, go_on): (Listener<'_>, &(dyn Fn() -> bool + Sync)),
) {
    let host = Host {
        server,
        identity,
        clients,
        limits,
        go_on,
        open: Mutex::default(),
    };
    thread::scope(|scope| {
        let mut number = 0;
        while go_on() && !host.is_done() {
            host.end_late();
            let Ok((socket, from)) = listener.accept() else {
                thread::sleep(PAUSE);
                continue;
            };
            let Ok(handle) = socket.try_clone() else {
                continue;
            };
            number += 1;
            host.add(number, handle, from);
            let host = &host;
            let connection = thread::Builder::new().spawn_scoped(scope, move || {
                hear(from, HostEvent::Connected);
                let event = host.connection(number, socket, from);
                host.remove(number);
                hear(from, event);
            });
            if let Err(error) = connection {
                host.remove(number);
                hear(
                    from,
                    HostEvent::Failed(format!("no thread for it: {error}")),
                );
            }
        }
        while go_on() && !host.open().connections.is_empty() {
            host.end_late();
            thread::sleep(PAUSE);
        }
        host.shut(|_| true);
    });
}

struct Host<'a> {
    server: &'a Server,
    identity: &'a Identity,
    clients: &'a Clients,
    limits: &'a Limits,
    go_on: &'a (dyn Fn() -> bool + Sync),
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    connections: HashMap<usize, Connection>,
    sessions: usize,
    /// Admitted inputs, by client.
    inputs: HashMap<Option<Fingerprint>, u64>,
}

struct Connection {
    socket: TcpStream,
    network: Network,
    until: Instant,
    has_wished: bool,
    has_place: bool,
    is_late: bool,
}

impl Host<'_> {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_done(&self) -> bool {
        let most = self.limits.sessions;
        most.is_some_and(|most| self.open().sessions >= most)
    }

    /// Adds a connection as a stranger. The oldest stranger leaves if there are too many.
    fn add(&self, number: usize, socket: TcpStream, from: SocketAddr) {
        let mut open = self.open();
        let network = Network::of(from.ip());
        let stranger = Connection {
            socket,
            network,
            until: Instant::now() + GREETING,
            has_wished: false,
            has_place: false,
            is_late: false,
        };
        let strangers = |near: &dyn Fn(&Connection) -> bool| {
            let all = open.connections.iter();
            let strangers = all.filter(|(_, one)| !one.has_wished && !one.is_late && near(one));
            let numbers: Vec<usize> = strangers.map(|(&number, _)| number).collect();
            numbers
        };
        let of_address = strangers(&|one| one.network == network);
        let all = strangers(&|_| true);
        let oldest = match (of_address.len(), all.len()) {
            (STRANGERS_OF_ADDRESS.., _) => of_address.into_iter().min(),
            (_, STRANGERS..) => all.into_iter().min(),
            _ => None,
        };
        if let Some(connection) = oldest.and_then(|oldest| open.connections.get_mut(&oldest)) {
            connection.end();
        }
        open.connections.insert(number, stranger);
    }

    fn remove(&self, number: usize) {
        self.open().connections.remove(&number);
    }

    /// Ends connections whose time is up.
    fn end_late(&self) {
        let now = Instant::now();
        self.shut(|connection| now >= connection.until);
    }

    fn shut(&self, is_over: impl Fn(&Connection) -> bool) {
        for connection in self.open().connections.values_mut() {
            if !connection.is_late && is_over(connection) {
                connection.end();
            }
        }
    }

    /// Serves one connection. A client's fault ends the connection, not the host.
    fn connection(&self, number: usize, socket: TcpStream, from: SocketAddr) -> HostEvent {
        let mut agreed = None;
        // A session shares no state with others that a panic could break.
        let served = catch_unwind(AssertUnwindSafe(|| -> Result<Report> {
            let (mut channel, client) = accept(socket, self.identity, self.clients)?;
            let mut admit = |inputs: u32| {
                let all = self.admit(number, client, inputs)?;
                agreed = Some((client, all));
                Ok(())
            };
            let mut observe = |_: crate::Progress<'_>| (self.go_on)();
            self.server
                .serve_admitted(&mut channel, &mut admit, &mut observe)
        }));
        let is_late = self
            .open()
            .connections
            .get(&number)
            .is_some_and(|one| one.is_late);
        match (served, agreed) {
            (Ok(Ok(report)), Some((client, inputs))) => HostEvent::Served {
                client,
                inputs,
                report,
            },
            (Ok(Err(_)), None) if is_late && (self.go_on)() => HostEvent::Failed(format!(
                "no greeting and wish within {} s, or too many connections that said nothing",
                GREETING.as_secs()
            )),
            (Ok(Err(_)), Some(_)) if is_late && (self.go_on)() => HostEvent::Failed(format!(
                "slower than {:.0} kB/s: its time is over",
                self.limits.least_rate / 1e3
            )),
            (Ok(Err(error)), _) => HostEvent::Failed(error.to_string()),
            _ => HostEvent::Failed(format!(
                "a fault in palladion itself at {from}, please report it"
            )),
        }
    }

    /// Admits a wish: waits for a place, and counts its inputs. The client receives the error.
    fn admit(
        &self,
        number: usize,
        client: Option<Fingerprint>,
        inputs: u32,
    ) -> std::result::Result<u64, String> {
        let until = Instant::now() + QUEUE;
        loop {
            let mut open = self.open();
            let before = open.inputs.get(&client).copied().unwrap_or(0);
            let all = before + u64::from(inputs);
            let most = self.limits.inputs_of_client;
            // Strangers cannot be told apart, so the limit holds for each of their sessions.
            let counted = if client.is_some() { all } else { inputs.into() };
            if counted > most {
                let before = counted - u64::from(inputs);
                return Err(format!(
                    "the server answers {most} inputs of one client, {before} of this one's are \
                     answered, and it asks for {inputs} more: its owner may compile \
                     or serve with more --inputs-per-client"
                ));
            }
            let Some(network) = open.connections.get(&number).map(|one| one.network) else {
                return Err("the connection is closed".to_owned());
            };
            // Connections that wait for a place count too: each has a thread.
            let others = open.connections.iter().filter(|(other, one)| {
                **other != number && one.has_wished && one.network == network
            });
            let beside = others.count();
            if beside >= self.limits.of_address {
                return Err(format!(
                    "{beside} sessions of this address are open or wait, which is all that it may \
                     have at once: ask again when one has ended"
                ));
            }
            let placed = open.connections.values().filter(|one| one.has_place);
            let is_free = placed.count() < self.limits.at_once;
            if let Some(connection) = open.connections.get_mut(&number) {
                connection.has_wished = true;
                connection.has_place = is_free;
                connection.until = match is_free {
                    true => Instant::now() + self.limits.time(self.server, inputs),
                    false => until + GREETING,
                };
            }
            if is_free {
                open.sessions += 1;
                open.inputs.insert(client, all);
                return Ok(all);
            }
            drop(open);
            if Instant::now() > until || !(self.go_on)() {
                return Err("all places of the server are taken: ask again later".to_owned());
            }
            thread::sleep(PAUSE);
        }
    }
}

impl Connection {
    /// Ends the connection: every call that its thread waits for fails.
    fn end(&mut self) {
        self.is_late = true;
        // The error of a connection that has ended already does not matter.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

/// The addresses of one owner: an IPv4 address, or the first 64 bits of an IPv6 address.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Network(IpAddr);

impl Network {
    fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(long) => {
                let network = u128::from(long) >> 64 << 64;
                IpAddr::V6(network.into())
            }
            short => short,
        })
    }
}
