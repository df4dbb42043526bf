//! A client with its secret, for parameters of any size.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "a module of several test binaries: none uses all of it, and tests may panic"
)]

use palladion_bgv::{Ciphertext, Evaluator, Params, decrypt, encrypt};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::sample::Masks;
use rlwe::{GaloisKeys, SecretKey};

pub struct Setup {
    pub params: Params,
    pub eval: Evaluator,
    pub secret: SecretKey,
    pub rng: ChaCha20Rng,
}

impl Setup {
    pub fn new(params: Params, seed: u64) -> Self {
        println!("{params:?}, seed {seed}");
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        Self {
            eval: Evaluator::new(&params),
            secret: SecretKey::generate(params.rlwe(), &mut rng),
            params,
            rng,
        }
    }

    pub fn t(&self) -> u64 {
        self.params.t().value()
    }

    pub fn top(&self) -> usize {
        self.params.rlwe().max_level()
    }

    pub fn slots(&mut self) -> Vec<u64> {
        let (n, t) = (self.params.n(), self.t());
        (0..n).map(|_| self.rng.random_range(0..t)).collect()
    }

    pub fn encrypt(&mut self, slots: &[u64], level: usize) -> Ciphertext {
        let message = self.params.encoder().encode_slots(slots).unwrap();
        let mut masks = Masks::random(&mut self.rng);
        let (params, secret) = (&self.params, &self.secret);
        encrypt(params, secret, &message, level, &mut masks, &mut self.rng).unwrap()
    }

    pub fn decrypt(&self, ct: &Ciphertext) -> Vec<u64> {
        let message = decrypt(&self.secret, ct).unwrap();
        self.params.encoder().slots_of(&message)
    }

    pub fn galois(&mut self, elements: &[usize], level: usize) -> GaloisKeys {
        let mut keys = GaloisKeys::new();
        for &g in elements {
            keys.insert(g, self.secret.galois_key(g, level, &mut self.rng));
        }
        keys
    }

    /// Applies `f` slot by slot, modulo `t`.
    pub fn zip(&self, a: &[u64], b: &[u64], f: impl Fn(u64, u64) -> u64) -> Vec<u64> {
        a.iter().zip(b).map(|(&x, &y)| f(x, y) % self.t()).collect()
    }

    /// Rotates the slots of both rows left by `k`.
    pub fn rotated(&self, a: &[u64], k: isize) -> Vec<u64> {
        let columns = a.len() / 2;
        let steps = k.rem_euclid(columns as isize) as usize;
        let rows = a.chunks(columns);
        rows.flat_map(|row| [&row[steps..], &row[..steps]].concat())
            .collect()
    }
}
