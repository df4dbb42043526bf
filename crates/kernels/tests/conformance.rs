//! Every backend against the definitions.

use kernels::{Modulus, NttTable, available, eval_automorphism_index, naive};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;

/// Largest prime of each size that is 1 modulo 2^18, and the plaintext modulus 65537.
fn ntt_prime(bits: u32, n: usize) -> Modulus {
    let step = 2 * n as u64;
    let top = ((1u64 << bits) - 1) / step * step + 1;
    (0..)
        .map(|i| top - i * step)
        .find(|&q| q >> bits == 0 && kernels::is_prime(q))
        .and_then(Modulus::new)
        .expect("primes of this size exist")
}

fn words(seed: u64, len: usize, q: &Modulus) -> Vec<u64> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    (0..len).map(|_| rng.random_range(0..q.value())).collect()
}

#[test]
fn the_transform_is_its_definition_and_turns_products_into_products() {
    for backend in available() {
        for (bits, n) in [(17, 16), (20, 64), (30, 128), (49, 256), (50, 512)] {
            let q = ntt_prime(bits, n);
            let table = NttTable::new(q, n).unwrap();
            let (a, b) = (words(1, n, &q), words(2, n, &q));
            let (mut x, mut y) = (a.clone(), b.clone());
            backend.ntt(&table, &mut x);
            assert_eq!(x, naive::ntt(&table, &a), "{} N = {n}", backend.name());
            backend.ntt(&table, &mut y);
            backend.mul_assign(&q, &mut x, &y);
            backend.intt(&table, &mut x);
            let want = naive::negacyclic_mul(&q, &a, &b);
            assert_eq!(x, want, "{} N = {n}", backend.name());
        }
    }
}

#[test]
fn both_domains_have_the_same_automorphisms() {
    let n = 64;
    let q = ntt_prime(30, n);
    let table = NttTable::new(q, n).unwrap();
    let a = words(3, n, &q);
    for backend in available() {
        for g in [1, 3, 5, 25, 2 * n - 1, 2 * n + 3] {
            let (mut left, mut right) = (vec![0; n], vec![0; n]);
            backend.automorphism_into(&q, &mut left, &a, g);
            backend.ntt(&table, &mut left);
            let mut values = a.clone();
            backend.ntt(&table, &mut values);
            backend.permute_into(&mut right, &values, &eval_automorphism_index(n, g));
            assert_eq!(left, right, "{} g = {g}", backend.name());
        }
    }
}
