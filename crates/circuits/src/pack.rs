//! Packing: LWE samples modulo `t` into slots.
//!
//! Sample `i` has the phase `b_i + sum_j a_ij z_j`, so the slots are `b + A z`: a known matrix times
//! the encrypted LWE secret. With `r` copies of each value, the `n` columns of `A` spread over the copies:
//! copy `c` of value `i` sums `w = n / r` of the products, and rotations add the copies up, which
//! leaves the value in all of them. What remains is `w` plaintext products, with the secret
//! rotated by `0 .. w`: baby steps and giant steps. The baby steps are rotations of the secret that are held
//! ready. Every eighth of them is key material, and the first packing makes the others from it. Giant steps
//! are rotations of sums, by Horner's rule, with one Galois key.
//!
//! Source: Athena (MICRO 2025), section 3.2.2, step 4; Liu, Wang, ASIACRYPT 2023, section 4; the
//! spreading over idle slots follows Halevi, Shoup, CRYPTO 2014, section 4.3 (replication).

use crate::engine::{Engine, Value};
use crate::error::{Error, Result};
use crate::keys::{EvaluationKeys, LoopParams};
use crate::layout::Layout;
use bfv::noise::Noise;
use bfv::{Ciphertext, Params};
use rlwe::lwe::LweBatch;
use std::collections::BTreeMap;

/// Of how many baby steps one is key material. At `N = 2^15` and 22 limbs a baby step takes 3 MB as a key and 25 ms to
/// make.
const STORED: usize = 8;
/// Largest number of baby steps: in memory one takes 11.5 MB.
const MAX_BABY_STEPS: usize = 64;
/// What a Galois key costs, in rotations: it is as large as eight baby steps, and each run's process may load it.
const KEY: usize = 8;
/// As many baby steps in memory weigh as much as a rotation: for ResNet-20 twice the baby steps, 1.1 GB, would save 18 of 270
/// rotations.
const HELD: usize = 4;

/// One LWE sample: a coefficient of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// The batch.
    pub batch: &'a LweBatch,
    /// The coefficient.
    pub coefficient: usize,
}

/// Entry of the secret in a slot: consecutive columns go through `w` entries, copies through the
/// `w`-ths.
fn entry(layout: Layout, dimension: usize, slot: usize) -> usize {
    let width = width(dimension, layout);
    slot % width + width * layout.copy_of(slot)
}

/// The slot `steps` columns to the right, in its row.
fn right_of(layout: Layout, slot: usize, steps: usize) -> usize {
    let columns = layout.slots() / 2;
    (slot / columns) * columns + (slot + steps) % columns
}

/// Fewest values a layout may have: with fewer, more copies than secret entries would be idle.
pub fn min_values(slots: usize, dimension: usize) -> usize {
    slots / dimension
}

/// Baby steps of a packing into a layout: those of the parameters, or one for each of the fewer products.
pub fn baby_steps(params: &LoopParams, layout: Layout) -> usize {
    params.baby_steps().min(width(params.dimension(), layout))
}

/// Ciphertexts of the packing key of a layout.
pub fn key_len(params: &LoopParams, layout: Layout) -> usize {
    baby_steps(params, layout).div_ceil(STORED)
}

/// The cheapest number of baby steps, a power of two, for a run whose packings are counted for each layout.
///
/// What it costs are the rotations that make baby steps, the giant steps, the Galois keys of both, and memory. One number
/// serves all layouts, since giant steps of another size would need another key.
pub fn cheapest_baby_steps(dimension: usize, packings: &[(Layout, usize)]) -> usize {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for &(layout, count) in packings {
        *counts.entry(width(dimension, layout)).or_default() += count;
    }
    let cost = |steps: usize| -> usize {
        let (mut held, mut made, mut giant) = (0, 0, 0);
        for (&width, count) in &counts {
            let steps = steps.min(width);
            held += steps;
            made += steps - steps.div_ceil(STORED);
            giant += count * (width / steps - 1);
        }
        let keys = usize::from(made > 0) + usize::from(giant > 0);
        HELD * (made + giant + KEY * keys) + held
    };
    let choices = (0..=MAX_BABY_STEPS.ilog2()).map(|log2| 1 << log2);
    let cheapest = choices.min_by_key(|&steps| cost(steps));
    cheapest.expect("there is a power of two")
}

/// Products that each copy of a value takes part in.
fn width(dimension: usize, layout: Layout) -> usize {
    dimension / layout.copies()
}

/// Baby steps, from those that are key material: `count`, or as many as these are for.
pub(crate) fn make_baby_steps(
    engine: &Engine<'_>,
    keys: &EvaluationKeys,
    count: usize,
    stored: &[Ciphertext],
) -> Result<Vec<Ciphertext>> {
    let (evaluator, one) = (engine.evaluator(), rotation(engine.params()));
    let stored = &stored[..stored.len().min(count.div_ceil(STORED))];
    let runs = ring::par_map(stored.len(), |index| {
        let mut run = vec![stored[index].clone()];
        while run.len() < STORED.min(count - index * STORED) {
            let last = run.last().expect("a run begins with a stored rotation");
            run.push(evaluator.automorphism(last, one, keys.galois())?);
        }
        Ok(run)
    });
    let runs: Vec<Vec<Ciphertext>> = runs.into_iter().collect::<Result<_>>()?;
    Ok(runs.into_iter().flatten().collect())
}

/// Galois element of the rotation by one column.
fn rotation(params: &Params) -> usize {
    params.encoder().rotation_element(1)
}

