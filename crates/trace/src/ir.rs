//! The types of a trace.

use super::limbs::Limbs;
use super::steps::Step;

/// A value of a body, given by its index: parameters come first, then the results of instructions,
/// in order.
pub type ValueId = usize;

/// A constant, given by its index in [`Trace::constants`].
pub type ConstantId = usize;

/// A modulus, given by its index in the table: [`Trace::moduli`], then [`Trace::powers`].
pub type ModulusId = usize;

/// A sub-trace, given by its index in [`Trace::subs`].
pub type SubId = usize;

/// Domain of a limb's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// Coefficients of `X^0, .., X^(N-1)`.
    Coeff,
    /// Values at the odd powers of the modulus's `2N`-th root, in bit-reversed order: word `i` is
    /// the value at `root^(2 r + 1)`, where `r` is `i` with its bits reversed. The root is the
    /// smallest word of order `2N`.
    Eval,
}

/// Type of a value. It has `N` residues in `[0, q)` for each of its limbs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// Domain of all limbs.
    pub domain: Domain,
    /// Moduli of the limbs. There is at least one.
    pub limbs: Limbs,
}

/// Integers that are known before a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Constant {
    /// `N` words.
    Words(Vec<i64>),
    /// `N` words, which are 0 except at the given places. The places increase.
    Sparse(Vec<(usize, i64)>),
    /// `N` words: word `i` is `values[(i / run) mod values.len()]`.
    Repeat {
        /// Number of equal words in a row: at least 1.
        run: usize,
        /// Values that are repeated. There is at least one.
        values: Vec<i64>,
    },
    /// `N` words in two rows of `N/2`: those of an earlier constant, with both rows rotated left by
    /// `steps`.
    Turn {
        /// The constant that is rotated.
        of: ConstantId,
        /// Number of columns by which it is rotated to the left, below `N/2`.
        steps: usize,
    },
    /// Any number of integers. These are the coefficients of a [combination](Op::Combine).
    List(Vec<i64>),
}

