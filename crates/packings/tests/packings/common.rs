//! Shapes, weights and values.

use evaluate::circuit::{Slots, run_clear};
use palladion_packings::{Layer, Messages, Packed};

/// Numbers from `-most` to `most` by a linear congruence: the same in every run.
pub(crate) fn numbers(seed: u64, count: usize, most: i64) -> Vec<i64> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(11);
        (state >> 33) as i64 % (2 * most + 1) - most
    };
    (0..count).map(|_| next()).collect()
}

/// Results of a packed layer whose circuit is run in the clear, exactly.
pub(crate) fn cleartext(packed: &Packed, layer: &Layer, x: &[i64]) -> Vec<i64> {
    let word = |v: &ckks::Complex64| v.re as u64;
    let inputs: Slots<u64> = packed
        .pack(x)
        .unwrap()
        .iter()
        .map(|(name, slots)| (name.clone(), slots.iter().map(word).collect()))
        .collect();
    let outputs: Messages = run_clear(&packed.circuit, &inputs)
        .unwrap()
        .into_iter()
        .map(|(name, slots)| (name, slots.into_iter().map(|v| (v as f64).into()).collect()))
        .collect();
    packed.unpack(&outputs, layer.outputs()).unwrap()
}