/// For each ciphertext of the packing key, the entry of the secret in each slot.
pub(crate) fn key_patterns(params: &LoopParams, layout: Layout) -> Vec<Vec<usize>> {
    (0..baby_steps(params, layout))
        .step_by(STORED)
        .map(|step| {
            (0..layout.slots())
                .map(|slot| entry(layout, params.dimension(), right_of(layout, slot, step)))
                .collect()
        })
        .collect()
}

/// Packs samples: value `i` is the sum of `samples[i]`, which is zero without any.
///
/// In a dry run `samples` is not looked at. `level` is where the result starts; it ends lower by
/// what the noise costs.
///
/// # Errors
/// [`Error::Shape`] for more entries than values or a layout with too many copies,
/// [`Error::MissingPackingKey`], and what rotations may lack.
pub fn pack(
    engine: &Engine<'_>,
    params: &LoopParams,
    layout: Layout,
    samples: &[Vec<Sample<'_>>],
    level: usize,
) -> Result<Value> {
    let (dimension, copies) = (params.dimension(), layout.copies());
    let fewest = min_values(layout.slots(), dimension);
    if samples.len() > layout.values() || layout.values() < fewest {
        return Err(Error::Shape {
            what: "the number of values to pack",
            found: samples.len().to_string(),
            expected: format!(
                "at most {} in a layout of at least {fewest}",
                layout.values()
            ),
        });
    }
    let (width, baby) = (width(dimension, layout), baby_steps(params, layout));
    let first = engine.log().needs.packing(layout.values(), level);
    let made = baby - key_len(params, layout);
    if made > 0 {
        let rotations = if first { made } else { 0 };
        engine.count_automorphisms(rotation(params.bfv()), level, rotations);
    }
    let key: Option<Vec<&Ciphertext>> = match engine.keys() {
        Some(keys) => {
            let key = keys.packing(layout.values())?;
            Some(key.baby_steps(engine, keys, baby)?.iter().collect())
        }
        None => None,
    };
    let (encoder, t) = (params.bfv().encoder(), params.bfv().t());
    let squares = engine.model().uniform_plaintext(params.bfv().n() as f64);
    let noise = (0..baby).fold(Noise::ZERO, |sum, step| {
        let turns = (step % STORED) as f64;
        let turned = engine
            .model()
            .key_switch(level)
            .plus(engine.model().rounding());
        let key = engine.model().fresh().plus(turned.times(turns));
        sum.plus(engine.model().mul_plain(key, squares))
    });

    let (columns, values) = (layout.slots() / 2, layout.values());
    // Plans are many dry runs, and they make no plaintexts.
    let slots = if key.is_some() { layout.slots() } else { 0 };
    let entries: Vec<usize> = (0..slots)
        .map(|slot| entry(layout, dimension, slot))
        .collect();
    let mut sum: Option<Value> = None;
    for giant in (0..width / baby).rev() {
        let offset = giant * baby;
        engine.log().counts.plaintexts(level + 1, baby);
        let products = Value::dry(level, noise);
        let plaintext = |step: usize, unit: u64| {
            // Rotating left by `offset` later brings the value of the slot `offset` to the right.
            // Rows, columns and values are powers of two, and this is the inner loop: masks, not
            // remainders.
            let mut slots = vec![0; layout.slots()];
            for (slot, out) in slots.iter_mut().enumerate() {
                let (row, column) = (slot & columns, slot & (columns - 1));
                let source = row | ((column + columns - offset) & (columns - 1));
                if let Some(sum) = samples.get(source & (values - 1)) {
                    let j = entries[row | ((column + step) & (columns - 1))];
                    let masks = sum.iter().map(|s| s.batch.mask(s.coefficient, j));
                    *out = t.mul(unit, t.reduce(masks.sum()));
                }
            }
            encoder.slots_to_plaintext(&slots)
        };
        let inner = match &key {
            Some(key) => engine.combine(key, products, plaintext)?,
            None => products,
        };
        sum = Some(match sum {
            None => inner,
            Some(outer) => {
                let mut rotated =
                    engine.automorphism(&outer, encoder.rotation_element(baby as isize))?;
                engine.add_assign(&mut rotated, &inner)?;
                rotated
            }
        });
    }
    let sum = sum.expect("there is at least one giant step");
    let mut sum = sum_copies(engine, layout, copies, sum)?;
    engine.add_plain_assign(&mut sum, || {
        let slots: Vec<u64> = (0..layout.slots())
            .map(|slot| match samples.get(layout.value_of(slot)) {
                Some(sum) => t.reduce(sum.iter().map(|s| s.batch.body(s.coefficient)).sum()),
                None => 0,
            })
            .collect();
        encoder.slots_to_plaintext(&slots)
    });
    engine.settle("packing", sum)
}

/// Adds up every run of `count` consecutive copies of each value, `count` a power of two: with all
/// copies, every slot gets the sum.
///
/// The sum is a trace to a subring: noise is multiplied by `count` in one of `count` coefficients and
/// cancels in the others. The predicted root mean square over all coefficients holds. The largest
/// coefficients are `log2(count) / 2` bits nearer to failure, which the value's peak says.
///
/// # Errors
/// What rotations may lack.
pub fn sum_copies(
    engine: &Engine<'_>,
    layout: Layout,
    count: usize,
    mut value: Value,
) -> Result<Value> {
    let encoder = engine.params().encoder();
    let mut elements: Vec<usize> = layout
        .rotations()
        .into_iter()
        .map(|k| encoder.rotation_element(k as isize))
        .collect();
    elements.push(encoder.swap_element());
    for &element in elements.iter().take(count.ilog2() as usize) {
        engine.add_automorphism(&mut value, element)?;
    }
    Ok(value)
}
