//! Sampling from a CSPRNG: uniform polynomials, ternary secrets, Gaussian errors.
//!
//! All randomness comes from ChaCha20. A [`Seed`] expands to the same polynomial on every machine,
//! so the uniform half of a key or ciphertext is transmitted as 32 bytes. Secret samples are
//! returned in memory that is overwritten when dropped.

use crate::basis::Basis;
use crate::chacha::mask_rng;
use crate::par::for_each_limb;
use crate::poly::{Domain, Poly};
use rand::rngs::OsRng;
use rand::{CryptoRng, Rng, RngCore, SeedableRng, TryRngCore};
use rand_chacha::ChaCha20Rng;
use std::hint::black_box;
use zeroize::{Zeroize, Zeroizing};

/// Standard deviation of the error distribution, as in the security tables.
pub const SIGMA: f64 = 3.19;

/// Seed of a uniform polynomial.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Seed(pub [u8; 32]);

impl std::fmt::Debug for Seed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seed(..)")
    }
}

impl Seed {
    /// A fresh seed.
    pub fn random(rng: &mut impl CryptoRng) -> Self {
        let mut bytes = [0; 32];
        rng.fill_bytes(&mut bytes);
        Self(bytes)
    }
}

/// Masks of fresh ciphertexts: the uniform polynomials of a new seed, each handed out once.
///
/// Two encryptions under one mask reveal the difference of their messages. A mask cannot be drawn
/// again:
///
/// ```compile_fail
/// # let mut rng = palladion_ring::sample::SecretRng::from_os();
/// let masks = palladion_ring::sample::Masks::random(&mut rng);
/// let again = masks.clone();
/// ```
#[derive(Debug)]
pub struct Masks {
    seed: Seed,
    next: u32,
}

impl Masks {
    /// The masks of a fresh seed.
    pub fn random(rng: &mut impl CryptoRng) -> Self {
        Self {
            seed: Seed::random(rng),
            next: 0,
        }
    }

    /// The seed. A reader of ciphertexts expands the masks from it again: mask `i` is that of index
    /// `i`.
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The next mask.
    ///
    /// # Panics
    /// After 2^32 masks.
    pub fn draw<D: Domain>(&mut self, basis: &Basis) -> Poly<D> {
        let index = self.next;
        self.next = index.checked_add(1).expect("a seed names 2^32 masks");
        uniform_from_seed(basis, &self.seed, index)
    }
}

/// A ChaCha20 generator for secrets. Its key and the words drawn ahead are overwritten when it is
/// dropped. Words are overwritten as soon as they are returned, and the stack after each block.
///
/// The state lies in one place on the heap, so that moving the generator copies nothing.
pub struct SecretRng(Box<State>);

struct State {
    rng: ChaCha20Rng,
    /// Words drawn ahead. Words before `next` are used up and 0.
    block: [u32; BLOCK],
    next: usize,
}

/// Words of ChaCha20 that are computed at once.
const BLOCK: usize = 64;

impl SecretRng {
    /// A generator seeded by the operating system.
    ///
    /// # Panics
    /// If the operating system gives no randomness.
    pub fn from_os() -> Self {
        let mut seed = Zeroizing::new([0; 32]);
        OsRng
            .try_fill_bytes(seed.as_mut())
            .expect("the operating system gives randomness");
        Self::from_seed(&seed)
    }

    /// The generator with this seed. The caller keeps the seed secret and overwrites it.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        let rng = Self::made(seed);
        clear_stack();
        rng
    }

    #[inline(never)]
    fn made(seed: &[u8; 32]) -> Self {
        Self(Box::new(State {
            rng: ChaCha20Rng::from_seed(*seed),
            block: [0; BLOCK],
            next: BLOCK,
        }))
    }

    /// Continues with the beginning of stream `stream` of the seed.
    pub fn set_stream(&mut self, stream: u64) {
        self.0.rng.set_stream(stream);
        self.0.rng.set_word_pos(0);
        self.0.next = BLOCK;
    }

    #[inline(never)]
    fn refill(&mut self) {
        let State { rng, block, next } = &mut *self.0;
        block.fill_with(|| rng.next_u32());
        *next = 0;
    }

    #[inline(never)]
    fn clear(&mut self) {
        let State { rng, block, next } = &mut *self.0;
        *rng = ChaCha20Rng::from_seed([0; 32]);
        block.fill(0);
        *next = BLOCK;
        black_box(&mut *self.0);
    }
}

impl RngCore for SecretRng {
    fn next_u32(&mut self) -> u32 {
        if self.0.next == BLOCK {
            self.refill();
            clear_stack();
        }
        let next = self.0.next;
        self.0.next += 1;
        std::mem::take(&mut self.0.block[next])
    }

