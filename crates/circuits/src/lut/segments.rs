//! The copies of a value share one polynomial: copy `c` evaluates segment `c`.
//!
//! With `S` segments of `s` coefficients, `f(x) = sum_c x^(sc) f_c(x)`. Copy `c` evaluates `f_c`, whose
//! coefficients are plaintexts that differ between copies, multiplies by its own `x^(sc)`, and
//! the copies are added up by rotations. The power is put together from powers there are already: with
//! the bits of `c` in digits `c = c_0 + 2^a c_1 + ..`, a masked sum gives `x^(c_d)` in the copies
//! that want it, and squarings lift it to its place. A degree of `S s` so takes about
//! `2 sqrt(s) + 2 log2 S + log2 s` products.

use super::{CIRCUIT, Lut, powers};
use crate::engine::{Engine, Value};
use crate::error::Result;
use crate::layout::Layout;
use crate::pack::sum_copies;
use crate::residual::Squares;

/// `f(x)` in all copies, its factor multiplied by `unit`.
pub(super) fn apply(
    lut: &Lut,
    engine: &Engine<'_>,
    layout: Layout,
    x: &Value,
    unit: u64,
) -> Result<Value> {
    let [k0, k1, _] = lut.shape().digits;
    let (segments, len) = (lut.shape().segments, lut.shape().segment_len());
    let low = powers(engine, x, k0)?;
    let polynomial = segment_polynomials(lut, engine, layout, &low, k1, unit)?;
    let power = segment_powers(engine, layout, &low[..k0 - 1], segments, len)?;
    let product = engine.mul(CIRCUIT, &polynomial, &power)?;
    sum_copies(engine, layout, segments, product)
}

/// `f_c(x)` in copy `c`.
fn segment_polynomials(
    lut: &Lut,
    engine: &Engine<'_>,
    layout: Layout,
    low: &[Value],
    k1: usize,
    unit: u64,
) -> Result<Value> {
    let (t, encoder) = (engine.params().t(), engine.params().encoder());
    let k0 = low.len();
    let high = powers(engine, &low[k0 - 1], k1 - 1)?;
    let level = high.iter().chain(low).map(Value::level).min().unwrap_or(0);
    let squares = uniform(engine, layout);
    let (segments, len) = (lut.shape().segments, lut.shape().segment_len());
    let plaintext = |index: usize, unit: u64| {
        let by_segment: Vec<u64> = (0..segments)
            .map(|c| t.mul(unit, lut.coefficient(c * len + index)))
            .collect();
        let slots: Vec<u64> = (0..layout.slots())
            .map(|slot| by_segment[layout.copy_of(slot) % segments])
            .collect();
        encoder.slots_to_plaintext(&slots)
    };
    let terms: Vec<&Value> = low[..k0 - 1].iter().collect();
    let one = engine.one(level);
    let factors: Vec<&Value> = std::iter::once(&one).chain(&high).collect();
    let mut sums = Vec::with_capacity(k1);
    for (j, factor) in factors.iter().enumerate() {
        let own = engine.factor_at(factor, level);
        let target = t.mul(unit, t.inv(own).expect("factors are units"));
        let mut sum = engine.mul_plain_sum_at(level, &terms, squares, target, |i, u| {
            plaintext(j * k0 + i + 1, u)
        })?;
        engine.add_plain_assign(&mut sum, || plaintext(j * k0, 1));
        sums.push(sum);
    }
    let sums: Vec<&Value> = sums.iter().collect();
    engine.relinearize(CIRCUIT, &engine.tensor_sum(&sums, &factors)?)
}

/// `x^(len c)` in copy `c`, for `c` below `segments`; `low` holds `x^1, x^2, ..`.
fn segment_powers(
    engine: &Engine<'_>,
    layout: Layout,
    low: &[Value],
    segments: usize,
    len: usize,
) -> Result<Value> {
    let (bits, width) = (segments.ilog2(), (low.len() + 1).ilog2());
    let squares = uniform(engine, layout);
    let encoder = engine.params().encoder();
    let mut result: Option<Value> = None;
    for digit in (0..bits.div_ceil(width)).rev() {
        let shift = digit * width;
        let size = 1usize << width.min(bits - shift);
        let mask = |v: usize, unit: u64| {
            let slots: Vec<u64> = (0..layout.slots())
                .map(|slot| {
                    let value = (layout.copy_of(slot) % segments) >> shift & (size - 1);
                    if value == v { unit } else { 0 }
                })
                .collect();
            encoder.slots_to_plaintext(&slots)
        };
        let terms: Vec<&Value> = low[..size - 1].iter().collect();
        let mut selected = engine.mul_plain_sum(&terms, squares, 1, |v, unit| mask(v + 1, unit))?;
        engine.add_plain_assign(&mut selected, || mask(0, 1));
        let selected = engine.settle(CIRCUIT, selected)?;
        result = Some(match result {
            None => selected,
            Some(higher) => engine.mul(CIRCUIT, &square(engine, higher, width)?, &selected)?,
        });
    }
    let power = result.expect("there is at least one digit");
    square(engine, power, len.ilog2())
}

/// Squares of a plaintext with values in all slots.
fn uniform(engine: &Engine<'_>, layout: Layout) -> Squares {
    let n = layout.slots();
    Squares::uniform(engine.model(), n as f64, n)
}

/// `v^(2^times)`.
fn square(engine: &Engine<'_>, mut value: Value, times: u32) -> Result<Value> {
    for _ in 0..times {
        value = engine.mul(CIRCUIT, &value, &value)?;
    }
    Ok(value)
}
