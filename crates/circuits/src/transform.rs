//! Linear maps on slots, and the map from slots to coefficients.
//!
//! A linear map is a sum of diagonals: `out = sum_k d_k . rot_k(in)`, where `.` is the product slot
//! by slot, and the rows may be swapped after a rotation. With `k = start + stride (b + B g)`, the
//! rotations by `b` (*baby steps*) share one decomposition. The rotations by `g` (*giant steps*)
//! are done by Horner's rule with one Galois key, that of the rotation by `stride B`. `K` diagonals
//! therefore take `B` hoisted rotations, `K / B` others and `B + 1` keys. Where keys are large,
//! baby steps are *chained* instead: each is the rotation by `stride` of the one before. Then `K`
//! diagonals take `B + K / B` rotations and three keys.
//!
//! [`SlotsToCoeffs`] and [`CoeffsToSlots`] are products of a few such maps.
//!
//! *Sources*: Halevi, Shoup, "Algorithms in HElib", CRYPTO 2014, section 4.3; "Faster Homomorphic
//! Linear Transformations in HElib", CRYPTO 2018, section 5.

mod coeffs_to_slots;
mod slots_to_coeffs;

use crate::engine::{Engine, ValueOf};
use crate::error::Result;
use crate::operations::{Operations, Plain, Words};
use crate::residual::Squares;
use bfv::Encoder;
use ring::Modulus;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use coeffs_to_slots::CoeffsToSlots;
pub(crate) use coeffs_to_slots::blocks;
pub use slots_to_coeffs::{SlotsToCoeffs, coefficient_of_slot, slots_to_coeffs};

/// Relative costs of a rotation with its own decomposition, and of one that shares it. The measured
/// ratio is 1.3 to 1.6, from four to twenty limbs of `N = 2^15`, one thread with AVX-512.
const GIANT_COST: usize = 3;
const BABY_COST: usize = 2;

/// Offset of a diagonal: slot `(row, column)` of the result reads slot
/// `(row ^ swap, column + steps)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Offset {
    /// True if rows are swapped.
    pub swap: bool,
    /// Number of columns by which both rows rotate left, below `N/2`.
    pub steps: usize,
}

/// A linear map on the slots modulo `t`, stored by diagonals of `N` values in `[0, t)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagonals {
    slots: usize,
    values: BTreeMap<Offset, Vec<u64>>,
}

impl Diagonals {
    /// The zero map.
    pub fn zero(slots: usize) -> Self {
        Self {
            slots,
            values: BTreeMap::new(),
        }
    }

    /// Adds `value(slot)` to the diagonal at `offset`.
    pub fn add(&mut self, t: &Modulus, offset: Offset, value: impl Fn(usize) -> u64) {
        let columns = self.slots / 2;
        let offset = Offset {
            steps: offset.steps % columns,
            ..offset
        };
        let diagonal = self.values.entry(offset).or_insert(vec![0; self.slots]);
        for (slot, sum) in diagonal.iter_mut().enumerate() {
            *sum = t.add(*sum, value(slot));
        }
    }

    /// Returns the map that applies `first` and then this map.
    ///
    /// # Panics
    /// If the numbers of slots differ.
    #[must_use]
    pub fn after(&self, t: &Modulus, first: &Self) -> Self {
        assert_eq!(self.slots, first.slots, "maps on the same slots");
        let mut both = Self::zero(self.slots);
        for (&outer, left) in &self.values {
            for (&inner, right) in &first.values {
                let offset = Offset {
                    swap: outer.swap != inner.swap,
                    steps: outer.steps + inner.steps,
                };
                both.add(t, offset, |slot| match left[slot] {
                    0 => 0,
                    factor => t.mul(factor, right[self.source(outer, slot)]),
                });
            }
        }
        both.values.retain(|_, d| d.iter().any(|&v| v != 0));
        both
    }

    /// Applies the map to plain slots.
    pub fn apply(&self, t: &Modulus, input: &[u64]) -> Vec<u64> {
        let mut out = vec![0; self.slots];
        for (&offset, diagonal) in &self.values {
            for (slot, sum) in out.iter_mut().enumerate() {
                let term = t.mul(diagonal[slot], input[self.source(offset, slot)]);
                *sum = t.add(*sum, term);
            }
        }
        out
    }

    /// Number of diagonals.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns true if this is the zero map.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The slot that a diagonal reads. Columns are a power of two, so the row is the bit above
    /// them.
    fn source(&self, offset: Offset, slot: usize) -> usize {
        let columns = self.slots / 2;
        let swap = usize::from(offset.swap) * columns;
        ((slot & columns) ^ swap) | ((slot + offset.steps) & (columns - 1))
    }
}

/// An arithmetic progression `start, start + stride, ..`, modulo the number of columns, that
/// contains all steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Progression {
    start: usize,
    stride: usize,
    count: usize,
}

