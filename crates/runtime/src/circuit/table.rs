//! The constants of a batch, as a product of matrices takes them.

use super::clear::constant_slots;
use super::matrices::Batch;
use super::plan::{Form, Plan};
use super::scheme::Scheme;
use crate::error::Result;
use circuits::approximate::Diagonal;
use program::circuit::{Circuit, Op, ValueId};
use ring::{Eval, Pair, Poly};
use rlwe::Extended;
use std::collections::BTreeMap;

/// The matrices of a batch.
pub(super) struct Table {
    rows: usize,
    /// How often each word stands.
    gap: usize,
    /// Words as [`ring::block_combinations`] takes them.
    words: Vec<u64>,
}

impl Table {
    /// Encodes the constants of a batch, over the special moduli if that is its form.
    pub(super) fn new<S: Scheme>(
        params: &S,
        circuit: &Circuit,
        plan: &Plan,
        batch: &Batch,
    ) -> Result<Self> {
        let encode = |row: usize| encode(params, circuit, batch.rows[row]);
        let rows = ring::par_map(batch.rows.len(), encode);
        let rows: Vec<BTreeMap<ValueId, Diagonal>> = rows.into_iter().collect::<Result<_>>()?;
        let gap = rows
            .iter()
            .flat_map(BTreeMap::values)
            .map(Diagonal::gap)
            .min();
        let (gap, n) = (gap.expect("a batch has products"), params.rlwe().n());
        let ring_level = params.ring_level(circuit.ty(batch.rows[0]).level);
        let limbs = match plan.made[batch.rows[0]] {
            Form::Extended => params.rlwe().extended(ring_level).len(),
            _ => ring_level + 1,
        };
        let size = limbs * n / gap * rows.len() * batch.columns.len();
        let mut words = Vec::with_capacity(size);
        for i in 0..limbs {
            for j in (0..n).step_by(gap) {
                for row in &rows {
                    let word = |column| row.get(column).map_or(0, |d| d.word(i, j));
                    words.extend(batch.columns.iter().map(word));
                }
            }
        }
        let rows = rows.len();
        Ok(Self { rows, gap, words })
    }

    pub(super) fn byte_len(&self) -> usize {
        size_of_val(self.words.as_slice())
    }

    /// The sums, over the special moduli.
    pub(super) fn extended(&self, columns: &[&Extended]) -> Vec<Extended> {
        Extended::combinations(columns, &self.words, (self.gap, self.rows))
    }

    /// The sums of ciphertexts of two components.
    pub(super) fn narrow(&self, columns: &[Pair]) -> Vec<[Poly<Eval>; 2]> {
        let basis = columns[0][0].basis();
        ring::block_combinations(basis, &self.words, (self.gap, self.rows), columns)
    }
}

/// The constants of a row, by what they are multiplied with.
fn encode<S: Scheme>(
    params: &S,
    circuit: &Circuit,
    row: ValueId,
) -> Result<BTreeMap<ValueId, Diagonal>> {
    let Op::Mul { terms } = &circuit.steps[row].op else {
        unreachable!("the rows of a batch are sums of products");
    };
    let encode = |&[left, right]: &[ValueId; 2]| {
        let Op::Constant { constant } = circuit.steps[right].op else {
            unreachable!("the right factors of a batch are constants");
        };
        let slots = constant_slots::<S::Slot>(circuit, constant)?;
        Ok((left, params.diagonal(&slots, circuit.ty(right))?))
    };
    terms.iter().map(encode).collect()
}
