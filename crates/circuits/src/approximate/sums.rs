//! Sums over slots by rotating and adding. The number of rotations is `log2` of the number of
//! terms.
//!
//! Source: Halevi, Shoup, CRYPTO 2014, section 4 (total sums, replication).

use crate::approximate::arithmetic::{Arithmetic, ScaledOf};
use crate::error::{Error, Result};
use crate::operations::RingOperations;

/// `y_j = sum_(i < count) x_(j + i stride)`, with slot indices modulo the number of slots.
///
/// If `count * stride` is the number of slots, every slot gets the sum of its residue class modulo
/// `stride`. A negative stride copies to the right: if a vector is zero except at multiples of
/// `count`, stride -1 fills each gap with the value before it.
///
/// # Errors
/// [`Error::Shape`] if `count` is no power of two, and errors for a missing key of
/// [`sum_rotations`].
pub fn sum_strided<O: RingOperations>(
    arithmetic: &Arithmetic<O>,
    x: &ScaledOf<O>,
    (stride, count): (isize, usize),
) -> Result<ScaledOf<O>> {
    if !count.is_power_of_two() {
        return Err(Error::Shape {
            what: "the number of terms of a sum over slots",
            found: count.to_string(),
            expected: "a power of two".into(),
        });
    }
    let mut sum = x.clone();
    for step in sum_rotations(stride, count) {
        let rotated = arithmetic.rotate(&sum, step)?;
        arithmetic.add_assign(&mut sum, &rotated)?;
    }
    Ok(sum)
}

/// The rotations for which [`sum_strided`] needs Galois keys, at the level of its input.
pub fn sum_rotations(stride: isize, count: usize) -> impl Iterator<Item = isize> {
    (0..count.max(1).ilog2()).map(move |bit| stride << bit)
}
