//! The speed of this machine, compared with the one on which predictions were measured.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use ring::sample::{Seed, uniform_from_seed};
use ring::{Basis, Coeff, Eval, Poly, ntt_primes};
use std::sync::OnceLock;
use std::time::Instant;

/// Degree of the polynomials that are timed. One limb of it stays in the caches, where times hardly
/// depend on other work of the machine.
const N: usize = 1 << 15;
/// Seconds that the work takes on an AMD EPYC (Milan) with AVX2, idle, with one thread. Predictions
/// were measured on this machine.
const REFERENCE: f64 = 107e-6;
/// Number of repetitions. The median counts.
const REPETITIONS: usize = 501;

/// Seconds that this machine takes for one second of the machine on which predictions were
/// measured. It is 2 on a machine of half the speed.
///
/// Measured once per process, on one thread, in a twentieth of a second: a transform and a product
/// of one limb.
pub fn machine_factor() -> f64 {
    static FACTOR: OnceLock<f64> = OnceLock::new();
    *FACTOR.get_or_init(|| ring::in_pool(1, measure) / REFERENCE)
}

/// The median time of the work.
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
