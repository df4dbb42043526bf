//! Mutated programs, greetings and frames end with an error: no panic, and no memory out of
//! proportion. Each run takes some seconds; `HYBRID_FUZZ_SECONDS` makes it longer.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use mpc::{Channel, memory_pair};
use network::IntNetwork;
use palladion_hybrid::{Activations, Client, Prediction, Program, PublicProgram, Server, compile};
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Most bytes that a mutated program may take at once: tables of rings, and kernels of a small layer.
const MOST: usize = 1 << 30;

/// Counts the bytes that are taken, and the most at once.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(
            HELD.fetch_add(layout.size(), Relaxed) + layout.size(),
            Relaxed,
        );
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn seconds() -> Duration {
    let asked = std::env::var("HYBRID_FUZZ_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok());
    Duration::from_secs_f64(asked.unwrap_or(1.0))
}

fn program() -> Program {
    let table: Vec<i64> = (-40..=40).map(|x: i64| (x * x * x) / 900).collect();
    let text = serde_json::json!({
        "format": "palladion-int-network/3",
        "name": "small",
        "input": {"shape": [2, 4, 4], "min": -2, "max": 2, "scale": 1.0, "mean": [], "std": []},
        "layers": [
            {
                "name": "table",
                "terms": [{"source": 0, "linear": {"conv": {
                    "kernels": 2, "channels": 2, "groups": 1, "kernel": [2, 2], "stride": [1, 1],
                    "dilation": [1, 1], "pads": [0, 0, 0, 0],
                    "weights": (0..16).map(|i| i % 3 - 1).collect::<Vec<i64>>(),
                }}}],
                "bias": [1, -1], "bound": 40, "scale": 1.0,
                "lut": network::Lut::new(40, |x| table[(x + 40) as usize]),
            },
            {
                "name": "last",
                "terms": [{"source": 1, "linear": {"dense": {
                    "inputs": 18, "outputs": 3,
                    "weights": (0..54).map(|i| i % 5 - 2).collect::<Vec<i64>>(),
                }}}],
                "bias": [1, 2, 3], "bound": 20000, "lut": null, "scale": 1.0,
            },
        ],
    });
    let network = IntNetwork::from_json(&text.to_string()).unwrap();
    compile(&network, Activations::Shares, 250e6).unwrap()
}

/// Another number, list or text in the place of some.
fn edit(rng: &mut ChaCha8Rng, value: &mut serde_json::Value) {
    use serde_json::Value::{Array, Number, Object, String};
    match value {
        Object(entries) if !entries.is_empty() => {
            let at = rng.random_range(0..entries.len());
            edit(rng, entries.values_mut().nth(at).unwrap());
        }
        Array(values) if !values.is_empty() => {
            let at = rng.random_range(0..values.len());
            match rng.random_range(0..8) {
                0 => drop(values.remove(at)),
                1 => values.push(values[at].clone()),
                _ => edit(rng, &mut values[at]),
            }
        }
        Number(number) => {
            let now = number.as_i64().unwrap_or(1);
            let bit = 1i64 << rng.random_range(0..62);
            let edge = [0, 1, -1, 2, 1 << 16, 1 << 24, 1 << 43, i64::MAX, i64::MIN];
            let others = [
                now ^ 1,
                now.wrapping_mul(2),
                now ^ bit,
                bit,
                *edge.choose(rng).unwrap(),
            ];
            *value = (*others.choose(rng).unwrap()).into();
        }
        String(text) => text.push('\u{1b}'),
        other => *other = 7.into(),
    }
}

/// Reads a program as both parties do, and uses it if it passes the check.
fn read(public: &str, whole: &str) {
    if let Ok(public) = PublicProgram::from_json(public) {
        let _ = Prediction::new(&public);
    }
    if let Ok(program) = Program::from_json(whole) {
        let _ = Server::new(&program, 4);
    }
}

#[test]
fn mutated_programs_and_messages_end_with_an_error() {
    let program = program();
    let json = serde_json::to_value(&program).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let (mut count, until) = (0, Instant::now() + seconds());
    while Instant::now() < until || count < 20 {
        let mut changed = json.clone();
        for _ in 0..rng.random_range(1..4) {
            edit(&mut rng, &mut changed);
        }
        let (before, began) = (HELD.load(Relaxed), Instant::now());
        PEAK.store(before, Relaxed);
        read(&changed["public"].to_string(), &changed.to_string());
        let taken = PEAK.load(Relaxed) - before;
        assert!(taken < MOST, "{taken} bytes for {changed}");
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "too long for {changed}"
        );
        count += 1;
    }

    // Greetings, wishes, keys and frames that a client or a server sends.
    let server = Server::new(&program, 4).unwrap();
    let public = program.public.to_json();
    let hash = server.fingerprint();
    let wish = [2u32, 4, 4, 1].map(u32::to_le_bytes).concat();
    let client = [
        b"PLDNHYBR",
        &1u32.to_le_bytes()[..],
        &[0; 32],
        hash,
        &wish,
        &[0; 200_000],
    ];
    let length = (public.len() as u64).to_le_bytes();
    let served = [
        b"PLDNHYBR",
        &1u32.to_le_bytes()[..],
        hash,
        &length,
        public.as_bytes(),
        &[0, 0, 1, 9],
    ];
    let (client, served) = (client.concat(), served.concat());
    let until = Instant::now() + seconds();
    while Instant::now() < until {
        for (bytes, of_client) in [(&client, true), (&served, false)] {
            let mut bytes = bytes.clone();
            for _ in 0..rng.random_range(1..4) {
                let most = bytes.len().min(400);
                let at = rng.random_range(0..most);
                bytes[at] = rng.random();
            }
            bytes.truncate(rng.random_range(1..=bytes.len()));
            let (mut here, mut there) = memory_pair();
            there.send(&bytes).unwrap();
            there.flush().unwrap();
            drop(there);
            match of_client {
                true => drop(server.serve(&mut here, &mut |_| true).unwrap_err()),
                false => {
                    let met = Client::meet(here, None);
                    drop(
                        met.and_then(|client| client.prepare(1, &mut |_| true))
                            .err()
                            .unwrap(),
                    );
                }
            }
        }
    }
}
