//! How fast this machine is, beside the one that predictions were measured on.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use ring::sample::{Seed, uniform_from_seed};
use ring::{Basis, Coeff, Eval, Poly, ntt_primes};
use std::sync::OnceLock;
use std::time::Instant;

/// Degree of the polynomials that are timed: one limb of it stays in the caches, where times hardly
/// depend on what else the machine does.
const N: usize = 1 << 15;
/// Seconds that the work takes on an AMD EPYC (Milan) with AVX2, on which predictions were measured;
/// idle, one thread.
const REFERENCE: f64 = 107e-6;
/// How often the work is done; the median counts.
const REPETITIONS: usize = 501;

/// Seconds of this machine for a second of the one that predictions were measured on: 2 on one half
/// as fast.
///
/// Measured once a process, on one thread and in a twentieth of a second: a transform and a product
/// of one limb.
pub fn machine_factor() -> f64 {
    static FACTOR: OnceLock<f64> = OnceLock::new();
    *FACTOR.get_or_init(|| ring::in_pool(1, measure) / REFERENCE)
}

/// The median of the work's times.
fn measure() -> f64 {
    let primes = ntt_primes(33, N, 1).expect("there is a prime of 33 bits");
    let basis = Basis::new(N, &primes).expect("the prime suits the degree");
    let seed = Seed::random(&mut ChaCha20Rng::seed_from_u64(0));
    let factor: Poly<Eval> = uniform_from_seed(&basis, &seed, 0);
    let input: Poly<Coeff> = uniform_from_seed(&basis, &seed, 1);
    let mut times: Vec<f64> = (0..REPETITIONS)
        .map(|_| {
            let input = input.clone();
            let begin = Instant::now();
            std::hint::black_box(input.into_eval().mul(&factor));
            begin.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[REPETITIONS / 2]
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
