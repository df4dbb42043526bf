//! Builds protocols from their specifications.

use super::{Output, Piece, Protocol, Requantisation};
use crate::circuit::{self, Bit, Builder, Lengths};
use crate::error::check_bits;
use crate::slices::mask;
use crate::{Error, Result};
use std::ops::RangeInclusive;

/// Largest absolute value of offsets and constants.
const MAX_CONSTANT: i64 = 1 << 62;

impl Protocol {
    /// Builds a requantisation: see [`Requantisation`].
    ///
    /// # Errors
    /// [`Error::Bits`] and [`Error::Range`] for numbers outside the ranges of the fields.
    pub fn requantise(specification: &Requantisation) -> Result<Self> {
        let &Requantisation {
            bits,
            minimum,
            maximum,
            offset,
            shift,
            low,
            high,
            out_bits,
        } = specification;
        check_bits("the modulus of x", bits, 1..=64)?;
        check_bits("the modulus of y", out_bits, 1..=64)?;
        check_bits("the shift", shift, 0..=62)?;
        check_constant("the offset", offset)?;
        check_range("the range of x", &(minimum..=maximum), bits)?;
        if low > high || high.abs_diff(low) >> 32 != 0 {
            let expected = "low <= high < low + 2^32";
            return Err(Error::range("the range of y", &(low..=high), expected));
        }
        let span = high.abs_diff(low);
        // With this constant the lowest result is 0.
        let constant = i128::from(offset) - (i128::from(low) << shift);

        let mut builder = Builder::default();
        let (a, b) = builder.input(bits);
        let half = 1i128 << (bits - 1);
        let fits = |x: i64| (-half..half).contains(&(i128::from(x) + constant));
        let (value, input_constant) = if fits(minimum) && fits(maximum) {
            let value = circuit::clamped_sum(&mut builder, [&a, &b], shift, span);
            (value, constant as u64)
        } else {
            // First x - minimum as an unsigned number, then the sum in as many bits as it needs.
            let (lowest, highest) = (
                i128::from(minimum) + constant,
                i128::from(maximum) + constant,
            );
            let width = unsigned_bits(maximum.abs_diff(minimum));
            let mut x = circuit::sum(&mut builder, &a[..width], &b[..width]);
            let wide = signed_bits(lowest).max(signed_bits(highest));
            x.resize(wide.max(width + 1), Bit::ZERO);
            let constant: Vec<Bit> = public_bits(lowest, x.len());
            let value = circuit::clamped_sum(&mut builder, [&x, &constant], shift, span);
            (value, minus(minimum))
        };
        Ok(Self {
            circuit: builder.finish(),
            input_bits: vec![bits],
            input_constant,
            output: Output {
                bits: value,
                ring: out_bits,
                constant: low as u64,
            },
            extends: false,
            reveals: false,
        })
    }

    /// Builds a table: `y = values[x - minimum]`, for `x` from `minimum` on. `x` is shared modulo
    /// `2^bits`, and `y` modulo `2^out_bits`: only the low bits of a value count.
    ///
    /// A table whose length is not a power of two is filled up with its last value. The cost grows
    /// with the length, or with the number of steps if there are few: ask [`Protocol::cost`].
    ///
    /// # Errors
    /// [`Error::Bits`], [`Error::Range`], and [`Error::Length`] for an empty table or a table of
    /// more than `2^20` values.
    pub fn table(bits: u32, minimum: i64, values: &[i64], out_bits: u32) -> Result<Self> {
        check_bits("the modulus of x", bits, 1..=64)?;
        check_bits("the modulus of y", out_bits, 1..=64)?;
        if values.is_empty() || values.len() > 1 << 20 {
            return Err(Error::Length {
                what: "the table",
                found: values.len(),
                expected: "1 to 2^20".to_owned(),
            });
        }
        let maximum = minimum.saturating_add(values.len() as i64 - 1);
        check_range("the range of x", &(minimum..=maximum), bits)?;
        // Entries are the values minus the smallest one, in as few bits as hold the largest entry.
        let smallest = *values.iter().min().expect("not empty");
        let mut table: Vec<u64> = values
            .iter()
            .map(|v| v.abs_diff(smallest) & mask(out_bits))
            .collect();
        let largest = *table.iter().max().expect("not empty");
        let value_bits = unsigned_bits(largest).min(out_bits as usize);
        let width = unsigned_bits(values.len() as u64 - 1);
        table.resize(1 << width, *table.last().expect("not empty"));

        let mut builder = Builder::default();
        let (a, b) = builder.input(bits);
        let index = circuit::sum(&mut builder, &a[..width], &b[..width]);
        let value = circuit::lookup(&mut builder, &index, &table, value_bits);
        Ok(Self {
            circuit: builder.finish(),
            input_bits: vec![bits],
            input_constant: minus(minimum),
            output: Output {
                bits: value,
                ring: out_bits,
                constant: smallest as u64,
            },
            extends: false,
            reveals: false,
        })
    }

