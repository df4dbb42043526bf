//! No part of a secret stays in the process's memory when the secret is gone.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod common;

use common::{integers_insecure, rng};
use rand::{CryptoRng, RngCore};
use rand_chacha::ChaCha20Rng;
use ring::torus::{Multiplier, Naive};
use std::fs::{File, read_to_string};
use std::os::unix::fs::FileExt;
use tfhe::{ClientKey, ServerKey};

const LEN: usize = 32;
const PAGE: usize = 4096;
/// Searched values are kept masked, so that the search does not find its own copy.
const MASK: u64 = 0x5a5a_1234_5a5a_8765;

/// Number of places in this process's writable memory where a run of words stands.
fn places(masked: &[u64]) -> usize {
    let memory = File::open("/proc/self/mem").unwrap();
    let maps = read_to_string("/proc/self/maps").unwrap();
    let mut page = [0u8; PAGE + 8 * LEN];
    let own = page.as_ptr_range();
    let own = own.start as u64..own.end as u64;
    // The page that was read last is no place. What lies beside it on the stack may be one.
    let apart = |place: u64| place + 8 * masked.len() as u64 <= own.start || place >= own.end;
    let mut found = 0;
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let [from, to] = [from, to].map(|x| u64::from_str_radix(x, 16).unwrap());
        for at in (from..to).step_by(PAGE) {
            // Also read the beginning of the next page, where a run that begins here may end.
            let read = memory.read_at(&mut page, at).unwrap_or(0);
            // Words are compared in place. A buffer of unmasked words would itself be found when
            // its memory is searched.
            let word = |i: usize| u64::from_le_bytes(page[8 * i..][..8].try_into().unwrap());
            let len = masked.len();
            let starts = 0..(read / 8 + 1).saturating_sub(len).min(PAGE / 8);
            found += starts
                .filter(|s| (0..len).all(|i| word(s + i) ^ MASK == masked[i]))
                .filter(|s| apart(at + 8 * *s as u64))
                .count();
        }
    }
    page.fill(0);
    found
}

/// A generator that records the seeds drawn from it, masked. Seeds are for masks and for secret
/// noise in turn.
struct Notes {
    rng: ChaCha20Rng,
    seeds: Vec<[u64; 4]>,
}

impl RngCore for Notes {
    fn next_u32(&mut self) -> u32 {
        self.rng.next_u32()
    }
    fn next_u64(&mut self) -> u64 {
        self.rng.next_u64()
    }
    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        self.rng.fill_bytes(bytes);
        if bytes.len() == 32 {
            let word = |i: usize| u64::from_le_bytes(bytes[8 * i..][..8].try_into().unwrap());
            self.seeds.push(std::array::from_fn(|i| word(i) ^ MASK));
            // The generator keeps what it has drawn until it has drawn another block.
            for _ in 0..64 {
                self.rng.next_u32();
            }
        }
    }
}

impl CryptoRng for Notes {}

/// A multiplier whose scratch memory keeps the digits of the last product, as a fast one keeps
/// their transform.
struct Keeps(Naive);

impl Multiplier<u64> for Keeps {
    type Word = u64;
    type Scratch = Vec<i32>;
    fn name(&self) -> &'static str {
        "keeps"
    }
    fn n(&self) -> usize {
        Multiplier::<u64>::n(&self.0)
    }
    fn prepared_len(&self) -> usize {
        Multiplier::<u64>::prepared_len(&self.0)
    }
    fn scratch(&self, rows: usize, _: usize) -> Vec<i32> {
        vec![0; rows * Multiplier::<u64>::n(&self.0)]
    }
    fn prepare(&self, polys: &[u64]) -> Vec<u64> {
        self.0.prepare(polys)
    }
    fn dot_add(&self, out: &mut [u64], digits: &[i32], matrix: &[u64], scratch: &mut Vec<i32>) {
        scratch[..digits.len()].copy_from_slice(digits);
        self.0.dot_add(out, digits, matrix, &mut ());
    }
    fn error_bound(&self, _: usize, _: f64) -> f64 {
        0.0
    }
}

#[test]
fn nothing_of_a_secret_stays_insecure() {
    for ring in [false, true] {
        let mut spec = integers_insecure(1, 1, ring).spec().clone();
        spec.lwe_dimension = 96; // long enough to be distinct from other data
        let params = tfhe::Params::new_insecure(&spec).unwrap();
        let rng = &mut Notes {
            rng: rng(1),
            seeds: Vec::new(),
        };
        let client = ClientKey::<u64>::generate(&params, rng).unwrap();
        let stored = client.to_bytes();
        // Bits take a byte each, after a header of 56 bytes: first those of the big secret, then
        // those of the small one. The first bytes of each are left out, because the allocator
        // writes there when memory is freed.
        let masked = |from: usize| -> [u64; LEN] {
            let bits = &stored[56 + 32 + from..][..2 * LEN];
            std::array::from_fn(|i| {
                (u64::from(bits[2 * i]) | u64::from(bits[2 * i + 1]) << 32) ^ MASK
            })
        };
        let secrets = [masked(0), masked(params.big_dimension())];
        drop(stored);
        // The big secret is kept twice: as polynomials, and as the secret of samples.
        let alone = |step| assert_eq!(secrets.map(|s| places(&s)), [2, 1], "{step}, ring {ring}");
        alone("generation");
        let keys = client
            .evaluation_keys(&Keeps(Naive::new(params.n())), rng)
            .unwrap();
        alone("evaluation keys");
        // The bootstrapping key and the key for the key switch. Each has a seed of masks, which
        // stays, and one of noise.
        let [masks, noise, more_masks, more_noise] = rng.seeds[..] else {
            panic!("{} seeds, expected 4", rng.seeds.len());
        };
        for (masks, noise) in [(masks, noise), (more_masks, more_noise)] {
            assert!(places(&masks) >= 1, "the search finds a seed, ring {ring}");
            assert_eq!(places(&noise), 0, "the generator of noise, ring {ring}");
        }
        let server = ServerKey::new(&keys, Naive::new(params.n())).unwrap();
        let x = client.encrypt(1, rng).unwrap();
        alone("encryption");
        let noise = rng.seeds.last().expect("a seed of noise");
        assert_eq!(
            places(noise),
            0,
            "the generator of fresh noise, ring {ring}"
        );
        assert_eq!(client.decrypt(&server.message(&x).unwrap()).unwrap(), 1);
        alone("decryption");
        let bytes = client.to_bytes();
        let again = ClientKey::<u64>::from_bytes(&params, &bytes).unwrap();
        assert_eq!(
            secrets.map(|s| places(&s)),
            [4, 2],
            "the search finds a copy"
        );
        drop((again, bytes));
        alone("storing");
        drop(client);
        assert_eq!(secrets.map(|s| places(&s)), [0, 0], "ring {ring}");
    }
}
