//! The parts of the LWE secret that a packing key holds.
//!
//! Client and server must agree on these parts: the client encrypts the parts, and the server
//! multiplies them with samples. Value `i` has `r` copies, and the `n` entries of the secret are
//! spread over them: copy `c` takes part in `w = n / r` products, with the entries
//! `c w .. (c + 1) w`. The products of baby step `b` are with the secret rotated by `b`. Every
//! eighth baby step is key material, and the server makes the others from it.

use crate::layout::Layout;
use crate::params::LoopParams;

/// Number of values that stands for a packing of all samples of a ciphertext at once. Its key is
/// the secret as coefficients: `z(X^(N/n))`. Other packings have at least `N/n` values.
pub const ALL: usize = program::PACK_ALL;

/// One of `STORED` baby steps is key material. At `N = 2^15` and 22 limbs a baby step takes 3 MB as
/// a key and 25 ms to make.
pub const STORED: usize = 8;

/// Products that each copy of a value takes part in.
pub fn width(dimension: usize, layout: Layout) -> usize {
    dimension / layout.copies()
}

/// Baby steps of a packing into a layout: as many as the parameters say, but no more than there are
/// products.
pub fn baby_steps(params: &LoopParams, layout: Layout) -> usize {
    params.baby_steps().min(width(params.dimension(), layout))
}

/// Ciphertexts of the packing key of a layout.
pub fn key_len(params: &LoopParams, layout: Layout) -> usize {
    match layout.values() {
        ALL => 1,
        _ => baby_steps(params, layout).div_ceil(STORED),
    }
}

/// Returns the entry of the secret that a slot holds before any rotation. Consecutive columns hold
/// consecutive entries of a copy.
pub fn entry(dimension: usize, layout: Layout, slot: usize) -> usize {
    let width = width(dimension, layout);
    slot % width + width * layout.copy_of(slot)
}

/// For each ciphertext of the packing key, the entry of the secret in each slot.
pub fn key_patterns(params: &LoopParams, layout: Layout) -> Vec<Vec<usize>> {
    let entry = |slot: usize| entry(params.dimension(), layout, slot);
    let pattern = |step: usize| {
        let slots = 0..layout.slots();
        slots.map(move |slot| entry(right_of(layout, slot, step)))
    };
    let stored = (0..baby_steps(params, layout)).step_by(STORED);
    stored.map(|step| pattern(step).collect()).collect()
}

/// The slot `steps` columns to the right, in its row.
fn right_of(layout: Layout, slot: usize, steps: usize) -> usize {
    let columns = layout.slots() / 2;
    (slot / columns) * columns + (slot + steps) % columns
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests may panic")]

    use super::*;

    /// A value is the product of a row with the whole secret. Its copies and steps must therefore
    /// meet each entry once.
    #[test]
    fn the_copies_of_a_value_meet_every_entry_once() {
        let (slots, dimension) = (128, 32);
        for values in [4, 8, 32, 64, 128] {
            let layout = Layout::new(slots, values).unwrap();
            for value in 0..values {
                let copies = (0..slots).filter(|&slot| layout.value_of(slot) == value);
                let steps = 0..width(dimension, layout);
                let met = copies.flat_map(|slot| {
                    let steps = steps.clone();
                    steps.map(move |step| entry(dimension, layout, right_of(layout, slot, step)))
                });
                let mut met: Vec<usize> = met.collect();
                met.sort_unstable();
                assert_eq!(met, (0..dimension).collect::<Vec<_>>(), "{values}: {value}");
            }
        }
    }
}
