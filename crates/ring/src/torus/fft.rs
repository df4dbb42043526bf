//! Products by the complex fast Fourier transform in doubles.

use kernels::{FftTable, Product, TorusKernels, torus_kernels};

use super::{Multiplier, Torus};
use crate::error::{Error, Result};

/// Products computed in doubles: fast, with a small error. The error is
/// [bounded](Multiplier::error_bound), and its variance is [predicted](Fft::error_variance).
///
/// A row of digits takes one transform of `N/2` complex points, a column of the result one inverse
/// transform. Words become numbers of the torus in `[-1/2, 1/2)`. The last 11 bits of 64-bit words
/// are rounded away.
pub struct Fft {
    table: FftTable,
    kernels: &'static dyn TorusKernels,
}

/// Values of the digits and of a sum.
pub struct FftScratch {
    digits: Vec<f64>,
    sums: Vec<f64>,
}

impl Fft {
    /// A multiplier for polynomials of `n` coefficients, with the fastest kernels of this CPU.
    ///
    /// # Errors
    /// [`Error::TransformLength`] unless `n` is a power of two from 512 to 65,536.
    pub fn new(n: usize) -> Result<Self> {
        let table = FftTable::new(n).ok_or(Error::TransformLength {
            n,
            min: 1 << FftTable::LOG_N.start(),
            max: 1 << FftTable::LOG_N.end(),
        })?;
        Ok(Self {
            table,
            kernels: torus_kernels(),
        })
    }

    /// log2 of the smallest and largest number of coefficients.
    pub const LOG_N: std::ops::RangeInclusive<u32> = FftTable::LOG_N;

    /// Variance of the error of one coefficient, in units of the torus squared, for `rows` digits
    /// of mean square `digit_square` and uniform words. The final rounding to a word is not
    /// included.
    ///
    /// A double is off by up to `u = 2^-53` times its power of two, uniformly. On average over
    /// mantissas, the squared error is `u^2 / 6` of the square. Two forward transforms, the product
    /// and the inverse transform are some `3 (log2(N/2) + 1)` steps. Each step rounds a product, a
    /// root and sums: 2.6 such squares a step, the middle of the measurements at `N = 512 .. 8192`
    /// (2.37 to 2.86, more where the passes have radix 8). All errors are relative to the size of
    /// the result, whose mean square is `N rows digit_square / 12`.
    pub fn error_variance(n: usize, rows: usize, digit_square: f64) -> f64 {
        let n = n as f64;
        let steps = 3.0 * (n / 2.0).log2() + 3.0;
        let unit = (-53f64).exp2();
        2.6 * steps * unit * unit / 6.0 * n * rows as f64 * digit_square / 12.0
    }
}

impl<T: Torus> Multiplier<T> for Fft {
    type Word = f64;
    type Scratch = FftScratch;

