//! Primality of words.

/// Returns true if `n` is prime: Miller-Rabin, deterministic for every `u64`. Time depends on `n`.
///
/// # Source
/// The first twelve primes as bases suffice below 3.3 * 10^24: Sorenson and Webster, "Strong
/// pseudoprimes to twelve prime bases", Math. Comp. 86 (2017).
pub fn is_prime(n: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if n < 2 {
        return false;
    }
    if let Some(&p) = BASES.iter().find(|&&p| n.is_multiple_of(p)) {
        return n == p;
    }
    let mul = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(n)) as u64;
    let pow = |base: u64, exp: u64| {
        (0..64).rev().fold(1, |acc, bit| {
            let square = mul(acc, acc);
            if exp >> bit & 1 == 1 {
                mul(square, base)
            } else {
                square
            }
        })
    };
    let twos = (n - 1).trailing_zeros();
    BASES.iter().all(|&base| {
        let mut x = pow(base, (n - 1) >> twos);
        if x == 1 || x == n - 1 {
            return true;
        }
        (1..twos).any(|_| {
            x = mul(x, x);
            x == n - 1
        })
    })
}

#[cfg(test)]
mod tests {
    use super::is_prime;

    #[test]
    fn small_words_agree_with_trial_division() {
        for n in 0..5000u64 {
            let prime = n >= 2 && (2..n).take_while(|d| d * d <= n).all(|d| n % d != 0);
            assert_eq!(is_prime(n), prime, "{n}");
        }
    }

    #[test]
    fn pseudoprimes_are_refused_and_large_primes_accepted() {
        // Strong pseudoprimes to the first 1, 2, .. bases (OEIS A014233), and Carmichael numbers.
        for n in [
            2047,
            1_373_653,
            25_326_001,
            3_215_031_751,
            2_152_302_898_747,
            3_474_749_660_383,
            341_550_071_728_321,
            3_825_123_056_546_413_051,
            561,
            1_590_231_231_043_178_376,
        ] {
            assert!(!is_prime(n), "{n}");
        }
        for p in [65537, 0x3_ffff_ffd2_0001, (1 << 61) - 1, u64::MAX - 58] {
            assert!(is_prime(p), "{p}");
        }
    }
}
