//! Packing: the plaintexts that LWE samples become.
//!
//! Value `i` is the sum of some samples, each a coefficient of a source. Sources that give the same
//! coefficients to the same values are added up first. The rest is a few *layers*. In each layer a
//! value takes one coefficient of one source, or none.
//!
//! Source: Athena (MICRO 2025), section 3.2.2, step 4; Liu, Wang, ASIACRYPT 2023, section 4.

use crate::chain::{Chain, PlainModulus};
use crate::plaintext::{self, from_slots, times};
use program::recording::Packing;
use std::collections::BTreeMap;
use trace::{Builder, Constant, ConstantId, SubId, ValueId};

/// Samples of a ciphertext: a row of bodies and a row of masks, modulo `t`.
pub(crate) type Samples = [ValueId; 2];

/// A packing, after sources that are alike have been added up.
pub(crate) struct Layers {
    t: PlainModulus,
    n: usize,
    baby_steps: usize,
    layers: Vec<Layer>,
    /// Entry of the secret in each slot.
    entries: ConstantId,
    /// Step between the coefficients of a mask that are entries of a sample's mask.
    gap: usize,
}

struct Layer {
    /// Samples from which the layer's values take coefficients.
    sources: Vec<Samples>,
    /// For each slot, the source and the coefficient that it takes, numbered as for an extraction,
    /// or -1.
    at: ConstantId,
}

/// For each value, the coefficient that it takes from a source, or -1.
type Taken = Vec<i64>;

impl Layers {
    /// Makes the layers of a packing of samples of dimension `dimension`. `sources` are the samples
    /// of its sources.
    pub(crate) fn new(
        b: &mut Builder,
        (t, dimension): (PlainModulus, usize),
        packing: &Packing,
        sources: &[Samples],
    ) -> Self {
        let n = b.n();
        let mut alike: BTreeMap<Taken, Vec<usize>> = BTreeMap::new();
        for (source, taken) in taken(packing) {
            alike.entry(taken).or_default().push(source);
        }
        // Patterns that have no value in common share a layer. Each pattern goes into the first
        // layer where it fits.
        let mut layers: Vec<(Taken, Vec<Samples>)> = Vec::new();
        for (taken, of) in alike {
            let samples = [0, 1].map(|part| {
                let mut rows = of.iter().map(|&source| sources[source][part]);
                let first = rows.next().expect("a pattern has a source");
                rows.fold(first, |sum, row| b.add(sum, row))
            });
            let free = |at: &Taken| at.iter().zip(&taken).all(|(&x, &y)| x < 0 || y < 0);
            let place = layers.iter().position(|(at, _)| free(at));
            let place = place.unwrap_or_else(|| {
                layers.push((vec![-1; packing.values], Vec::new()));
                layers.len() - 1
            });
            let (at, own) = &mut layers[place];
            let first = (own.len() * n) as i64;
            for (at, taken) in at.iter_mut().zip(taken).filter(|(_, taken)| *taken >= 0) {
                *at = first + taken;
            }
            own.push(samples);
        }
        let layers = layers.into_iter().map(|(values, sources)| {
            let at = b.define(Constant::Repeat { run: 1, values });
            Layer { sources, at }
        });
        let layers = layers.collect();
        let copies = n / packing.values;
        let width = dimension / copies;
        let entry = |slot: usize| slot % width + width * (slot / packing.values);
        let entries = (0..n).map(|slot| entry(slot) as i64).collect();
        Self {
            t,
            n,
            baby_steps: packing.baby_steps,
            layers,
            entries: b.define(Constant::Words(entries)),
            gap: n / dimension,
        }
    }

