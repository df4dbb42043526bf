//! NTT-friendly primes, always on the fast side of the kernels' 50-bit limit.

use crate::error::{Error, Result};
use kernels::{Modulus, is_prime};

/// The `count` largest primes of exactly `bits` bits with `q = 1 mod 2N`, in falling order.
///
/// # Errors
/// [`Error::TooFewPrimes`] if there are not that many, or if `bits` exceeds
/// [`Modulus::MAX_BITS`]: a prime just above that limit would leave the fast path of the kernels.
pub fn ntt_primes(bits: u32, n: usize, count: usize) -> Result<Vec<u64>> {
    ntt_primes_avoiding(bits, n, count, &[])
}

/// As [`ntt_primes`], skipping the primes in `avoid`.
///
/// # Errors
/// As [`ntt_primes`].
pub fn ntt_primes_avoiding(bits: u32, n: usize, count: usize, avoid: &[u64]) -> Result<Vec<u64>> {
    let too_few = |found| Error::TooFewPrimes {
        bits,
        n,
        found,
        wanted: count,
    };
    if !(2..=Modulus::MAX_BITS).contains(&bits) {
        return Err(too_few(0));
    }
    let step = 2 * n as u64;
    let (low, high) = (1u64 << (bits - 1), 1u64 << bits);
    let mut found = Vec::with_capacity(count);
    let mut q = ((high - 2) / step) * step + 1;
    while found.len() < count && q > low {
        if is_prime(q) && !avoid.contains(&q) {
            found.push(q);
        }
        q = match q.checked_sub(step) {
            Some(next) => next,
            None => break,
        };
    }
    if found.len() < count {
        return Err(too_few(found.len()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_have_the_asked_size_and_split_the_ring() {
        for (bits, n, count) in [
            (30, 1 << 15, 30),
            (49, 1 << 15, 16),
            (50, 1 << 16, 8),
            (26, 1 << 15, 2),
        ] {
            let primes = ntt_primes(bits, n, count).unwrap();
            assert_eq!(primes.len(), count);
            assert!(primes.windows(2).all(|w| w[0] > w[1]));
            for q in primes {
                assert_eq!(64 - q.leading_zeros(), bits);
                assert!(is_prime(q) && q % (2 * n as u64) == 1);
            }
        }
    }

    #[test]
    fn the_generator_never_leaves_the_fast_path() {
        // Generators elsewhere answer "50 bits" with a prime just above 2^50.
        assert!(ntt_primes(50, 1 << 15, 4).unwrap()[0] < 1 << 50);
        assert_eq!(
            ntt_primes(51, 1 << 15, 1),
            Err(Error::TooFewPrimes {
                bits: 51,
                n: 1 << 15,
                found: 0,
                wanted: 1
            })
        );
    }
}
