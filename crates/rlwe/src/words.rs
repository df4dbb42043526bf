//! Moduli that fit the words of a machine.

use crate::error::Result;
use crate::params::ParamsSpec;
use ring::ntt_primes_of_sizes;

/// Words of a machine, and digits of key switching made of them.
///
/// A level of more bits than a word is several limbs of about equal size. There are as many special
/// moduli as a digit has limbs, each as large as a word, so that no digit is larger than their
/// product.
///
/// # Examples
///
/// ```
/// let words = palladion_rlwe::Words { bits: 32, digit_limbs: 3 };
/// let (levels, special) = words.primes(1 << 13, &[42, 32])?;
/// assert_eq!(levels.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
/// assert_eq!(special.len(), 3);
/// assert!(levels.concat().iter().chain(&special).all(|q| q >> 32 == 0));
/// # Ok::<(), palladion_rlwe::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// Bits of a word. No modulus has more bits.
    pub bits: u32,
    /// Largest number of limbs of a digit of key switching. F1 takes one. More limbs make keys
    /// smaller and take more special moduli.
    pub digit_limbs: usize,
}

impl Words {
    /// Distinct moduli `q = 1 mod 2N` of levels of the given bits, level by level, and the special
    /// ones.
    ///
    /// # Errors
    /// [`ring::Error::TooFewPrimes`] if there are not that many of a size: small primes are few.
    pub fn primes(&self, n: usize, levels: &[u32]) -> Result<(Vec<Vec<u64>>, Vec<u64>)> {
        let parts = |bits: u32| {
            let limbs = bits.div_ceil(self.bits.max(1)).max(1);
            (0..limbs).map(move |i| (bits + i) / limbs)
        };
        let mut sizes: Vec<u32> = levels.iter().flat_map(|&bits| parts(bits)).collect();
        sizes.extend(vec![self.bits; self.digit_limbs]);
        let mut primes = ntt_primes_of_sizes(&sizes, n)?.into_iter();
        let counts = levels.iter().map(|&bits| parts(bits).count());
        let moduli = counts.map(|limbs| primes.by_ref().take(limbs).collect());
        Ok((moduli.collect(), primes.collect()))
    }

    /// Parameters of exact arithmetic: every limb is a level there.
    ///
    /// # Errors
    /// As [`Words::primes`].
    pub fn spec(&self, n: usize, levels: &[u32]) -> Result<ParamsSpec> {
        let (levels, p) = self.primes(n, levels)?;
        Ok(ParamsSpec {
            n,
            q: levels.concat(),
            p,
            digit_limbs: self.digit_limbs,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_their_bits_in_words_that_are_no_larger() {
        for bits in [28, 32, 50] {
            let words = Words {
                bits,
                digit_limbs: 2,
            };
            let sizes = [60, 20, 42, 43, 27, 60];
            let (levels, special) = words.primes(1 << 9, &sizes).unwrap();
            for (level, size) in levels.iter().zip(sizes) {
                assert_eq!(level.len() as u32, size.div_ceil(bits));
                let log2: f64 = level.iter().map(|&q| (q as f64).log2()).sum();
                // Each prime has its size exactly, so it is above half of the power of two.
                assert!((f64::from(size) - level.len() as f64..f64::from(size)).contains(&log2));
            }
            let mut all = [levels.concat(), special.clone()].concat();
            assert!(all.iter().all(|q| q >> bits == 0));
            assert!(special.iter().all(|q| q >> (bits - 1) == 1));
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count);
        }
    }

    #[test]
    fn sizes_without_primes_are_refused() {
        let words = Words {
            bits: 32,
            digit_limbs: 1,
        };
        let few = words.primes(1 << 15, &[34]).unwrap_err();
        assert!(few.to_string().contains("17"), "{few}");
        let none = Words { bits: 0, ..words };
        assert!(none.primes(1 << 10, &[10]).is_err());
    }
}
