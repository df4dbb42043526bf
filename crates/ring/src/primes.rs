//! NTT-friendly primes below a bound on their size: primes of 50 bits are fast ones for the
//! kernels.

use crate::error::{Error, Result};
use kernels::{Modulus, is_prime};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The `count` largest primes of exactly `bits` bits with `q = 1 mod 2N`, in falling order.
///
/// # Errors
/// [`Error::TooFewPrimes`] if there are not that many, or if `bits` exceeds [`Modulus::MAX_BITS`].
/// The kernels are fast with primes of up to [`Modulus::FAST_BITS`] bits.
pub fn ntt_primes(bits: u32, n: usize, count: usize) -> Result<Vec<u64>> {
    ntt_primes_avoiding(bits, n, count, &[])
}

/// As [`ntt_primes`], skipping the primes in `avoid`.
///
/// # Errors
/// As [`ntt_primes`].
pub fn ntt_primes_avoiding(bits: u32, n: usize, count: usize, avoid: &[u64]) -> Result<Vec<u64>> {
    ntt_primes_up_to(u64::MAX, bits, n, count, avoid)
}

/// As [`ntt_primes_avoiding`], with no prime above `largest`.
///
/// # Errors
/// As [`ntt_primes`].
pub fn ntt_primes_up_to(
    largest: u64,
    bits: u32,
    n: usize,
    count: usize,
    avoid: &[u64],
) -> Result<Vec<u64>> {
    let too_few = |found| Error::TooFewPrimes {
        bits,
        n,
        found,
        wanted: count,
    };
    if !(2..=Modulus::MAX_BITS).contains(&bits) || n == 0 || n as u64 > 1 << Modulus::MAX_BITS {
        return Err(too_few(0));
    }
    let step = 2 * n as u64;
    let (low, high) = (1u64 << (bits - 1), 1u64 << bits);
    let candidates = (high - low) / step + 1;
    if count as u64 > candidates {
        return Err(too_few(candidates as usize));
    }
    let mut found = Vec::with_capacity(count);
    let mut q = ((high - 2) / step) * step + 1;
    while found.len() < count && q > low {
        if q <= largest && is_prime(q) && !avoid.contains(&q) {
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

/// Distinct primes of the given sizes, in that order: the largest of each size, as [`ntt_primes`]
/// gives them.
///
/// # Errors
/// As [`ntt_primes`].
pub fn ntt_primes_of_sizes(sizes: &[u32], n: usize) -> Result<Vec<u64>> {
    let mut primes = BTreeMap::new();
    for &bits in sizes {
        let count = sizes.iter().filter(|&&other| other == bits).count();
        if let Entry::Vacant(place) = primes.entry(bits) {
            place.insert(ntt_primes(bits, n, count)?.into_iter());
        }
    }
    let next = |bits| primes.get_mut(bits).and_then(Iterator::next);
    Ok(sizes.iter().filter_map(next).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_keep_their_order() {
        let (sizes, n) = ([49, 30, 30, 49, 28], 1 << 12);
        let primes = ntt_primes_of_sizes(&sizes, n).unwrap();
        let found: Vec<u32> = primes.iter().map(|q| 64 - q.leading_zeros()).collect();
        assert_eq!(found, sizes);
        assert!(primes[0] > primes[3] && primes[1] > primes[2]);
        assert!(ntt_primes_of_sizes(&[30, 8], n).is_err());
        assert_eq!(ntt_primes_of_sizes(&[], n), Ok(vec![]));
    }

    #[test]
    fn primes_have_the_asked_size_and_split_the_ring() {
        for (bits, n, count) in [
            (30, 1 << 15, 30),
            (49, 1 << 15, 16),
            (50, 1 << 16, 8),
            (26, 1 << 15, 2),
            (55, 1 << 17, 4),
            (60, 1 << 16, 30),
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
    fn numbers_that_no_ring_has_are_refused() {
        for (bits, n, count) in [
            (48, 0, 1),
            (48, usize::MAX, 1),
            (48, 1 << 15, usize::MAX),
            (0, 1 << 4, 1),
            (1, 1 << 4, 1),
            (u32::MAX, 1 << 4, 1),
        ] {
            let error = ntt_primes(bits, n, count).unwrap_err();
            assert!(matches!(error, Error::TooFewPrimes { .. }), "{error}");
        }
    }

    #[test]
    fn a_size_is_never_exceeded() {
        // Other generators return a prime just above 2^50 for "50 bits", which would leave the fast
        // path.
        for bits in [Modulus::FAST_BITS, Modulus::MAX_BITS] {
            assert!(ntt_primes(bits, 1 << 15, 4).unwrap()[0] < 1 << bits);
        }
        assert_eq!(
            ntt_primes(61, 1 << 15, 1),
            Err(Error::TooFewPrimes {
                bits: 61,
                n: 1 << 15,
                found: 0,
                wanted: 1
            })
        );
    }
}