impl Progression {
    /// Returns the shortest progression. It begins after the widest gap.
    fn of(steps: &BTreeSet<usize>, columns: usize) -> Self {
        let steps: Vec<usize> = steps.iter().copied().collect();
        let stride = steps
            .iter()
            .fold(columns, |stride, &s| gcd(stride, s - steps[0]));
        let before = |i: usize| steps[(i + steps.len() - 1) % steps.len()];
        let gap = |i: usize| match (steps[i] + columns - before(i)) % columns {
            0 => columns,
            gap => gap,
        };
        let first = (0..steps.len()).max_by_key(|&i| gap(i)).unwrap_or(0);
        Self {
            start: steps[first],
            stride,
            count: (columns - gap(first)) / stride + 1,
        }
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// One diagonal as a plaintext, rotated back by its giant steps.
#[derive(Clone, Debug)]
struct Term {
    baby: usize,
    /// Coefficients in `[0, t)`. `t` is below `2^32`.
    coefficients: Arc<[u32]>,
    /// Number of coefficients that are not 0.
    nonzero: usize,
    /// Squares of the centred coefficients.
    squares: Squares,
}

/// The way in which the baby steps of a map are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BabySteps {
    /// Each is a rotation of the value. All share one decomposition, and each has a key.
    Hoisted,
    /// Each is a rotation of the one before, all by the same key.
    Chained,
}

/// A linear map, prepared for ciphertexts.
#[derive(Clone, Debug)]
pub struct LinearTransform {
    babies: Vec<usize>,
    baby_steps: BabySteps,
    giant: usize,
    /// Terms by giant step: first those without a swap of the rows, then those with one.
    rows: [Vec<Vec<Term>>; 2],
}

impl LinearTransform {
    /// Encodes the diagonals of a map that is not zero.
    ///
    /// # Panics
    /// If the map is zero or the encoder has another number of slots.
    pub fn new(encoder: &Encoder, map: &Diagonals) -> Self {
        Self::of(encoder, map, BabySteps::Hoisted)
    }

    /// As [`LinearTransform::new`], with baby steps that are made as stated.
    pub(crate) fn of(encoder: &Encoder, map: &Diagonals, baby_steps: BabySteps) -> Self {
        assert!(
            !map.is_empty() && map.slots == encoder.slots(),
            "a map on the encoder's slots that is not zero"
        );
        let columns = map.slots / 2;
        let steps = map.values.keys().map(|offset| offset.steps).collect();
        let halves: BTreeSet<bool> = map.values.keys().map(|offset| offset.swap).collect();
        let progression = Progression::of(&steps, columns);
        let baby_count = baby_count(progression.count, halves.len(), baby_steps);
        let giants = progression.count.div_ceil(baby_count);
        let giant = progression.stride * baby_count;
        let mut rows = [(); 2].map(|()| vec![Vec::new(); giants]);
        for (&offset, diagonal) in &map.values {
            let index = (offset.steps + columns - progression.start) % columns / progression.stride;
            let (g, baby) = (index / baby_count, index % baby_count);
            let turned = Offset {
                swap: offset.swap,
                steps: columns - g * giant % columns,
            };
            let slots: Vec<u64> = (0..map.slots)
                .map(|slot| diagonal[map.source(turned, slot)])
                .collect();
            let row: &mut Vec<Vec<Term>> = &mut rows[usize::from(offset.swap)];
            row[g].push(Term::new(encoder, baby, &slots));
        }
        for row in &mut rows {
            while row.last().is_some_and(Vec::is_empty) {
                row.pop();
            }
        }
        Self {
            babies: (0..baby_count.min(progression.count))
                .map(|b| (progression.start + b * progression.stride) % columns)
                .collect(),
            baby_steps,
            giant,
            rows,
        }
    }

    /// Number of baby steps, the value itself included.
    pub(crate) fn baby_steps(&self) -> usize {
        self.babies.len()
    }

    /// Applies the map. The result has the factor of the value and is not switched down.
    ///
    /// # Errors
    /// If a Galois key is missing.
    pub fn apply<O: Operations>(
        &self,
        engine: &Engine<O>,
        value: &ValueOf<O>,
    ) -> Result<ValueOf<O>> {
        self.apply_to_factor(engine, value, value.factor())
    }

    /// Applies the map so that the result has the factor `factor`. The result is not switched down.
    ///
    /// # Errors
    /// If a Galois key is missing.
    pub fn apply_to_factor<O: Operations>(
        &self,
        engine: &Engine<O>,
        value: &ValueOf<O>,
        factor: u64,
    ) -> Result<ValueOf<O>> {
        let encoder = engine.params().encoder();
        let rotated = self.rotated(engine, value)?;
        let [proper, swapped] = &self.rows;
        let (proper, swapped) = engine.join(
            || self.horner(engine, &rotated, proper, factor),
            || {
                let sum = self.horner(engine, &rotated, swapped, factor)?;
                let swap = |sum| engine.automorphism(&sum, encoder.swap_element());
                sum.map(swap).transpose()
            },
        );
        Ok(match (proper?, swapped?) {
            (Some(mut sum), Some(other)) => {
                engine.add_apart_assign(&mut sum, &other)?;
                sum
            }
            (sum, other) => sum.or(other).expect("the map is not zero"),
        })
    }

