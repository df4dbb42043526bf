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

use crate::engine::{Engine, ValueOf};
use crate::error::{Error, Result};
use crate::operations::{Operations, Packing, Sample};
use bfv::noise::Noise;
use bfv::{Ciphertext, Evaluator, Params};
use exchange::packing::{STORED, baby_steps, key_len, width};
use exchange::{EvaluationKeys, Layout, LoopParams, PackingKey};
use std::collections::BTreeMap;

/// Largest number of baby steps: in memory one takes 11.5 MB.
const MAX_BABY_STEPS: usize = 64;
/// What a Galois key costs, in rotations: it is as large as eight baby steps, and each run's process may load it.
const KEY: usize = 8;
/// As many baby steps in memory weigh as much as a rotation: for ResNet-20 twice the baby steps, 1.1 GB, would save 18 of 270
/// rotations.
const HELD: usize = 4;

/// Fewest values a layout may have: with fewer, more copies than secret entries would be idle.
pub fn min_values(slots: usize, dimension: usize) -> usize {
    slots / dimension
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

/// The first `count` rotations of the secret that a packing key holds. The first call makes them.
///
/// # Errors
/// If the Galois key that makes them is missing, or the packing key was made for fewer.
pub(crate) fn secret_of<'k>(
    key: &'k PackingKey,
    evaluator: &Evaluator,
    keys: &EvaluationKeys,
    count: usize,
) -> Result<&'k [Ciphertext]> {
    let made = match key.baby_steps() {
        Some(made) => made,
        // Where two threads come here at once both make them, and the first to end is kept.
        None => key.keep_baby_steps(make_baby_steps(evaluator, keys, count, key.ciphertexts())?),
    };
    // Keys that never were a file may be of another program, with another number.
    made.get(..count).ok_or_else(|| Error::Shape {
        what: "the number of baby steps of a packing key",
        found: made.len().to_string(),
        expected: format!("at least {count}: keys made for this program"),
    })
}

/// Baby steps, from those that are key material: `count`, or as many as these are for.
fn make_baby_steps(
    evaluator: &Evaluator,
    keys: &EvaluationKeys,
    count: usize,
    stored: &[Ciphertext],
) -> Result<Vec<Ciphertext>> {
    let one = rotation(evaluator.params());
    let stored = &stored[..stored.len().min(count.div_ceil(STORED))];
    let runs = ring::par_map(stored.len(), |index| {
        let steps = STORED.min(count - index * STORED);
        unfold_baby_steps(
            steps,
            |_| stored[index].clone(),
            |last| Ok(evaluator.automorphism(last, one, keys.galois())?),
        )
    });
    let runs: Vec<Vec<Ciphertext>> = runs.into_iter().collect::<Result<_>>()?;
    Ok(runs.into_iter().flatten().collect())
}

/// `count` baby steps: each stored one, by its number, and the rotations of the one before up to the next stored one.
pub(crate) fn unfold_baby_steps<C>(
    count: usize,
    stored: impl Fn(usize) -> C,
    rotate: impl Fn(&C) -> Result<C>,
) -> Result<Vec<C>> {
    let mut steps: Vec<C> = Vec::with_capacity(count);
    for step in 0..count {
        let next = match steps.last() {
            Some(last) if step % STORED > 0 => rotate(last)?,
            _ => stored(step / STORED),
        };
        steps.push(next);
    }
    Ok(steps)
}

/// Galois element of the rotation by one column.
pub(crate) fn rotation(params: &Params) -> usize {
    params.encoder().rotation_element(1)
}

fn packing<'a, S>(
    params: &LoopParams,
    layout: Layout,
    samples: &'a [Vec<Sample<'a, S>>],
) -> Packing<'a, S> {
    Packing {
        layout,
        dimension: params.dimension(),
        baby_steps: baby_steps(params, layout),
        samples,
    }
}

/// Packs samples: value `i` is the sum of `samples[i]`, which is zero without any.
///
/// A dry run does not look at `samples`. `level` is where the result starts; it ends lower by
/// what the noise costs.
///
/// # Errors
/// [`Error::Shape`] for more entries than values or a layout with too many copies,
/// [`exchange::Error::MissingPackingKey`], and what rotations may lack.
pub fn pack<O: Operations>(
    engine: &Engine<O>,
    params: &LoopParams,
    layout: Layout,
    samples: &[Vec<Sample<'_, O::Samples>>],
    level: usize,
) -> Result<ValueOf<O>> {
    let fewest = min_values(layout.slots(), params.dimension());
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
    let packing = packing(params, layout, samples);
    let (width, baby) = (packing.width(), packing.baby_steps);
    let first = engine.log().needs.packing(layout.values(), level);
    let made = baby - key_len(params, layout);
    if made > 0 {
        let rotations = if first { made } else { 0 };
        engine.count_rotations(rotation(params.bfv()), level, rotations);
    }
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
    let turn = params.bfv().encoder().rotation_element(baby as isize);
    let mut sum: Option<ValueOf<O>> = None;
    for giant in (0..width / baby).rev() {
        let inner = engine.mul_masks(level, &packing, giant, noise)?;
        sum = Some(match sum {
            None => inner,
            Some(outer) => {
                let mut rotated = engine.automorphism(&outer, turn)?;
                engine.add_assign(&mut rotated, &inner)?;
                rotated
            }
        });
    }
    let sum = sum.expect("there is at least one giant step");
    let mut sum = sum_copies(engine, layout, layout.copies(), sum)?;
    engine.add_bodies(&mut sum, &packing)?;
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
pub fn sum_copies<O: Operations>(
    engine: &Engine<O>,
    layout: Layout,
    count: usize,
    mut value: ValueOf<O>,
) -> Result<ValueOf<O>> {
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
