//! Compares every backend of the torus kernels with the definitions of the product and of digits.

use palladion_kernels::{Digits, FftTable, Product, TorusKernels, torus_available};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const SIZES: [usize; 6] = [512, 1024, 2048, 4096, 8192, 16384];

/// Adds `c X^a words`, modulo `X^N + 1`, to `out`. Sparse factors take `terms * N` steps, and their
/// terms are enough to show every mistake.
fn add_product(out: &mut [i128], (a, c): (usize, i64), words: &[i64]) {
    let n = out.len();
    for (i, &word) in words.iter().enumerate() {
        let product = i128::from(c) * i128::from(word);
        match i + a < n {
            true => out[i + a] += product,
            false => out[i + a - n] -= product,
        }
    }
}

/// Digits with few terms, as a sparse polynomial and as a dense one.
fn sparse(rng: &mut ChaCha8Rng, n: usize, size: i32) -> (Vec<(usize, i64)>, Vec<i32>) {
    let mut dense = vec![0; n];
    for i in [0, 1, n / 2 - 1, n / 2, n - 1] {
        dense[i] = rng.random_range(-size..size);
    }
    for _ in 0..11 {
        dense[rng.random_range(0..n)] = rng.random_range(-size..size);
    }
    let terms = dense.iter().enumerate().filter(|&(_, &c)| c != 0);
    (terms.map(|(i, &c)| (i, i64::from(c))).collect(), dense)
}

fn product(
    kernels: &dyn TorusKernels,
    table: &FftTable,
    digits: &[Vec<i32>],
    columns: usize,
    words: &[i64],
) -> Vec<u64> {
    let n = table.n();
    let mut matrix = vec![0.0; words.len()];
    for (words, values) in words.chunks_exact(n).zip(matrix.chunks_exact_mut(n)) {
        let numbers: Vec<f64> = words
            .iter()
            .map(|&w| w as f64 / 2f64.powi(64) / (n / 2) as f64)
            .collect();
        kernels.fft(table, values, &numbers);
    }
    let mut values = vec![0.0; n * digits.len()];
    for (digits, values) in digits.iter().zip(values.chunks_exact_mut(n)) {
        kernels.fft_digits(table, values, digits, &matrix);
    }
    let (mut out, mut scratch) = (vec![5u64; n * columns], vec![0.0; n]);
    for (c, out) in out.chunks_exact_mut(n).enumerate() {
        let product = Product {
            digits: &values,
            column: &matrix[c * n..],
            row_len: columns * n,
            ahead: &matrix[1..],
        };
        kernels.products_add_64(table, out, product, &mut scratch);
    }
    out
}

/// The values of 1.
fn one(kernels: &dyn TorusKernels, table: &FftTable) -> Vec<f64> {
    let (mut values, mut one) = (vec![0.0; table.n()], vec![0; table.n()]);
    one[0] = 1;
    kernels.fft_digits(table, &mut values, &one, &[]);
    values
}

/// A product with 1, which gives back the polynomial of the given values.
fn by_one<'a>(values: &'a [f64], one: &'a [f64]) -> Product<'a> {
    Product {
        digits: values,
        column: one,
        row_len: 0,
        ahead: &[],
    }
}

