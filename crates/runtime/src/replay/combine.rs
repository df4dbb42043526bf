//! Integer combinations of values.

use super::machine::Machine;
use super::value::Value;
use kernels::kernels;
use program::trace::{Op, Type};

/// Most terms of one call to the kernel of matrix products.
const MATRIX_TERMS: usize = 512;

impl Machine<'_> {
    /// All rows of a combination.
    pub(super) fn combine(&mut self, op: &Op, ty: &Type, values: &[&Value]) -> Vec<Value> {
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
        let row = |(r, &row): (usize, &u64)| -> Vec<u64> {
            let begin = r.checked_mul(columns.len());
            let begin = begin.and_then(|begin| begin.checked_add(*first));
            let columns = columns.iter().enumerate();
            let entry = columns.map(|(k, &column)| {
                let place = begin.and_then(|begin| begin.checked_add(k));
                t.mul(t.mul(t.from_i64(self.listed(*list, place)), row), column)
            });
            entry.collect()
        };
        let made = rows.iter().enumerate().map(|entry| {
            let row = row(entry);
            Value::each(ty, |i, id| {
                let q = self.modulus(id);
                let mut sum = self.spare.stale();
                sum.fill(0);
                for (row, values) in row.chunks(MATRIX_TERMS).zip(values.chunks(MATRIX_TERMS)) {
                    let row: Vec<u64> = row.iter().map(|&m| q.reduce(m)).collect();
                    let x: Vec<&[u64]> = values.iter().map(|v| v.limbs[i].as_slice()).collect();
                    let mut part = self.spare.stale();
                    let rows = &mut [part.as_mut_slice()];
                    kernels().mat_mul_into(&[*q], &row, (&x, q.bits()), rows);
                    kernels().add_assign(q, &mut sum, &part);
                    self.spare.give_words(part);
                }
                sum
            })
        });
        let made: Vec<Value> = made.collect();
        let limbs: u64 = made.iter().map(Value::len).sum();
        self.counts.passes.combination_terms += limbs * values.len() as u64;
        made
    }
}
