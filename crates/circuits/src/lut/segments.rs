//! The copies of a value share one polynomial: copy `c` evaluates segment `c`.
//!
//! With `S` segments of `s` coefficients, `f(x) = sum_c x^(sc) f_c(x)`. Copy `c` evaluates `f_c`, whose
//! coefficients are plaintexts that differ between copies, multiplies by its own `x^(sc)`, and
//! the copies are added up by rotations. The power is put together from powers there are already: with
//! the bits of `c` in digits `c = c_0 + 2^a c_1 + ..`, a masked sum gives `x^(c_d)` in the copies
//! that want it, and squarings lift it to its place. A degree of `S s` so takes about
//! `2 sqrt(s) + 2 log2 S + log2 s` products.

use super::{CIRCUIT, Lut, powers};
use crate::engine::{Engine, Known, Value, ValueOf};
use crate::error::Result;
use crate::operations::{Operations, Plain, Words};
use crate::pack::sum_copies;
use crate::passes::Encoding;
use crate::residual::Squares;
use exchange::Layout;

/// `f(x)` in all copies, its factor multiplied by `unit`.
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
    let polynomial = segment_polynomials(lut, engine, layout, &low, k1, unit)?;
    let power = segment_powers(engine, layout, &low[..k0 - 1], segments, len)?;
    let product = engine.mul(CIRCUIT, &polynomial, &power)?;
    sum_copies(engine, layout, segments, product)
}

/// `f_c(x)` in copy `c`.
fn segment_polynomials<O: Operations>(
    lut: &Lut,
    engine: &Engine<O>,
    layout: Layout,
    low: &[ValueOf<O>],
    k1: usize,
    unit: u64,
) -> Result<ValueOf<O>> {
    let t = engine.params().t();
    let k0 = low.len();
    let high = powers(engine, &low[k0 - 1], k1 - 1)?;
    let level = high.iter().chain(low).map(Value::level).min().unwrap_or(0);
    let known = uniform(engine, layout);
    let (segments, len) = (lut.shape().segments, lut.shape().segment_len());
    let plaintext = |index: usize| {
        let coefficients = (0..segments).map(|c| lut.coefficient(c * len + index));
        by_copy(layout, coefficients.collect())
    };
    let terms: Vec<&ValueOf<O>> = low[..k0 - 1].iter().collect();
    let one = engine.one(level);
    let factors: Vec<&ValueOf<O>> = std::iter::once(&one).chain(&high).collect();
    let mut sums = Vec::with_capacity(k1);
    for (j, factor) in factors.iter().enumerate() {
        let own = engine.factor_at(factor, level);
        let target = t.mul(unit, t.inv(own).expect("factors are units"));
        let mut sum =
            engine.mul_plain_sum_at(level, &terms, known, target, |i| plaintext(j * k0 + i + 1))?;
        engine.add_plain_assign(&mut sum, Encoding::Slots, || plaintext(j * k0));
        sums.push(sum);
    }
    let sums: Vec<&ValueOf<O>> = sums.iter().collect();
    engine.relinearize(CIRCUIT, &engine.tensor_sum(&sums, &factors)?)
}

/// `x^(len c)` in copy `c`, for `c` below `segments`; `low` holds `x^1, x^2, ..`.
fn segment_powers<O: Operations>(
    engine: &Engine<O>,
    layout: Layout,
    low: &[ValueOf<O>],
    segments: usize,
    len: usize,
) -> Result<ValueOf<O>> {
    let (bits, width) = (segments.ilog2(), (low.len() + 1).ilog2());
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

/// The plaintext that has in copy `c` of every value `values[c]`, again and again.
fn by_copy(layout: Layout, values: Vec<u64>) -> Plain {
    let run = layout.values();
    Plain::Slots(Words::Repeat { run, values })
}

/// What is known of a plaintext with values in all slots.
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
