//! The constants of a batch, encoded as a matrix.

use super::clear::constant_slots;
use super::matrices::Batch;
use super::plan::{Parts, Plan};
use super::scheme::Scheme;
use crate::error::Result;
use circuits::approximate::Diagonal;
use circuits::operations::BlockMatrix;
use program::circuit::{Circuit, Op, ValueId};
use std::collections::BTreeMap;

/// Encodes the constants of a batch: over the special moduli too, if the batch is computed there.
pub(super) fn table<S: Scheme>(
    params: &S,
    circuit: &Circuit,
    plan: &Plan,
    batch: &Batch,
) -> Result<BlockMatrix> {
    let encode = |row: usize| encode(params, circuit, batch.rows[row]);
    let rows = ring::par_map(batch.rows.len(), encode);
    let rows: Vec<BTreeMap<ValueId, Diagonal>> = rows.into_iter().collect::<Result<_>>()?;
    let ring_level = params.ring_level(circuit.ty(batch.rows[0]).level);
    let limbs = match plan.computed[batch.rows[0]] {
        Parts::Extended => params.rlwe().extended(ring_level).len(),
        _ => ring_level + 1,
    };
    let shape = (rows.len(), batch.columns.len());
    let entry = |row: usize, column: usize| rows[row].get(&batch.columns[column]);
    Ok(BlockMatrix::new(shape, (params.rlwe().n(), limbs), entry))
}

/// The constants of a row, by the value that each multiplies.
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
