//! Arguments of a builder's methods.

use crate::ir::{ConstantId, Type, ValueId};
use crate::limbs::Limbs;

/// An argument of a method of a builder, for an operand of type `T`: a number as it is, or a value
/// that becomes a name, a set of limbs or a list.
pub trait Argument<T> {
    /// Returns the operand.
    fn into_operand(self) -> T;
}

/// Types that methods take as they are. Literals get their type from these.
macro_rules! exact {
    ($($ty:ty),*) => {
        $(
            impl Argument<$ty> for $ty {
                fn into_operand(self) -> $ty {
                    self
                }
            }
        )*
    };
}

exact!(ValueId, u32, i64, Type, Option<(ConstantId, usize)>);

impl<A: Into<String>> Argument<String> for A {
    fn into_operand(self) -> String {
        self.into()
    }
}

impl<A: Into<Limbs>> Argument<Limbs> for A {
    fn into_operand(self) -> Limbs {
        self.into()
    }
}

impl<T, A: Into<Vec<T>>> Argument<Vec<T>> for A {
    fn into_operand(self) -> Vec<T> {
        self.into()
    }
}
