//! The types of a trace.

use super::limbs::Limbs;
use super::steps::Step;

/// A value of a body: its parameters come first, then the results of its instructions, in order.
pub type ValueId = usize;

/// A constant: its place in [`Trace::constants`].
pub type ConstantId = usize;

/// A modulus: its place in the table, which is [`Trace::moduli`] and then [`Trace::powers`].
pub type ModulusId = usize;

/// A sub-trace: its place in [`Trace::subs`].
pub type SubId = usize;

/// What the words of a limb are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// Coefficients of `X^0, .., X^(N-1)`.
    Coeff,
    /// Values at the odd powers of the modulus's `2N`-th root, in bit-reversed order: word `i` is the value at
    /// `root^(2 r + 1)`, `r` being `i` with its bits reversed. The root is the least word of order `2N`.
    Eval,
}

/// Type of a value: residues in `[0, q)`, `N` for each of its limbs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// Domain of all limbs.
    pub domain: Domain,
    /// Moduli of the limbs: at least one.
    pub limbs: Limbs,
}

/// Integers that are known before anything runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Constant {
    /// `N` words.
    Words(Vec<i64>),
    /// `N` words: 0 but at the given places, which increase.
    Sparse(Vec<(usize, i64)>),
    /// `N` words: word `i` is `values[(i / run) mod values.len()]`.
    Repeat {
        /// Words in a row that are equal: at least 1.
        run: usize,
        /// What is repeated: at least one value.
        values: Vec<i64>,
    },
    /// `N` words in two rows of `N/2`: those of an earlier constant, both rows rotated left by `steps`.
    Turn {
        /// What is rotated.
        of: ConstantId,
        /// Columns to the left, below `N/2`.
        steps: usize,
    },
    /// Any number of integers: the coefficients of a [combination](Op::Combine).
    List(Vec<i64>),
}

