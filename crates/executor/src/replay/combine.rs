//! Integer combinations of values.

use super::machine::Machine;
use super::value::{Value, slices};
use kernels::kernels;
use ring::par_map;
use sim::vector::Origin;
use std::ops::Range;
use std::sync::Arc;
use trace::{ModulusId, Op, Type};

/// Largest number of terms in one call to the kernel of matrix products.
const MATRIX_TERMS: usize = 512;
/// Number of rows in one call. Each limb is read once for all of them.
const MATRIX_ROWS: usize = 64;

impl Machine<'_> {
    /// Computes all rows of a combination.
    pub(super) fn combine(&mut self, op: &Op, ty: &Type, values: &[&Value]) -> Vec<Value> {
        let Op::Combine { rows, .. } = op else {
            unreachable!("the operation is a combination")
        };
        let ids: Vec<usize> = ty.limbs.iter().collect();
        let mut made = Vec::with_capacity(rows.len());
        for start in (0..rows.len()).step_by(MATRIX_ROWS) {
            let end = rows.len().min(start + MATRIX_ROWS);
            let matrix = self.matrix(op, start..end);
            // By limb, then by row.
            let limbs = par_map(ids.len(), |i| {
                self.combine_limb(&matrix, (i, ids[i]), values)
            });
            let mut limbs: Vec<_> = limbs.into_iter().map(Vec::into_iter).collect();
            for _ in start..end {
                let row = limbs.iter_mut().filter_map(Iterator::next);
                let (ty, limbs) = (ty.clone(), row.map(Arc::new).collect());
                made.push(Value { ty, limbs });
            }
        }
        let limbs: u64 = made.iter().map(Value::len).sum();
        self.counts.passes.combination_terms += limbs * values.len() as u64;
        made
    }

    /// Some rows of the matrix, as integers below the modulus.
    fn matrix(&self, op: &Op, range: Range<usize>) -> Vec<Vec<u64>> {
        let Op::Combine { columns, .. } = op else {
            unreachable!("the operation is a combination")
        };
        let row = |r: usize| (0..columns.len()).map(|k| self.entry(op, r, k)).collect();
        range.map(row).collect()
    }

    /// An entry of the matrix, as an integer below the modulus.
    fn entry(&self, op: &Op, r: usize, k: usize) -> u64 {
        let Op::Combine {
            list,
            first,
            modulus,
            rows,
            columns,
            ..
        } = op
        else {
            unreachable!("the operation is a combination")
        };
        let t = self.modulus(*modulus);
        // Beyond the end of all lists if the index is no word.
        let place = r.checked_mul(columns.len());
        let place = place.and_then(|place| place.checked_add(k)?.checked_add(*first));
        let integer = t.from_i64(self.sources.listed(*list, place));
        t.mul(t.mul(integer, rows[r]), columns[k])
    }

    /// The sum of some terms of a row of a combination, from the origin's first term on, modulo one
    /// limb.
    pub(super) fn combine_terms(
        &self,
        op: &Op,
        origin: Origin,
        id: ModulusId,
        limbs: &[&[u64]],
    ) -> Vec<u64> {
        let q = self.modulus(id);
        let terms = origin.first_term..origin.first_term + limbs.len();
        let entries = terms.map(|k| q.reduce(self.entry(op, origin.row, k)));
        let entries: Vec<u64> = entries.collect();
        let mut sum = self.spare.stale();
        let q = std::slice::from_ref(q);
        kernels().mat_mul_into(q, &entries, (limbs, q[0].bits()), &mut [&mut sum]);
        sum
    }

    /// Computes the rows modulo one limb, given by its place and its modulus.
    fn combine_limb(
        &self,
        matrix: &[Vec<u64>],
        (limb, id): (usize, usize),
        values: &[&Value],
    ) -> Vec<Vec<u64>> {
        let q = self.modulus(id);
        let moduli = vec![*q; matrix.len()];
        let stale = || -> Vec<Vec<u64>> { matrix.iter().map(|_| self.spare.stale()).collect() };
        let mut sums = stale();
        for (index, values) in values.chunks(MATRIX_TERMS).enumerate() {
            let first = index * MATRIX_TERMS;
            let terms = first..first + values.len();
            let entries = matrix.iter().flat_map(|row| &row[terms.clone()]);
            let entries: Vec<u64> = entries.map(|&m| q.reduce(m)).collect();
            let x = slices(values, limb);
            let mut part = stale();
            let mut rows: Vec<&mut [u64]> = part.iter_mut().map(Vec::as_mut_slice).collect();
            kernels().mat_mul_into(&moduli, &entries, (&x, q.bits()), &mut rows);
            if index == 0 {
                std::mem::swap(&mut sums, &mut part);
            } else {
                let both = sums.iter_mut().zip(&part);
                both.for_each(|(sum, part)| kernels().add_assign(q, sum, part));
            }
            part.into_iter().for_each(|row| self.spare.give_words(row));
        }
        sums
    }
}
