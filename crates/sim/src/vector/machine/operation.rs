//! The operations that a machine maps to its units.

/// An operation on a limb. The file of a machine maps each operation to the units that it occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Operation {
    /// A transform from coefficients to values (NTT).
    Ntt,
    /// A transform from values to coefficients (inverse NTT).
    Intt,
    /// A sum or a difference of two limbs.
    Add,
    /// A product of two limbs, word by word.
    Mul,
    /// A term of an inner product.
    Dot,
    /// A product with one word.
    Scale,
    /// A term of a combination with known integers.
    Combine,
    /// A permutation of the words of a limb: an automorphism, an order of slots, or a
    /// multiplication by a power of `X`.
    Permute,
    /// A limb gathered from words of several limbs.
    Extract,
    /// A term of the quotient of a basis conversion.
    Quotient,
    /// A term of a basis conversion.
    Convert,
    /// A rounding to another modulus.
    Round,
    /// A digit of each word.
    Digit,
    /// A limb expanded from a seed.
    Sample,
}

impl Operation {
    /// All operations, in order of their numbers.
    pub const ALL: [Self; 14] = [
        Self::Ntt,
        Self::Intt,
        Self::Add,
        Self::Mul,
        Self::Dot,
        Self::Scale,
        Self::Combine,
        Self::Permute,
        Self::Extract,
        Self::Quotient,
        Self::Convert,
        Self::Round,
        Self::Digit,
        Self::Sample,
    ];

    /// Name in the file of a machine.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ntt => "ntt",
            Self::Intt => "intt",
            Self::Add => "add",
            Self::Mul => "mul",
            Self::Dot => "dot",
            Self::Scale => "scale",
            Self::Combine => "combine",
            Self::Permute => "permute",
            Self::Extract => "extract",
            Self::Quotient => "quotient",
            Self::Convert => "convert",
            Self::Round => "round",
            Self::Digit => "digit",
            Self::Sample => "sample",
        }
    }

    /// The operation with this name, or `None`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}
