//! Specifications of protocols, written by the caller. A specification may hold any values; the
//! functions that build a [`Protocol`] check them.
//! [`Protocol`]: super::Protocol

/// `y = clamp((x + offset) >> shift, low, high)`, with an arithmetic shift.
///
/// ReLU, clips and requantisation have this form. The result is exact for every `x` in
/// `minimum..=maximum`, and undefined for other `x`. The sum `x + offset` is never rounded or
/// wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requantisation {
    /// Bits of the modulus of `x`: shared modulo `2^bits`, 1 to 64.
    pub bits: u32,
    /// The smallest `x`, at least `-2^(bits - 1)`.
    ///
    /// A range somewhat smaller than the modulus halves the cost: the protocol takes its cheap form
    /// if `x + offset - low * 2^shift` also is in `-2^(bits - 1)..2^(bits - 1)` for the whole
    /// range.
    pub minimum: i64,
    /// The largest `x`, below `2^(bits - 1)`.
    pub maximum: i64,
    /// Constant added before the shift. At most `2^62` in absolute value.
    pub offset: i64,
    /// Positions of the shift, 0 to 62.
    pub shift: u32,
    /// The smallest result.
    pub low: i64,
    /// The largest result. `high - low` is below `2^32`.
    pub high: i64,
    /// Bits of the modulus of `y`: shared modulo `2^out_bits`, 1 to 64.
    pub out_bits: u32,
}

/// A piece of a piecewise linear function: `(multiplier * x + constant) >> shift` for every `x`
/// from `start` to the start of the next piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The smallest `x` of the piece. The first piece starts at the smallest `x` of all.
    pub start: i64,
    /// Factor of `x`. At most `2^31` in absolute value.
    pub multiplier: i64,
    /// Constant added before the shift. At most `2^62` in absolute value.
    pub constant: i64,
    /// Positions of the arithmetic shift, 0 to 62.
    pub shift: u32,
}
