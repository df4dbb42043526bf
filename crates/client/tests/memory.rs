//! Does making the keys of the MNIST client stay within its memory? It is measured in a process
//! that does nothing else.
//!
//! `cargo test -p palladion-client --test memory -- --nocapture` prints the largest resident
//! memory.

#![allow(clippy::unwrap_used, reason = "tests may panic")]
#![cfg(target_os = "linux")]

use compiler::{Options, compile};
use exchange::{Verified, files};
use network::IntNetwork;
use palladion_client::{Client, system_rng};
use std::io::sink;
use std::process::Command;

/// Bytes that a client may take. The evaluation keys alone have 233 MB.
const MOST: u64 = 400_000_000;
/// The variable that tells the client where the program is.
const PROGRAM: &str = "PALLADION_TEST_PROGRAM";

#[test]
fn the_keys_of_mnist_are_made_one_at_a_time() {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/mnist_w7a7.json");
    let network = IntNetwork::from_json(&std::fs::read_to_string(model).unwrap()).unwrap();
    let program = Verified::new(compile(&network, Options::default()).unwrap()).unwrap();
    let path = std::env::temp_dir().join(format!("palladion-{}.program", std::process::id()));
    std::fs::write(&path, files::program_to_bytes(&program)).unwrap();
    let client = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_client", "--ignored", "--nocapture"])
        .env(PROGRAM, &path)
        .output()
        .unwrap();
    std::fs::remove_file(&path).unwrap();
    let told = String::from_utf8_lossy(&client.stdout);
    let taken = told
        .lines()
        .find_map(|line| line.strip_suffix(" kB at most"));
    let taken: u64 = taken.expect(&told).parse().unwrap();
    println!("{taken} kB");
    assert!(taken * 1024 < MOST, "{taken} kB");
    // The keys are large enough for the limit to notice if all were held at once.
    assert!(files::keys_file_len(program.params(), &program.needs()).unwrap() as u64 > 200_000_000);
}

/// Runs alone in a process that has compiled nothing.
#[test]
#[ignore = "a part of the test above"]
fn a_client() {
    let path = std::env::var(PROGRAM).unwrap();
    let verified = files::program_from_bytes(&std::fs::read(path).unwrap()).unwrap();
    let client = Client::generate(&verified);
    client
        .write_evaluation_keys(&verified.needs(), &mut system_rng(), sink())
        .unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!("\n{} at most", line.unwrap().trim());
}