/// An operation. Its operands are earlier values of the same body.
///
/// Unless stated otherwise, all operands have the same type, which is also that of the result, and
/// the operation acts limb by limb on words modulo the limb's modulus.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Loads a value from outside, by name.
    Load {
        /// Name: words of ASCII letters, digits, `.`, `-`, `_`, joined by `/`. The same name can be
        /// loaded again, with these or other limbs. A name that is stored cannot be loaded.
        name: String,
        /// Its type.
        ty: Type,
    },
    /// Stores a value outside under a name. It has no result.
    Store {
        /// The value.
        value: ValueId,
        /// Name, as for [`Op::Load`]. It must not have been loaded or stored before.
        name: String,
    },
    /// A constant of `N` words as coefficients. Each word is reduced modulo each modulus.
    Constant {
        /// The constant.
        constant: ConstantId,
        /// Limbs of the result.
        limbs: Limbs,
    },
    /// Zeros.
    Zero {
        /// Type of the result.
        ty: Type,
    },
    /// Uniform residues in the evaluation domain, expanded from a seed of 32 bytes that the outside
    /// knows by name. With these, the uniform halves of keys and ciphertexts need not be stored.
    ///
    /// Limb `i` of the result, counted from 0 whatever its modulus, reads the ChaCha20 stream
    /// `2^32 stream + i` under the seed. It reads words of 32 bits for a modulus of at most 32
    /// bits, otherwise words of 64 bits. Of each word it takes as many low bits as the modulus has.
    /// If these are no residue, the word is skipped.
    Sample {
        /// Name of the seed, as for [`Op::Load`].
        seed: String,
        /// Index of the polynomial among those of the seed.
        stream: u32,
        /// Limbs of the result.
        limbs: Limbs,
    },
    /// Uniform words as coefficients modulo `2^32` or `2^64`, expanded from a seed as in
    /// [`Op::Sample`]. These are the masks of keys of TFHE.
    ///
    /// Word `i` of the result is word `skip + i` of the ChaCha20 stream `stream` under the seed.
    /// Words have as many bits as the modulus.
    Expand {
        /// Name of the seed, as for [`Op::Load`].
        seed: String,
        /// The stream.
        stream: u32,
        /// Number of words of the stream that are skipped.
        skip: u32,
        /// The modulus, `2^32` or `2^64`.
        modulus: ModulusId,
    },
    /// From coefficients to the evaluation domain.
    Ntt(ValueId),
    /// From the evaluation domain to coefficients.
    Intt(ValueId),
    /// `a + b`, in either domain.
    Add(ValueId, ValueId),
    /// `a - b`, in either domain.
    Sub(ValueId, ValueId),
    /// `a b` word by word, in the evaluation domain. This is the product of polynomials.
    Mul(ValueId, ValueId),
    /// `sum_k left_k right_k` word by word, in the evaluation domain. There is at least one term.
    Dot {
        /// Left factors.
        left: Vec<ValueId>,
        /// Right factors, as many as left ones.
        right: Vec<ValueId>,
    },
    /// Multiplies each limb by a word of its own, in either domain.
    Scale {
        /// The value that is multiplied.
        value: ValueId,
        /// For each limb a factor, below the modulus.
        factors: Vec<u64>,
    },
    /// Integer combinations of values, in either domain. Result `r` is `sum_k m_rk values_k`, with
    /// `m_rk = list[first + r values.len() + k] rows[r] columns[k] mod t` as an integer in
    /// `0 .. t`. The list counts as 0 beyond its end. There are as many results as `rows`. Neither
    /// `t` nor the modulus of a limb may be a power of two.
    Combine {
        /// The values that are combined. There is at least one.
        values: Vec<ValueId>,
        /// A [`Constant::List`].
        list: ConstantId,
        /// Index in the list where the matrix begins.
        first: usize,
        /// The modulus `t`. It need not be that of a limb.
        modulus: ModulusId,
        /// Factors of the rows, below `t`. There is at least one.
        rows: Vec<u64>,
        /// Factors of the columns, below `t`, one for each value.
        columns: Vec<u64>,
    },
    /// Multiplies a value of coefficients by `X^e`, where `X^N = -1`. The exponent `e` is word 0 of
    /// another value, whose only limb has the modulus `2N`. Its other words are ignored.
    Turn {
        /// The value that is multiplied: coefficients.
        value: ValueId,
        /// The value from which the exponent is read.
        by: ValueId,
    },
    /// `X -> X^element`, in either domain.
    Automorphism {
        /// The value that is mapped.
        value: ValueId,
        /// The Galois element: odd, below `2N`.
        element: usize,
    },
    /// From one limb of words by slot to values in the order of the evaluation domain. Slot
    /// `i < N/2` holds the value at `root^(5^i)`, slot `N/2 + i` the value at `root^(-5^i)`. The
    /// operand counts as coefficients.
    Slots(ValueId),
    /// Moves coefficients of some values to other places. Word `s` of the result belongs to the
    /// value `v = at[s] / N` and its coefficient `at[s] mod N`: it is that coefficient of
    /// `X^(gap entries[s])` times `values[v]`, or 0 if `at[s]` is negative. Operands and result are
    /// coefficients. Exponents count modulo `2N`, and `X^N = -1`.
    Extract {
        /// The values that are read. There is at least one.
        values: Vec<ValueId>,
        /// Values and coefficients: a constant of `N` words, each below `values.len() N`.
        at: ConstantId,
        /// Entries of a mask, as a constant of `N` words that are not negative, and the gap between
        /// entries, 1 to `N`.
        entries: Option<(ConstantId, usize)>,
    },
    /// Basis conversion: the residues modulo `to` of the centred representative of a value of
    /// coefficients.
    ///
    /// Let `Q` be the product of the value's moduli `q_i`, `b_i` the number of bits of `q_i`, and
    /// `y_i = x_i (Q/q_i)^-1 mod q_i`. The representative is `sum_i y_i Q/q_i - v Q`. For one
    /// modulus `v` is 1 if `2 y_0 >= q_0`, otherwise 0. For several moduli it is the fixed-point
    /// quotient `v = (2^55 + sum_i ((y_i 2^(32 - b_i) rounded down) m_i >> 7)) >> 56`, with
    /// `m_i = 2^(31 + b_i) / q_i` rounded down. So `v` is the nearest integer to `sum_i y_i / q_i`,
    /// unless that sum is above the middle of two integers by less than `2^-30` for each modulus.
    ///
    /// A power of two `2^b` can only be converted alone. The centred representative is then the one
    /// in `[-2^(b-1), 2^(b-1))`.
    Convert {
        /// The value that is converted: coefficients with at most 64 limbs, or with one if its
        /// modulus is a power of two.
        value: ValueId,
        /// Limbs of the result. There is at least one, and none of them is a limb of the value.
        to: Limbs,
    },
    /// Some limbs of a value.
    Select {
        /// The value.
        value: ValueId,
        /// Limbs of the result.
        limbs: Limbs,
    },
    /// Joins values of one domain to one value. They have no limb in common. There are at least two
    /// values.
    Join(Vec<ValueId>),
    /// `round(c t / q) mod t` of each coefficient `c` in `[0, q)`, with halves rounded up. The
    /// operand has one limb of coefficients, and the result has another one.
    Round {
        /// The value that is rounded: one limb.
        value: ValueId,
        /// The modulus `t`, below `q`.
        to: ModulusId,
    },
    /// Digit `index` of each coefficient `c` modulo `q`, centred in `(-q/2, q/2)`. With
    /// `B = 2^bits` and `count` digits, `|c| = sum_j d_j B^j` with `-B/2 <= d_j < B/2` for all
    /// digits except the last. The result is `d_index` with the sign of `c`, modulo `q`. The
    /// operand has one limb of coefficients.
    ///
    /// For `q = 2^b` the digits have all bits: `bits count = b`. Then `c = sum_j d_j B^j` modulo
    /// `q`, with `-B/2 <= d_j < B/2` for all digits, and the result is `d_index` modulo `q`.
    Digit {
        /// The value that is cut into digits: one limb.
        value: ValueId,
        /// Index of the digit, counted from the lowest.
        index: usize,
        /// Number of bits of a digit: 1 to 30.
        bits: u32,
        /// Number of digits. `bits (count - 1)` is at most 60.
        count: usize,
    },
    /// Calls a sub-trace. The results are those of the sub-trace.
    Call {
        /// The sub-trace: one before the caller.
        sub: SubId,
        /// Values for its parameters, with their types.
        arguments: Vec<ValueId>,
    },
}

