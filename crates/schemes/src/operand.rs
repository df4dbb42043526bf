//! Operands of operators: ciphertexts, numbers in every slot, and values one for each slot.

use crate::ciphertext::Ciphertext;
use crate::ckks::{Complex64, Number};
use crate::exact::Exact;
use crate::scheme::{Ckks, Scheme};
use std::borrow::Cow;

/// The right operand of a sum or a product: `&ciphertext`, a number, or `&values`, padded with
/// zeros.
pub enum Operand<'a, S: Scheme> {
    /// A ciphertext.
    Ciphertext(&'a Ciphertext<S>),
    /// A number in every slot.
    Number(S::Number),
    /// One value for each slot, or coefficients if the ciphertext holds coefficients.
    Values(Cow<'a, [S::Value]>),
}

/// A plain operand.
#[doc(hidden)]
pub enum Plain<'a, S: Scheme> {
    Number(S::Number),
    Values(&'a [S::Value]),
}

impl<'a, S: Scheme> From<&'a Ciphertext<S>> for Operand<'a, S> {
    fn from(ct: &'a Ciphertext<S>) -> Self {
        Self::Ciphertext(ct)
    }
}

/// Conversions of slices, vectors and arrays of a scheme's values.
macro_rules! values {
    ([$($of:tt)*] $scheme:ty, $value:ty) => {
        impl<'a, $($of)*> From<&'a [$value]> for Operand<'a, $scheme> {
            fn from(values: &'a [$value]) -> Self {
                Self::Values(values.into())
            }
        }

        impl<'a, $($of)*> From<&'a Vec<$value>> for Operand<'a, $scheme> {
            fn from(values: &'a Vec<$value>) -> Self {
                Self::Values(values.into())
            }
        }

        impl<'a, $($of)* const COUNT: usize> From<&'a [$value; COUNT]> for Operand<'a, $scheme> {
            fn from(values: &'a [$value; COUNT]) -> Self {
                Self::Values(values.as_slice().into())
            }
        }
    };
}

values!([] Ckks, Complex64);
values!([S: Exact,] S, i64);

impl<S: Exact> From<i64> for Operand<'_, S> {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl<S: Exact> From<i32> for Operand<'_, S> {
    fn from(number: i32) -> Self {
        Self::Number(number.into())
    }
}

impl From<i64> for Operand<'_, Ckks> {
    fn from(number: i64) -> Self {
        Self::Number(Number::Integer(number))
    }
}

impl From<i32> for Operand<'_, Ckks> {
    fn from(number: i32) -> Self {
        i64::from(number).into()
    }
}

impl From<Complex64> for Operand<'_, Ckks> {
    fn from(number: Complex64) -> Self {
        Self::Number(Number::Complex(number))
    }
}

impl From<f64> for Operand<'_, Ckks> {
    fn from(number: f64) -> Self {
        Complex64::new(number, 0.0).into()
    }
}

fn complex(values: &[f64]) -> Operand<'static, Ckks> {
    let values = values.iter().map(|&value| value.into());
    Operand::Values(Cow::Owned(values.collect()))
}

impl From<&[f64]> for Operand<'_, Ckks> {
    fn from(values: &[f64]) -> Self {
        complex(values)
    }
}

impl From<&Vec<f64>> for Operand<'_, Ckks> {
    fn from(values: &Vec<f64>) -> Self {
        complex(values)
    }
}

impl<const COUNT: usize> From<&[f64; COUNT]> for Operand<'_, Ckks> {
    fn from(values: &[f64; COUNT]) -> Self {
        complex(values)
    }
}
