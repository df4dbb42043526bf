//! The types of a trace.

use super::limbs::Limbs;
pub use super::ops::Op;
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

impl Type {
    /// Makes the type of coefficients modulo these moduli.
    pub fn coeff(limbs: impl Into<Limbs>) -> Self {
        Self {
            domain: Domain::Coeff,
            limbs: limbs.into(),
        }
    }

    /// Makes the type of values in the evaluation domain modulo these moduli.
    pub fn eval(limbs: impl Into<Limbs>) -> Self {
        Self {
            domain: Domain::Eval,
            limbs: limbs.into(),
        }
    }
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
    /// `N` words in two rows of `N/2`: the words of an earlier constant, with both rows rotated
    /// left by `steps`.
    Turn {
        /// The constant that is rotated.
        of: ConstantId,
        /// Number of columns by which it is rotated to the left, below `N/2`.
        steps: usize,
    },
    /// Any number of integers. These are the coefficients of a [combination](Op::Combine).
    List(Vec<i64>),
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
    /// The moduli: different odd primes below `2^60`. Moduli of limbs in the evaluation domain are
    /// 1 modulo `2N`.
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
    /// Names of parts of the main body, in order. Instructions before the first part have no name.
    pub steps: Vec<Step>,
}
