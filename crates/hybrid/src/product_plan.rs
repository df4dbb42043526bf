//! Plans for squares and products of random numbers: rings, primes, masks.

use ring::Basis;
use serde::{Deserialize, Serialize};

use crate::bits::packed_len;
use crate::cipher::{ANSWER_BITS, RingSpec};
use crate::error::{Error, Result};
use crate::linear::SEED;
use crate::noise::{Flooding, Norms, log2_distance};
use crate::plan::STATISTICAL;

/// Most bits of a random number: three words hold a mask.
pub(crate) const MOST_PRODUCT_BITS: u32 = 62;
/// Most bits of a mask. An addend fits above it.
const MOST_MASK: u32 = 190;
/// Sizes of primes, in bits. Answers have no room for larger primes.
const PRIME_BITS: std::ops::RangeInclusive<u32> = 18..=43;

/// The kind of products of random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProductKind {
    /// Shares of `a` and `a^2`.
    Squares,
    /// Shares of `a`, `b` and `a b`.
    Triples,
}

impl ProductKind {
    /// Number of each party's random numbers for one product.
    pub(crate) fn factors(self) -> usize {
        match self {
            Self::Squares => 1,
            Self::Triples => 2,
        }
    }
}

/// The parameters of one kind of products under BFV.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProductPlan {
    /// The kind of products.
    pub kind: ProductKind,
    /// `l`: the random numbers are modulo `2^l`.
    pub bits: u32,
    /// Index of the ring of ciphertexts.
    pub ring: usize,
    /// Primes, which are the moduli of the slots.
    pub primes: Vec<u64>,
    /// Bits of the uniform number that hides a product of the server.
    pub mask_bits: u32,
    /// Bits of the flood, as for an encrypted term.
    pub flood_bits: u32,
    /// Bits of the words of an answer.
    pub answer_bits: u32,
}

impl ProductPlan {
    /// Number of low bits of a random number that matter for the products of both parties' numbers.
    /// A square has twice such a product, so one bit less matters.
    pub(crate) fn factor_bits(&self) -> u32 {
        factor_bits(self.kind, self.bits)
    }

    /// log2 of a bound on the absolute value of a product, which the server hides.
    pub(crate) fn product_bits(&self) -> u32 {
        product_bits(self.kind, self.bits)
    }

    /// The parameters with the fewest bytes for `count` products of one input. `log2_distance`
    /// bounds the statistical distance of the masks, and the distance of the floods. Returns `None`
    /// if no ring has room.
    pub(crate) fn choose(
        (kind, bits): (ProductKind, u32),
        count: usize,
        log2_distance: f64,
        rings: &[RingSpec],
    ) -> Option<Self> {
        let mask_bits = f64::from(product_bits(kind, bits)) + (count as f64).log2() - log2_distance;
        let mask_bits = mask_bits.ceil() as u32;
        if bits > MOST_PRODUCT_BITS || mask_bits > MOST_MASK {
            return None;
        }
        let mut best: Option<(usize, Self)> = None;
        for (index, ring) in rings.iter().enumerate() {
            let batches = count.div_ceil(ring.n);
            for prime_bits in PRIME_BITS {
                let Some(primes) = primes(ring, prime_bits, mask_bits) else {
                    continue;
                };
                let outputs = ring.n * batches * primes.len();
                let norms = norms(kind, ring.n, prime_bits);
                let Some(flooding) = Flooding::largest(ring, prime_bits, &norms, outputs) else {
                    continue;
                };
                let query = SEED + kind.factors() * ring.body_len();
                let answer = packed_len(2 * ring.n, flooding.answer_bits);
                let bytes = batches * primes.len() * (query + answer);
                let better = best.as_ref().is_none_or(|(least, _)| bytes < *least);
                if flooding.log2_distance <= log2_distance && better {
                    let plan = Self {
                        kind,
                        bits,
                        ring: index,
                        primes,
                        mask_bits,
                        flood_bits: flooding.bits,
                        answer_bits: flooding.answer_bits,
                    };
                    best = Some((bytes, plan));
                }
            }
        }
        best.map(|(_, plan)| plan)
    }

    /// log2 of the statistical distance of the masks of `count` products, and of their floods.
    /// `None` for a flood under which answers would be wrong.
    pub(crate) fn log2_distances(&self, count: usize, ring: &RingSpec) -> Option<[f64; 2]> {
        let prime_bits = self.primes.iter().map(|t| 64 - t.leading_zeros()).max()?;
        let norms = norms(self.kind, ring.n, prime_bits);
        let outputs = ring.n * count.div_ceil(ring.n) * self.primes.len();
        let largest = Flooding::largest(ring, prime_bits, &norms, outputs)?;
        let hidden = f64::from(self.product_bits()) + (count as f64).log2();
        let flood = log2_distance(&norms, ring.n, outputs, self.flood_bits);
        let is_exact = self.flood_bits <= largest.bits;
        is_exact.then_some([hidden - f64::from(self.mask_bits), flood])
    }

