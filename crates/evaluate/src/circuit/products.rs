//! Sums of products, computed one by one or as a batch.

use super::encrypted::Run;
use super::fold::Values;
use super::held::Held;
use super::plan::Parts;
use super::scheme::Scheme;
use crate::error::Result;
use circuits::operations::RingOperations;
use program::circuit::ValueId;

impl<'a, S: Scheme, O: RingOperations> Run<'a, S, O> {
    /// A sum of products of ciphertexts, with three components.
    pub(super) fn product(
        &self,
        values: &Values<Held<'a, O>>,
        terms: &[[ValueId; 2]],
    ) -> Result<Held<'a, O>> {
        let side = |side: usize| -> Vec<&O::Ciphertext> {
            let factors = terms.iter().map(|term| ciphertext(values, term[side]));
            factors.collect()
        };
        let unit = self.runner.params.unit();
        let product = self.operations.tensor_sum(&side(0), &side(1), unit)?;
        Ok(Held::of(product))
    }

    /// A sum of products with plaintexts.
    pub(super) fn plain_product(
        &mut self,
        values: &Values<Held<'a, O>>,
        terms: &[[ValueId; 2]],
    ) -> Result<Held<'a, O>> {
        let plaintexts = terms.iter().map(|term| values.get(term[1]).plaintext());
        let left: Vec<ValueId> = terms.iter().map(|&[left, _]| left).collect();
        if !left.iter().any(|&left| is_extended(values, left)) {
            let factors: Vec<_> = plaintexts.map(|plaintext| plaintext.narrow()).collect();
            let left: Vec<_> = left.iter().map(|&left| ciphertext(values, left)).collect();
            return Ok(Held::of(self.operations.mul_plain_sum(&left, &factors)?));
        }
        let factors: Vec<_> = plaintexts.map(|plaintext| plaintext.extended()).collect();
        let operations = self.operations;
        let left = self.lifted(values, &left)?;
        Ok(Held::Extended(operations.dot(&left, &factors)?))
    }

    /// A row of a batch. The first row of a batch computes all its rows.
    pub(super) fn row(
        &mut self,
        index: usize,
        values: &Values<Held<'a, O>>,
    ) -> Result<Held<'a, O>> {
        if let Some(mut row) = self.ready.remove(&index) {
            match &mut row {
                Held::Ciphertext(x) => self.operations.restate(x.to_mut()),
                Held::Extended(x) => self.operations.restate_extended(x),
                Held::Plaintext(_) => unreachable!("a row is a ciphertext"),
            }
            return Ok(row);
        }
        let (plan, tables, operations) = (&self.runner.plan, &self.runner.tables, self.operations);
        let number = plan.batch_of[index].expect("a step of a batch");
        let (batch, table) = (&plan.batches[number], &tables[number]);
        let rows: Vec<Held<'static, O>> = if plan.computed[index] == Parts::Extended {
            let columns = self.lifted(values, &batch.columns)?;
            let sums = operations.combine_extended(table, &columns)?;
            sums.into_iter().map(Held::Extended).collect()
        } else {
            let columns = batch.columns.iter();
            let columns: Vec<_> = columns.map(|&column| ciphertext(values, column)).collect();
            let sums = operations.combine(table, &columns)?;
            sums.into_iter().map(Held::of).collect()
        };
        self.ready.extend(batch.rows.iter().copied().zip(rows));
        let row = self.ready.remove(&index);
        Ok(row.expect("the step is a row of its batch"))
    }

    /// Values over the special moduli. A value in another form is extended once.
    fn lifted<'v>(
        &'v mut self,
        values: &'v Values<Held<O>>,
        of: &[ValueId],
    ) -> Result<Vec<&'v O::Extended>> {
        for &value in of {
            if let Held::Ciphertext(x) = values.get(value) {
                let cache = self.caches.entry(value).or_default();
                if cache.lifted.is_none() {
                    cache.lifted = Some(self.operations.extend(x)?);
                }
            }
        }
        let caches = &self.caches;
        let lifted = |value: ValueId| match values.get(value) {
            Held::Extended(x) => x,
            _ => {
                let lifted = caches.get(&value).and_then(|cache| cache.lifted.as_ref());
                lifted.expect("lifted above")
            }
        };
        Ok(of.iter().map(|&value| lifted(value)).collect())
    }
}

fn is_extended<O: RingOperations>(values: &Values<Held<O>>, value: ValueId) -> bool {
    matches!(values.get(value), Held::Extended(_))
}

/// The ciphertext of a value that is held in two components.
fn ciphertext<'v, O: RingOperations>(
    values: &'v Values<Held<O>>,
    value: ValueId,
) -> &'v O::Ciphertext {
    match values.get(value) {
        Held::Ciphertext(x) => x,
        _ => unreachable!("a factor is held in two components"),
    }
}
