//! Moduli and words for the tests in this folder.

use palladion_kernels::{Float, Kernels, Modulus, available, is_prime};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;

/// Every backend that this CPU can run. `Float` is portable, though only WebAssembly chooses it.
pub(crate) fn backends() -> Vec<&'static dyn Kernels> {
    let mut all = available();
    all.push(&Float);
    all
}

/// The largest prime below `2^bits` that is 1 modulo `2n`.
pub(crate) fn ntt_prime(bits: u32, n: usize) -> Modulus {
    some_ntt_prime(bits, n).expect("primes of this size exist")
}

/// As [`ntt_prime`], where there may be none.
pub(crate) fn some_ntt_prime(bits: u32, n: usize) -> Option<Modulus> {
    let step = 2 * n as u64;
    let below = ((1u64 << bits) - 2) / step;
    (1..=below)
        .rev()
        .map(|i| i * step + 1)
        .find(|&q| is_prime(q))
        .and_then(Modulus::new)
}

/// Words in `[0, bound)`, from a fixed seed.
pub(crate) fn words(seed: u64, len: usize, bound: u64) -> Vec<u64> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    (0..len).map(|_| rng.random_range(0..bound)).collect()
}
