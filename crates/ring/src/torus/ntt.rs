//! Exact products by number-theoretic transforms modulo primes.

use super::residues::{MAX_PRIMES, Residues};
use super::{Multiplier, Torus};
use crate::Basis;
use crate::error::{Error, Result};
use crate::primes::ntt_primes;
use kernels::{Modulus, kernels};
use std::marker::PhantomData;

/// Exact products by NTT modulo primes whose product exceeds twice the largest product.
///
/// Words are taken as integers in `[-q/2, q/2)`, so `rows` products of digits of at most `d` are at
/// most `rows N d q/2` in size. If the product of the primes is above twice that, the residues
/// determine the sums as integers, and the low bits of the sums are the words. With words of 32
/// bits one prime is enough for most sets.
pub struct Ntt<T> {
    basis: Basis,
    residues: Residues,
    words: PhantomData<T>,
}

/// Memory that [`Ntt`] reuses.
pub struct NttScratch {
    /// For each row, its digits modulo each prime.
    digits: Vec<u64>,
    /// A column modulo each prime.
    column: Vec<u64>,
}

impl<T: Torus> Ntt<T> {
    /// A multiplier for sums of up to `rows` products of polynomials of `n` coefficients, with
    /// digits of at most `digit` in size.
    ///
    /// # Errors
    /// [`Error::Degree`] unless `n` is a power of two for which the transform exists.
    /// [`Error::TooFewPrimes`] if no primes are large enough.
    pub fn new(n: usize, rows: usize, digit: u32) -> Result<Self> {
        let bits = Self::bound(n, rows, digit).map_or(128, |bound| 129 - bound.leading_zeros());
        // Wide primes take a third more time than narrow ones.
        let (narrow, wide) = (Modulus::FAST_BITS - 1, Modulus::MAX_BITS - 1);
        let size = if bits.div_ceil(narrow) == bits.div_ceil(wide) {
            narrow
        } else {
            wide
        };
        // The largest primes of `size + 1` bits exceed 2^size. The largest primes of `size` bits
        // are just below 2^size.
        let primes = ntt_primes(size + 1, n, bits.div_ceil(size) as usize)?;
        let basis = Basis::new(n, &primes)?;
        let made = Residues::new(&primes).filter(|residues| {
            let bound = Self::bound(n, rows, digit);
            primes.len() <= MAX_PRIMES && bound.is_some_and(|bound| residues.hold(bound))
        });
        let too_few = Error::TooFewPrimes {
            bits: size + 1,
            n,
            found: primes.len(),
            wanted: primes.len() + 1,
        };
        Ok(Self {
            basis,
            residues: made.ok_or(too_few)?,
            words: PhantomData,
        })
    }

    /// Largest sum of `rows` products, or `None` if 128 bits do not hold it.
    fn bound(n: usize, rows: usize, digit: u32) -> Option<u128> {
        let terms = (n as u128).checked_mul(rows as u128)?;
        let term = u128::from(digit) << (T::BITS - 1);
        terms.checked_mul(term)
    }

    /// Number of primes.
    pub fn primes(&self) -> usize {
        self.basis.len()
    }

    /// Transforms integers, one limb per prime.
    fn transform(&self, out: &mut [u64], integer: impl Fn(usize) -> i64) {
        for (limb, table) in out
            .chunks_exact_mut(self.basis.n())
            .zip(self.basis.tables())
        {
            let p = table.modulus();
            for (i, word) in limb.iter_mut().enumerate() {
                *word = p.from_i64(integer(i));
            }
            kernels().ntt(table, limb);
        }
    }
}

impl<T: Torus> Multiplier<T> for Ntt<T> {
    type Word = u64;
    type Scratch = NttScratch;