    /// Builds a piecewise linear function of `x` in `pieces[0].start..=maximum`: see [`Piece`]. `x`
    /// is shared modulo `2^bits`, and the result modulo `2^out_bits`.
    ///
    /// # Errors
    /// [`Error::Bits`] and [`Error::Range`] for numbers outside the ranges of the fields, and for
    /// pieces that do not ascend; [`Error::Length`] without a piece.
    pub fn piecewise(bits: u32, maximum: i64, pieces: &[Piece], out_bits: u32) -> Result<Self> {
        check_bits("the modulus of x", bits, 1..=64)?;
        check_bits("the modulus of y", out_bits, 1..=64)?;
        let Some(first) = pieces.first() else {
            return Err(Error::Length {
                what: "the pieces",
                found: 0,
                expected: "at least 1".to_owned(),
            });
        };
        let minimum = first.start;
        check_range("the range of x", &(minimum..=maximum), bits)?;
        let mut wide = 1;
        let mut shifted = Vec::with_capacity(pieces.len());
        for (index, piece) in pieces.iter().enumerate() {
            check_bits("the shift of a piece", piece.shift, 0..=62)?;
            check_constant("the constant of a piece", piece.constant)?;
            if piece.multiplier.unsigned_abs() > 1 << 31 {
                let range = piece.multiplier..=piece.multiplier;
                return Err(Error::range("a multiplier", &range, "-2^31..=2^31"));
            }
            let next = pieces.get(index + 1);
            let end = next.map_or(maximum, |next| next.start.saturating_sub(1));
            if end < piece.start {
                let range = piece.start..=end;
                return Err(Error::range(
                    "a piece",
                    &range,
                    "ascending starts up to the maximum",
                ));
            }
            let multiplier = i128::from(piece.multiplier);
            let at = |x: i64| multiplier * i128::from(x) + i128::from(piece.constant);
            let ends = signed_bits(at(piece.start)).max(signed_bits(at(end)));
            wide = wide.max(ends);
            // The circuit's x begins at 0.
            let start = piece.start.abs_diff(minimum);
            shifted.push((start, multiplier, at(minimum), piece.shift));
        }
        let width = unsigned_bits(maximum.abs_diff(minimum));
        let mut builder = Builder::default();
        let (a, b) = builder.input(bits);
        let x = circuit::sum(&mut builder, &a[..width], &b[..width]);
        let lengths = Lengths {
            wide: wide.max(width),
            out: out_bits as usize,
        };
        let value = circuit::piecewise(&mut builder, &x, &shifted, lengths);
        Ok(Self {
            circuit: builder.finish(),
            input_bits: vec![bits],
            input_constant: minus(minimum),
            output: Output {
                bits: value,
                ring: out_bits,
                constant: 0,
            },
            extends: false,
            reveals: false,
        })
    }

    /// Builds the maximum of every `group` values. The values lie in `range` and are
    /// shared modulo `2^bits`, the result modulo `2^out_bits`.
    ///
    /// # Errors
    /// [`Error::Bits`], [`Error::Range`], and [`Error::Length`] for an empty group.
    pub fn maximum(
        group: usize,
        bits: u32,
        range: RangeInclusive<i64>,
        out_bits: u32,
    ) -> Result<Self> {
        check_bits("the modulus of y", out_bits, 1..=64)?;
        let mut builder = Builder::default();
        let values = unsigned_inputs(&mut builder, group, bits, &range)?;
        let value = circuit::maximum(&mut builder, values);
        Ok(Self {
            circuit: builder.finish(),
            input_bits: vec![bits; group],
            input_constant: minus(*range.start()),
            output: Output {
                bits: value,
                ring: out_bits,
                constant: *range.start() as u64,
            },
            extends: false,
            reveals: false,
        })
    }

