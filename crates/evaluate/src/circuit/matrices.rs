//! Batches: sums of products that are computed together as one product of matrices.
//!
//! Constants with a short period are polynomials in a power of `X`. In the evaluation domain, each
//! of their words occurs many times in a row. Several sums of the same values times such constants
//! are, for each run of equal words, a small matrix times as many columns as the run has words.
//! Values are read from memory once for all sums ([`ring::block_combinations`]). A batch is
//! worthwhile if most of its matrix is not zero.

use program::circuit::{Circuit, Op, Step, ValueId};
use std::collections::BTreeSet;

/// Largest number of columns of a matrix, one for each value: the limit of
/// [`ring::block_combinations`].
const MOST_COLUMNS: usize = 512;
/// Smallest number of times that a constant repeats in a row of slots. A run of equal words is at
/// least as long.
const LEAST_REPEATS: usize = 8;

/// Steps that are computed together when the first of them is due. Each is a sum of products of a
/// ciphertext and a constant.
pub(super) struct Batch {
    /// The steps, one for each row of the matrix.
    pub(super) rows: Vec<ValueId>,
    /// The ciphertexts, one for each column of the matrix. All are computed before the first step.
    pub(super) columns: Vec<ValueId>,
}

/// The batches of a circuit, each step in at most one.
pub(super) fn batches(circuit: &Circuit) -> Vec<Batch> {
    let mut done = Vec::new();
    let mut open: Option<Open> = None;
    for (index, step) in circuit.steps.iter().enumerate() {
        let Some(terms) = constant_terms(circuit, step) else {
            continue;
        };
        if open
            .as_mut()
            .is_some_and(|open| open.join(index, step, terms))
        {
            continue;
        }
        done.extend(
            open.replace(Open::new(index, step, terms))
                .and_then(Open::close),
        );
    }
    done.extend(open.and_then(Open::close));
    done
}

/// Terms of a step, if the step can be a row of a batch.
fn constant_terms<'c>(circuit: &'c Circuit, step: &'c Step) -> Option<&'c [[ValueId; 2]]> {
    let Op::Mul { terms } = &step.op else {
        return None;
    };
    let repeats = |value: ValueId| match circuit.steps[value].op {
        Op::Constant { constant } => {
            circuit.row() / circuit.constants[constant].values.len() >= LEAST_REPEATS
        }
        _ => false,
    };
    let lefts: BTreeSet<ValueId> = terms.iter().map(|&[left, _]| left).collect();
    let fits = lefts.len() == terms.len() && lefts.len() <= MOST_COLUMNS;
    (fits && terms.iter().all(|&[_, right]| repeats(right))).then_some(terms)
}

struct Open {
    level: usize,
    rows: Vec<ValueId>,
    columns: BTreeSet<ValueId>,
    products: usize,
}

impl Open {
    fn new(index: usize, step: &Step, terms: &[[ValueId; 2]]) -> Self {
        Self {
            level: step.ty.level,
            rows: vec![index],
            columns: terms.iter().map(|&[left, _]| left).collect(),
            products: terms.len(),
        }
    }

    /// Adds a step to the batch, if its ciphertexts are computed before the batch's first step, if
    /// it shares one with the batch, and if at least half of the matrix is still not zero.
    fn join(&mut self, index: usize, step: &Step, terms: &[[ValueId; 2]]) -> bool {
        let lefts = terms.iter().map(|&[left, _]| left);
        if step.ty.level != self.level || lefts.clone().any(|left| left >= self.rows[0]) {
            return false;
        }
        let new = lefts.clone().filter(|left| !self.columns.contains(left));
        let new = new.count();
        let columns = self.columns.len() + new;
        let products = self.products + terms.len();
        let sparse = 2 * products < columns * (self.rows.len() + 1);
        if new == terms.len() || columns > MOST_COLUMNS || sparse {
            return false;
        }
        self.columns.extend(lefts);
        self.rows.push(index);
        self.products = products;
        true
    }

    /// Returns the batch, if it has several rows.
    fn close(self) -> Option<Batch> {
        (self.rows.len() > 1).then(|| Batch {
            rows: self.rows,
            columns: self.columns.into_iter().collect(),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use super::*;
    use program::circuit::{Arithmetic, CircuitBuilder, Type};

    /// A circuit of sums of products on 64 slots. Each sum is a list of terms: the number of an
    /// input, or 9 for the previous sum, and the period of the constant that multiplies it.
    fn circuit(sums: &[&[(usize, usize)]]) -> Circuit {
        let moduli = [60.0, 20.0].map(f64::exp2).to_vec();
        let mut b = CircuitBuilder::new("sums", Arithmetic::Approximate { moduli }, 64).unwrap();
        let ty = Type {
            encrypted: true,
            level: 1,
            scale: 1.0,
        };
        let x: Vec<ValueId> = (0..4)
            .map(|i| b.input(&i.to_string(), ty).unwrap())
            .collect();
        let mut last = x[0];
        for (s, terms) in sums.iter().enumerate() {
            let mut factors = Vec::new();
            for &(input, period) in *terms {
                let constant = b.constant("c", &vec![1.0; period], (1, 1.0)).unwrap();
                factors.push([x.get(input).copied().unwrap_or(last), constant]);
            }
            last = b.dot(&factors).unwrap();
            b.output(&s.to_string(), last).unwrap();
        }
        b.finish().unwrap()
    }

    /// Rows and columns of each batch.
    fn sizes(sums: &[&[(usize, usize)]]) -> Vec<(usize, usize)> {
        let batches = batches(&circuit(sums));
        batches
            .iter()
            .map(|b| (b.rows.len(), b.columns.len()))
            .collect()
    }

    #[test]
    fn sums_of_the_same_values_are_one_batch() {
        let whole: &[_] = &[(0, 8), (1, 1), (2, 4), (3, 8)];
        assert_eq!(sizes(&[whole, whole, &whole[..2]]), [(3, 4)]);
        assert_eq!(sizes(&[whole]), [], "one row");
        assert_eq!(
            sizes(&[whole, &[(0, 16)], whole]),
            [(2, 4)],
            "16 of 64 repeat too seldom"
        );
        let twice = [(0, 1), (0, 1)];
        assert_eq!(sizes(&[&twice, &twice]), [], "a value stands twice");
        let apart: &[&[_]] = &[&[(0, 1)], &[(1, 1)], &[(2, 1)]];
        assert_eq!(sizes(apart), [], "no value in common");
        let windows: &[&[_]] = &[&[(0, 1), (1, 1)], &[(0, 1), (1, 1)], &[(2, 1), (3, 1)]];
        let windows = [windows, &windows[2..]].concat();
        assert_eq!(
            sizes(&windows),
            [(2, 2), (2, 2)],
            "two places of a convolution"
        );
        let after: &[&[_]] = &[whole, whole, &[(9, 1), (1, 1)], &[(0, 1), (1, 1)]];
        assert_eq!(sizes(after), [(2, 4), (2, 3)], "a row needs an earlier one");
        let of_first: &[&[_]] = &[&[(0, 1)], &[(9, 1)]];
        assert_eq!(sizes(of_first), [], "a row needs the first one");
    }
}
