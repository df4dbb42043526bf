//! What a caller writes down. Any value may stand here; the functions that make a [`Protocol`]
//! decide.
//!
//! [`Protocol`]: super::Protocol

/// `y = clamp((x + offset) >> shift, low, high)`, with an arithmetic shift.
///
/// ReLU, clips and requantisation have this form. The result is exact for every `x` in
/// `minimum..=maximum`, and anything for others. The sum `x + offset` is never rounded or wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requantisation {
    /// `x` is shared modulo `2^bits`, 1 to 64.
    pub bits: u32,
    /// The smallest `x`, at least `-2^(bits - 1)`.
    ///
    /// A range a little smaller than the modulus allows halves the cost: the cheap form is taken if
    /// `x + offset - low * 2^shift` also is in `-2^(bits - 1)..2^(bits - 1)` for the whole range.
    pub minimum: i64,
    /// The largest `x`, below `2^(bits - 1)`.
    pub maximum: i64,
    /// Added before the shift. At most `2^62` in absolute value.
    pub offset: i64,
    /// Positions of the shift, 0 to 62.
    pub shift: u32,
    /// The smallest result.
    pub low: i64,
    /// The largest result. `high - low` is below `2^32`.
    pub high: i64,
    /// `y` is shared modulo `2^out_bits`, 1 to 64.
    pub out_bits: u32,
}

/// One piece of a piecewise linear function: `(multiplier * x + constant) >> shift` for every `x`
/// from `start` to the next piece's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The smallest `x` of the piece. That of the first piece is the smallest `x` of all.
    pub start: i64,
    /// At most `2^31` in absolute value.
    pub multiplier: i64,
    /// At most `2^62` in absolute value.
    pub constant: i64,
    /// Positions of the arithmetic shift, 0 to 62.
    pub shift: u32,
}
