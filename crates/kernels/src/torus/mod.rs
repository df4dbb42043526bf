//! Kernels of the torus ring: words modulo `2^32` or `2^64`, multiplied by way of doubles.

mod table;
mod transform;
mod vector;
mod words;

#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod four;
mod scalar;

use std::sync::OnceLock;

use transform::{Ahead, Column};

pub use table::FftTable;
pub use words::Digits;

/// Operations on polynomials modulo `X^N + 1` with coefficients on the torus.
///
/// The *values* of a polynomial are `N` doubles: its transform. Only these operations know the
/// order of the values, which is the same for all backends. Backends round differently, so values
/// differ in their last bits. Words and digits do not differ.
///
/// # Panics
/// Every method panics if its slices do not have the stated lengths.
pub trait TorusKernels: Send + Sync {
    /// Name of the backend, as `PALLADION_KERNELS` takes it.
    fn name(&self) -> &'static str;

    /// Values of a polynomial with coefficients `digits`, both of length `N`. `ahead` is a hint:
    /// the memory that will be read next, which is prefetched meanwhile.
    fn fft_digits(&self, table: &FftTable, values: &mut [f64], digits: &[i32], ahead: &[f64]);
    /// Values of a polynomial with coefficients `numbers`; both of length `N`.
    fn fft(&self, table: &FftTable, values: &mut [f64], numbers: &[f64]);
    /// `words += x - round(x)` in units of `2^-64`, where `x` is `N/2` times the sum over the rows
    /// of the products `digits * column`. `scratch` and `words` have length `N`.
    fn products_add_64(
        &self,
        table: &FftTable,
        words: &mut [u64],
        product: Product<'_>,
        scratch: &mut [f64],
    );
    /// As [`TorusKernels::products_add_64`], in units of `2^-32`.
    fn products_add_32(
        &self,
        table: &FftTable,
        words: &mut [u32],
        product: Product<'_>,
        scratch: &mut [f64],
    );

    /// Digits of words in `[-B/2, B/2)`, the most significant first. `out` has `levels * N` places.
    /// `base_log * levels` is at most 64.
    fn digits_64(&self, out: &mut [i32], words: &[u64], digits: Digits);
    /// As [`TorusKernels::digits_64`], with `base_log * levels` at most 32.
    fn digits_32(&self, out: &mut [i32], words: &[u32], digits: Digits);
    /// Digits of `(X^by - 1) words`, with `by < 2N`; otherwise as [`TorusKernels::digits_64`].
    fn rotated_digits_64(&self, out: &mut [i32], words: &[u64], by: usize, digits: Digits);
    /// As [`TorusKernels::rotated_digits_64`].
    fn rotated_digits_32(&self, out: &mut [i32], words: &[u32], by: usize, digits: Digits);
}

/// A sum of products of polynomials that are given by their values.
#[derive(Clone, Copy, Debug)]
pub struct Product<'a> {
    /// The first factors: a row of `N` values each.
    pub digits: &'a [f64],
    /// The second factors: `N` values from each multiple of `row_len` on, one multiple per row.
    pub column: &'a [f64],
    /// Distance from the start of one second factor to that of the next.
    pub row_len: usize,
    /// A hint: the memory that will be read next.
    pub ahead: &'a [f64],
}

#[track_caller]
fn check_fft(table: &FftTable, values: usize, other: usize) {
    assert_eq!(values, table.n(), "N values");
    assert_eq!(other, table.n(), "N coefficients");
}

#[track_caller]
fn check_product(table: &FftTable, product: &Product<'_>) {
    let (n, digits) = (table.n(), product.digits.len());
    assert!(
        digits >= n && digits.is_multiple_of(n),
        "{digits} values of digits are no rows of {n}"
    );
    // Checked in release builds as well: a product that wraps would lead to reads out of bounds.
    let last = (digits / n - 1).checked_mul(product.row_len);
    assert!(
        last.and_then(|last| last.checked_add(n))
            .is_some_and(|end| end <= product.column.len()),
        "a second factor for each row"
    );
}