/// An operation with the types of its results.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// The operation.
    pub op: Op,
    /// Types of its results, as [`Trace::verify`] infers them.
    pub types: Vec<Type>,
}

/// A list of instructions: a sub-trace or the main body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Body {
    /// Name, as for [`Op::Load`]. Only the main body is named `main`. Sub-traces have different
    /// names.
    pub name: String,
    /// Types of the parameters. The main body has none.
    pub parameters: Vec<Type>,
    /// Instructions in order. A sub-trace does not load, store, sample or expand.
    pub instructions: Vec<Instruction>,
    /// Results of a call. The main body has none, because it stores.
    pub results: Vec<ValueId>,
}

/// A program of instructions on limbs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Ring degree `N`.
    pub n: usize,
    /// The moduli: different odd primes below `2^60`. Those of limbs in the evaluation domain are 1
    /// modulo `2N`.
    pub moduli: Vec<u64>,
    /// Powers of two, which follow the odd moduli in the table. For `2^b` this lists the exponent
    /// `b`, from 1 to 64. The exponents are different. Limbs modulo a power of two are
    /// coefficients.
    pub powers: Vec<u32>,
    /// Constants. A [`Constant::Turn`] rotates an earlier one.
    pub constants: Vec<Constant>,
    /// Sub-traces. Each only calls earlier ones.
    pub subs: Vec<Body>,
    /// The body that runs.
    pub main: Body,
    /// Names of parts of the main body, in order; what stands before the first one has none.
    pub steps: Vec<Step>,
}