    fn name(&self) -> &'static str {
        "ntt"
    }

    fn n(&self) -> usize {
        self.basis.n()
    }

    fn prepared_len(&self) -> usize {
        self.basis.n() * self.basis.len()
    }

    fn scratch(&self, rows: usize, _columns: usize) -> NttScratch {
        NttScratch {
            digits: vec![0; rows * self.prepared_len()],
            column: vec![0; self.prepared_len()],
        }
    }

    fn prepare(&self, polys: &[T]) -> Vec<u64> {
        let n = self.basis.n();
        assert_eq!(polys.len() % n, 0, "whole polynomials");
        let mut out = vec![0; polys.len() * self.basis.len()];
        let limbs = out.chunks_exact_mut(self.prepared_len());
        for (out, poly) in limbs.zip(polys.chunks_exact(n)) {
            self.transform(out, |i| poly[i].to_centred());
        }
        out
    }

    /// # Panics
    /// Also if a sum could exceed the product of the primes, for such large digits or so many rows.
    fn dot_add(&self, out: &mut [T], digits: &[i32], matrix: &[u64], scratch: &mut NttScratch) {
        let (n, len) = (self.basis.n(), self.prepared_len());
        let (columns, rows) = (out.len() / n, digits.len() / n);
        assert_eq!(
            matrix.len(),
            rows * columns * len,
            "a polynomial for each row and column"
        );
        let largest = digits.iter().map(|d| d.unsigned_abs()).max().unwrap_or(0);
        assert!(
            Self::bound(n, rows, largest).is_some_and(|bound| self.residues.hold(bound)),
            "sums of {rows} products with digits of up to {largest} fit the primes"
        );
        scratch.digits.resize(rows * len, 0);
        let transformed = scratch.digits.chunks_exact_mut(len);
        for (row, digits) in transformed.zip(digits.chunks_exact(n)) {
            self.transform(row, |i| i64::from(digits[i]));
        }
        for (c, out) in out.chunks_exact_mut(n).enumerate() {
            for (l, table) in self.basis.tables().iter().enumerate() {
                let column = &mut scratch.column[l * n..][..n];
                column.fill(0);
                for row in 0..rows {
                    let digits = &scratch.digits[row * len + l * n..][..n];
                    let poly = &matrix[(row * columns + c) * len + l * n..][..n];
                    kernels().mul_add_assign(table.modulus(), column, digits, poly);
                }
                kernels().intt(table, column);
            }
            for (i, word) in out.iter_mut().enumerate() {
                let sum = self.residues.centred(|l| scratch.column[l * n + i]);
                *word = word.plus(T::from_low_bits(sum));
            }
        }
    }

    fn error_bound(&self, _rows: usize, _digit: f64) -> f64 {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::conformance::{compare_with_naive, extremes};
    use super::*;

    #[test]
    fn products_are_those_of_the_definition() {
        for (n, rows, columns, digit) in [(512, 6, 3, 128), (1024, 6, 2, 512), (64, 1, 1, 1 << 29)]
        {
            let multiplier = Ntt::<u32>::new(n, rows, digit).expect("primes");
            compare_with_naive(&multiplier, (rows, columns), digit);
            let multiplier = Ntt::<u64>::new(n, rows, digit).expect("primes");
            compare_with_naive(&multiplier, (rows, columns), digit);
        }
    }

    #[test]
    fn the_largest_sums_that_are_allowed_come_out_right() {
        for digit in [1, 511, 512, 1 << 22] {
            extremes(&Ntt::<u32>::new(256, 6, digit).expect("primes"), 6, digit);
            extremes(&Ntt::<u64>::new(256, 6, digit).expect("primes"), 6, digit);
        }
    }

    #[test]
    fn as_few_primes_as_hold_the_sums() {
        assert_eq!(Ntt::<u32>::new(1024, 6, 512).expect("primes").primes(), 1);
        assert_eq!(
            Ntt::<u64>::new(2048, 2, 1 << 22).expect("primes").primes(),
            2
        );
    }

    #[test]
    fn digits_beyond_the_bound_are_refused() {
        let multiplier = Ntt::<u32>::new(64, 1, 1).expect("primes");
        let prepared = multiplier.prepare(&[1 << 31; 64]);
        let mut scratch = multiplier.scratch(1, 1);
        let mut run = |digit| {
            multiplier.dot_add(&mut [0; 64], &[digit; 64], &prepared, &mut scratch);
        };
        run(1);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(i32::MIN))).is_err());
    }

    #[test]
    fn what_no_primes_hold_is_refused() {
        assert!(Ntt::<u32>::new(100, 1, 1).is_err());
        assert!(Ntt::<u64>::new(1 << 17, usize::MAX, u32::MAX).is_err());
    }
}
