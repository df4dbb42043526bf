//! The operations of a trace: names, operands, texts, counts and methods of the builder, all from
//! one table.

use super::build::Builder;
use super::counts::{NONE, Passes};
use super::ir::{ConstantId, ModulusId, SubId, Type, ValueId};
use super::kinds::{Entries, Pairs, Stated, SubTrace};
use super::limbs::Limbs;
use crate::language::{ConstantNumber, Name, Named, Number, Numbers, Value, Values};

crate::operations! {
    /// An operation. Its operands are earlier values of the same body.
    ///
    /// Unless stated otherwise, all operands have the same type, which is also that of the result,
    /// and the operation acts limb by limb on words modulo the limb's modulus.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub enum Op: names, parser, builder(Builder);

    /// Passes over limbs, where the first operand has `read` limbs and the first result `made`. A
    /// call has none itself.
    pub(super) fn passes(&self, read: u64, made: u64) -> Passes;

    {
        /// Loads a value from outside, by name.
        Load = "load" fn load {
            /// Name: words of ASCII letters, digits, `.`, `-`, `_`, joined by `/`. The same name
            /// can be loaded again, with these or other limbs. A name that is stored cannot be
            /// loaded.
            name: String as Name("the name"),
            /// Its type.
            ty: Type as Stated,
        } => Passes { loaded: made, ..NONE },
        /// Stores a value outside under a name. It has no result.
        Store = "store" {
            /// Name, as for [`Op::Load`]. It must not have been loaded or stored before.
            name: String as Name("the name"),
            /// The value.
            value: ValueId as Value,
        } => Passes { stored: read, ..NONE },
        /// A constant of `N` words as coefficients. Each word is reduced modulo each modulus.
        Constant = "constant" fn constant {
            /// The constant.
            constant: ConstantId as ConstantNumber,
            /// Limbs of the result.
            limbs: Limbs as Stated,
        } => Passes { constants: made, ..NONE },
        /// Zeros.
        Zero = "zero" fn zero {
            /// Type of the result.
            ty: Type as Stated,
        } => Passes { constants: made, ..NONE },
        /// Uniform residues in the evaluation domain, expanded from a seed of 32 bytes that the
        /// outside knows by name. With these, the uniform halves of keys and ciphertexts need not
        /// be stored.
        ///
        /// Limb `i` of the result, counted from 0 whatever its modulus, reads the ChaCha20 stream
        /// `2^32 stream + i` under the seed. It reads words of 32 bits for a modulus of at most 32
        /// bits, otherwise words of 64 bits. Of each word it takes as many low bits as the modulus
        /// has. If these are no residue, the word is skipped.
        Sample = "sample" fn sample {
            /// Name of the seed, as for [`Op::Load`].
            seed: String as Name("the name of the seed"),
            /// Index of the polynomial among those of the seed.
            stream: u32 as Number("the stream"),
            /// Limbs of the result.
            limbs: Limbs as Stated,
        } => Passes { sampled: made, ..NONE },
        /// Uniform words as coefficients modulo `2^32` or `2^64`, expanded from a seed as in
        /// [`Op::Sample`]. These are the masks of keys of TFHE.
        ///
        /// Word `i` of the result is word `skip + i` of the ChaCha20 stream `stream` under the
        /// seed. Words have as many bits as the modulus.
        Expand = "expand" {
            /// Name of the seed, as for [`Op::Load`].
            seed: String as Name("the name of the seed"),
            /// The stream.
            stream: u32 as Number("the stream"),
            /// Number of words of the stream that are skipped.
            skip: u32 as Named("skip"),
            /// The modulus, `2^32` or `2^64`.
            modulus: ModulusId as Stated,
        } => Passes { sampled: made, ..NONE },
        /// From coefficients to the evaluation domain.
        Ntt = "ntt" fn ntt (value: ValueId as Value) => Passes { ntt: made, ..NONE },
        /// From the evaluation domain to coefficients.
        Intt = "intt" fn intt (value: ValueId as Value) => Passes { intt: made, ..NONE },
        /// `a + b`, in either domain.
        Add = "add" fn add (left: ValueId as Value, right: ValueId as Value) => Passes { additions: made, ..NONE },
        /// `a - b`, in either domain.
        Sub = "sub" fn sub (left: ValueId as Value, right: ValueId as Value) => Passes { additions: made, ..NONE },
        /// `a b` word by word, in the evaluation domain. This is the product of polynomials.
        Mul = "mul" fn mul (left: ValueId as Value, right: ValueId as Value) => Passes { products: made, ..NONE },
        /// `sum_k left_k right_k` word by word, in the evaluation domain. There is at least one
        /// term.
        Dot = "dot" fn dot {
            /// Left factors.
            left: Vec<ValueId> |
            /// Right factors, as many as left ones.
            right: Vec<ValueId> as Pairs,
        } => Passes { dot_terms: left.len() as u64 * made, ..NONE },
        /// Multiplies each limb by a word of its own, in either domain.
        Scale = "scale" fn scale {
            /// The value that is multiplied.
            value: ValueId as Value,
            /// For each limb a factor, below the modulus.
            "by" factors: Vec<u64> as Numbers("a factor"),
        } => Passes { scalings: made, ..NONE },
        /// Integer combinations of values, in either domain. Result `r` is `sum_k m_rk values_k`,
        /// with `m_rk = list[first + r values.len() + k] rows[r] columns[k] mod t` as an integer in
        /// `0 .. t`. The list counts as 0 beyond its end. There are as many results as `rows`.
        /// Neither `t` nor the modulus of a limb may be a power of two.
        Combine = "combine" {
            /// The values that are combined. There is at least one.
            values: Vec<ValueId> as Values,
            /// A [list](crate::Constant::List).
            "list" list: ConstantId as ConstantNumber,
            /// Index in the list where the matrix begins.
            first: usize as Named("first"),
            /// The modulus `t`. It need not be that of a limb.
            modulus: ModulusId as Named("modulus"),
            /// Factors of the rows, below `t`. There is at least one.
            "rows" rows: Vec<u64> as Numbers("the factor of a row"),
            /// Factors of the columns, below `t`, one for each value.
            "columns" columns: Vec<u64> as Numbers("the factor of a column"),
        } => Passes {
            combination_terms: (rows.len() as u64 * columns.len() as u64).saturating_mul(made),
            ..NONE
        },
        /// Multiplies a value of coefficients by `X^e`, where `X^N = -1`. The exponent `e` is word
        /// 0 of another value, whose only limb has the modulus `2N`. Its other words are ignored.
        Turn = "turn" fn turn {
            /// The value that is multiplied: coefficients.
            value: ValueId as Value,
            /// The value from which the exponent is read.
            "by" by: ValueId as Value,
        } => Passes { permutations: made, ..NONE },
        /// Multiplies a value of coefficients by `X^exponent`, where `X^N = -1`.
        Shift = "shift" fn shift {
            /// The value that is multiplied: coefficients.
            value: ValueId as Value,
            /// The exponent, below `2N`.
            exponent: usize as Named("by"),
        } => Passes { permutations: made, ..NONE },
        /// `X -> X^element`, in either domain.
        Automorphism = "automorphism" fn automorphism {
            /// The value that is mapped.
            value: ValueId as Value,
            /// The Galois element: odd, below `2N`.
            element: usize as Named("by"),
        } => Passes { permutations: made, ..NONE },
        /// From one limb of words by slot to values in the order of the evaluation domain. Slot `i
        /// < N/2` holds the value at `root^(5^i)`, slot `N/2 + i` the value at `root^(-5^i)`. The
        /// operand counts as coefficients.
        Slots = "slots" fn slots (value: ValueId as Value) => Passes { permutations: made, ..NONE },
        /// Moves coefficients of some values to other places. Word `s` of the result belongs to the
        /// value `v = at[s] / N` and its coefficient `at[s] mod N`: it is that coefficient of
        /// `X^(gap entries[s])` times `values[v]`, or 0 if `at[s]` is negative. Operands and result
        /// are coefficients. Exponents count modulo `2N`, and `X^N = -1`.
        Extract = "extract" fn extract {
            /// The values that are read. There is at least one.
            values: Vec<ValueId> as Values,
            /// Values and coefficients: a constant of `N` words, each below `values.len() N`.
            "at" at: ConstantId as ConstantNumber,
            /// Entries of a mask, as a constant of `N` words that are not negative, and the gap
            /// between entries, 1 to `N`.
            entries: Option<(ConstantId, usize)> as Entries,
        } => Passes { permutations: made, ..NONE },
        /// Basis conversion: the residues modulo `to` of the centred representative of a value of
        /// coefficients.
        ///
        /// Let `Q` be the product of the value's moduli `q_i`, `b_i` the number of bits of `q_i`,
        /// and `y_i = x_i (Q/q_i)^-1 mod q_i`. The representative is `sum_i y_i Q/q_i - v Q`. For
        /// one modulus `v` is 1 if `2 y_0 >= q_0`, otherwise 0. For several moduli it is the
        /// fixed-point quotient `v = (2^55 + sum_i ((y_i 2^(32 - b_i) rounded down) m_i >> 7)) >>
        /// 56`, with `m_i = 2^(31 + b_i) / q_i` rounded down. So `v` is the nearest integer to
        /// `sum_i y_i / q_i`, unless that sum is above the middle of two integers by less than
        /// `2^-30` for each modulus.
        ///
        /// A power of two `2^b` can only be converted alone. The centred representative is then the
        /// one in `[-2^(b-1), 2^(b-1))`.
        Convert = "convert" fn convert {
            /// The value that is converted: coefficients with at most 64 limbs, or with one if its
            /// modulus is a power of two.
            value: ValueId as Value,
            /// Limbs of the result. There is at least one, and none of them is a limb of the value.
            to: Limbs as Stated,
        } => Passes {
            scalings: read,
            quotients: 1,
            conversion_terms: (read + 1) * made,
            ..NONE
        },
        /// Some limbs of a value.
        Select = "select" {
            /// The value.
            value: ValueId as Value,
            /// Limbs of the result.
            limbs: Limbs as Stated,
        } => NONE,
        /// Joins values of one domain to one value. They have no limb in common. There are at least
        /// two values.
        Join = "join" (values: Vec<ValueId> as Values) => NONE,
        /// `round(c t / q) mod t` of each coefficient `c` in `[0, q)`, with halves rounded up. The
        /// operand has one limb of coefficients, and the result has another one.
        Round = "round" fn round {
            /// The value that is rounded: one limb.
            value: ValueId as Value,
            /// The modulus `t`, below `q`.
            to: ModulusId as Stated,
        } => Passes { roundings: made, ..NONE },
        /// Digit `index` of each coefficient `c` modulo `q`, centred in `(-q/2, q/2)`. With
        /// `B = 2^bits` and `count` digits, `|c| = sum_j d_j B^j` with `-B/2 <= d_j < B/2` for all
        /// digits except the last. The result is `d_index` with the sign of `c`, modulo `q`. The
        /// operand has one limb of coefficients.
        ///
        /// For `q = 2^b` the digits have all bits: `bits count = b`. Then `c = sum_j d_j B^j`
        /// modulo `q`, with `-B/2 <= d_j < B/2` for all digits, and the result is `d_index` modulo
        /// `q`.
        Digit = "digit" {
            /// The value that is cut into digits: one limb.
            value: ValueId as Value,
            /// Index of the digit, counted from the lowest.
            index: usize as Named("index"),
            /// Number of bits of a digit: 1 to 30.
            bits: u32 as Named("bits"),
            /// Number of digits. `bits (count - 1)` is at most 60.
            count: usize as Named("count"),
        } => Passes { digits: made, ..NONE },
        /// Calls a sub-trace. The results are those of the sub-trace.
        Call = "call" {
            /// The sub-trace: one before the caller.
            sub: SubId as SubTrace,
            /// Values for its parameters, with their types.
            arguments: Vec<ValueId> as Values,
        } => NONE,
    }
}
