//! Integers modulo a power of two, from their residues modulo several primes.

use kernels::Modulus;

/// Garner's algorithm with centred digits, for multipliers that compute modulo primes.
///
/// An integer `v` with `2 |v| < p_0 p_1 ..` is `x_0 + p_0 (x_1 + p_1 (x_2 + ..))` with
/// `2 |x_i| < p_i`. For odd `p_i` the digits `x_i` are unique. The digits need no comparison with
/// half of the product, and the sum may wrap around.
///
/// *Source.* Garner, "The residue number system", IRE Transactions on Electronic Computers, 1959;
/// mixed radix: Knuth, The Art of Computer Programming 2, section 4.3.2.
#[derive(Clone, Debug)]
pub(super) struct Residues {
    moduli: Vec<Modulus>,
    /// `1 / (p_0 .. p_(i-1))` modulo `p_i`.
    inverses: Vec<u64>,
}

impl Residues {
    /// Tables for pairwise different primes.
    pub(super) fn new(primes: &[u64]) -> Option<Self> {
        let moduli: Option<Vec<_>> = primes.iter().map(|&p| Modulus::new(p)).collect();
        let moduli = moduli?;
        let inverses = moduli.iter().enumerate().map(|(i, p)| {
            let product = moduli[..i]
                .iter()
                .fold(1, |product, other| p.mul(product, p.reduce(other.value())));
            p.inv(product)
        });
        let inverses = inverses.collect::<Option<_>>()?;
        Some(Self { moduli, inverses })
    }

    pub(super) fn moduli(&self) -> &[Modulus] {
        &self.moduli
    }

    /// Returns true if residues determine every integer of at most `bound` in size:
    /// `2 bound < p_0 p_1 ..`.
    pub(super) fn hold(&self, bound: u128) -> bool {
        let product = self
            .moduli
            .iter()
            .try_fold(1u128, |all, p| all.checked_mul(u128::from(p.value())));
        // A product that does not fit a u128 is larger than 2 bound, since bound is below 2^127.
        bound < 1 << 127 && product.is_none_or(|product| 2 * bound < product)
    }

    /// The integer of at most half of the product in size, modulo 2^64. `residue(i)` lies in
    /// `[0, p_i)`.
    #[inline]
    pub(super) fn centred(&self, residue: impl Fn(usize) -> u64) -> u64 {
        let (mut sum, mut weight) = (0u64, 1u64);
        let mut digits = [0i64; MAX_PRIMES];
        for (i, (p, &inverse)) in self.moduli.iter().zip(&self.inverses).enumerate() {
            // The digits so far, modulo p_i, by Horner's rule.
            let known = digits[..i].iter().zip(&self.moduli[..i]).rev();
            let known = known.fold(0, |all, (&digit, other)| {
                p.add(p.mul(all, p.reduce(other.value())), p.from_i64(digit))
            });
            digits[i] = p.center(p.mul(p.sub(residue(i), known), inverse));
            sum = sum.wrapping_add(weight.wrapping_mul(digits[i] as u64));
            weight = weight.wrapping_mul(p.value());
        }
        sum
    }
}

/// Largest number of primes. Four primes of 30 bits hold any product of a 64-bit word with 30-bit
/// digits.
pub(super) const MAX_PRIMES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_come_back_up_to_half_of_the_product() {
        for primes in [&[97u64][..], &[97, 193], &[11, 7, 5], &[5, 7, 11, 13]] {
            let residues = Residues::new(primes).expect("primes");
            let product = primes.iter().product::<u64>() as i64;
            assert!(residues.hold(product as u128 / 2));
            assert!(!residues.hold(product as u128 / 2 + 1));
            for value in -(product / 2)..=product / 2 {
                let found = residues.centred(|i| residues.moduli()[i].from_i64(value));
                assert_eq!(found as i64, value, "{primes:?}");
            }
        }
    }

    #[test]
    fn the_bound_may_fill_128_bits() {
        let large = Residues::new(&[(1 << 59) - 55, (1 << 58) - 27, (1 << 57) - 13]).expect("odd");
        assert!(large.hold(u128::MAX >> 1));
        assert!(!large.hold(u128::MAX));
    }

    #[test]
    fn equal_primes_are_refused() {
        assert!(Residues::new(&[7, 7]).is_none());
    }
}
