//! The operations that a machine maps to its units.

/// What is done to a limb. A machine's file maps each to the units that it occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Operation {
    /// To values.
    Ntt,
    /// To coefficients.
    Intt,
    /// Sums and differences.
    Add,
    /// Products word by word.
    Mul,
    /// Terms of inner products.
    Dot,
    /// Products with one word.
    Scale,
    /// Terms of combinations with known integers.
    Combine,
    /// Words to other places: automorphisms, slots, turns.
    Permute,
    /// Words of several limbs to other places.
    Extract,
    /// Terms of the quotient of a conversion.
    Quotient,
    /// Terms of a conversion.
    Convert,
    /// Rounding to another modulus.
    Round,
    /// A digit of each word.
    Digit,
    /// Words from a seed.
    Sample,
}

impl Operation {
    /// All of them, in order.
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

    /// Name, as a machine's file has it.
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

    /// The operation of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}
