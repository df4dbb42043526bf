//! Methods of the builder for operations with several results or none, or with more than the
//! operation: the others come from [the table](super::ops).

use super::build::Builder;
use super::ir::{ConstantId, ModulusId, Op, SubId, ValueId};
use super::limbs::Limbs;

/// Methods for operations with one result return its index. All methods panic on operands that
/// [`Builder::push`] refuses.
impl Builder<'_> {
    /// Appends an operation with one result.
    #[track_caller]
    pub(super) fn one(&mut self, op: Op) -> ValueId {
        self.must(op).start
    }

    /// [`Op::Store`].
    #[track_caller]
    pub fn store(&mut self, name: impl Into<String>, value: ValueId) {
        let name = name.into();
        self.must(Op::Store { value, name });
    }

    /// [`Op::Expand`].
    #[track_caller]
    pub fn expand(
        &mut self,
        seed: impl Into<String>,
        (stream, skip): (u32, u32),
        modulus: ModulusId,
    ) -> ValueId {
        let seed = seed.into();
        self.one(Op::Expand {
            seed,
            stream,
            skip,
            modulus,
        })
    }

    /// [`Op::Combine`]. Returns the results, one for each row. The matrix is `(list, first)`, the
    /// factors are `(rows, columns)`.
    #[track_caller]
    pub fn combine(
        &mut self,
        values: impl Into<Vec<ValueId>>,
        (list, first): (ConstantId, usize),
        modulus: ModulusId,
        (rows, columns): (Vec<u64>, Vec<u64>),
    ) -> Vec<ValueId> {
        self.must(Op::Combine {
            values: values.into(),
            list,
            first,
            modulus,
            rows,
            columns,
        })
        .collect()
    }

    /// [`Op::Select`]. Returns the value itself if these are its limbs.
    #[track_caller]
    pub fn select(&mut self, value: ValueId, limbs: impl Into<Limbs>) -> ValueId {
        let limbs = limbs.into();
        if self.ty(value).limbs == limbs {
            return value;
        }
        self.one(Op::Select { value, limbs })
    }

    /// [`Op::Join`]. Returns the value itself if there is only one.
    #[track_caller]
    pub fn join(&mut self, values: impl Into<Vec<ValueId>>) -> ValueId {
        match values.into() {
            values if values.len() == 1 => values[0],
            values => self.one(Op::Join(values)),
        }
    }

    /// [`Op::Digit`] for every index. Returns all digits of `bits` bits, the lowest first.
    #[track_caller]
    pub fn digits(&mut self, value: ValueId, bits: u32, count: usize) -> Vec<ValueId> {
        let digit = |index| {
            self.one(Op::Digit {
                value,
                index,
                bits,
                count,
            })
        };
        (0..count).map(digit).collect()
    }

    /// [`Op::Call`]. Returns the results.
    #[track_caller]
    pub fn call(&mut self, sub: SubId, arguments: &[ValueId]) -> Vec<ValueId> {
        let arguments = arguments.to_vec();
        self.must(Op::Call { sub, arguments }).collect()
    }
}
