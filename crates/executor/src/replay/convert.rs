//! Basis conversion with the integers that [`Op::Convert`](trace::Op::Convert) defines.

use super::arithmetic::{Arithmetic, Power};
use super::spare::Spare;
use crate::outside::Limb;
use kernels::{Modulus, kernels};
use ring::par_map;
use std::sync::Arc;

/// Number of bits of quotients. A conversion has at most 64 limbs.
const QUOTIENT_BITS: u32 = 7;
/// The sum of a quotient without terms.
pub(super) const QUOTIENT_START: u64 = 1 << 55;

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

/// The parts of a conversion, each of which makes one limb from a few.
impl Conversion {
    /// Limb `i` of the source, as the quotient and the results read it.
    pub(super) fn scale(&self, i: usize, limb: Vec<u64>) -> Vec<u64> {
        match self {
            Self::Primes(conversion) => conversion.scale(i, limb),
            Self::Power(..) => limb,
        }
    }

    /// Adds the terms of scaled limbs from `first` on to the sum of a quotient, which begins as
    /// [`QUOTIENT_START`]. After the last limb the sum is the quotient. From a power of two, no
    /// quotient is needed, and it is 0.
    pub(super) fn quotient_terms(&self, scaled: &[&[u64]], first: usize, sum: &mut [u64]) {
        match self {
            Self::Primes(conversion) => conversion.quotient_terms(scaled, first, sum),
            Self::Power(..) => sum.fill(0),
        }
    }

    /// The sum of terms of limb `j` of the result, from term `first` on. The terms are the scaled
    /// limbs, and then the quotient.
    pub(super) fn terms_into(&self, out: &mut [u64], j: usize, limbs: &[&[u64]], first: usize) {
        match self {
            Self::Primes(of) => {
                let row = &of.rows[j][first..first + limbs.len()];
                of.to[j].combine_into(out, row, (limbs, of.bits));
            }
            Self::Power(from, to) => {
                let words = out.iter_mut().zip(limbs[0]);
                words.for_each(|(out, &word)| *out = to[j].residue(from.center(word)));
            }
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
        let mut scaled = par_map(limbs.len(), |i| self.scale(i, spare.copy(&limbs[i])));
        let mut quotients = spare.stale();
        let rows: Vec<&[u64]> = scaled.iter().map(Vec::as_slice).collect();
        self.quotients(&rows, &mut quotients);
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

    fn scale(&self, i: usize, mut y: Vec<u64>) -> Vec<u64> {
        kernels().scalar_mul_assign(&self.from[i], &mut y, self.hat_inverse[i]);
        y
    }

    /// The quotient `v` of each coefficient. For one modulus it is 1 if `2 y_0 >= q_0`, otherwise
    /// 0. For several it is `(2^55 + sum_i ((y_i 2^(32 - b_i) rounded down) m_i >> 7)) >> 56`.
    fn quotients(&self, scaled: &[&[u64]], sums: &mut [u64]) {
        sums.fill(QUOTIENT_START);
        self.quotient_terms(scaled, 0, sums);
    }

    /// Adds the terms of the limbs from `first` on to the sum of a quotient, which begins as
    /// [`QUOTIENT_START`]. The last terms make the quotient of the sum.
    fn quotient_terms(&self, scaled: &[&[u64]], first: usize, sums: &mut [u64]) {
        if let ([y], [q]) = (scaled, self.from.as_slice()) {
            let quotients = sums.iter_mut().zip(*y);
            quotients.for_each(|(v, &y)| *v = u64::from(2 * y > q.value()));
            return;
        }
        for (y, q) in scaled.iter().zip(&self.from[first..]) {
            let (b, m) = (
                q.bits(),
                ((1u128 << (31 + q.bits())) / u128::from(q.value())) as u64,
            );
            for (sum, &y) in sums.iter_mut().zip(*y) {
                // Both factors are below 2^32.
                let y = if b <= 32 {
                    y << (32 - b)
                } else {
                    y >> (b - 32)
                };
                *sum += (y * m) >> 7;
            }
        }
        if first + scaled.len() == self.from.len() {
            sums.iter_mut().for_each(|sum| *sum >>= 56);
        }
    }
}
