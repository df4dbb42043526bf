//! How fast this machine is, beside the one that predictions were measured on.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use ring::sample::{Seed, uniform_from_seed};
use ring::{Basis, Coeff, Eval, Poly, ntt_primes};
use std::sync::OnceLock;
use std::time::Instant;

/// Degree, limbs and factors of the work that is timed: 46 MB, more than caches hold.
const N: usize = 1 << 15;
const LIMBS: usize = 20;
const FACTORS: usize = 4;
/// Seconds that it takes on the machine that predictions were measured on: two cores of a processor with AVX-512 IFMA, idle,
/// one thread.
const REFERENCE: f64 = 10.0e-3;
/// The work is done as often, and the shortest time counts.
const REPETITIONS: usize = 5;

/// Seconds of this machine, for a second of the one that predictions were measured on: 2 on one half as fast, or on one
/// that is busy.
///
/// Measured once a process, on one thread and in a tenth of a second: transforms of polynomials in memory and sums of
/// their products, which are what a run does most.
pub fn machine_factor() -> f64 {
    static FACTOR: OnceLock<f64> = OnceLock::new();
    *FACTOR.get_or_init(|| ring::in_pool(1, measure) / REFERENCE)
}

/// The shortest time of the work.
fn measure() -> f64 {
    let primes = ntt_primes(33, N, LIMBS).expect("there are primes of 33 bits");
    let basis = Basis::new(N, &primes).expect("the primes suit the degree");
    let seed = Seed::random(&mut ChaCha20Rng::seed_from_u64(0));
    let factors: Vec<Poly<Eval>> = (0..2 * FACTORS as u32)
        .map(|index| uniform_from_seed(&basis, &seed, index))
        .collect();
    let (left, right): (Vec<_>, Vec<_>) = factors.chunks(2).map(|pair| (&pair[0], &pair[1])).unzip();
    let fresh: Poly<Coeff> = uniform_from_seed(&basis, &seed, u32::MAX);
    let once = || {
        let input = fresh.clone();
        let begin = Instant::now();
        let mut sum = Poly::dot(&left, &right);
        sum.add_assign(&input.into_eval());
        std::hint::black_box(sum);
        begin.elapsed().as_secs_f64()
    };
    (0..=REPETITIONS).map(|_| once()).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_factor_is_a_number_and_stays() {
        let factor = super::machine_factor();
        assert!(factor.is_finite() && factor > 0.0);
        assert_eq!(factor, super::machine_factor());
    }
}