    /// Builds the argmax: the index of the largest of every `group` values, revealed to the client
    /// alone. Of equal values the first counts. The values lie in `range` and are
    /// shared modulo `2^bits`. The server's results are zeros.
    ///
    /// # Errors
    /// [`Error::Bits`], [`Error::Range`], and [`Error::Length`] for an empty group.
    pub fn argmax(group: usize, bits: u32, range: RangeInclusive<i64>) -> Result<Self> {
        let mut builder = Builder::default();
        let values = unsigned_inputs(&mut builder, group, bits, &range)?;
        let index = circuit::argmax(&mut builder, values);
        Ok(Self {
            circuit: builder.finish(),
            input_bits: vec![bits; group],
            input_constant: minus(*range.start()),
            output: Output {
                bits: index,
                ring: 64,
                constant: 0,
            },
            extends: false,
            reveals: true,
        })
    }

    /// Builds a conversion to shares modulo `2^out_bits`, from values that are shared modulo
    /// `2^bits` and lie in `range`. For a smaller modulus both parties just drop the
    /// high bits, without a protocol.
    ///
    /// # Errors
    /// [`Error::Bits`], also if `out_bits` is not above `bits`, and [`Error::Range`].
    pub fn extend(bits: u32, range: RangeInclusive<i64>, out_bits: u32) -> Result<Self> {
        check_bits("the modulus of x", bits, 1..=63)?;
        check_bits("the larger modulus", out_bits, bits + 1..=64)?;
        check_range("the range of x", &range, bits)?;
        let mut builder = Builder::default();
        let (a, b) = builder.input(bits);
        let (_, carry) = circuit::add(&mut builder, &a, &b);
        let mut wraps = vec![Bit::ZERO; bits as usize];
        wraps.push(carry);
        Ok(Self {
            circuit: builder.finish(),
            input_bits: vec![bits],
            input_constant: minus(*range.start()),
            output: Output {
                bits: wraps,
                ring: out_bits,
                constant: *range.start() as u64,
            },
            extends: true,
            reveals: false,
        })
    }
}

/// The values of a group of shared inputs, minus the first of `range`, as unsigned numbers.
fn unsigned_inputs(
    builder: &mut Builder,
    group: usize,
    bits: u32,
    range: &RangeInclusive<i64>,
) -> Result<Vec<Vec<Bit>>> {
    check_bits("the modulus of x", bits, 1..=64)?;
    check_range("the range of x", range, bits)?;
    if group == 0 {
        return Err(Error::Length {
            what: "a group",
            found: 0,
            expected: "at least 1".to_owned(),
        });
    }
    let width = unsigned_bits(range.end().abs_diff(*range.start()));
    let inputs: Vec<_> = (0..group).map(|_| builder.input(bits)).collect();
    let sum = |(a, b): (Vec<Bit>, Vec<Bit>)| circuit::sum(builder, &a[..width], &b[..width]);
    Ok(inputs.into_iter().map(sum).collect())
}

fn check_constant(what: &'static str, constant: i64) -> Result<()> {
    if constant.unsigned_abs() > MAX_CONSTANT.unsigned_abs() {
        return Err(Error::range(what, &(constant..=constant), "-2^62..=2^62"));
    }
    Ok(())
}

fn check_range(what: &'static str, range: &RangeInclusive<i64>, bits: u32) -> Result<()> {
    let highest = (mask(bits) >> 1) as i64;
    let (low, high) = (*range.start(), *range.end());
    if low > high || low < -highest - 1 || high > highest {
        let expected = format!("an ascending range within {}..={highest}", -highest - 1);
        return Err(Error::range(what, range, expected));
    }
    Ok(())
}

fn unsigned_bits(value: u64) -> usize {
    (u64::BITS - value.leading_zeros()) as usize
}

/// Number of bits of a value in two's complement.
fn signed_bits(value: i128) -> usize {
    let magnitude = if value < 0 { !value } else { value };
    (i128::BITS - magnitude.leading_zeros()) as usize + 1
}

fn public_bits(value: i128, bits: usize) -> Vec<Bit> {
    let bit = |bit: usize| Bit::Public(value >> bit.min(127) & 1 == 1);
    (0..bits).map(bit).collect()
}

/// The constant that the server adds so that the smallest value, `value`, becomes 0.
fn minus(value: i64) -> u64 {
    (value as u64).wrapping_neg()
}
