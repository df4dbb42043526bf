//! The errors of a value of approximate numbers: for each slot, the sources of its error.
//!
//! The error of a sum of a value with itself, however it is computed, is twice the value's error.
//! For two independent values, mean squares add up. Each value therefore keeps apart the errors
//! that make up its error, by the step where each came into the circuit. Each error has a factor
//! for each slot: an error is multiplied by the same numbers as its value. An automorphism of an
//! error counts as a different error.

use super::sources::Galois;
use ckks::Complex64;
use program::circuit::{Permutation, ValueId};
use std::collections::BTreeMap;

/// Largest number of errors that a value keeps apart. Each takes a vector of slots. More errors are
/// merged into one new error.
const MOST: usize = 16;

/// Source of an error: the step where it came into the circuit, whether it was merged from several
/// errors, and the Galois element of the automorphisms since.
type Source = (ValueId, bool, usize);

/// A number for each slot, or one number for all slots.
#[derive(Clone, Debug)]
enum Each<T> {
    Same(T),
    Slots(Vec<T>),
}

impl<T: Copy> Each<T> {
    fn at(&self, slot: usize) -> T {
        match self {
            Self::Same(value) => *value,
            Self::Slots(values) => values[slot],
        }
    }

    fn moved(&mut self, move_slots: &impl Fn(&mut Vec<T>)) {
        if let Self::Slots(values) = self {
            move_slots(values);
        }
    }
}

/// An error: `factor` times a random number whose mean square is `square`.
#[derive(Clone, Debug)]
struct Part {
    square: Each<f64>,
    factor: Each<Complex64>,
}

impl Part {
    fn square_at(&self, slot: usize) -> f64 {
        self.factor.at(slot).norm_sqr() * self.square.at(slot)
    }
}

/// The errors that add up to a value's error, by source.
#[derive(Clone, Debug, Default)]
pub(super) struct Errors(BTreeMap<Source, Part>);

impl Errors {
    /// An error that a step introduces, with the same mean square in all slots.
    pub(super) fn even(step: ValueId, square: f64) -> Self {
        let mut errors = Self::default();
        errors.add_new((step, false, 1), Each::Same(square));
        errors
    }

    /// An error that a step introduces, with a mean square for each slot.
    pub(super) fn of_slots(step: ValueId, squares: Vec<f64>) -> Self {
        let mut errors = Self::default();
        errors.add_new((step, false, 1), Each::Slots(squares));
        errors
    }

    fn add_new(&mut self, source: Source, square: Each<f64>) {
        let factor = Each::Same(Complex64::ONE);
        self.0.insert(source, Part { square, factor });
    }

    /// Adds an error that a step introduces, with the same mean square in all slots.
    #[must_use]
    pub(super) fn with(mut self, step: ValueId, square: f64) -> Self {
        if square > 0.0 {
            self.add_new((step, false, 1), Each::Same(square));
        }
        self
    }

    /// The mean square of the sum of all errors, by slot.
    pub(super) fn squares(&self, slots: usize) -> Vec<f64> {
        let mut sums = vec![0.0; slots];
        for part in self.0.values() {
            for (slot, sum) in sums.iter_mut().enumerate() {
                *sum += part.square_at(slot);
            }
        }
        sums
    }

    /// Adds the errors of another value, multiplied by the number `factor(i)` in slot `i`.
    pub(super) fn add(&mut self, other: &Self, factor: impl Fn(usize) -> Complex64, slots: usize) {
        for (source, part) in &other.0 {
            let add = |slot: usize| part.factor.at(slot) * factor(slot);
            let own = self.0.get(source).map(|own| &own.factor);
            let factors =
                (0..slots).map(|slot| own.map_or(Complex64::ZERO, |f| f.at(slot)) + add(slot));
            let factor = Each::Slots(factors.collect());
            let square = part.square.clone();
            self.0.insert(*source, Part { square, factor });
        }
    }

    /// Adds the errors of another value, multiplied by a number.
    pub(super) fn add_scaled(&mut self, other: &Self, factor: f64, slots: usize) {
        for (source, part) in &other.0 {
            let own = self.0.get(source).map(|own| own.factor.clone());
            let both = match (own, &part.factor) {
                (None, Each::Same(new)) => Each::Same(new * factor),
                (Some(Each::Same(own)), Each::Same(new)) => Each::Same(own + new * factor),
                (own, new) => {
                    let own = |slot| own.as_ref().map_or(Complex64::ZERO, |f| f.at(slot));
                    Each::Slots((0..slots).map(|i| own(i) + new.at(i) * factor).collect())
                }
            };
            let (square, factor) = (part.square.clone(), both);
            self.0.insert(*source, Part { square, factor });
        }
    }

    /// Adds an error that is independent of all others, with a mean square for each slot.
    pub(super) fn add_squares(&mut self, step: ValueId, squares: Vec<f64>) {
        self.add_new((step, true, 1), Each::Slots(squares));
    }

    /// The errors, multiplied by a number.
    #[must_use]
    pub(super) fn multiplied(mut self, number: f64) -> Self {
        if number != 1.0 {
            for part in self.0.values_mut() {
                match &mut part.factor {
                    Each::Same(factor) => *factor *= number,
                    Each::Slots(factors) => factors.iter_mut().for_each(|x| *x *= number),
                }
            }
        }
        self
    }

    /// The errors after an automorphism, which permutes slots.
    #[must_use]
    pub(super) fn permuted(self, permutation: Permutation, galois: Galois) -> Self {
        let steps = permutation.rotation().unwrap_or(0);
        let conjugates = permutation == Permutation::Conjugation;
        let parts = self.0.into_iter().map(|((step, several, own), mut part)| {
            part.square
                .moved(&|slots: &mut Vec<f64>| slots.rotate_left(steps));
            part.factor.moved(&|slots: &mut Vec<Complex64>| {
                slots.rotate_left(steps);
                if conjugates {
                    slots.iter_mut().for_each(|x| *x = x.conj());
                }
            });
            ((step, several, galois.after(own)), part)
        });
        Self(parts.collect())
    }

    /// Merges the errors if there are more than [`MOST`].
    #[must_use]
    pub(super) fn merged(self, step: ValueId, slots: usize) -> Self {
        if self.0.len() <= MOST {
            return self;
        }
        let mut one = Self::default();
        one.add_squares(step, self.squares(slots));
        one
    }
}
