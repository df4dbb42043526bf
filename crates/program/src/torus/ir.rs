//! The types of a circuit on samples.

pub use super::ops::Op;
use trace::Constant;

/// A value, given by the number of the step that makes it.
pub type ValueId = usize;

/// Signed digits of words: `count` digits in base `B = 2^bits`.
///
/// A word `x` modulo `q` is rounded to the closest multiple of `q / B^count`, with halves rounded
/// up. This is the sum of `d_j q / B^j` modulo `q` for `j` from 1 to `count`, with
/// `-B/2 <= d_j < B/2`. The difference is the *rest* of the word, in
/// `[-q / 2 B^count, q / 2 B^count)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digits {
    /// Bits of a digit: 1 to 30.
    pub bits: u32,
    /// Number of digits: at least 1.
    pub count: u32,
}

impl Digits {
    /// Number of bits of a word that are kept.
    pub fn kept(self) -> u32 {
        self.bits.saturating_mul(self.count)
    }
}

/// The way to switch a sample from the big secret to the small one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeySwitch {
    /// By samples. Row `i count + j - 1` of the key is a sample under the small secret, for word
    /// `i` of the mask and its digit `j`. The result is the body alone, minus the sum of all digits
    /// times their rows.
    Lwe(Digits),
    /// In the ring. Row `i count + j - 1` of the key is for polynomial `i` of the mask and its
    /// digit `j`. It has `ceil(n / N)` masks and a body, all polynomials.
    ///
    /// A mask `a_0 .. a_(N-1)` becomes the polynomial `A_i = a_0 - sum_m a_m X^(N-m)`. The sum of
    /// all digits of `A_i` times their rows is a ring element. The result is the sample of its
    /// coefficient 0, with the body of the operand added. Of its mask, `n` words count.
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

/// Parameters that all operations of a circuit share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parameters {
    /// Bits of a word, 32 or 64: the modulus is `q = 2^word_bits`.
    pub word_bits: u32,
    /// Dimension `n` of the small secret.
    pub dimension: usize,
    /// Rank `k`: the number of polynomials of the big secret, whose dimension is `k N`.
    pub rank: usize,
    /// Ring degree `N`.
    pub n: usize,
    /// Digits of external products.
    pub bootstrap: Digits,
    /// The key switch.
    pub key_switch: KeySwitch,
}

impl Parameters {
    /// Number of polynomials that hold `n` words: `ceil(n / N)`.
    pub fn small_rank(&self) -> usize {
        self.dimension.div_ceil(self.n)
    }

    /// `log2 2N`: the number of bits of an exponent of X.
    pub fn exponent_bits(&self) -> u32 {
        self.n.ilog2() + 1
    }
}

/// Type of a step's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A sample under the big secret: `k N` words of mask and a body.
    Sample,
    /// A sample under the small secret: `n` words of mask and a body.
    Small,
    /// Exponents of X modulo `2N`: `n` for the mask and one for the body.
    Exponents,
    /// `k + 1` polynomials of words. The body is the last.
    Ring,
}

/// Operations on samples, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circuit {
    /// Parameters.
    pub parameters: Parameters,
    /// Constants of `N` words modulo `q`.
    pub constants: Vec<Constant>,
    /// The operations. Operands are earlier steps.
    pub steps: Vec<Op>,
}
