//! Activations of piecewise linear form: clamped shifts, and linear pieces between public
//! thresholds.

use super::carry::{both_differ, prefixes, run};
use super::{Bit, Builder};

/// Builds `min(max((a + b) >> shift, 0), span)`, where `a + b` is a signed number of `a.len()` bits
/// that does not wrap. The result has as many bits as `span`.
///
/// With `w` bits of `span`, the sum has four parts: `shift` bits that are dropped; `w` bits, which
/// are the result if it is in range; upper bits, which are zero if it is in range; and the sign.
/// The carry into the `w` bits decides the rest within three exchanges, by the carry out of them:
/// - the upper bits are zero if `b = -a` there and no carry comes in, or if all positions propagate
///   and a carry comes in;
/// - the sign is linear in the carry that comes in.
pub(crate) fn clamped_sum(
    builder: &mut Builder,
    [a, b]: [&[Bit]; 2],
    shift: u32,
    span: u64,
) -> Vec<Bit> {
    let sign = a.len() - 1;
    let width = (u64::BITS - span.leading_zeros()) as usize;
    let low = (shift as usize).min(sign);
    let high = (low + width).min(sign);

    let below = run(builder, &a[..low], &b[..low], false).generate;
    let middle = prefixes(builder, &a[low..high], &b[low..high], true);
    let upper = run(builder, &a[high..sign], &b[high..sign], true);
    let (a_upper, b_upper) = (&a[high..sign], &b[high..sign]);
    let cancels = opposite(builder, a_upper, b_upper);
    let all_propagate = upper.propagate;

    // For both carries into the upper bits. `positive`: not negative; `fits`: also no upper bits.
    let sign_sum = builder.xor(a[sign], b[sign]);
    let negative_0 = builder.xor(sign_sum, upper.generate);
    let negative_1 = builder.xor(negative_0, all_propagate);
    let (positive_0, positive_1) = (builder.not(negative_0), builder.not(negative_1));
    let fits_0 = builder.and(positive_0, cancels);
    let fits_1 = builder.and(positive_1, all_propagate);
    let fits_change = builder.xor(fits_0, fits_1);

    // The carry from below decides the carries of the middle.
    let propagates: Vec<Bit> = middle.iter().map(|run| run.propagate).collect();
    let passed = builder.and_many(below, &propagates);
    let mut carries = vec![below];
    for (run, passed) in middle.iter().zip(passed) {
        carries.push(builder.xor(run.generate, passed));
    }
    let into_upper = carries[high - low];
    let mut value: Vec<Bit> = (low..high)
        .map(|at| builder.xor_all([a[at], b[at], carries[at - low]]))
        .collect();
    value.resize(width, Bit::ZERO);

    let changes = builder.and_many(into_upper, &[all_propagate, fits_change]);
    let positive = builder.xor(positive_0, changes[0]);
    let mut fits = builder.xor(fits_0, changes[1]);
    if span.count_ones() as usize != width {
        let bits: Vec<Bit> = (0..width)
            .map(|bit| Bit::Public(span >> bit & 1 == 1))
            .collect();
        let above = greater(builder, &value, &bits);
        let at_most = builder.not(above);
        fits = builder.and(fits, at_most);
    }
    let too_large = builder.xor(positive, fits);
    let kept = builder.and_many(fits, &value);
    let bits = kept.into_iter().enumerate();
    bits.map(|(bit, kept)| match span >> bit & 1 {
        1 => builder.xor(kept, too_large),
        _ => kept,
    })
    .collect()
}

/// Returns the bit that is true if `a + b = 0` modulo `2^a.len()`.
fn opposite(builder: &mut Builder, a: &[Bit], b: &[Bit]) -> Bit {
    let minus_b = negate(builder, b);
    let a: Vec<Bit> = a.iter().map(|&bit| builder.not(bit)).collect();
    // `a` equals `-b` if the complement of `a` differs from `-b` at every position.
    let pairs = a.chunks(2).zip(minus_b.chunks(2));
    let equal: Vec<Bit> = pairs
        .map(|(a, b)| match (a, b) {
            (&[a0, a1], &[b0, b1]) => both_differ(builder, [a0, a1], [b0, b1]),
            _ => builder.xor(a[0], b[0]),
        })
        .collect();
    builder.and_all(equal)
}

