//! The table of moduli of a circuit on samples, and how many primes make its products exact.
//!
//! A product of digits with words is computed as a product of integers: digits of absolute value at
//! most `B/2`, words at most `q/2`. A sum of `r` products of polynomials is then at most
//! `r N B q / 4`. Its residues modulo primes determine the integer if it is smaller than half of
//! their product. The low bits of the integer are the words.

use crate::error::Result;
use program::torus::{Circuit, Digits, Op, Parameters};
use ring::ntt_primes;
use trace::{Builder, Constant, Limbs, ModulusId, TraceBuilder, Type, ValueId};

/// Bits and numbers of primes. Transforms modulo primes of 50 bits are fast, and primes of 60 bits
/// are the longest possible.
const PRIMES: [(u32, usize); 4] = [(50, 1), (60, 1), (50, 2), (60, 2)];
/// A conversion from several limbs is exact unless its result is close to the middle between two
/// integers: within `2^-30` of the product for each limb. Sums are therefore kept below half of the
/// product, by a margin of `2^-25` of the product.
const MARGIN_BITS: u32 = 25;

/// Indices of the moduli: primes, then powers of two.
pub(super) struct ModulusTable {
    pub(super) parameters: Parameters,
    pub(super) primes: Limbs,
    /// `q`.
    pub(super) word: ModulusId,
    /// `q / 2`.
    pub(super) half: ModulusId,
    /// `2N`.
    pub(super) order: ModulusId,
    /// All powers of two, by their exponents.
    powers: Vec<(u32, ModulusId)>,
}

/// Words that are rounded to `bits` bits, cut into digits.
#[derive(Clone, Copy)]
pub(super) struct Kept {
    pub(super) bits: u32,
    pub(super) modulus: ModulusId,
}

impl ModulusTable {
    /// Makes an empty trace with the moduli that a circuit needs.
    pub(super) fn new(circuit: &Circuit) -> Result<(Self, TraceBuilder)> {
        let p = circuit.parameters;
        let mut builder = TraceBuilder::new(p.n, &primes(&p)?)?;
        let count = builder.main().moduli().len();
        let drops = circuit.steps.iter().filter_map(|op| match op {
            Op::ModulusSwitch { drop, .. } => Some(p.exponent_bits() - drop),
            _ => None,
        });
        let digits = [p.bootstrap, p.key_switch.digits()].map(Digits::kept);
        let bits = [p.word_bits, p.word_bits - 1, p.exponent_bits()];
        let bits = bits.into_iter().chain(digits).chain(drops);
        let mut powers = Vec::new();
        for bits in bits {
            powers.push((bits, builder.power(bits)?));
        }
        let table = Self {
            parameters: p,
            primes: Limbs::from(0..count),
            word: powers[0].1,
            half: powers[1].1,
            order: powers[2].1,
            powers,
        };
        Ok((table, builder))
    }

    /// Words rounded to their first `bits` bits.
    pub(super) fn kept(&self, bits: u32) -> Kept {
        let mut powers = self.powers.iter();
        let found = powers.find(|&&(own, _)| own == bits);
        let &(bits, modulus) = found.expect("the table has what the circuit rounds to");
        Kept { bits, modulus }
    }

    /// Type of polynomials of words.
    pub(super) fn words(&self) -> Type {
        Type::coeff(Limbs::one(self.word))
    }

    /// Type of exponents of X.
    pub(super) fn exponents(&self) -> Type {
        Type::coeff(Limbs::one(self.order))
    }

    /// Type of factors of products.
    pub(super) fn factors(&self) -> Type {
        Type::eval(self.primes.clone())
    }

    /// Types of the rows of a key, each of `components` polynomials.
    pub(super) fn rows(&self, rows: usize, components: usize) -> Vec<Type> {
        vec![self.factors(); rows * components]
    }

    /// A value with all words equal to `word`.
    pub(super) fn repeated(&self, b: &mut Builder, word: i64, modulus: ModulusId) -> ValueId {
        let (run, values) = (1, vec![word]);
        let constant = b.define(Constant::Repeat { run, values });
        b.constant(constant, Limbs::one(modulus))
    }

    /// `X -> X^-1`: from the words of a mask to the polynomial by which coefficient 0 of a product
    /// is their inner product, and back.
    pub(super) fn reversed(&self, b: &mut Builder, value: ValueId) -> ValueId {
        b.automorphism(value, 2 * self.parameters.n - 1)
    }
}

/// The smallest number of primes that makes all sums exact, of 50 bits if those are enough.
fn primes(p: &Parameters) -> Result<Vec<u64>> {
    let bound = bound(p);
    for (bits, count) in PRIMES {
        let primes = ntt_primes(bits, p.n, count).map_err(rlwe::Error::from)?;
        if hold(&primes, bound) {
            return Ok(primes);
        }
    }
    unreachable!("two primes of 60 bits hold what parameters can have: 2^116")
}

/// Upper bound on the sums of products, in absolute value.
fn bound(p: &Parameters) -> u128 {
    let sum = |(polynomials, digits): (usize, Digits)| {
        let terms = (polynomials * p.n) as u128 * u128::from(digits.count);
        terms << (digits.bits - 1 + p.word_bits - 1)
    };
    let rotation = sum((p.rank + 1, p.bootstrap));
    rotation.max(sum((p.rank, p.key_switch.digits())))
}

/// Returns true if the conversion from these primes is exact for all integers of absolute value up
/// to `bound`.
fn hold(primes: &[u64], bound: u128) -> bool {
    let product: u128 = primes.iter().map(|&q| u128::from(q)).product();
    2 * bound + (bound >> (MARGIN_BITS - 1)) < product
}

#[cfg(test)]
mod tests {
    use super::*;
    use program::torus::KeySwitch;

    fn of(rank: usize, n: usize, bits: u32, word_bits: u32) -> Parameters {
        Parameters {
            word_bits,
            dimension: 8,
            rank,
            n,
            bootstrap: Digits { bits, count: 2 },
            key_switch: KeySwitch::Ring(Digits { bits: 1, count: 1 }),
        }
    }

    #[test]
    fn as_few_primes_as_hold_the_sums() {
        let sizes = |p: Parameters| -> Vec<u32> {
            let primes = primes(&p).expect("there are primes").into_iter();
            primes.map(|q| 64 - q.leading_zeros()).collect()
        };
        // 2^10 terms of 7 + 31 bits, of 8 + 31 bits, of 29 + 63 bits, of 29 + 63 bits with four
        // times the terms.
        assert_eq!(sizes(of(1, 256, 8, 32)), [50]);
        assert_eq!(sizes(of(1, 256, 10, 32)), [60]);
        assert_eq!(sizes(of(1, 16, 30, 64)), [50, 50]);
        assert_eq!(sizes(of(3, 64, 30, 64)), [60, 60]);
        // The largest parameters that the verifier accepts.
        let largest = of(64, 1 << 17, 30, 64);
        assert!(bound(&largest) < 1 << 117);
        assert_eq!(sizes(largest), [60, 60]);
    }

    #[test]
    fn a_sum_of_half_the_product_is_refused() {
        let primes = ntt_primes(50, 1 << 10, 2).expect("there are primes");
        let half = primes.iter().map(|&q| u128::from(q)).product::<u128>() / 2;
        assert!(!hold(&primes, half));
        assert!(!hold(&primes, half - (half >> (MARGIN_BITS + 1))));
        assert!(hold(&primes, half - (half >> (MARGIN_BITS - 1))));
    }
}
