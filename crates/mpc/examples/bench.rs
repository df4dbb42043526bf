//! Measures requantisation, offline and online, with both parties in one process.
//!
//! `cargo run --release -p palladion-mpc --example bench [VALUES]`

use std::thread;
use std::time::{Duration, Instant};

use palladion_mpc::{
    Channel, Cost, Duplex, Error, Party, Protocol, Requantisation, Role, Traffic, memory_pair,
    preprocess,
};

/// Requantisation of a network with weights and activations of 7 bits.
const ACTIVATION: Requantisation = Requantisation {
    bits: 32,
    minimum: -(1 << 30),
    maximum: (1 << 30) - 1,
    offset: 1 << 17,
    shift: 18,
    low: 0,
    high: 63,
    out_bits: 24,
};

struct Measured {
    offline: Duration,
    online: Duration,
    before: Traffic,
    after: Traffic,
}

fn party(
    role: Role,
    mut channel: Duplex,
    protocol: &Protocol,
    x: &[u64],
) -> Result<Measured, Error> {
    let began = Instant::now();
    let needs = protocol.needs(x.len());
    let material = preprocess(role, &mut channel, &needs, &mut |_, _| {})?;
    let offline = began.elapsed();
    let before = channel.traffic();
    let began = Instant::now();
    let mut party = Party::new(role, channel, material);
    party.run(protocol, x)?;
    Ok(Measured {
        offline,
        online: began.elapsed(),
        before,
        after: party.traffic(),
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count = match std::env::args().nth(1) {
        Some(text) => text.parse()?,
        None => 1 << 17,
    };
    let protocol = Protocol::requantise(&ACTIVATION)?;
    let x: Vec<u64> = (0..count as u64).collect();
    let (server, client) = memory_pair();
    let measured = thread::scope(|scope| {
        let server = scope.spawn(|| party(Role::Server, server, &protocol, &x));
        let client = party(Role::Client, client, &protocol, &x);
        server.join().expect("the server ends").and(client)
    })?;

    let needs = protocol.needs(count);
    let (offline, online) = (
        measured.offline.as_secs_f64(),
        measured.online.as_secs_f64(),
    );
    let transfers = needs.oblivious_transfers() as f64;
    println!("{count} values, both parties in this process");
    println!(
        "offline {offline:.3} s: {transfers:.0} oblivious transfers, {:.1} million a second, {:.3} bytes each",
        transfers / offline / 1e6,
        (measured.before.sent + measured.before.received) as f64 / transfers,
    );
    print("offline", needs.cost(), Traffic::default(), measured.before);
    println!(
        "online {online:.3} s: {:.2} million values a second",
        count as f64 / online / 1e6
    );
    print(
        "online",
        protocol.cost(count),
        measured.before,
        measured.after,
    );
    Ok(())
}

fn print(phase: &str, predicted: Cost, before: Traffic, after: Traffic) {
    println!(
        "{phase}: {} rounds, {} bytes to the server, {} to the client; predicted {}, {}, {}",
        after.rounds - before.rounds,
        after.sent - before.sent,
        after.received - before.received,
        predicted.rounds,
        predicted.bytes_to_server,
        predicted.bytes_to_client,
    );
}