    /// Checks a plan that comes from a file or from the other party.
    pub(crate) fn check(&self, rings: &[RingSpec]) -> Result<()> {
        let fault = |what: &str, found: String, expected: String| {
            let what = format!("the making of products modulo 2^{}: {what}", self.bits);
            Err(Error::program(what, found, expected))
        };
        if !(2..=MOST_PRODUCT_BITS).contains(&self.bits) {
            let expected = format!("2 to {MOST_PRODUCT_BITS}");
            return fault("its bits", self.bits.to_string(), expected);
        }
        let Some(ring) = rings.get(self.ring) else {
            let expected = format!("below {}", rings.len());
            return fault("its ring", self.ring.to_string(), expected);
        };
        let largest = self.primes.iter().max().copied().unwrap_or(0);
        let bits = 64 - largest.leading_zeros();
        let distinct = (1..self.primes.len()).all(|i| !self.primes[..i].contains(&self.primes[i]));
        let apart = self.primes.iter().all(|t| !ring.moduli.contains(t));
        let has_slots = |&t: &u64| Basis::new(ring.n, &[t]).is_ok();
        let known = PRIME_BITS.contains(&bits) && self.primes.len() <= 16;
        if !known || !distinct || !apart || !self.primes.iter().all(has_slots) {
            let (primes, n) = (format!("{:?}", self.primes), ring.n);
            let most = PRIME_BITS.end();
            let expected = format!("at most 16 primes of at most {most} bits with slots for {n}");
            return fault("its primes", primes, expected);
        }
        let room = log2(&self.primes) - 1.0;
        let least = self.product_bits() + STATISTICAL;
        let most = (room.floor() as u32).min(MOST_MASK);
        if !(least..=most).contains(&self.mask_bits) {
            let expected = format!("{least} to {most}");
            return fault("the bits of its mask", self.mask_bits.to_string(), expected);
        }
        let least = bits + 2 + ring.n.ilog2();
        if !(least..=ANSWER_BITS).contains(&self.answer_bits) {
            let expected = format!("{least} to {ANSWER_BITS}");
            return fault(
                "the bits of an answer",
                self.answer_bits.to_string(),
                expected,
            );
        }
        let most = (ring.log_q() - f64::from(bits) - 1.9).floor().max(1.0) as u32;
        if !(1..=most).contains(&self.flood_bits) {
            let expected = format!("1 to {most}");
            return fault("the bits of a flood", self.flood_bits.to_string(), expected);
        }
        Ok(())
    }
}

fn factor_bits(kind: ProductKind, bits: u32) -> u32 {
    match kind {
        ProductKind::Squares => bits - 1,
        ProductKind::Triples => bits,
    }
}

/// log2 of a bound on a product. Signed factors of `k` bits are at most `2^(k - 1)`. A triple has
/// two products.
fn product_bits(kind: ProductKind, bits: u32) -> u32 {
    2 * (factor_bits(kind, bits) - 1) + kind.factors() as u32 - 1
}

/// The largest primes of `prime_bits` bits whose product leaves room for a mask of `mask_bits` bits
/// and an addend.
fn primes(ring: &RingSpec, prime_bits: u32, mask_bits: u32) -> Option<Vec<u64>> {
    // The largest primes of `b` bits are a little below `2^b`.
    let count = (mask_bits + 1).div_ceil(prime_bits) as usize;
    (count..count + 2).find_map(|count| {
        let primes = ring::ntt_primes_avoiding(prime_bits, ring.n, count, &ring.moduli).ok()?;
        (log2(&primes) - 1.0 >= f64::from(mask_bits)).then_some(primes)
    })
}

fn log2(primes: &[u64]) -> f64 {
    primes.iter().map(|&t| (t as f64).log2()).sum()
}

/// Norms of the server's polynomials, whose coefficients are at most half the prime.
fn norms(kind: ProductKind, n: usize, prime_bits: u32) -> Norms {
    let largest = f64::from(prime_bits - 1).exp2();
    let coefficients = (n * kind.factors()) as f64;
    Norms {
        one: coefficients * largest,
        two: coefficients.sqrt() * largest,
        chosen: 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_checked_and_leave_room() {
        let rings = RingSpec::candidates().unwrap();
        for kind in [ProductKind::Squares, ProductKind::Triples] {
            for (bits, count) in [(2, 1), (20, 100), (36, 5_000), (50, 200_000), (62, 845)] {
                let plan = ProductPlan::choose((kind, bits), count, -43.0, &rings).unwrap();
                plan.check(&rings).unwrap();
                let sums =
                    f64::from(plan.mask_bits).exp2() + 2.0 * f64::from(plan.product_bits()).exp2();
                assert!(sums.log2() < log2(&plan.primes), "{plan:?}");
                let hidden = f64::from(plan.mask_bits - plan.product_bits());
                assert!((count as f64).log2() - hidden <= -43.0, "{plan:?}");
                let weaker = ProductPlan {
                    mask_bits: plan.product_bits() + 30,
                    ..plan.clone()
                };
                assert!(weaker.check(&rings).is_err());
                let mut twice = plan.clone();
                twice.primes[0] = *twice.primes.last().unwrap();
                assert!(plan.primes.len() == 1 || twice.check(&rings).is_err());
            }
        }
        let found = ProductPlan::choose((ProductKind::Squares, 63), 1, -43.0, &rings);
        assert_eq!(found, None);
    }
}
