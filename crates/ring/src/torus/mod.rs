//! The ring `Z_q[X]/(X^N + 1)` with `q = 2^32` or `2^64`: polynomials over the discretised torus.
//!
//! A word `x` stands for `x / q` on the torus `R/Z`. Words wrap around, and no residue number
//! system is needed. A polynomial is a slice of `N` words. TFHE multiplies polynomials of small
//! integers ([digits](Decomposition)) with polynomials of words, and sums such products. A
//! [`Multiplier`] does that, and nearly all time is spent there.
//!
//! *Sources.* Chillotti, Gama, Georgieva, Izabachène, "TFHE: Fast Fully Homomorphic Encryption over
//! the Torus", Journal of Cryptology 33, 2020, <https://ia.cr/2018/421>.

#[cfg(test)]
mod conformance;
mod decompose;
mod fft;
pub mod garner;
mod naive;
mod ntt;
mod residues;
mod single;
pub mod wavefront;

use kernels::{Digits, FftTable, Product, TorusKernels};

pub use decompose::Decomposition;
pub use fft::{Fft, FftScratch};
pub use garner::Garner;
pub use naive::Naive;
pub use ntt::{Ntt, NttScratch};
pub use wavefront::Wavefront;

/// A word of the discretised torus: `u32` or `u64`, with arithmetic modulo `2^BITS`.
pub trait Torus: Copy + Default + Eq + std::fmt::Debug + Send + Sync + 'static {
    /// log2 of the modulus.
    const BITS: u32;
    /// `self + other`, wrapping.
    fn plus(self, other: Self) -> Self;
    /// `self - other`, wrapping.
    fn minus(self, other: Self) -> Self;
    /// `self * factor`, wrapping.
    fn times(self, factor: i64) -> Self;
    /// The low bits of `x`.
    fn from_low_bits(x: u64) -> Self;
    /// The word as an unsigned number below `2^BITS`.
    fn to_u64(self) -> u64;
    /// The representative in `[-2^(BITS-1), 2^(BITS-1))`.
    fn to_centred(self) -> i64;
    /// The word closest to the torus number `x`: `x * 2^BITS`, rounded and wrapped. Exact to the
    /// precision of `f64`.
    fn from_torus(x: f64) -> Self {
        let fraction = x - x.round();
        Self::from_low_bits((fraction * (Self::BITS as f64).exp2()).round() as i128 as u64)
    }
    /// The word as a torus number in `[-1/2, 1/2)`, to the precision of `f64`.
    fn to_torus(self) -> f64 {
        self.to_centred() as f64 * (-f64::from(Self::BITS)).exp2()
    }
    /// [`TorusKernels::products_add_64`], or its counterpart for this word size.
    #[doc(hidden)]
    fn products_add(
        kernels: &dyn TorusKernels,
        table: &FftTable,
        words: &mut [Self],
        product: Product<'_>,
        scratch: &mut [f64],
    );
    /// [`TorusKernels::digits_64`], or its counterpart for this word size.
    #[doc(hidden)]
    fn digits(kernels: &dyn TorusKernels, out: &mut [i32], words: &[Self], digits: Digits);
    /// [`TorusKernels::rotated_digits_64`], or its counterpart for this word size.
    #[doc(hidden)]
    fn rotated_digits(
        kernels: &dyn TorusKernels,
        out: &mut [i32],
        words: &[Self],
        by: usize,
        digits: Digits,
    );
}

macro_rules! torus {
    ($word:ty, $signed:ty, $products_add:ident, $digits:ident, $rotated_digits:ident) => {
        impl Torus for $word {
            const BITS: u32 = <$word>::BITS;
            #[inline]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline]
            fn times(self, factor: i64) -> Self {
                self.wrapping_mul(factor as Self)
            }
            #[inline]
            fn from_low_bits(x: u64) -> Self {
                x as Self
            }
            #[inline]
            fn to_u64(self) -> u64 {
                u64::from(self)
            }
            #[inline]
            fn to_centred(self) -> i64 {
                self as $signed as i64
            }
            fn products_add(
                kernels: &dyn TorusKernels,
                table: &FftTable,
                words: &mut [Self],
                product: Product<'_>,
                scratch: &mut [f64],
            ) {
                kernels.$products_add(table, words, product, scratch);
            }
            fn digits(kernels: &dyn TorusKernels, out: &mut [i32], words: &[Self], digits: Digits) {
                kernels.$digits(out, words, digits);
            }
            fn rotated_digits(
                kernels: &dyn TorusKernels,
                out: &mut [i32],
                words: &[Self],
                by: usize,
                digits: Digits,
            ) {
                kernels.$rotated_digits(out, words, by, digits);
            }
        }
    };
}
torus!(u32, i32, products_add_32, digits_32, rotated_digits_32);
torus!(u64, i64, products_add_64, digits_64, rotated_digits_64);

/// Products of vectors of small polynomials with matrices of polynomials of words, in
/// `Z_q[X]/(X^N + 1)`.
///
/// The matrix is the same for many products, so it is [prepared](Multiplier::prepare) once: most
/// multipliers transform it. An external product of TFHE is one such product. Its digits are the
/// vector, its GGSW ciphertext is the matrix.
pub trait Multiplier<T: Torus>: Send + Sync {
    /// One word of a prepared polynomial.
    type Word: Copy + Default + Send + Sync + 'static;
    /// Memory that products reuse.
    type Scratch: Send;

    /// Name used in reports and in machine files.
    fn name(&self) -> &'static str;

    /// Number of coefficients of a polynomial.
    fn n(&self) -> usize;

    /// Number of words of one prepared polynomial.
    fn prepared_len(&self) -> usize;

    /// Fresh memory for products of `rows` digits with matrices of `columns` columns.
    fn scratch(&self, rows: usize, columns: usize) -> Self::Scratch;

    /// Prepares polynomials. They stand one after another in `polys`, and so do the results.
    ///
    /// # Panics
    /// If the length of `polys` is no multiple of `N`.
    fn prepare(&self, polys: &[T]) -> Vec<Self::Word>;

    /// `out[c] += sum over r of digits[r] * matrix[r][c]`, for the columns `c` of `out`.
    ///
    /// `digits` holds rows of `N` integers each, `out` columns of `N` words, and `matrix` a
    /// prepared polynomial for each row and column, row by row. Digits are at most `2^(b - 1)` in
    /// size, where `b` is the log2 of the base of the decomposition.
    ///
    /// # Panics
    /// If the lengths do not fit together.
    fn dot_add(
        &self,
        out: &mut [T],
        digits: &[i32],
        matrix: &[Self::Word],
        scratch: &mut Self::Scratch,
    );

    /// As [`Multiplier::dot_add`]. `ahead` is a hint: the memory that is read next, which may be
    /// prefetched.
    fn dot_add_ahead(
        &self,
        out: &mut [T],
        digits: &[i32],
        matrix: &[Self::Word],
        _ahead: &[Self::Word],
        scratch: &mut Self::Scratch,
    ) {
        self.dot_add(out, digits, matrix, scratch);
    }

    /// Bound on the size of the error of one coefficient of `out`, in units of the torus, for
    /// `rows` digits of at most `digit` in size and any words. It is 0 for exact multipliers.
    fn error_bound(&self, rows: usize, digit: f64) -> f64;
}
