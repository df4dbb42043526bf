//! The copies of a value share one polynomial: copy `c` evaluates segment `c`.
//!
//! With `S` segments of `s` coefficients, `f(x) = sum_c x^(sc) f_c(x)`. Copy `c` evaluates `f_c`,
//! whose coefficients are plaintexts that differ between copies. It multiplies the result by its
//! own `x^(sc)`. Rotations add up the copies. The power `x^(sc)` is made from existing powers: the
//! bits of `c` are written in digits `c = c_0 + 2^a c_1 + ..`. A masked sum gives `x^(c_d)` in the
//! copies that need it, and squarings raise it to the digit's place. A degree of `S s` therefore
//! takes about `2 sqrt(s) + 2 log2 S + log2 s` products.
//!
//! If products leave values hot, each level is expensive, and another way takes two levels less.
//! The highest bits of `c` are not in a masked sum of powers. Instead, `f_c(x)` times the power for
//! the other bits is masked, once for each value `v` of the highest bits, and multiplied by
//! `x^(s v 2^a)`, which needs no mask. The sum of these products takes one relinearisation.

use super::{CIRCUIT, Lut, powers, together};
use crate::engine::{Engine, Known, Value, ValueOf};
use crate::error::Result;
use crate::operations::{Operations, Plain, Words};
use crate::pack::sum_copies;
use crate::passes::Encoding;
use crate::residual::Squares;
use exchange::Layout;

/// `f(x)` in all copies. Its factor is multiplied by `unit`.
pub(super) fn apply<O: Operations>(
    lut: &Lut,
    engine: &Engine<O>,
    layout: Layout,
    x: &ValueOf<O>,
    unit: u64,
) -> Result<ValueOf<O>> {
    let [k0, k1, _] = lut.shape().digits;
    let (segments, len) = (lut.shape().segments, lut.shape().segment_len());
    let low = powers(engine, x, k0)?;
    let high = powers(engine, &low[k0 - 1], k1 - 1)?;
    let polynomial = segment_polynomials(lut, engine, layout, (&low, &high), unit)?;
    let low = &low[..k0 - 1];
    // The powers take most of the memory of a run. Each list is dropped after its last use.
    let product = if engine.model().settles() {
        drop(high);
        let power = segment_powers(engine, layout, low, (segments, segments.ilog2()), len)?;
        engine.mul(CIRCUIT, &polynomial, &power)?
    } else {
        let tops = top_powers(engine, &high, segments)?;
        drop(high);
        let lower = segments.ilog2() - top_bits(segments);
        let polynomial = match lower {
            0 => polynomial,
            _ => {
                let power = segment_powers(engine, layout, low, (segments, lower), len)?;
                engine.mul(CIRCUIT, &polynomial, &power)?
            }
        };
        by_top(engine, layout, segments, polynomial, &tops)?
    };
    sum_copies(engine, layout, segments, product)
}

/// Number of highest bits of a segment's number whose powers are not masked. With this number both
/// factors of the last product have about the same depth.
const TOP_BITS: u32 = 3;

fn top_bits(segments: usize) -> u32 {
    segments.ilog2().min(TOP_BITS)
}

/// `Y^1, Y^2, ..` for `Y = x^(len 2^a)`, where `a` is the number of bits of a segment's number
/// other than the highest bits. There are as many powers as the highest bits need. `high` holds the
/// powers of `X`, except the last one of a segment.
pub(super) fn top_powers<O: Operations>(
    engine: &Engine<O>,
    high: &[ValueOf<O>],
    segments: usize,
) -> Result<Vec<ValueOf<O>>> {
    let top = top_bits(segments);
    let half = high[high.len().div_ceil(2) - 1].clone();
    let first = square(engine, half, 1 + segments.ilog2() - top)?;
    powers(engine, &first, (1 << top) - 1)
}

/// Multiplies `value` by `Y^v` in the copies of segments whose highest bits are `v`.
fn by_top<O: Operations>(
    engine: &Engine<O>,
    layout: Layout,
    segments: usize,
    value: ValueOf<O>,
    tops: &[ValueOf<O>],
) -> Result<ValueOf<O>> {
    let t = engine.params().t();
    let shift = segments.ilog2() - top_bits(segments);
    let level = tops.iter().map(Value::level).min().unwrap_or(0);
    let one = engine.one(level);
    let tops: Vec<&ValueOf<O>> = std::iter::once(&one).chain(tops).collect();
    let masked = tops.iter().enumerate().map(|(v, top)| {
        let own = engine.factor_at(top, level);
        let factor = t.inv(own).expect("factors are units");
        let mask = |_| {
            let chosen = (0..segments).map(|c| u64::from(c >> shift == v));
            by_copy(layout, chosen.collect())
        };
        let masked = engine.mul_plain_sum(&[&value], uniform(engine, layout), factor, mask)?;
        engine.settle(CIRCUIT, masked)
    });
    let masked = masked.collect::<Result<Vec<_>>>()?;
    let masked: Vec<&ValueOf<O>> = masked.iter().collect();
    engine.relinearize(CIRCUIT, &engine.tensor_sum(&masked, &tops)?)
}