#[track_caller]
fn check_digits(out: usize, words: usize, bits: u32, digits: Digits) {
    let Digits { base_log, levels } = digits;
    assert!(
        (1..=30).contains(&base_log) && levels <= bits / base_log,
        "{levels} digits of {base_log} bits"
    );
    assert_eq!(
        out,
        levels as usize * words,
        "a digit for each level and coefficient"
    );
}

/// Defines a backend over a vector type. Every method is compiled for the CPU features given.
macro_rules! backend {
    ($(#[$doc:meta])* $backend:ident, $name:literal, $vector:ty $(, $features:literal)?) => {
        $(#[$doc])*
        #[derive(Debug)]
        struct $backend(());

        impl TorusKernels for $backend {
            fn name(&self) -> &'static str {
                $name
            }

            fn fft_digits(&self, table: &FftTable, values: &mut [f64], digits: &[i32], ahead: &[f64]) {
                $(#[target_feature(enable = $features)])?
                unsafe fn run(table: &FftTable, values: &mut [f64], digits: &[i32], ahead: Ahead<'_>) {
                    // SAFETY: by the caller.
                    unsafe { transform::forward::<$vector>(table, values, digits, ahead) }
                }
                check_fft(table, values.len(), digits.len());
                // SAFETY: `self` proves that the CPU has the features; lengths were checked.
                unsafe { run(table, values, digits, Ahead::new(ahead, table.n() / 128)) }
            }

            fn fft(&self, table: &FftTable, values: &mut [f64], numbers: &[f64]) {
                $(#[target_feature(enable = $features)])?
                unsafe fn run(table: &FftTable, values: &mut [f64], numbers: &[f64]) {
                    // SAFETY: by the caller.
                    unsafe { transform::forward::<$vector>(table, values, numbers, Ahead::new(&[], 1)) }
                }
                check_fft(table, values.len(), numbers.len());
                // SAFETY: as above.
                unsafe { run(table, values, numbers) }
            }

            fn products_add_64(&self, table: &FftTable, words: &mut [u64], product: Product<'_>, scratch: &mut [f64]) {
                $(#[target_feature(enable = $features)])?
                unsafe fn run(table: &FftTable, words: &mut [u64], product: Product<'_>, scratch: &mut [f64]) {
                    let Product { digits, column, row_len, ahead } = product;
                    let column = Column { digits, matrix: column, row_len };
                    let ahead = Ahead::new(ahead, table.n() / 128);
                    // SAFETY: by the caller.
                    unsafe { transform::products::<$vector>(table, scratch, column, words, ahead) }
                }
                check_fft(table, scratch.len(), words.len());
                check_product(table, &product);
                // SAFETY: as above.
                unsafe { run(table, words, product, scratch) }
            }

            fn products_add_32(&self, table: &FftTable, words: &mut [u32], product: Product<'_>, scratch: &mut [f64]) {
                $(#[target_feature(enable = $features)])?
                unsafe fn run(table: &FftTable, words: &mut [u32], product: Product<'_>, scratch: &mut [f64]) {
                    let Product { digits, column, row_len, ahead } = product;
                    let column = Column { digits, matrix: column, row_len };
                    let ahead = Ahead::new(ahead, table.n() / 128);
                    // SAFETY: by the caller.
                    unsafe { transform::products::<$vector>(table, scratch, column, words, ahead) }
                }
                check_fft(table, scratch.len(), words.len());
                check_product(table, &product);
                // SAFETY: as above.
                unsafe { run(table, words, product, scratch) }
            }

            fn digits_64(&self, out: &mut [i32], words: &[u64], digits: Digits) {
                $(#[target_feature(enable = $features)])?
                fn run(out: &mut [i32], words: &[u64], digits: Digits) {
                    words::digits_into(out, words, digits);
                }
                check_digits(out.len(), words.len(), u64::BITS, digits);
                #[allow(unused_unsafe, reason = "the scalar backend needs no features")]
                // SAFETY: as above.
                unsafe { run(out, words, digits) }
            }

            fn digits_32(&self, out: &mut [i32], words: &[u32], digits: Digits) {
                $(#[target_feature(enable = $features)])?
                fn run(out: &mut [i32], words: &[u32], digits: Digits) {
                    words::digits_into(out, words, digits);
                }
                check_digits(out.len(), words.len(), u32::BITS, digits);
                #[allow(unused_unsafe, reason = "the scalar backend needs no features")]
                // SAFETY: as above.
                unsafe { run(out, words, digits) }
            }

            fn rotated_digits_64(&self, out: &mut [i32], words: &[u64], by: usize, digits: Digits) {
                $(#[target_feature(enable = $features)])?
                fn run(out: &mut [i32], words: &[u64], by: usize, digits: Digits) {
                    words::rotated_digits_into(out, words, by, digits);
                }
                check_digits(out.len(), words.len(), u64::BITS, digits);
                assert!(by < 2 * words.len(), "X^{by}, less than 2N expected");
                #[allow(unused_unsafe, reason = "the scalar backend needs no features")]
                // SAFETY: as above.
                unsafe { run(out, words, by, digits) }
            }

            fn rotated_digits_32(&self, out: &mut [i32], words: &[u32], by: usize, digits: Digits) {
                $(#[target_feature(enable = $features)])?
                fn run(out: &mut [i32], words: &[u32], by: usize, digits: Digits) {
                    words::rotated_digits_into(out, words, by, digits);
                }
                check_digits(out.len(), words.len(), u32::BITS, digits);
                assert!(by < 2 * words.len(), "X^{by}, less than 2N expected");
                #[allow(unused_unsafe, reason = "the scalar backend needs no features")]
                // SAFETY: as above.
                unsafe { run(out, words, by, digits) }
            }
        }
    };
}

backend!(
    /// The reference, on any CPU.
    ScalarTorus,
    "scalar",
    [f64; 8]
);
#[cfg(target_arch = "x86_64")]
backend!(
    /// Proof that this CPU has AVX2 and FMA: only [`torus_available`] makes one.
    Avx2Torus,
    "avx2",
    four::Fours,
    "avx2,fma"
);
#[cfg(target_arch = "aarch64")]
backend!(
    /// Every AArch64 CPU has NEON.
    NeonTorus,
    "neon",
    four::Fours
);
#[cfg(target_arch = "x86_64")]
backend!(
    /// Proof that this CPU has AVX-512 F and DQ: only [`torus_available`] makes one.
    Avx512Torus,
    "avx512",
    avx512::Zmm,
    "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma"
);

/// Every backend that this CPU can run, slowest first. The scalar reference is always there.
pub fn torus_available() -> Vec<&'static dyn TorusKernels> {
    #[cfg_attr(
        not(any(target_arch = "x86_64", target_arch = "aarch64")),
        expect(unused_mut, reason = "nothing to add")
    )]
    let mut all: Vec<&'static dyn TorusKernels> = vec![&ScalarTorus(())];
    #[cfg(target_arch = "x86_64")]
    {
        let has_avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let has_avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512bw");
        if has_avx2 {
            all.push(&Avx2Torus(()));
        }
        if has_avx2 && has_avx512 {
            all.push(&Avx512Torus(()));
        }
    }
    #[cfg(target_arch = "aarch64")]
    all.push(&NeonTorus(()));
    all
}

/// The backend in use: the one with the name of [`crate::kernels`]'s, or the next slower one
/// available.
pub fn torus_kernels() -> &'static dyn TorusKernels {
    static CHOSEN: OnceLock<&'static dyn TorusKernels> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let all = torus_available();
        let names: Vec<_> = crate::available().iter().map(|k| k.name()).collect();
        let own = crate::kernels().name();
        let wanted = names.iter().position(|&name| name == own);
        // The counting backend is not in the list. It wraps the fastest one.
        let slower = &names[..=wanted.unwrap_or(names.len() - 1)];
        let found = all.iter().rev().find(|k| slower.contains(&k.name()));
        *found.expect("the scalar reference is always there")
    })
}