    fn next_u64(&mut self) -> u64 {
        let low = u64::from(self.next_u32());
        u64::from(self.next_u32()) << 32 | low
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        for bytes in bytes.chunks_mut(4) {
            bytes.copy_from_slice(&self.next_u32().to_le_bytes()[..bytes.len()]);
        }
    }
}

impl CryptoRng for SecretRng {}

impl Drop for SecretRng {
    fn drop(&mut self) {
        self.clear();
        clear_stack();
    }
}

impl std::fmt::Debug for SecretRng {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretRng(..)")
    }
}

/// Overwrites the stack below the caller, where functions that have returned may have left parts of
/// a generator's key. A block of ChaCha20 takes less than 2 KiB of stack.
#[inline(never)]
fn clear_stack() {
    let mut below = [0u64; 512];
    black_box(&mut below);
}

/// The uniform polynomial given by `seed` and `index`. Its residues are uniform in either domain.
///
/// Limb `i` reads the ChaCha20 stream `index * 2^32 + i`, so that limbs expand in parallel and a
/// prefix of the basis gives a prefix of the limbs.
pub fn uniform_from_seed<D: Domain>(basis: &Basis, seed: &Seed, index: u32) -> Poly<D> {
    let n = basis.n();
    let mut words = crate::pool::take(n * basis.len());
    for_each_limb(n, &mut words, |i, limb| {
        let mut rng = mask_rng(&seed.0, (u64::from(index) << 32) | i as u64);
        fill_uniform(limb, basis.modulus(i).value(), &mut rng);
    });
    Poly::wrap(basis, words)
}

/// Rejection sampling on the low bits of each word.
fn fill_uniform(limb: &mut [u64], q: u64, rng: &mut impl RngCore) {
    let bits = 64 - q.leading_zeros();
    let mask = (1u64 << bits) - 1;
    for word in limb {
        *word = loop {
            let raw = if bits <= 32 {
                u64::from(rng.next_u32())
            } else {
                rng.next_u64()
            };
            if raw & mask < q {
                break raw & mask;
            }
        };
    }
}

/// `n` coefficients uniform in {-1, 0, 1}.
pub fn ternary(n: usize, rng: &mut impl CryptoRng) -> Zeroizing<Vec<i64>> {
    (0..n)
        .map(|_| i64::from(rng.random_range(0..3u8)) - 1)
        .collect::<Vec<_>>()
        .into()
}

/// `n` coefficients uniform in {-1, 0, 1}, given by a seed and a stream. They are the same for
/// ever, and a secret may be kept as its seed.
///
/// Bytes of the ChaCha20 stream below `3^5 = 243` give five coefficients each: their digits to the
/// base 3, lowest first, less 1. Other bytes are passed over.
pub fn ternary_from_seed(n: usize, seed: &[u8; 32], stream: u64) -> Zeroizing<Vec<i64>> {
    let mut rng = SecretRng::from_seed(seed);
    rng.set_stream(stream);
    let mut out = Zeroizing::new(Vec::with_capacity(n));
    while out.len() < n {
        let word = Zeroizing::new(rng.next_u32().to_le_bytes());
        for &byte in word.iter().filter(|&&byte| byte < 243) {
            let mut digits = Zeroizing::new(byte);
            for _ in 0..5 {
                if out.len() < n {
                    out.push(i64::from(*digits % 3) - 1);
                    *digits /= 3;
                }
            }
        }
    }
    out
}

/// `n` coefficients. Exactly `weight` of them, at uniform places, are -1 or 1, the others 0.
///
/// # Panics
/// If `weight` exceeds `n`.
pub fn sparse_ternary(n: usize, weight: usize, rng: &mut impl CryptoRng) -> Zeroizing<Vec<i64>> {
    assert!(weight <= n, "a weight of {weight} fits in {n} coefficients");
    let mut out = Zeroizing::new(vec![0i64; n]);
    // The first `weight` steps of a Fisher-Yates shuffle choose the places.
    let mut places: Vec<usize> = (0..n).collect();
    for k in 0..weight {
        let other = rng.random_range(k..n);
        places.swap(k, other);
        out[places[k]] = if rng.random::<bool>() { 1 } else { -1 };
    }
    places.zeroize();
    out
}

/// `n` errors from the discrete Gaussian of standard deviation [`SIGMA`].
///
/// A cumulative table with 63 bits is inverted. Every draw scans the whole table, so the time does
/// not depend on the value.
pub fn gaussian(n: usize, rng: &mut impl CryptoRng) -> Zeroizing<Vec<i64>> {
    let table = cumulative();
    (0..n)
        .map(|_| {
            let raw = rng.next_u64();
            let (u, sign) = (raw >> 1, (raw & 1) as i64);
            let magnitude: i64 = table.iter().map(|&c| i64::from(u >= c)).sum();
            magnitude * (1 - 2 * sign)
        })
        .collect::<Vec<_>>()
        .into()
}