    fn name(&self) -> &'static str {
        "fft"
    }

    fn n(&self) -> usize {
        self.table.n()
    }

    fn prepared_len(&self) -> usize {
        self.table.n()
    }

    fn scratch(&self, rows: usize, _columns: usize) -> FftScratch {
        FftScratch {
            digits: vec![0.0; rows * self.table.n()],
            sums: vec![0.0; self.table.n()],
        }
    }

    fn prepare(&self, polys: &[T]) -> Vec<f64> {
        let n = self.table.n();
        assert_eq!(polys.len() % n, 0, "whole polynomials");
        let mut prepared = vec![0.0; polys.len()];
        // The inverse transform omits its division. It is done here, once.
        let scale = 2.0 / n as f64;
        let mut numbers = vec![0.0; n];
        for (poly, values) in polys.chunks_exact(n).zip(prepared.chunks_exact_mut(n)) {
            for (number, &word) in numbers.iter_mut().zip(poly) {
                *number = word.to_torus() * scale;
            }
            self.kernels.fft(&self.table, values, &numbers);
        }
        prepared
    }

    fn dot_add(&self, out: &mut [T], digits: &[i32], matrix: &[f64], scratch: &mut FftScratch) {
        self.dot_add_ahead(out, digits, matrix, &[], scratch);
    }

    fn dot_add_ahead(
        &self,
        out: &mut [T],
        digits: &[i32],
        matrix: &[f64],
        ahead: &[f64],
        scratch: &mut FftScratch,
    ) {
        let n = self.table.n();
        let (rows, columns) = (digits.len() / n, out.len() / n);
        assert_eq!(
            matrix.len(),
            rows * columns * n,
            "a polynomial for each row and column"
        );
        let values = &mut scratch.digits[..digits.len()];
        // Each transform prefetches a share of the memory that is read next.
        let share = ahead.len().div_ceil(rows + columns).next_multiple_of(8);
        let mut shares = ahead.chunks(share.max(8));
        let mut next = || shares.next().unwrap_or_default();
        for (digits, values) in digits.chunks_exact(n).zip(values.chunks_exact_mut(n)) {
            self.kernels.fft_digits(&self.table, values, digits, next());
        }
        for (c, out) in out.chunks_exact_mut(n).enumerate() {
            let product = Product {
                digits: values,
                column: &matrix[c * n..],
                row_len: columns * n,
                ahead: next(),
            };
            T::products_add(self.kernels, &self.table, out, product, &mut scratch.sums);
        }
    }

    /// Let `u = 2^-53` and `l = log2(N/2)`. A level of a butterfly multiplies by a rounded root
    /// (`u / sqrt(2)`) with fused operations (`2 u`), and adds (`u`). A transform therefore has a
    /// relative error of at most `(1 + 4u)^l - 1`: in the Euclidean norm, and also for a single
    /// point relative to the sum of the sizes of all inputs. (Brisebarre, Joldes, Muller, Naneş,
    /// Picot, "Error Analysis of Some Operations Involved in the Cooley-Tukey Fast Fourier
    /// Transform", ACM TOMS 46(2), 2020.) The first bound serves for the digits and the words. The
    /// second serves for the inverse transform, whose inputs are products: by Cauchy and Parseval
    /// the sum of their sizes over `N/2` is at most the product of the norms of digits and words.
    /// These norms are `digit sqrt(N)` and `sqrt(N) / 2`. Products and sums over rows add
    /// `(3 + rows) u`, and rounding the words adds `u`. Terms of second order in `u` fit in another
    /// `u`.
    fn error_bound(&self, rows: usize, digit: f64) -> f64 {
        let n = self.table.n() as f64;
        let levels = (n / 2.0).log2();
        let unit = (-53f64).exp2();
        (12.0 * levels + rows as f64 + 5.0) * unit * rows as f64 * digit * n / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::torus::Ntt;
    use crate::torus::conformance::Draw;

    /// The largest error of one product, in units of the torus, compared with an exact multiplier.
    fn largest_error<T: Torus>(n: usize, rows: usize, digits: &[i32], words: &[T]) -> f64 {
        let product = |multiplier: &dyn Fn(&mut [T])| {
            let mut out = vec![T::default(); n];
            multiplier(&mut out);
            out
        };
        let fft = Fft::new(n).expect("a power of two");
        let found = product(&|out| {
            let mut scratch = Multiplier::<T>::scratch(&fft, rows, 1);
            fft.dot_add(out, digits, &fft.prepare(words), &mut scratch);
        });
        let ntt = Ntt::<T>::new(n, rows, 1 << 22).expect("enough primes");
        let exact = product(&|out| {
            let mut scratch = ntt.scratch(rows, 1);
            ntt.dot_add(out, digits, &ntt.prepare(words), &mut scratch);
        });
        let errors = found.iter().zip(&exact);
        errors.fold(0.0, |most, (f, &e)| {
            f64::max(most, f.minus(e).to_torus().abs())
        })
    }

    fn check<T: Torus>(n: usize, rows: usize, base_log: u32) {
        let half = 1i32 << (base_log - 1);
        let fft = Fft::new(n).expect("a power of two");
        // A word is rounded once more at the end.
        let unit = (-f64::from(T::BITS)).exp2();
        let bound = Multiplier::<T>::error_bound(&fft, rows, f64::from(half)) + unit;
        let mut draw = Draw::new(n as u64);
        let digits: Vec<i32> = (0..rows * n).map(|_| draw.digit(half as u32)).collect();
        let words: Vec<T> = (0..rows * n)
            .map(|_| T::from_low_bits(draw.next()))
            .collect();
        let random = largest_error(n, rows, &digits, &words);
        let lowest = vec![T::from_low_bits(1 << (T::BITS - 1)); rows * n];
        let largest = largest_error(n, rows, &vec![-half; rows * n], &lowest);
        for (what, error) in [("random", random), ("extreme", largest)] {
            assert!(
                error <= bound,
                "N = {n}, {what} operands: {error:e}, bound {bound:e}"
            );
        }
        // Random operands come near the bound: it is not arbitrarily large.
        assert!(
            T::BITS == 32 || random > bound / 1e4,
            "N = {n}: {random:e}, bound {bound:e}"
        );
    }

    #[test]
    fn products_are_within_the_proven_bound() {
        for (n, rows, base_log) in [(512, 4, 17), (1024, 3, 20), (2048, 2, 23), (8192, 4, 14)] {
            check::<u64>(n, rows, base_log);
        }
        for (n, rows, base_log) in [(512, 6, 8), (1024, 6, 10)] {
            check::<u32>(n, rows, base_log);
        }
    }

    #[test]
    fn other_lengths_are_refused() {
        for n in [0, 256, 1000, 1 << 17] {
            let error = Fft::new(n).err().expect("refused").to_string();
            assert!(
                error.contains(&format!(
                    "of {n} coefficients, expected a power of two from 512 to 65536"
                )),
                "{error}"
            );
        }
    }
}
