//! Sums of products, one by one and several at once.

use super::encrypted::Run;
use super::held::Held;
use super::plan::Form;
use super::scheme::Scheme;
use super::walk::Values;
use crate::error::Result;
use program::circuit::ValueId;
use ring::Poly;
use rlwe::{Ciphertext, Extended};

impl<S: Scheme> Run<'_, S> {
    /// A sum of products of ciphertexts, of three components.
    pub(super) fn product<'a>(
        &self,
        values: &Values<Held<'a>>,
        terms: &[[ValueId; 2]],
    ) -> Result<Held<'a>> {
        let (mut a0, mut a1, mut b0, mut b1) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for &[left, right] in terms {
            let (l0, l1) = pair_of(values, left)?;
            let (r0, r1) = pair_of(values, right)?;
            a0.push(l0);
            a1.push(l1);
            b0.push(r0);
            b1.push(r1);
        }
        let middle = Poly::dot(
            &[a0.clone(), a1.clone()].concat(),
            &[b1.clone(), b0.clone()].concat(),
        );
        let mut parts = vec![Poly::dot(&a0, &b0), middle, Poly::dot(&a1, &b1)];
        if let Some(unit) = self.runner.params.unit() {
            parts
                .iter_mut()
                .for_each(|part| part.scalar_mul_assign(|_| unit));
        }
        Ok(Held::of(Ciphertext::new(parts)))
    }

    /// A sum of products with plaintexts.
    pub(super) fn plain_product<'a>(
        &mut self,
        values: &Values<Held<'a>>,
        terms: &[[ValueId; 2]],
    ) -> Result<Held<'a>> {
        let plaintext = |&[_, right]: &[ValueId; 2]| values.get(right).plaintext();
        let left: Vec<ValueId> = terms.iter().map(|&[left, _]| left).collect();
        if !left.iter().any(|&left| is_extended(values, left)) {
            let (mut c0, mut c1, mut m) = (Vec::new(), Vec::new(), Vec::new());
            for term in terms {
                let (l0, l1) = pair_of(values, term[0])?;
                c0.push(l0);
                c1.push(l1);
                m.push(plaintext(term).narrow());
            }
            let parts = vec![Poly::dot(&c0, &m), Poly::dot(&c1, &m)];
            return Ok(Held::of(Ciphertext::new(parts)));
        }
        let left = self.lifted(values, &left)?;
        let right: Vec<_> = terms
            .iter()
            .map(|term| plaintext(term).extended())
            .collect();
        Ok(Held::Extended(Extended::dot(&left, |k, i, words| {
            right[k].write(i, words)
        })))
    }

    /// A row of a batch; at the first of them all rows are computed.
    pub(super) fn row<'a>(&mut self, index: usize, values: &Values<Held<'a>>) -> Result<Held<'a>> {
        if let Some(row) = self.ready.remove(&index) {
            return Ok(row);
        }
        let (plan, tables) = (&self.runner.plan, &self.runner.tables);
        let number = plan.batch_of[index].expect("a step of a batch");
        let columns = &plan.batches[number].columns;
        let rows: Vec<Held<'static>> = if plan.made[index] == Form::Extended {
            let sums = tables[number].extended(&self.lifted(values, columns)?);
            sums.into_iter().map(Held::Extended).collect()
        } else {
            let pairs = columns.iter().map(|&column| pair_of(values, column));
            let pairs: Vec<_> = pairs
                .map(|pair| pair.map(|(c0, c1)| [c0, c1]))
                .collect::<Result<_>>()?;
            let sums = tables[number].narrow(&pairs).into_iter();
            sums.map(|parts| Held::of(Ciphertext::new(parts.into())))
                .collect()
        };
        self.ready
            .extend(plan.batches[number].rows.iter().copied().zip(rows));
        let row = self.ready.remove(&index);
        Ok(row.expect("the step is a row of its batch"))
    }

    /// Values over the special moduli; those that are held otherwise are lifted once.
    fn lifted<'v>(
        &'v mut self,
        values: &'v Values<Held>,
        of: &[ValueId],
    ) -> Result<Vec<&'v Extended>> {
        for &value in of {
            if let Held::Ciphertext(x) = values.get(value) {
                let cache = self.caches.entry(value).or_default();
                if cache.lifted.is_none() {
                    cache.lifted = Some(Extended::new(self.runner.params.rlwe(), x)?);
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

fn is_extended(values: &Values<Held>, value: ValueId) -> bool {
    matches!(values.get(value), Held::Extended(_))
}

/// The components of a value that is held in two.
fn pair_of<'v>(
    values: &'v Values<Held>,
    value: ValueId,
) -> Result<(&'v Poly<ring::Eval>, &'v Poly<ring::Eval>)> {
    match values.get(value) {
        Held::Ciphertext(x) => Ok(x.pair()?),
        _ => unreachable!("a factor is held in two components"),
    }
}