/// `f_c(x)` in copy `c`.
fn segment_polynomials<O: Operations>(
    lut: &Lut,
    engine: &Engine<O>,
    layout: Layout,
    (low, high): (&[ValueOf<O>], &[ValueOf<O>]),
    unit: u64,
) -> Result<ValueOf<O>> {
    let t = engine.params().t();
    let (k0, k1) = (low.len(), high.len() + 1);
    let level = high.iter().chain(low).map(Value::level).min().unwrap_or(0);
    let known = uniform(engine, layout);
    let (segments, len) = (lut.shape().segments, lut.shape().segment_len());
    let plaintext = |index: usize| {
        let coefficients = (0..segments).map(|c| lut.coefficient(c * len + index));
        by_copy(layout, coefficients.collect())
    };
    let terms: Vec<&ValueOf<O>> = low[..k0 - 1].iter().collect();
    let one = engine.one(level);
    let factors: Vec<&ValueOf<O>> = std::iter::once(&one).chain(high).collect();
    let sums = engine.each(k1, together(), |j| {
        let own = engine.factor_at(factors[j], level);
        let target = t.mul(unit, t.inv(own).expect("factors are units"));
        let mut sum =
            engine.mul_plain_sum_at(level, &terms, known, target, |i| plaintext(j * k0 + i + 1))?;
        engine.add_plain_assign(&mut sum, Encoding::Slots, || plaintext(j * k0));
        Ok(sum)
    })?;
    let sums: Vec<&ValueOf<O>> = sums.iter().collect();
    engine.relinearize(CIRCUIT, &engine.tensor_sum(&sums, &factors)?)
}

/// `x^(len c)` in copy `c`, for `c` below `segments`. Only the lowest `bits` bits of `c` count.
/// `low` holds `x^1, x^2, ..`.
fn segment_powers<O: Operations>(
    engine: &Engine<O>,
    layout: Layout,
    low: &[ValueOf<O>],
    (segments, bits): (usize, u32),
    len: usize,
) -> Result<ValueOf<O>> {
    let width = (low.len() + 1).ilog2();
    let known = uniform(engine, layout);
    let mut result: Option<ValueOf<O>> = None;
    for digit in (0..bits.div_ceil(width)).rev() {
        let shift = digit * width;
        let size = 1usize << width.min(bits - shift);
        let mask = |v: usize| {
            let chosen = (0..segments).map(|c| u64::from(c >> shift & (size - 1) == v));
            by_copy(layout, chosen.collect())
        };
        let terms: Vec<&ValueOf<O>> = low[..size - 1].iter().collect();
        let mut selected = engine.mul_plain_sum(&terms, known, 1, |v| mask(v + 1))?;
        engine.add_plain_assign(&mut selected, Encoding::Slots, || mask(0));
        let selected = engine.settle(CIRCUIT, selected)?;
        result = Some(match result {
            None => selected,
            Some(higher) => engine.mul(CIRCUIT, &square(engine, higher, width)?, &selected)?,
        });
    }
    let power = result.expect("there is at least one digit");
    square(engine, power, len.ilog2())
}

/// The plaintext that has `values[c]` in copy `c` of every value. `values` repeats if there are
/// more copies.
fn by_copy(layout: Layout, values: Vec<u64>) -> Plain {
    let run = layout.values();
    Plain::Slots(Words::Repeat { run, values })
}

/// The properties, for a dry run, of a plaintext with values in all slots. Its coefficients count
/// as uniform modulo `t`.
fn uniform<O: Operations>(engine: &Engine<O>, layout: Layout) -> Known {
    let n = layout.slots();
    Known {
        squares: Squares::uniform(engine.model(), n as f64, n),
        encoding: Encoding::Slots,
    }
}

/// `v^(2^times)`.
fn square<O: Operations>(
    engine: &Engine<O>,
    mut value: ValueOf<O>,
    times: u32,
) -> Result<ValueOf<O>> {
    for _ in 0..times {
        value = engine.mul(CIRCUIT, &value, &value)?;
    }
    Ok(value)
}
