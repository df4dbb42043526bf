//! Arithmetic modulo an entry of the table of moduli: kernels for primes, words that wrap around
//! for powers of two.

use kernels::{Modulus, kernels};

/// An entry of the table of moduli.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arithmetic {
    /// A prime.
    Prime(Modulus),
    /// `2^bits`.
    Power(Power),
}

/// Residues modulo `2^bits`: the low bits of words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Power {
    bits: u32,
}

impl Power {
    /// Arithmetic modulo `2^bits`, for 1 to 64 bits.
    pub(super) fn new(bits: u32) -> Self {
        Self { bits }
    }

    fn low(self, word: u64) -> u64 {
        word & self.largest()
    }

    fn largest(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    /// The representative in `[-2^(bits - 1), 2^(bits - 1))`.
    pub(super) fn center(self, word: u64) -> i64 {
        let above = 64 - self.bits;
        (word << above) as i64 >> above
    }
}

impl Arithmetic {
    /// The modulus.
    pub(super) fn value(&self) -> u128 {
        u128::from(self.largest()) + 1
    }

    /// The largest residue.
    pub(super) fn largest(&self) -> u64 {
        match self {
            Self::Prime(q) => q.value() - 1,
            Self::Power(power) => power.largest(),
        }
    }

    /// The residue of a word.
    pub(super) fn reduce(&self, word: u64) -> u64 {
        match self {
            Self::Prime(q) => q.reduce(word),
            Self::Power(power) => power.low(word),
        }
    }

    /// The residue of an integer.
    pub(super) fn residue(&self, integer: i64) -> u64 {
        match self {
            Self::Prime(q) => q.from_i64(integer),
            Self::Power(power) => power.low(integer as u64),
        }
    }

    pub(super) fn neg(&self, a: u64) -> u64 {
        match self {
            Self::Prime(q) => q.neg(a),
            Self::Power(power) => power.low(a.wrapping_neg()),
        }
    }

    pub(super) fn mul(&self, a: u64, b: u64) -> u64 {
        match self {
            Self::Prime(q) => q.mul(a, b),
            Self::Power(power) => power.low(a.wrapping_mul(b)),
        }
    }

    pub(super) fn add_assign(&self, a: &mut [u64], b: &[u64]) {
        match self {
            Self::Prime(q) => kernels().add_assign(q, a, b),
            Self::Power(power) => {
                let sums = a.iter_mut().zip(b);
                sums.for_each(|(a, b)| *a = power.low(a.wrapping_add(*b)));
            }
        }
    }

    pub(super) fn sub_assign(&self, a: &mut [u64], b: &[u64]) {
        match self {
            Self::Prime(q) => kernels().sub_assign(q, a, b),
            Self::Power(power) => {
                let differences = a.iter_mut().zip(b);
                differences.for_each(|(a, b)| *a = power.low(a.wrapping_sub(*b)));
            }
        }
    }

    pub(super) fn scale_assign(&self, a: &mut [u64], factor: u64) {
        match self {
            Self::Prime(q) => kernels().scalar_mul_assign(q, a, factor),
            Self::Power(power) => {
                a.iter_mut()
                    .for_each(|a| *a = power.low(a.wrapping_mul(factor)));
            }
        }
    }

    /// `X -> X^element` on coefficients.
    pub(super) fn automorphism_into(&self, out: &mut [u64], a: &[u64], element: usize) {
        match self {
            Self::Prime(q) => kernels().automorphism_into(q, out, a, element),
            Self::Power(_) => {
                let n = a.len();
                for (i, &word) in a.iter().enumerate() {
                    let exponent = i * element % (2 * n);
                    out[exponent % n] = if exponent < n { word } else { self.neg(word) };
                }
            }
        }
    }

    /// `out = sum_k row_k rows_k`, for words of at most `bits` bits.
    pub(super) fn combine_into(
        &self,
        out: &mut [u64],
        row: &[u64],
        (rows, bits): (&[&[u64]], u32),
    ) {
        match self {
            Self::Prime(q) => {
                let q = std::slice::from_ref(q);
                kernels().mat_mul_into(q, row, (rows, bits), &mut [out]);
            }
            Self::Power(power) => {
                out.fill(0);
                for (factor, words) in row.iter().zip(rows) {
                    let terms = out.iter_mut().zip(*words);
                    terms.for_each(|(out, word)| {
                        *out = out.wrapping_add(factor.wrapping_mul(*word));
                    });
                }
                out.iter_mut().for_each(|out| *out = power.low(*out));
            }
        }
    }
}