#[test]
fn every_backend_multiplies_like_the_definition() {
    for kernels in torus_available() {
        for n in SIZES {
            for (rows, columns) in [(2, 2), (1, 1), (3, 3), (2, 5)] {
                let seed = (n + 10 * rows + columns) as u64;
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                let table = FftTable::new(n).expect("in range");
                // Words of 40 bits are exact in a double. With high probability, sums of up to 48
                // products with 9-bit digits are below 2^10 in size. 64 units in the last place of
                // that are 2^27 units of the words.
                let words: Vec<i64> = (0..rows * columns * n)
                    .map(|_| rng.random::<i64>() & !0xff_ffff)
                    .collect();
                let (terms, digits): (Vec<_>, Vec<_>) =
                    (0..rows).map(|_| sparse(&mut rng, n, 512)).unzip();
                let found = product(kernels, &table, &digits, columns, &words);
                for (c, found) in found.chunks_exact(n).enumerate() {
                    let mut wanted = vec![5i128; n];
                    for (r, terms) in terms.iter().enumerate() {
                        let words = &words[(r * columns + c) * n..][..n];
                        terms
                            .iter()
                            .for_each(|&term| add_product(&mut wanted, term, words));
                    }
                    for (i, (&found, &wanted)) in found.iter().zip(&wanted).enumerate() {
                        let error = found.wrapping_sub(wanted as u64) as i64;
                        let name = kernels.name();
                        assert!(
                            error.abs() < 1 << 27,
                            "{name}: N = {n}, {rows} x {columns}, place {i}: off by {error}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn words_of_32_bits_get_the_same_sums() {
    for kernels in torus_available() {
        let n = 1024;
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let table = FftTable::new(n).expect("in range");
        let numbers: Vec<f64> = (0..n).map(|_| rng.random_range(-3.0..3.0)).collect();
        let scaled: Vec<f64> = numbers.iter().map(|x| x * 2.0 / n as f64).collect();
        let mut values = vec![0.0; n];
        kernels.fft(&table, &mut values, &scaled);
        let mut words = vec![u32::MAX; n];
        let one = one(kernels, &table);
        kernels.products_add_32(&table, &mut words, by_one(&values, &one), &mut vec![0.0; n]);
        for (&word, &x) in words.iter().zip(&numbers) {
            let wanted = ((x - x.round()) * 2f64.powi(32)).round() as i64 as u32;
            let error = word.wrapping_add(1).wrapping_sub(wanted) as i32;
            assert!(error.abs() <= 1, "{}: {x} became {word}", kernels.name());
        }
    }
}

#[test]
fn a_half_wraps_around_to_minus_a_half() {
    for kernels in torus_available() {
        let n = 512;
        let table = FftTable::new(n).expect("in range");
        for sign in [1.0, -1.0] {
            let mut numbers = vec![0.0; n];
            numbers[0] = sign * 0.5 * 2.0 / n as f64;
            let (mut values, mut narrow) = (vec![0.0; n], vec![0u32; n]);
            kernels.fft(&table, &mut values, &numbers);
            let mut wide = vec![0u64; n];
            let (one, mut scratch) = (one(kernels, &table), vec![0.0; n]);
            kernels.products_add_64(&table, &mut wide, by_one(&values, &one), &mut scratch);
            kernels.products_add_32(&table, &mut narrow, by_one(&values, &one), &mut scratch);
            // The scalar conversion reaches at most one unit below 2^63.
            assert!(
                wide[0].abs_diff(1 << 63) <= 1,
                "{}: {:#x}",
                kernels.name(),
                wide[0]
            );
            assert_eq!(narrow[0], 1 << 31, "{}", kernels.name());
        }
    }
}

#[test]
fn every_backend_cuts_the_same_digits() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for n in [512, 1024, 128, 8] {
        let wide: Vec<u64> = (0..n).map(|_| rng.random()).collect();
        let narrow: Vec<u32> = wide.iter().map(|&w| w as u32).collect();
        for by in [0, 1, 7, n / 2, n - 1, n, n + 1, 2 * n - 1] {
            let turned: Vec<u64> = (0..n)
                .map(|i| {
                    let from = (i + 2 * n - by) % (2 * n);
                    let word = if from < n {
                        wide[from]
                    } else {
                        wide[from - n].wrapping_neg()
                    };
                    word.wrapping_sub(wide[i])
                })
                .collect();
            for (base_log, levels) in [(23, 1), (8, 2), (10, 3), (4, 5), (1, 7), (15, 2)] {
                let digits = Digits { base_log, levels };
                let mut wanted = vec![0; n * levels as usize];
                for (i, &word) in turned.iter().enumerate() {
                    // The expected digits: division with remainder, from the last digit to the
                    // first.
                    let unit = 1i128 << (64 - base_log * levels);
                    let mut rest = (i128::from(word) + unit / 2).div_euclid(unit);
                    for level in (0..levels as usize).rev() {
                        let base = 1i128 << base_log;
                        let digit = (rest + base / 2).rem_euclid(base) - base / 2;
                        wanted[level * n + i] = digit as i32;
                        rest = (rest - digit) / base;
                    }
                }
                for kernels in torus_available() {
                    let name = kernels.name();
                    let mut out = vec![0; n * levels as usize];
                    kernels.rotated_digits_64(&mut out, &wide, by, digits);
                    assert_eq!(
                        out, wanted,
                        "{name}: N = {n}, X^{by}, {levels} digits of {base_log}"
                    );
                    kernels.digits_64(&mut out, &turned, digits);
                    assert_eq!(out, wanted, "{name}");
                    if base_log * levels <= 32 {
                        let high: Vec<u64> = narrow.iter().map(|&w| u64::from(w) << 32).collect();
                        let (mut of_narrow, mut of_high) = (out.clone(), out);
                        kernels.rotated_digits_32(&mut of_narrow, &narrow, by, digits);
                        kernels.rotated_digits_64(&mut of_high, &high, by, digits);
                        assert_eq!(
                            of_narrow, of_high,
                            "{name}: 32 bits, X^{by}, {levels} digits of {base_log}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn other_lengths_have_no_table() {
    for n in [0, 1, 256, 513, 1000, 1 << 17] {
        assert!(FftTable::new(n).is_none(), "{n}");
    }
}

/// Every backend refuses lengths whose product wraps, in release builds too: they would be read out
/// of bounds.
#[test]
fn row_lengths_that_wrap_are_refused() {
    let table = FftTable::new(512).expect("a degree of the transform");
    let (values, column) = (vec![0.0; 3 * 512], vec![0.0; 512]);
    for kernels in torus_available() {
        for row_len in [1 << 63, usize::MAX - 511, usize::MAX / 2] {
            let product = Product {
                digits: &values,
                column: &column,
                row_len,
                ahead: &[],
            };
            let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let (mut words, mut scratch) = (vec![0u64; 512], vec![0.0; 512]);
                kernels.products_add_64(&table, &mut words, product, &mut scratch);
            }));
            let words = refused.expect_err("a product of lengths that wraps");
            assert_eq!(
                words.downcast_ref::<&str>().copied(),
                Some("a second factor for each row"),
                "{}, {row_len}",
                kernels.name()
            );
        }
    }
}
