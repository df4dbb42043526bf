//! Methods of the builder, one for each operation.

use super::build::Builder;
use super::ir::{ConstantId, ModulusId, Op, SubId, Type, ValueId};
use super::limbs::Limbs;

/// Methods for operations with one result return its index. All methods panic on operands that
/// [`Builder::push`] refuses.
impl Builder<'_> {
    #[track_caller]
    fn one(&mut self, op: Op) -> ValueId {
        self.must(op).start
    }

    /// [`Op::Load`].
    #[track_caller]
    pub fn load(&mut self, name: impl Into<String>, ty: Type) -> ValueId {
        let name = name.into();
        self.one(Op::Load { name, ty })
    }

    /// [`Op::Store`].
    #[track_caller]
    pub fn store(&mut self, name: impl Into<String>, value: ValueId) {
        let name = name.into();
        self.must(Op::Store { value, name });
    }

    /// [`Op::Constant`].
    #[track_caller]
    pub fn constant(&mut self, constant: ConstantId, limbs: Limbs) -> ValueId {
        self.one(Op::Constant { constant, limbs })
    }

    /// [`Op::Zero`].
    #[track_caller]
    pub fn zero(&mut self, ty: Type) -> ValueId {
        self.one(Op::Zero { ty })
    }

    /// [`Op::Sample`].
    #[track_caller]
    pub fn sample(
        &mut self,
        seed: impl Into<String>,
        stream: u32,
        limbs: impl Into<Limbs>,
    ) -> ValueId {
        let (seed, limbs) = (seed.into(), limbs.into());
        self.one(Op::Sample {
            seed,
            stream,
            limbs,
        })
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

    /// [`Op::Ntt`].
    #[track_caller]
    pub fn ntt(&mut self, value: ValueId) -> ValueId {
        self.one(Op::Ntt(value))
    }

    /// [`Op::Intt`].
    #[track_caller]
    pub fn intt(&mut self, value: ValueId) -> ValueId {
        self.one(Op::Intt(value))
    }

    /// [`Op::Add`].
    #[track_caller]
    pub fn add(&mut self, left: ValueId, right: ValueId) -> ValueId {
        self.one(Op::Add(left, right))
    }

    /// [`Op::Sub`].
    #[track_caller]
    pub fn sub(&mut self, left: ValueId, right: ValueId) -> ValueId {
        self.one(Op::Sub(left, right))
    }

    /// [`Op::Mul`].
    #[track_caller]
    pub fn mul(&mut self, left: ValueId, right: ValueId) -> ValueId {
        self.one(Op::Mul(left, right))
    }

    /// [`Op::Dot`].
    #[track_caller]
    pub fn dot(
        &mut self,
        left: impl Into<Vec<ValueId>>,
        right: impl Into<Vec<ValueId>>,
    ) -> ValueId {
        let (left, right) = (left.into(), right.into());
        self.one(Op::Dot { left, right })
    }

    /// [`Op::Scale`].
    #[track_caller]
    pub fn scale(&mut self, value: ValueId, factors: impl Into<Vec<u64>>) -> ValueId {
        let factors = factors.into();
        self.one(Op::Scale { value, factors })
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

    /// [`Op::Turn`].
    #[track_caller]
    pub fn turn(&mut self, value: ValueId, by: ValueId) -> ValueId {
        self.one(Op::Turn { value, by })
    }

    /// [`Op::Automorphism`].
    #[track_caller]
    pub fn automorphism(&mut self, value: ValueId, element: usize) -> ValueId {
        self.one(Op::Automorphism { value, element })
    }

    /// [`Op::Slots`].
    #[track_caller]
    pub fn slots(&mut self, value: ValueId) -> ValueId {
        self.one(Op::Slots(value))
    }

    /// [`Op::Extract`].
    #[track_caller]
    pub fn extract(
        &mut self,
        values: impl Into<Vec<ValueId>>,
        at: ConstantId,
        entries: Option<(ConstantId, usize)>,
    ) -> ValueId {
        self.one(Op::Extract {
            values: values.into(),
            at,
            entries,
        })
    }

    /// [`Op::Convert`].
    #[track_caller]
    pub fn convert(&mut self, value: ValueId, to: impl Into<Limbs>) -> ValueId {
        let to = to.into();
        self.one(Op::Convert { value, to })
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

    /// [`Op::Round`].
    #[track_caller]
    pub fn round(&mut self, value: ValueId, to: ModulusId) -> ValueId {
        self.one(Op::Round { value, to })
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
