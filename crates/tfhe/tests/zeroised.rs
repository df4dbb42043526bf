//! No part of a secret stays in the process's memory when the secret is gone.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod common;
#[path = "../../ring/tests/common/memory.rs"]
mod memory;

use common::{integers_insecure, rng};
use memory::{MASK, places};
use palladion_tfhe::{ClientKey, ServerKey};
use rand::{CryptoRng, RngCore};
use rand_chacha::ChaCha20Rng;
use ring::torus::{Multiplier, Naive};

const LEN: usize = 32;

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
        let params = palladion_tfhe::Params::new_insecure(&spec).unwrap();
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