    /// The baby steps.
    fn rotated<O: Operations>(
        &self,
        engine: &Engine<O>,
        value: &ValueOf<O>,
    ) -> Result<Vec<ValueOf<O>>> {
        let encoder = engine.params().encoder();
        let element = |steps: usize| encoder.rotation_element(steps as isize);
        let [first, rest @ ..] = self.babies.as_slice() else {
            return Ok(Vec::new());
        };
        if self.baby_steps == BabySteps::Hoisted {
            let elements: Vec<usize> = self.babies.iter().map(|&steps| element(steps)).collect();
            return engine.automorphisms(value, &elements);
        }
        let columns = encoder.slots() / 2;
        let mut made = vec![match first {
            0 => value.clone(),
            &steps => engine.automorphism(value, element(steps))?,
        }];
        for (before, &steps) in self.babies.iter().zip(rest) {
            let step = element((steps + columns - before) % columns);
            let last = made.last().expect("the first baby step is made");
            made.push(engine.automorphism(last, step)?);
        }
        Ok(made)
    }

    fn horner<O: Operations>(
        &self,
        engine: &Engine<O>,
        rotated: &[ValueOf<O>],
        row: &[Vec<Term>],
        factor: u64,
    ) -> Result<Option<ValueOf<O>>> {
        let encoder = engine.params().encoder();
        let giant = encoder.rotation_element(self.giant as isize);
        let mut sum: Option<ValueOf<O>> = None;
        for terms in row.iter().rev() {
            let (turned, inner) = engine.join(
                || {
                    sum.map(|outer| engine.automorphism(&outer, giant))
                        .transpose()
                },
                || self.inner_sum(engine, rotated, terms, factor),
            );
            sum = match (turned?, inner?) {
                (Some(mut sum), Some(inner)) => {
                    engine.add_apart_assign(&mut sum, &inner)?;
                    Some(sum)
                }
                (sum, inner) => sum.or(inner),
            };
        }
        Ok(sum)
    }

    /// The sum of one giant step, before it is rotated. `None` if it has no terms.
    fn inner_sum<O: Operations>(
        &self,
        engine: &Engine<O>,
        rotated: &[ValueOf<O>],
        terms: &[Term],
        factor: u64,
    ) -> Result<Option<ValueOf<O>>> {
        if terms.is_empty() {
            return Ok(None);
        }
        let factors: Vec<&ValueOf<O>> = terms.iter().map(|term| &rotated[term.baby]).collect();
        // All rotations of a value have its factor. If the sum has this factor too, units are 1
        // and the plaintexts keep their squares. Other units make the plaintexts uniform.
        let squares = |term: &Term| match factor == rotated[0].factor() {
            true => term.squares,
            false => Squares::uniform(engine.model(), term.nonzero as f64, engine.params().n()),
        };
        let squares: Vec<Squares> = terms.iter().map(squares).collect();
        let squares = Squares {
            sum: squares.iter().map(|s| s.sum).sum::<f64>() / terms.len() as f64,
            peak: squares.iter().map(|s| s.peak).sum::<f64>() / terms.len() as f64,
        };
        let plain = |k: usize| Plain::Coefficients(Words::All(terms[k].coefficients.clone()));
        engine
            .mul_plain_sum(&factors, squares, factor, plain)
            .map(Some)
    }
}

impl Term {
    fn new(encoder: &Encoder, baby: usize, slots: &[u64]) -> Self {
        let plaintext = encoder.slots_to_plaintext(slots);
        let t = encoder.modulus();
        let centred = plaintext.coefficients().iter().map(|&c| t.center(c));
        Self {
            baby,
            nonzero: plaintext.coefficients().iter().filter(|&&c| c != 0).count(),
            squares: Squares::of(centred, encoder.slots()),
            coefficients: plaintext
                .coefficients()
                .iter()
                .map(|&c| u32::try_from(c).expect("slots exist for t below 2^32 only"))
                .collect(),
        }
    }
}

/// The number of baby steps, a power of two, that makes `count` steps of `rows` sums cheapest. If
/// costs are equal, the one with fewer keys.
fn baby_count(count: usize, rows: usize, baby_steps: BabySteps) -> usize {
    let baby = match baby_steps {
        BabySteps::Hoisted => BABY_COST,
        BabySteps::Chained => GIANT_COST,
    };
    let giants = |babies: usize| rows * (count.div_ceil(babies) - 1);
    let cost = |babies: usize| baby * babies + GIANT_COST * giants(babies);
    std::iter::successors(Some(1), |b| Some(2 * b))
        .take_while(|&b| b < 2 * count)
        .min_by_key(|&b| cost(b))
        .expect("one baby step can always be taken")
}

#[cfg(test)]
mod tests;
