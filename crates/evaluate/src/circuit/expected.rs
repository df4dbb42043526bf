//! The predicted value of a step: its slots and its errors.

use super::errors::Errors;
use super::fold::Values;
use super::predict::Predicted;
use ckks::Complex64;
use program::circuit::ValueId;
use std::collections::BTreeMap;

/// The prediction for a value, with its errors by source.
pub(super) struct Expected {
    /// The slots of a run in the clear.
    pub(super) slots: Vec<Complex64>,
    /// The slots of a run without noise, if they differ from the slots in the clear.
    pub(super) computed: Option<Vec<Complex64>>,
    pub(super) errors: Errors,
    pub(super) log2_failure: f64,
}

impl Expected {
    pub(super) fn computed(&self) -> &Vec<Complex64> {
        self.computed.as_ref().unwrap_or(&self.slots)
    }

    pub(super) fn predicted(self) -> Predicted {
        let mut errors = self.errors.squares(self.slots.len());
        let differences = self.computed().iter().zip(&self.slots);
        let differences = differences.map(|(a, b)| (a - b).norm_sqr());
        errors
            .iter_mut()
            .zip(differences)
            .for_each(|(sum, v)| *sum += v);
        Predicted {
            slots: self.slots,
            errors,
            log2_failure: self.log2_failure,
        }
    }
}

/// The errors of step `index`, a sum of products.
pub(super) fn product(index: usize, terms: &[[ValueId; 2]], values: &Values<Expected>) -> Errors {
    let mut meets: BTreeMap<ValueId, Vec<Complex64>> = BTreeMap::new();
    let mut meet = |value: ValueId, other: ValueId| {
        let other = &values.get(other).slots;
        let sums = meets
            .entry(value)
            .or_insert_with(|| vec![Complex64::ZERO; other.len()]);
        sums.iter_mut().zip(other).for_each(|(sum, x)| *sum += x);
    };
    for &[left, right] in terms {
        meet(left, right);
        meet(right, left);
    }
    let slots = values.get(terms[0][0]).slots.len();
    let mut errors = Errors::default();
    for (value, factors) in meets {
        errors.add(&values.get(value).errors, |slot| factors[slot], slots);
    }
    let mut second = vec![0.0; slots];
    let mut squares: BTreeMap<ValueId, Vec<f64>> = BTreeMap::new();
    for &value in terms.iter().flatten() {
        let own = || values.get(value).errors.squares(slots);
        squares.entry(value).or_insert_with(own);
    }
    for [left, right] in terms {
        let both = squares[left].iter().zip(&squares[right]);
        second
            .iter_mut()
            .zip(both)
            .for_each(|(sum, (a, b))| *sum += a * b);
    }
    errors.add_squares(index, second);
    errors
}
