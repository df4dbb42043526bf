//! The table of moduli of a circuit on samples, and how many primes make its products exact.
//!
//! A product of digits with words is taken as one of integers: digits of at most `B/2` in size, words of at most `q/2`. A
//! sum of `r` products of polynomials is then at most `r N B q / 4` in size. From its residues modulo primes the integer
//! is known if it is smaller than half of their product, and so are its low bits, the words.

use crate::error::Result;
use program::torus::{Circuit, Digits, KeySwitch, Op, Parameters};
use program::trace::{Builder, Constant, Limbs, ModulusId, TraceBuilder, Type, ValueId};
use ring::ntt_primes;

/// Bits of primes: those whose transforms are fast, and the longest.
const PRIME_BITS: [u32; 2] = [50, 60];
/// Most primes of a table.
const MAX_PRIMES: usize = 4;
/// A conversion of several limbs is exact away from the middle of two integers: a part of `2^-30` of the product for each
/// limb. So sums stay below half of the product by a part of `2^-25`.
const MARGIN_BITS: u32 = 25;

/// Numbers of the moduli: primes, then powers of two.
pub(super) struct Table {
    pub(super) parameters: Parameters,
    pub(super) primes: Limbs,
    /// `q`.
    pub(super) word: ModulusId,
    /// `q / 2`.
    pub(super) half: ModulusId,
    /// `2N`.
    pub(super) order: ModulusId,
    /// All powers by their exponents.
    powers: Vec<(u32, ModulusId)>,
}

/// Words that are rounded to `bits` bits, cut into digits.
#[derive(Clone, Copy)]
pub(super) struct Kept {
    pub(super) bits: u32,
    pub(super) modulus: ModulusId,
}

impl Table {
    /// An empty trace with the table that a circuit needs.
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

    /// The first bits of words.
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

    /// Types of the rows of a key, of so many polynomials each.
    pub(super) fn rows(&self, rows: usize, components: usize) -> Vec<Type> {
        vec![self.factors(); rows * components]
    }

    /// All words equal.
    pub(super) fn repeated(&self, b: &mut Builder, word: i64, modulus: ModulusId) -> ValueId {
        let (run, values) = (1, vec![word]);
        let constant = b.define(Constant::Repeat { run, values });
        b.constant(constant, modulus)
    }

    /// `X^exponent` times a value.
    pub(super) fn turned(&self, b: &mut Builder, value: ValueId, exponent: usize) -> ValueId {
        let by = self.repeated(b, exponent as i64, self.order);
        b.turn(value, by)
    }

    /// `X -> X^-1`: from the words of a mask to the polynomial whose coefficient 0 of a product they give, and back.
    pub(super) fn reversed(&self, b: &mut Builder, value: ValueId) -> ValueId {
        b.automorphism(value, 2 * self.parameters.n - 1)
    }
}

/// As few primes as make all sums exact, and short ones if they do as well.
fn primes(p: &Parameters) -> Result<Vec<u64>> {
    let rotation = (p.rank + 1, p.bootstrap);
    let switch = match p.key_switch {
        KeySwitch::Lwe(digits) | KeySwitch::Ring(digits) => (p.rank, digits),
    };
    let bound = |(polynomials, digits): (usize, Digits)| {
        let terms = (polynomials * p.n) as u128 * u128::from(digits.count);
        terms << (digits.bits - 1 + p.word_bits - 1)
    };
    let bound = bound(rotation).max(bound(switch));
    let all = (1..=MAX_PRIMES).flat_map(|count| PRIME_BITS.map(|bits| (bits, count)));
    for (bits, count) in all {
        let primes = ntt_primes(bits, p.n, count).map_err(rlwe::Error::from)?;
        if hold(&primes, bound) {
            return Ok(primes);
        }
    }
    Err(program::Error::Torus {
        place: "parameters".into(),
        what: "the largest sum of products".into(),
        found: bound.to_string(),
        expected: format!("below half the product of {MAX_PRIMES} primes of 60 bits"),
    }
    .into())
}

/// Whether the conversion from these primes is exact for all integers up to `bound` in size.
fn hold(primes: &[u64], bound: u128) -> bool {
    if bound >= 1 << 126 {
        return false;
    }
    let needed = 2 * bound + (bound >> (MARGIN_BITS - 1)) + 1;
    let product = primes
        .iter()
        .try_fold(1u128, |all, &q| all.checked_mul(q.into()));
    // A product that no u128 holds is larger than what is needed.
    product.is_none_or(|product| needed < product)
}