/// Builds `-bits` modulo `2^bits.len()`. The products are free if one party knows all bits.
fn negate(builder: &mut Builder, bits: &[Bit]) -> Vec<Bit> {
    let mut some_below = Bit::ZERO;
    let mut result = Vec::with_capacity(bits.len());
    for &bit in bits {
        result.push(builder.xor(bit, some_below));
        some_below = builder.or(some_below, bit);
    }
    result
}

/// Returns the bit that is true if `a > b`, for unsigned numbers of the same length.
pub(crate) fn greater(builder: &mut Builder, a: &[Bit], b: &[Bit]) -> Bit {
    // `a > b` is the carry out of `a + (2^n - 1 - b)`.
    let complement: Vec<Bit> = b.iter().map(|&bit| builder.not(bit)).collect();
    run(builder, a, &complement, false).generate
}

/// Numbers of bits of a piecewise linear function.
pub(crate) struct Lengths {
    /// Bits in which no product of a piece wraps.
    pub(crate) wide: usize,
    /// Bits of the result.
    pub(crate) out: usize,
}

/// Builds a piecewise linear function of an unsigned `x`: the value of the last piece whose start
/// is at most `x`.
///
/// Each piece is `(start, multiplier, constant, shift)` and has the value
/// `(multiplier * x + constant) >> shift`. The first piece starts at 0.
pub(crate) fn piecewise(
    builder: &mut Builder,
    x: &[Bit],
    pieces: &[(u64, i128, i128, u32)],
    lengths: Lengths,
) -> Vec<Bit> {
    let Lengths {
        wide: bits,
        out: out_bits,
    } = lengths;
    let mut x_wide = x.to_vec();
    x_wide.resize(bits, Bit::ZERO);
    let mut from_here = Bit::ONE;
    let mut result = vec![Bit::ZERO; out_bits];
    for (index, &(_, multiplier, constant, shift)) in pieces.iter().enumerate() {
        let value = affine(builder, &x_wide, multiplier, constant);
        let last = value.last().copied().unwrap_or(Bit::ZERO);
        let value = (0..out_bits).map(|bit| *value.get(bit + shift as usize).unwrap_or(&last));
        let value: Vec<Bit> = value.collect();
        let from_next = match pieces.get(index + 1) {
            Some(&(start, ..)) => {
                let below = start - 1;
                let below = (0..x.len()).map(|bit| Bit::Public(below >> bit & 1 == 1));
                greater(builder, x, &below.collect::<Vec<_>>())
            }
            None => Bit::ZERO,
        };
        let here = builder.xor(from_here, from_next);
        let kept = builder.and_many(here, &value);
        for (sum, kept) in result.iter_mut().zip(kept) {
            *sum = builder.xor(*sum, kept);
        }
        from_here = from_next;
    }
    result
}

/// Builds `multiplier * x + constant` modulo `2^x.len()`, as a sum of shifted copies of `x`.
fn affine(builder: &mut Builder, x: &[Bit], multiplier: i128, constant: i128) -> Vec<Bit> {
    let bits = x.len();
    let mut result: Vec<Bit> = (0..bits)
        .map(|bit| Bit::Public(constant >> bit.min(126) & 1 == 1))
        .collect();
    for (shift, negative) in signed_digits(multiplier) {
        let mut term = vec![Bit::ZERO; shift.min(bits)];
        term.extend_from_slice(&x[..bits - term.len()]);
        if negative {
            // s - t is the complement of (complement of s) + t.
            let flipped: Vec<Bit> = result.iter().map(|&bit| builder.not(bit)).collect();
            let sum = super::sum(builder, &flipped, &term);
            result = sum.into_iter().map(|bit| builder.not(bit)).collect();
        } else {
            result = super::sum(builder, &result, &term);
        }
    }
    result
}

/// The powers of two that add up to `value`, each with its sign (true: negative). No two of them
/// are neighbours.
fn signed_digits(mut value: i128) -> Vec<(usize, bool)> {
    let mut digits = Vec::new();
    let mut place = 0;
    while value != 0 {
        if value & 1 == 1 {
            let negative = value & 3 == 3;
            digits.push((place, negative));
            value += if negative { 1 } else { -1 };
        }
        value >>= 1;
        place += 1;
    }
    digits
}
