//! Powers, and sums over slots.

use crate::ciphertext::Ciphertext;
use crate::error::{Error, Result};
use crate::scheme::Scheme;

impl<S: Scheme> Ciphertext<S> {
    /// `self * self * .. * self`, with `ceil(log2(exponent))` products in a row, the fewest that
    /// are possible.
    ///
    /// # Errors
    /// For the exponent 0, and those of [`Ciphertext::mul`].
    pub fn pow(&self, exponent: usize) -> Result<Self> {
        if exponent == 0 {
            return Err(Error::argument("the exponent", 0, "an integer above 0"));
        }
        // The lowest set bits first: their product is never deeper than the next square.
        let (mut square, mut product) = (self.clone(), None::<Self>);
        let mut left = exponent;
        loop {
            if left & 1 == 1 {
                product = Some(match product {
                    None => square.clone(),
                    Some(product) => square.mul(&product)?,
                });
            }
            left >>= 1;
            if left == 0 {
                return product.ok_or(Error::NoKeys);
            }
            square = square.square()?;
        }
    }

    /// Slot `i` of the result is the sum of the `count` slots `i`, `i + stride`, and so on,
    /// cyclically in each row. It takes no level, at most `2 log2(count)` rotations, and the keys
    /// of [`sum_rotations`](Ciphertext::sum_rotations).
    ///
    /// # Errors
    /// For a `count` of 0, and those of [`Ciphertext::rotate`].
    pub fn sum(&self, stride: isize, count: usize) -> Result<Self> {
        if count == 0 {
            return Err(Error::argument("the number of terms", 0, "at least 1"));
        }
        // `sum` has `prefix` terms, where `prefix` are the highest bits of `count`.
        let (mut sum, mut prefix) = (self.clone(), 1usize);
        for bit in (0..count.ilog2()).rev() {
            sum = sum.add(&sum.rotate(stride.wrapping_mul(prefix as isize))?)?;
            prefix *= 2;
            if count >> bit & 1 == 1 {
                sum = self.add(&sum.rotate(stride)?)?;
                prefix += 1;
            }
        }
        Ok(sum)
    }

    /// The rotations for which [`Ciphertext::sum`] needs keys: `floor(log2(count))` of them.
    pub fn sum_rotations(stride: isize, count: usize) -> Vec<isize> {
        let bits = 1..=count.max(1).ilog2();
        let prefixes = bits.map(|bits| stride.wrapping_mul((count >> bits) as isize));
        prefixes.collect()
    }
}
