//! Basis conversion with the integers that [`Op::Convert`](trace::Op::Convert) defines.

use super::arithmetic::{Arithmetic, Power};
use super::spare::Spare;
use crate::outside::Limb;
use kernels::{Modulus, kernels};
use ring::par_map;
use std::sync::Arc;

/// Number of bits of quotients. A conversion has at most 64 limbs.
const QUOTIENT_BITS: u32 = 7;

/// Tables of a conversion.
pub(super) enum Conversion {
    /// From a power of two.
    Power(Power, Vec<Arithmetic>),
    /// From primes.
    Primes(FromPrimes),
}

impl Conversion {
    pub(super) fn new(from: &[Arithmetic], to: Vec<Arithmetic>) -> Self {
        let mut primes = Vec::with_capacity(from.len());
        for modulus in from {
            match *modulus {
                Arithmetic::Prime(q) => primes.push(q),
                Arithmetic::Power(power) => return Self::Power(power, to),
            }
        }
        Self::Primes(FromPrimes::new(primes, to))
    }

    /// Converts limbs to limbs modulo the other moduli.
    pub(super) fn convert(&self, limbs: &[Limb], spare: &Spare) -> Vec<Limb> {
        match self {
            Self::Primes(conversion) => conversion.convert(limbs, spare),
            Self::Power(from, to) => par_map(to.len(), |j| {
                let words = limbs[0].iter();
                let words = words.map(|&word| to[j].residue(from.center(word)));
                Arc::new(spare.filled(words))
            }),
        }
    }
}

/// Tables of a conversion from primes.
pub(super) struct FromPrimes {
    from: Vec<Modulus>,
    to: Vec<Arithmetic>,
    /// `(Q/q_i)^-1 mod q_i`.
    hat_inverse: Vec<u64>,
    /// For each modulus `p` of the result: `Q/q_i mod p` for all `i`, then `-Q mod p`.
    rows: Vec<Vec<u64>>,
    /// Number of bits of the longest word by which a row is multiplied.
    bits: u32,
}

impl FromPrimes {
    fn new(from: Vec<Modulus>, to: Vec<Arithmetic>) -> Self {
        let product = |p: &Arithmetic, without: Option<usize>| {
            let factors = from.iter().enumerate().filter(|(i, _)| Some(*i) != without);
            factors.fold(1, |product, (_, q)| p.mul(product, p.reduce(q.value())))
        };
        let inverse = |(i, q): (usize, &Modulus)| {
            let inverse = q.inv(product(&Arithmetic::Prime(*q), Some(i)));
            inverse.expect("different primes have no common factor")
        };
        let row = |p: &Arithmetic| {
            let hats = (0..from.len()).map(|i| product(p, Some(i)));
            hats.chain([p.neg(product(p, None))]).collect()
        };
        let bits = from.iter().map(Modulus::bits).fold(QUOTIENT_BITS, u32::max);
        Self {
            hat_inverse: from.iter().enumerate().map(inverse).collect(),
            rows: to.iter().map(row).collect(),
            bits,
            from,
            to,
        }
    }

    fn convert(&self, limbs: &[Limb], spare: &Spare) -> Vec<Limb> {
        let mut scaled = par_map(limbs.len(), |i| {
            let mut y = spare.copy(&limbs[i]);
            kernels().scalar_mul_assign(&self.from[i], &mut y, self.hat_inverse[i]);
            y
        });
        let mut quotients = spare.stale();
        self.quotients(&scaled, &mut quotients);
        scaled.push(quotients);
        let rows: Vec<&[u64]> = scaled.iter().map(Vec::as_slice).collect();
        let converted = par_map(self.to.len(), |j| {
            let mut out = spare.stale();
            self.to[j].combine_into(&mut out, &self.rows[j], (&rows, self.bits));
            Arc::new(out)
        });
        scaled.into_iter().for_each(|y| spare.give_words(y));
        converted
    }

    /// The quotient `v` of each coefficient. For one modulus it is 1 if `2 y_0 >= q_0`, otherwise
    /// 0. For several it is `(2^55 + sum_i ((y_i 2^(32 - b_i) rounded down) m_i >> 7)) >> 56`.
    fn quotients(&self, scaled: &[Vec<u64>], sums: &mut [u64]) {
        if let ([y], [q]) = (scaled, self.from.as_slice()) {
            let quotients = sums.iter_mut().zip(y);
            quotients.for_each(|(v, &y)| *v = u64::from(2 * y > q.value()));
            return;
        }
        sums.fill(1 << 55);
        for (y, q) in scaled.iter().zip(&self.from) {
            let (b, m) = (
                q.bits(),
                ((1u128 << (31 + q.bits())) / u128::from(q.value())) as u64,
            );
            for (sum, &y) in sums.iter_mut().zip(y) {
                // Both factors are below 2^32.
                let y = if b <= 32 {
                    y << (32 - b)
                } else {
                    y >> (b - 32)
                };
                *sum += (y * m) >> 7;
            }
        }
        sums.iter_mut().for_each(|sum| *sum >>= 56);
    }
}
