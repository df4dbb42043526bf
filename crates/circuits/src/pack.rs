//! Packing: LWE samples modulo `t` into slots.
//!
//! Sample `i` has the phase `b_i + sum_j a_ij z_j`, so the slots are `b + A z`: a known matrix
//! times the encrypted LWE secret. If each value has `r` copies, the `n` columns of `A` are spread
//! over the copies: copy `c` of value `i` sums `w = n / r` of the products. Rotations then add up
//! the copies and leave the value in all of them. There remain `w` plaintext products, with the
//! secret rotated by `0 .. w`. They are done by baby steps and giant steps. The baby steps are
//! rotations of the secret that are held ready. Every eighth of them is key material, and the first
//! packing makes the others from it. Giant steps are rotations of sums, by Horner's rule, with one
//! Galois key.
//!
//! Source: Athena (MICRO 2025), section 3.2.2, step 4; Liu, Wang, ASIACRYPT 2023, section 4. The
//! spreading over idle slots follows Halevi, Shoup, CRYPTO 2014, section 4.3 (replication).

use crate::engine::{Engine, ValueOf};
use crate::error::{Error, Result};
use crate::operations::{Operations, Packing, Sample};
use bfv::noise::Noise;
use bfv::{Ciphertext, Evaluator, Params};
use exchange::packing::{STORED, baby_steps, key_len, width};
use exchange::{EvaluationKeys, Layout, LoopParams, PackingKey};
use std::collections::BTreeMap;

/// Largest number of baby steps. Each takes 11.5 MB of memory.
const MAX_BABY_STEPS: usize = 64;
/// Cost of a Galois key, in rotations. It is as large as eight baby steps, and each run's process
/// may load it.
const KEY: usize = 8;
/// Number of baby steps in memory that weigh as much as a rotation. For ResNet-20, twice the baby
/// steps, 1.1 GB, would save 18 of 270 rotations.
const HELD: usize = 4;

/// Giant steps that read the rotations of the secret from memory together.
const TOGETHER: usize = 4;

/// Smallest number of values of a layout. With fewer values there would be more copies than entries
/// of the secret, and some would be idle.
pub fn min_values(slots: usize, dimension: usize) -> usize {
    slots / dimension
}

/// The cheapest number of baby steps, a power of two, for a run whose packings are counted for each
/// layout.
///
/// The cost has four parts: the rotations that make baby steps, the giant steps, the Galois keys of
/// both, and memory. All layouts use the same number, since giant steps of another size would need
/// another key.
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
        // If two threads come here at once, both make the baby steps, and the first result is kept.
        None => key.keep_baby_steps(make_baby_steps(evaluator, keys, count, key.ciphertexts())?),
    };
    // Keys that never were in a file may belong to another program, with another number of baby
    // steps.
    made.get(..count).ok_or_else(|| Error::Shape {
        what: "the number of baby steps of a packing key",
        found: made.len().to_string(),
        expected: format!("at least {count}: keys made for this program"),
    })
}

/// Makes baby steps from those that are key material: `count`, or fewer if there is less key
/// material.
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

/// Makes `count` baby steps. `stored(index)` gives those that are key material. Each other step is
/// the rotation of the step before it.
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

/// Packs samples: value `i` is the sum of `samples[i]`, or zero if there are none.
///
/// A dry run does not read `samples`. The packing starts at `level`. The result is lower by as many
/// levels as the noise requires.
///
/// # Errors
/// [`Error::Shape`] for more entries than values or a layout with too many copies,
/// [`exchange::Error::MissingPackingKey`], and an error for a missing Galois key.
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
    let masks = &engine.operations().masks(&packing);
    let giants: Vec<usize> = (0..width / baby).rev().collect();
    // Steps that are written down, or predicted, come one by one.
    let together = if O::COMPUTES { TOGETHER } else { 1 };
    let mut groups = giants.chunks(together);
    let mut inner_sums = || {
        let some = groups.next()?;
        Some(engine.mul_masks(level, (&packing, masks), some, noise))
    };
    let add_turned = |mut outer: Option<ValueOf<O>>, inner_sums: Vec<ValueOf<O>>| {
        for inner in inner_sums {
            outer = Some(match outer {
                None => inner,
                Some(outer) => {
                    let mut rotated = engine.automorphism(&outer, turn)?;
                    engine.add_assign(&mut rotated, &inner)?;
                    rotated
                }
            });
        }
        Ok::<_, Error>(outer)
    };
    // A rotation waits for the one before, so the next products fill the other threads.
    let (mut sum, mut next) = (None, inner_sums());
    while let Some(ready) = next {
        let ready = ready?;
        let (added, following) = engine.join(|| add_turned(sum, ready), &mut inner_sums);
        (sum, next) = (added?, following);
    }
    let sum = sum.expect("there is at least one giant step");
    let mut sum = sum_copies(engine, layout, layout.copies(), sum)?;
    engine.add_bodies(&mut sum, &packing)?;
    engine.settle("packing", sum)
}

/// Adds up every run of `count` consecutive copies of each value, where `count` is a power of two.
/// If `count` is the number of copies, every slot gets the sum.
///
/// The sum is a trace to a subring: noise is multiplied by `count` in one of `count` coefficients
/// and cancels in the others. The predicted root mean square over all coefficients holds. The
/// largest coefficients are `log2(count) / 2` bits nearer to failure. The value's peak includes
/// this.
///
/// # Errors
/// If a Galois key is missing.
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