/// `table[k] = 2^63 P(|e| <= k)` for the discrete Gaussian, up to 10 standard deviations.
///
/// The sign is drawn separately. The weight of 0 is halved, because both signs lead to it.
fn cumulative() -> Vec<u64> {
    let tail = (10.0 * SIGMA).ceil() as usize;
    let density = |k: usize| (-((k * k) as f64) / (2.0 * SIGMA * SIGMA)).exp();
    let weights: Vec<f64> = (0..=tail)
        .map(|k| if k == 0 { 0.5 } else { density(k) })
        .collect();
    let total: f64 = weights.iter().sum();
    let mut sum = 0.0;
    weights
        .iter()
        .take(tail)
        .map(|w| {
            sum += w / total;
            (sum * (1u64 << 63) as f64) as u64
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Eval, ntt_primes};

    fn rng(seed: u64) -> ChaCha20Rng {
        ChaCha20Rng::seed_from_u64(seed)
    }

    /// Compares with the literal of Bossuat et al. 2024, <https://ia.cr/2024/463>, on which the
    /// limits of moduli are based.
    #[test]
    fn errors_have_the_deviation_of_the_security_tables() {
        assert_eq!(SIGMA, 3.19);
        const COUNT: usize = 1 << 20;
        let errors = gaussian(COUNT, &mut rng(11));
        let variance = errors.iter().map(|&e| (e * e) as f64).sum::<f64>() / COUNT as f64;
        let tolerance = 6.0 * (2.0 / COUNT as f64).sqrt();
        assert!(
            (variance / (3.19 * 3.19) - 1.0).abs() < tolerance,
            "variance {variance}"
        );
        // A discrete Gaussian: the share of 0 is 1 / (3.19 sqrt(2 pi)), to 2^-80.
        let zeros = errors.iter().filter(|&&e| e == 0).count() as f64 / COUNT as f64;
        let expected = 1.0 / (3.19 * (2.0 * std::f64::consts::PI).sqrt());
        let deviation = (expected / COUNT as f64).sqrt();
        assert!((zeros - expected).abs() < 6.0 * deviation, "{zeros}");
        // The table ends where the probability is below 2^-63, beyond ten deviations.
        assert_eq!(cumulative().len(), 32);
        assert!(cumulative().is_sorted());
        assert!(cumulative().iter().all(|&c| c <= 1 << 63));
    }

    /// Rejection makes every residue equally likely. The remainder of a word of 31 bits would give
    /// the lowest of 3 * 2^29 residues twice as often.
    #[test]
    fn residues_are_uniform_and_limbs_independent() {
        let n = 1 << 12;
        let near = 3u64 << 29;
        let friendly = |q: &u64| kernels::is_prime(*q);
        let mut primes = (near + 1..).step_by(2 * n).filter(friendly);
        let moduli = [primes.next(), primes.next()].map(|q| q.expect("a prime"));
        let basis = Basis::new(n, &moduli).expect("a basis");
        let mut low = 0;
        for index in 0..16 {
            let mask: Poly<Eval> = uniform_from_seed(&basis, &Seed([5; 32]), index);
            low += mask.limb(0).iter().filter(|&&w| w < near / 3).count();
            let same = mask.limb(0).iter().zip(mask.limb(1));
            assert_eq!(
                same.filter(|(a, b)| a == b).count(),
                0,
                "limbs of one stream"
            );
        }
        let (count, mean) = (16.0 * n as f64, 16.0 * n as f64 / 3.0);
        let deviation = (count * 2.0 / 9.0).sqrt();
        assert!(
            (low as f64 - mean).abs() < 6.0 * deviation,
            "{low} of {mean}"
        );
    }

    #[test]
    fn sparse_secrets_have_any_signs_at_any_places() {
        let (n, weight, draws) = (1 << 10, 32, 200);
        let mut rng = rng(21);
        let (mut negative, mut upper) = (0, 0);
        for _ in 0..draws {
            let secret = sparse_ternary(n, weight, &mut rng);
            negative += secret.iter().filter(|&&s| s == -1).count();
            upper += secret[n / 2..].iter().filter(|&&s| s != 0).count();
        }
        let half = (draws * weight / 2) as f64;
        for found in [negative, upper] {
            let deviation = (half / 2.0).sqrt();
            assert!(
                (found as f64 - half).abs() < 6.0 * deviation,
                "{negative}, {upper}"
            );
        }
    }

    /// The generator gives the words of plain ChaCha20, and `set_stream` starts a stream at its
    /// beginning.
    #[test]
    fn a_secret_generator_draws_chacha20() {
        let (mut secret, mut plain) = (
            SecretRng::from_seed(&[7; 32]),
            ChaCha20Rng::from_seed([7; 32]),
        );
        for stream in [0, 3] {
            secret.set_stream(stream);
            plain.set_stream(stream);
            plain.set_word_pos(0);
            for _ in 0..100 {
                assert_eq!(secret.next_u32(), plain.next_u32());
                assert_eq!(secret.next_u64(), plain.next_u64());
            }
            let (mut a, mut b) = ([0; 300], [0; 300]);
            secret.fill_bytes(&mut a);
            plain.fill_bytes(&mut b);
            assert_eq!(a, b);
        }
        assert_ne!(
            SecretRng::from_os().next_u64(),
            SecretRng::from_os().next_u64()
        );
    }

    #[test]
    fn masks_are_each_drawn_once() {
        let n = 1 << 10;
        let basis = Basis::new(n, &ntt_primes(30, n, 2).expect("primes")).expect("a basis");
        let mut masks = Masks::random(&mut rng(12));
        let drawn: Vec<Poly<Eval>> = (0..3).map(|_| masks.draw(&basis)).collect();
        assert!(drawn[0] != drawn[1] && drawn[1] != drawn[2] && drawn[0] != drawn[2]);
        for (index, mask) in (0..).zip(&drawn) {
            assert_eq!(mask, &uniform_from_seed(&basis, masks.seed(), index));
        }
        assert_ne!(masks.seed(), Masks::random(&mut rng(13)).seed());
    }

    #[test]
    #[should_panic(expected = "a seed names 2^32 masks")]
    fn masks_do_not_begin_again() {
        let n = 1 << 10;
        let basis = Basis::new(n, &ntt_primes(30, n, 1).expect("primes")).expect("a basis");
        let mut masks = Masks::random(&mut rng(12));
        masks.next = u32::MAX;
        let _: Poly<Eval> = masks.draw(&basis);
    }

    #[test]
    fn gaussian_has_the_variance_of_its_name() {
        const COUNT: usize = 1 << 18;
        let errors = gaussian(COUNT, &mut rng(1));
        let variance = errors.iter().map(|&e| (e * e) as f64).sum::<f64>() / COUNT as f64;
        let mean = errors.iter().sum::<i64>() as f64 / COUNT as f64;
        // A sample variance of near-normal values has relative deviation sqrt(2 / count).
        let tolerance = 6.0 * (2.0 / COUNT as f64).sqrt();
        assert!(
            (variance / (SIGMA * SIGMA) - 1.0).abs() < tolerance,
            "variance {variance}"
        );
        assert!(
            mean.abs() < 6.0 * SIGMA / (COUNT as f64).sqrt(),
            "mean {mean}"
        );
    }

    #[test]
    fn ternary_is_balanced_and_sparse_ternary_has_its_weight() {
        const COUNT: usize = 3 << 16;
        let secret = ternary(COUNT, &mut rng(2));
        for value in [-1, 0, 1] {
            let count = secret.iter().filter(|&&s| s == value).count() as f64;
            let (mean, deviation) = (COUNT as f64 / 3.0, (COUNT as f64 * 2.0 / 9.0).sqrt());
            assert!((count - mean).abs() < 6.0 * deviation, "{value}: {count}");
        }
        let sparse = sparse_ternary(2048, 128, &mut rng(3));
        assert_eq!(sparse.iter().map(|s| s.abs()).sum::<i64>(), 128);
        assert!(sparse.iter().all(|s| s.abs() <= 1));
    }

    #[test]
    fn a_seed_names_one_polynomial_and_prefixes_agree() {
        let n = 1 << 10;
        let primes = ntt_primes(30, n, 2).unwrap();
        let [narrow, wide] = [49, 60].map(|bits| ntt_primes(bits, n, 1).unwrap()[0]);
        let basis = Basis::new(n, &[primes[0], narrow, primes[1], wide]).unwrap();
        let seed = Seed([7; 32]);
        let whole: Poly<Eval> = uniform_from_seed(&basis, &seed, 5);
        let again: Poly<Eval> = uniform_from_seed(&basis.prefix(2), &seed, 5);
        let other: Poly<Eval> = uniform_from_seed(&basis, &seed, 6);
        assert_eq!(whole.prefix(2), again);
        assert_ne!(whole, other);
        for (i, q) in basis.moduli().enumerate() {
            assert!(whole.limb(i).iter().all(|&w| w < q.value()));
            // The mean of n uniform residues lies within 6 of its deviations of q / 2.
            let mean = whole.limb(i).iter().map(|&w| w as f64).sum::<f64>() / n as f64;
            let deviation = q.value() as f64 / (12.0 * n as f64).sqrt();
            assert!((mean - q.value() as f64 / 2.0).abs() < 6.0 * deviation);
        }
    }
}