/// An operation. Operands are values of the same body that were made before.
///
/// Unless it says otherwise, the operands of an operation have one type, which its result has too, and limb by limb
/// the operation acts on words modulo the limb's modulus.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A value from outside, by its name.
    Load {
        /// Name: words of ASCII letters, digits, `.`, `-`, `_`, joined by `/`. It may be loaded again, with these or other
        /// limbs. What is stored is not loaded.
        name: String,
        /// Its type.
        ty: Type,
    },
    /// Gives a value to the outside under a name. Has no result.
    Store {
        /// The value.
        value: ValueId,
        /// Name, as of [`Op::Load`]: one that is neither loaded nor stored before.
        name: String,
    },
    /// A constant of `N` words as coefficients: each word modulo each modulus.
    Constant {
        /// Which.
        constant: ConstantId,
        /// Limbs of the result.
        limbs: Limbs,
    },
    /// Zeros.
    Zero {
        /// Type of the result.
        ty: Type,
    },
    /// Uniform residues in the evaluation domain, expanded from a seed of 32 bytes that the outside knows by its name:
    /// the halves of keys and ciphertexts that need not be stored.
    ///
    /// Limb `i` of the result, counted from 0 whatever its modulus, reads the ChaCha20 stream `2^32 stream + i` under the
    /// seed: words of 32 bits for a modulus of at most 32, else of 64. Of each word the low bits count, as many as the modulus has, and a word is left out
    /// if these are no residue.
    Sample {
        /// Name of the seed, as of [`Op::Load`].
        seed: String,
        /// Which of the polynomials that the seed gives.
        stream: u32,
        /// Limbs of the result.
        limbs: Limbs,
    },
    /// Uniform words as coefficients modulo `2^32` or `2^64`, expanded from a seed as of [`Op::Sample`]: the masks of keys
    /// of TFHE.
    ///
    /// Word `i` of the result is word `skip + i` of the ChaCha20 stream `stream` under the seed, in words of as many bits
    /// as the modulus has.
    Expand {
        /// Name of the seed, as of [`Op::Load`].
        seed: String,
        /// The stream.
        stream: u32,
        /// Words of the stream that are left out.
        skip: u32,
        /// The modulus, `2^32` or `2^64`.
        modulus: ModulusId,
    },
    /// From coefficients to values.
    Ntt(ValueId),
    /// From values to coefficients.
    Intt(ValueId),
    /// `a + b`, in either domain.
    Add(ValueId, ValueId),
    /// `a - b`, in either domain.
    Sub(ValueId, ValueId),
    /// `a b` word by word, in the evaluation domain: the product of polynomials.
    Mul(ValueId, ValueId),
    /// `sum_k left_k right_k` word by word, in the evaluation domain. There is at least one term.
    Dot {
        /// Left factors.
        left: Vec<ValueId>,
        /// Right factors, as many.
        right: Vec<ValueId>,
    },
    /// Each limb times a word of its own, in either domain.
    Scale {
        /// What is multiplied.
        value: ValueId,
        /// For each limb its factor, below the modulus.
        factors: Vec<u64>,
    },
    /// Integer combinations of values, in either domain: result `r` is `sum_k m_rk values_k`, with
    /// `m_rk = list[first + r values.len() + k] rows[r] columns[k] mod t` as an integer of `0 .. t`. The list counts as
    /// 0 beyond its end. There are as many results as `rows`. Neither `t` nor the modulus of a limb is a power of two.
    Combine {
        /// What is combined, at least one.
        values: Vec<ValueId>,
        /// A [`Constant::List`].
        list: ConstantId,
        /// Where the matrix begins in the list.
        first: usize,
        /// The modulus `t`, which need not be that of a limb.
        modulus: ModulusId,
        /// Factors of the rows, below `t`: at least one.
        rows: Vec<u64>,
        /// Factors of the columns, below `t`: one for each value.
        columns: Vec<u64>,
    },
    /// `X^e` times a value of coefficients, in which `X^N = -1`. The exponent `e` is the word 0 of another value, whose
    /// one limb is of the modulus `2N`. Its other words do not count.
    Turn {
        /// What is multiplied: coefficients.
        value: ValueId,
        /// What the exponent is read from.
        by: ValueId,
    },
    /// `X -> X^element`, in either domain.
    Automorphism {
        /// What is mapped.
        value: ValueId,
        /// Odd, below `2N`.
        element: usize,
    },
    /// From one limb of words by slot to values in the order of the evaluation domain: the slot `i < N/2` holds the
    /// value at `root^(5^i)`, the slot `N/2 + i` the one at `root^(-5^i)`. The operand counts as coefficients.
    Slots(ValueId),
    /// Takes coefficients of some values to other places. Word `s` belongs to the value `v = at[s] / N` and its coefficient
    /// `at[s] mod N`: it is that coefficient of `X^(gap entries[s])` times `values[v]`, or 0 where `at[s]` is negative.
    /// Coefficients, in and out; exponents count modulo `2N`, and `X^N = -1`.
    Extract {
        /// What is read: at least one.
        values: Vec<ValueId>,
        /// Values and coefficients: a constant of `N` words below `values.len() N`.
        at: ConstantId,
        /// Entries of a mask, a constant of `N` words that are not negative, and the gap between entries: 1 to `N`.
        entries: Option<(ConstantId, usize)>,
    },
    /// Basis conversion: the residues modulo `to` of the centred representative of a value of coefficients.
    ///
    /// With `Q` the product of the value's moduli `q_i`, `b_i` the bits of `q_i`, and `y_i = x_i (Q/q_i)^-1 mod q_i`, it
    /// is `sum_i y_i Q/q_i - v Q`. For one modulus `v` is 1 if `2 y_0 >= q_0`, else 0. For several it is the fixed-point
    /// quotient `v = (2^55 + sum_i ((y_i 2^(32 - b_i) rounded down) m_i >> 7)) >> 56`, with
    /// `m_i = 2^(31 + b_i) / q_i` rounded down. So `v` is the nearest integer to `sum_i y_i / q_i`, unless that is above
    /// the middle of two by less than `2^-30` for each modulus.
    ///
    /// A power of two `2^b` is converted alone. The centred representative is then that of `[-2^(b-1), 2^(b-1))`.
    Convert {
        /// What is converted, coefficients: at most 64 limbs, one if its modulus is a power of two.
        value: ValueId,
        /// Limbs of the result, at least one, none of them the value's.
        to: Limbs,
    },
    /// Some limbs of a value.
    Select {
        /// The value.
        value: ValueId,
        /// Limbs of the result.
        limbs: Limbs,
    },
    /// The limbs of values of one domain that have no limb in common, as one value. At least two values.
    Join(Vec<ValueId>),
    /// `round(c t / q) mod t` of each coefficient `c` in `[0, q)`, halves up. One limb of coefficients, another one as the
    /// result.
    Round {
        /// What is rounded: one limb.
        value: ValueId,
        /// The modulus `t`, below `q`.
        to: ModulusId,
    },
    /// Digit `index` of each coefficient `c` modulo `q`, centred in `(-q/2, q/2)`. With `B = 2^bits` and `count` digits
    /// in all, `|c| = sum_j d_j B^j` with `-B/2 <= d_j < B/2` for all but the last, and the result is `d_index` with the
    /// sign of `c`, modulo `q`. One limb of coefficients.
    ///
    /// For `q = 2^b` there are digits for all bits: `bits count = b`. Then `c = sum_j d_j B^j` modulo `q`, with
    /// `-B/2 <= d_j < B/2` for all of them, and the result is `d_index` modulo `q`.
    Digit {
        /// What is cut: one limb.
        value: ValueId,
        /// Which digit, counted from the least.
        index: usize,
        /// Bits of a digit: 1 to 30.
        bits: u32,
        /// Digits in all: `bits (count - 1)` is at most 60.
        count: usize,
    },
    /// The results of a sub-trace.
    Call {
        /// Which: one before the caller.
        sub: SubId,
        /// Values for its parameters, of their types.
        arguments: Vec<ValueId>,
    },
}

/// An operation with the types of its results.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// The operation.
    pub op: Op,
    /// Types of its results: those that [`Trace::verify`] finds.
    pub types: Vec<Type>,
}

/// A list of instructions: a sub-trace or the main body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Body {
    /// Name, as of [`Op::Load`]; `main` for the main body alone. Sub-traces have different names.
    pub name: String,
    /// Types of the parameters. The main body has none.
    pub parameters: Vec<Type>,
    /// Instructions in order. A sub-trace neither loads nor stores nor samples nor expands.
    pub instructions: Vec<Instruction>,
    /// Values that a call gives. The main body has none: it stores.
    pub results: Vec<ValueId>,
}

/// Instructions on limbs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Ring degree `N`.
    pub n: usize,
    /// The moduli: different odd primes below `2^60`. Those of limbs in the evaluation domain are 1 modulo `2N`.
    pub moduli: Vec<u64>,
    /// Powers of two, with which the table goes on behind the odd moduli: of `2^b` the different exponents `b`, from 1 to
    /// 64. Their limbs are of coefficients.
    pub powers: Vec<u32>,
    /// Constants. A [`Constant::Turn`] is of an earlier one.
    pub constants: Vec<Constant>,
    /// Sub-traces. Each calls earlier ones only.
    pub subs: Vec<Body>,
    /// What runs.
    pub main: Body,
    /// Names of parts of the main body, in order; what stands before the first one has none.
    pub steps: Vec<Step>,
}