    /// The sub-trace of some giant steps: for each the sum of its masks, lifted to `level`, times
    /// the secret rotated by `0, 1, ..`. The masks are multiplied by `units`. `index` is that of
    /// the first one's step in the recording. Parameters: [`Layers::all_masks`], the bodies of the
    /// secrets, and their masks. Results: two components for each giant step.
    pub(crate) fn giant_steps(
        &self,
        chain: &Chain,
        b: &mut Builder,
        (index, giants): (usize, &[usize]),
        (level, units): (usize, &[u64]),
    ) -> SubId {
        let rows = self.all_masks().len();
        let mut parameters = vec![self.t.row(); rows];
        parameters.extend(vec![chain.component(level); 2 * units.len()]);
        b.sub_trace(&format!("giant_steps.{index}"), &parameters, |b| {
            let mut sums = Vec::with_capacity(2 * giants.len());
            for &giant in giants {
                let factors = units.iter().enumerate().map(|(step, &unit)| {
                    let row = self.masks(b, (giant, step), unit);
                    plaintext::factor(chain, b, (self.t, row), level)
                });
                let factors: Vec<ValueId> = factors.collect();
                for part in 0..2 {
                    let first = rows + part * units.len();
                    let secret: Vec<ValueId> = (first..first + units.len()).collect();
                    sums.push(b.dot(secret, factors.as_slice()));
                }
            }
            sums
        })
    }

    /// Masks of the sources of all layers.
    pub(crate) fn all_masks(&self) -> Vec<ValueId> {
        self.layers.iter().flat_map(|layer| layer.rows(1)).collect()
    }

    /// The plaintext of masks, times `unit`. In giant step `giant` it is multiplied with the secret
    /// rotated by `step`. [`Layers::all_masks`] are the first parameters of the body.
    fn masks(&self, b: &mut Builder, (giant, step): (usize, usize), unit: u64) -> ValueId {
        let columns = self.n / 2;
        // The giant step later rotates left by its columns. Values are therefore put as many
        // columns to the right.
        let back = (columns - giant * self.baby_steps % columns) % columns;
        let entries = turn(b, self.entries, step);
        let mut first = 0;
        self.sum(b, unit, |b, layer| {
            let rows: Vec<ValueId> = (first..first + layer.sources.len()).collect();
            first += rows.len();
            let at = turn(b, layer.at, back);
            b.extract(rows, at, Some((entries, self.gap)))
        })
    }

    /// The plaintext of bodies.
    pub(crate) fn bodies(&self, b: &mut Builder) -> ValueId {
        self.sum(b, 1, |b, layer| b.extract(layer.rows(0), layer.at, None))
    }

    /// The coefficients of a plaintext, times `unit`. Its slots are the sum of `row` over all
    /// layers.
    fn sum(
        &self,
        b: &mut Builder,
        unit: u64,
        mut row: impl FnMut(&mut Builder, &Layer) -> ValueId,
    ) -> ValueId {
        let mut sum = None;
        for layer in &self.layers {
            let row = row(b, layer);
            sum = Some(match sum {
                None => row,
                Some(sum) => b.add(sum, row),
            });
        }
        let sum = sum.unwrap_or_else(|| b.zero(self.t.row()));
        let coefficients = from_slots(b, self.t, sum);
        times(b, coefficients, unit)
    }
}

impl Layer {
    /// Bodies (0) or masks (1) of the layer's sources.
    fn rows(&self, part: usize) -> Vec<ValueId> {
        self.sources.iter().map(|samples| samples[part]).collect()
    }
}

/// The coefficient that each value takes from a source, in pairs of source and coefficients. A
/// source occurs again for values that take a second coefficient of it.
fn taken(packing: &Packing) -> Vec<(usize, Taken)> {
    let mut taken: BTreeMap<(usize, usize), Taken> = BTreeMap::new();
    for (value, sum) in packing.samples.iter().enumerate() {
        let mut seen: BTreeMap<usize, usize> = BTreeMap::new();
        for &[source, coefficient] in sum {
            let again = seen.entry(source).or_default();
            let none = || vec![-1; packing.values];
            let at = taken.entry((source, *again)).or_insert_with(none);
            at[value] = coefficient as i64;
            *again += 1;
        }
    }
    let taken = taken.into_iter();
    taken.map(|((source, _), taken)| (source, taken)).collect()
}

/// A constant with its rows rotated left by `steps`.
fn turn(b: &mut Builder, of: ConstantId, steps: usize) -> ConstantId {
    match steps {
        0 => of,
        _ => b.define(Constant::Turn { of, steps }),
    }
}
