//! The types of a circuit on samples.

use crate::trace::{Constant, ConstantId};

/// A value: the number of the step that makes it.
pub type ValueId = usize;

/// Signed digits of words: `count` digits in base `B = 2^bits`.
///
/// A word `x` modulo `q` is rounded to the closest multiple of `q / B^count`, halves up. That is the sum of
/// `d_j q / B^j` modulo `q` for `j` from 1 to `count`, with `-B/2 <= d_j < B/2`. What is rounded away is the *rest* of
/// the word, in `[-q / 2 B^count, q / 2 B^count)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digits {
    /// Bits of a digit: 1 to 30.
    pub bits: u32,
    /// Number of digits: at least 1.
    pub count: u32,
}

impl Digits {
    /// Bits of a word that are kept.
    pub fn kept(self) -> u32 {
        self.bits.saturating_mul(self.count)
    }
}

/// How a sample gets from the big secret to the small one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeySwitch {
    /// By samples. Row `i count + j - 1` of the key is a sample under the small secret, for word `i` of the mask and its
    /// digit `j`. The result is the body alone, less the sum of all digits times their rows.
    Lwe(Digits),
    /// In the ring. Row `i count + j - 1` of the key has `ceil(n / N)` masks and a body, polynomials, for polynomial `i`
    /// of the mask and its digit `j`.
    ///
    /// A mask `a_0 .. a_(N-1)` becomes the polynomial `A_i = a_0 - sum_m a_m X^(N-m)`. The sum of all digits of `A_i`
    /// times their rows is a ring element. The result is the sample of its coefficient 0, of which `n` words of mask
    /// count, with the body of the operand added.
    Ring(Digits),
}

impl KeySwitch {
    /// The digits.
    pub fn digits(self) -> Digits {
        match self {
            Self::Lwe(digits) | Self::Ring(digits) => digits,
        }
    }
}

/// What all operations of a circuit share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parameters {
    /// Bits of a word, 32 or 64: the modulus is `q = 2^word_bits`.
    pub word_bits: u32,
    /// Dimension `n` of the small secret.
    pub dimension: usize,
    /// Rank `k`: polynomials of the big secret, whose dimension is `k N`.
    pub rank: usize,
    /// Ring degree `N`.
    pub n: usize,
    /// Digits of external products.
    pub bootstrap: Digits,
    /// The key switch.
    pub key_switch: KeySwitch,
}

impl Parameters {
    /// Polynomials that hold `n` words: `ceil(n / N)`.
    pub fn small_rank(&self) -> usize {
        self.dimension.div_ceil(self.n)
    }

    /// `log2 2N`: bits of an exponent of X.
    pub fn exponent_bits(&self) -> u32 {
        self.n.ilog2() + 1
    }
}

/// What a step makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A sample under the big secret: `k N` words of mask and a body.
    Sample,
    /// A sample under the small secret: `n` words of mask and a body.
    Small,
    /// Exponents of X, modulo `2N`: `n` of a mask and one of a body.
    Exponents,
    /// `k + 1` polynomials of words, the body last.
    Ring,
}

/// An operation. Words count modulo `q`, and polynomials modulo `X^N + 1`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A [sample](Type::Sample) of the client.
    Input {
        /// Which.
        index: usize,
    },
    /// `sum_k factor_k value_k`, all words, with the constant added to the body.
    Combine {
        /// Added to the body.
        constant: i64,
        /// Factors and samples, at least one.
        terms: Vec<(i64, ValueId)>,
    },
    /// From the big secret to the small one, as the [parameters](KeySwitch) say, with half of the sum of all rests.
    ///
    /// By samples that half, rounded down, is taken from the body. In the ring the rests are those of the `A_i`. Their half,
    /// rounded down, is added to the body. Then for each `i` twice the half of the rest of `A_i[0]`, rounded down, is taken.
    KeySwitch {
        /// A sample.
        value: ValueId,
    },
    /// Rounds a mask to multiples of `q 2^drop / 2N`, halves up, and its body down, and divides them by `q / 2N`. Before
    /// this, half of the sum of what the mask lost, rounded down, is taken from the body.
    ModulusSwitch {
        /// A sample under the small secret.
        value: ValueId,
        /// Low bits of exponents that are 0: below `log2 2N`.
        drop: u32,
    },
    /// Turns a test polynomial by `X^(-b)`, and then by each `X^(a_i)` whose GGSW ciphertext is of the bit 1.
    ///
    /// The accumulator begins as masks of 0 and the body `X^(-b) test`. Step `i` adds the sum of all digits of
    /// `(X^(a_i) - 1) accumulator` times the rows of ciphertext `i` of the bootstrapping key. Rows have `k + 1`
    /// polynomials. Row `c count + j - 1` is for component `c` and digit `j`.
    BlindRotation {
        /// Exponents.
        value: ValueId,
        /// The test polynomial: `N` words.
        test: ConstantId,
    },
    /// The sample of a coefficient: words `A_i[place - m]`, with a minus and `N` more where that is below 0, and the
    /// coefficient of the body.
    Extraction {
        /// Polynomials.
        value: ValueId,
        /// Which coefficient.
        place: usize,
    },
    /// Gives a sample to the client: the first one is result 0. Is that sample.
    Output {
        /// The sample.
        value: ValueId,
    },
}

/// Operations on samples, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circuit {
    /// Parameters.
    pub parameters: Parameters,
    /// Constants of `N` words, which count modulo `q`.
    pub constants: Vec<Constant>,
    /// The operations. Operands are earlier ones.
    pub steps: Vec<Op>,
}
