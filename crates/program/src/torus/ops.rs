//! The operations on samples: names, operands, texts and types, all from one table.

use super::ir::{Type, ValueId};
use std::fmt::{Display, Formatter, Result};
use trace::ConstantId;
use trace::language::{
    ConstantNumber, Language, Named, Number, Operand, ReadLanguage, ReadOperand, Value,
};
use trace::reading::{Checked, Words};

trace::operations! {
    /// An operation. Words count modulo `q`, and polynomials modulo `X^N + 1`.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub enum Op: names, parser;

    /// Types of the operands and of the result.
    fn signature(&self) -> Signature;

    {
        /// A [sample](Type::Sample) of the client.
        Input = "input" {
            /// Index of the sample.
            index: usize as Number("the index"),
        } => Signature { takes: Type::Sample, gives: Type::Sample },
        /// `sum_k factor_k value_k` on all words. Then the constant is added to the body.
        Combine = "combine" {
            /// Constant that is added to the body.
            constant: i64 as Number("the constant"),
            /// Factors and samples. There is at least one.
            "terms" terms: Vec<(i64, ValueId)> as Terms,
        } => Signature { takes: Type::Sample, gives: Type::Sample },
        /// Switches from the big secret to the small one, as the [parameters](super::KeySwitch)
        /// say. Half of the sum of all rests corrects the body.
        ///
        /// By samples, this half, rounded down, is subtracted from the body. In the ring, the rests
        /// are those of the `A_i`. Half of their sum, rounded down, is added to the body. Then, for
        /// each `i`, half of the rest of `A_i[0]`, rounded down, is subtracted twice.
        KeySwitch = "key_switch" {
            /// A sample.
            value: ValueId as Value,
        } => Signature { takes: Type::Sample, gives: Type::Small },
        /// Rounds the mask to multiples of `q 2^drop / 2N`, with halves rounded up, and the body
        /// down. Both are divided by `q / 2N`. Before this, half of the sum of the mask's rests,
        /// rounded down, is subtracted from the body.
        ModulusSwitch = "modulus_switch" {
            /// A sample under the small secret.
            value: ValueId as Value,
            /// Number of low bits of exponents that are 0: below `log2 2N`.
            drop: u32 as Named("drop"),
        } => Signature { takes: Type::Small, gives: Type::Exponents },
        /// Multiplies a test polynomial by `X^(-b)`, and then by each `X^(a_i)` whose GGSW
        /// ciphertext encrypts the bit 1.
        ///
        /// The accumulator begins with masks of 0 and the body `X^(-b) test`. Step `i` adds the sum
        /// of all digits of `(X^(a_i) - 1) accumulator` times the rows of ciphertext `i` of the
        /// bootstrapping key. Rows have `k + 1` polynomials. Row `c count + j - 1` is for component
        /// `c` and digit `j`.
        BlindRotation = "blind_rotation" {
            /// Exponents.
            value: ValueId as Value,
            /// The test polynomial: `N` words.
            "of" test: ConstantId as ConstantNumber,
        } => Signature { takes: Type::Exponents, gives: Type::Ring },
        /// The sample of a coefficient: its mask has the words `A_i[place - m]`, negated and with
        /// `N` added to the index if that is below 0. Its body is the coefficient of the body.
        Extraction = "extract" {
            /// Polynomials.
            value: ValueId as Value,
            /// Index of the coefficient.
            place: usize as Named("at"),
        } => Signature { takes: Type::Ring, gives: Type::Sample },
        /// Outputs a sample to the client. The first output is result 0. Its value is that sample.
        Output = "output" {
            /// The sample.
            value: ValueId as Value,
        } => Signature { takes: Type::Sample, gives: Type::Sample },
    }
}

/// Types of an operation.
struct Signature {
    /// Type of the operands.
    takes: Type,
    /// Type of the result.
    gives: Type,
}

impl Op {
    /// Type of the operation's result.
    pub fn ty(&self) -> Type {
        self.signature().gives
    }

    /// Type of the operation's operands.
    pub fn operand_ty(&self) -> Type {
        self.signature().takes
    }
}

impl Language for Op {
    type Writing<'a> = ();
}

impl ReadLanguage for Op {
    type Reading<'a> = ();
}

impl Display for Op {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.write(f, ())
    }
}

/// Factors and samples up to the end of the line: `-1 %4 2 %5`.
struct Terms;

impl Operand<Op, Vec<(i64, ValueId)>> for Terms {
    fn write(&self, f: &mut Formatter<'_>, stored: &Vec<(i64, ValueId)>, (): ()) -> Result {
        let mut terms = stored.iter();
        terms.try_for_each(|(factor, value)| write!(f, " {factor} %{value}"))
    }

    fn visit(&self, stored: &Vec<(i64, ValueId)>, visit: &mut impl FnMut(ValueId)) {
        stored.iter().map(|&(_, value)| value).for_each(visit);
    }

    fn visit_mut(&self, stored: &mut Vec<(i64, ValueId)>, visit: &mut impl FnMut(&mut ValueId)) {
        stored.iter_mut().map(|(_, value)| value).for_each(visit);
    }
}

impl ReadOperand<Op, Vec<(i64, ValueId)>> for Terms {
    fn read(&self, words: &mut Words<'_>, (): ()) -> Checked<Vec<(i64, ValueId)>> {
        let mut terms = Vec::new();
        while words.peek().is_some() {
            terms.push((words.number("a factor")?, words.value()?));
        }
        Ok(terms)
    }
}
