//! Matrix products: panels of eight columns, as floats, times some rows at a time.
//!
//! *Short* products, of at most `2^51`, are summed in one `f64` and reduced after some terms: one
//! operation a term. *Long* ones take the [two sums](super::sums) and four operations.

use std::arch::x86_64::*;

use super::float::*;
use super::sums::{Sums, limits};
use crate::Modulus;

/// Columns of a panel: two vectors.
const COLUMNS: usize = 8;

/// A row of a panel.
type Line = [f64; COLUMNS];

/// Lines of the panels that are multiplied with all rows before the next ones: 128 KiB.
const CACHED_LINES: usize = 2048;

/// Rows whose sums are kept in registers together, for short and for long products.
const SHORT_ROWS: usize = 4;
const LONG_ROWS: usize = 2;

/// Fewest terms between two reductions for which short products pay: with fewer, these cost more
/// than the second sum.
const SHORT_TERMS: f64 = 3.0;

/// `2^53`: integers up to it are doubles.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// `out = m * x`, row `r` modulo `moduli[r]`, words of `x` below `2^x_bits`. Lengths were checked.
#[target_feature(enable = "avx2,fma")]
pub(super) fn mat_mul(
    moduli: &[Modulus],
    m: &[u64],
    (x, x_bits): (&[&[u64]], u32),
    out: &mut [&mut [u64]],
) {
    let (Some(_), false) = (out.first(), x.is_empty()) else {
        return out.iter_mut().for_each(|row| row.fill(0));
    };
    let largest = m.iter().copied().max().unwrap_or(0);
    let product = largest as f64 * (1u64 << x_bits) as f64;
    let modulus = moduli.iter().map(Modulus::value).max().unwrap_or(0) as f64;
    // Sums go from -2^53 to 2^53, but for what reductions leave at either end.
    let terms = 2.0 * (EXACT - 2.0 * modulus) / product;
    if terms >= SHORT_TERMS {
        let terms = terms as usize;
        let reductions = per_modulus(moduli, |q| Short::new(q));
        multiply::<SHORT_ROWS, Short>(&reductions, m, x, out, terms);
    } else {
        let m_bits = u64::BITS - largest.leading_zeros();
        let limits = limits(x.len(), m_bits + x_bits);
        let reductions = per_modulus(moduli, |q| Sums::new(q, limits));
        multiply::<LONG_ROWS, Sums>(&reductions, m, x, out, limits.0);
    }
}

/// A value for each row: one alone where all moduli are the same.
fn per_modulus<T>(moduli: &[Modulus], value: impl Fn(&Modulus) -> T) -> Vec<T> {
    let same = moduli.iter().all(|q| *q == moduli[0]);
    let moduli = if same { &moduli[..1] } else { moduli };
    moduli.iter().map(value).collect()
}

/// How `R` rows are multiplied with a panel.
trait Rows<const R: usize>: Copy {
    /// Words of `R` rows. `m` has the `R` factors of each line of the panel, one after the other;
    /// `constants` are those of each row's modulus.
    ///
    /// # Safety
    /// The CPU has AVX2 and FMA.
    unsafe fn words(
        constants: &[Self; R],
        m: &[[f64; R]],
        panel: &[Line],
        terms: usize,
    ) -> [[u64; COLUMNS]; R];
}

#[target_feature(enable = "avx2,fma")]
fn multiply<const R: usize, C: Rows<R>>(
    constants: &[C],
    m: &[u64],
    x: &[&[u64]],
    out: &mut [&mut [u64]],
    terms: usize,
) {
    let (columns, inner) = (out[0].len(), x.len());
    let factors: Vec<[f64; R]> = packed(m, inner, out.len());
    let last = constants.len() - 1;
    // Panels that stay in the cache while all rows are multiplied with them.
    let width = COLUMNS * (CACHED_LINES / inner).clamp(1, columns.div_ceil(COLUMNS));
    let mut panels = vec![[0.0; COLUMNS]; width / COLUMNS * inner];
    for start in (0..columns).step_by(width) {
        let columns = start..(start + width).min(columns);
        for (panel, start) in panels
            .chunks_exact_mut(inner)
            .zip(columns.clone().step_by(COLUMNS))
        {
            for (line, row) in panel.iter_mut().zip(x) {
                fill(line, &row[start..columns.end]);
            }
        }
        let rows = out.chunks_mut(R).zip(factors.chunks_exact(inner));
        for (block, (out, m)) in rows.enumerate() {
            let constants = std::array::from_fn(|r| constants[(block * R + r).min(last)]);
            let starts = columns.clone().step_by(COLUMNS);
            for (panel, start) in panels.chunks_exact(inner).zip(starts) {
                // SAFETY: this function is compiled for the same features.
                let words = unsafe { C::words(&constants, m, panel, terms) };
                for (out, words) in out.iter_mut().zip(&words) {
                    put(&mut out[start..columns.end], words);
                }
            }
        }
    }
}

/// Writes the first of `words` that `out` takes.
#[inline]
fn put(out: &mut [u64], words: &[u64; COLUMNS]) {
    match out.first_chunk_mut::<COLUMNS>() {
        Some(out) => *out = *words,
        None => out.copy_from_slice(&words[..out.len()]),
    }
}

/// The factors as floats: for each block of `R` rows, those of one line together. Rows that are
/// missing from the last block have zeros.
fn packed<const R: usize>(m: &[u64], inner: usize, rows: usize) -> Vec<[f64; R]> {
    let mut factors = Vec::with_capacity(rows.div_ceil(R) * inner);
    for block in m.chunks(R * inner) {
        let factor = |r: usize, k: usize| block.get(r * inner + k).map_or(0.0, |&f| f as f64);
        factors.extend((0..inner).map(|k| std::array::from_fn(|r| factor(r, k))));
    }
    factors
}

/// Words below `2^52` as floats; those that are missing as zeros.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn fill(line: &mut Line, words: &[u64]) {
    let mut all = [0u64; COLUMNS];
    let words = match words.first_chunk::<COLUMNS>() {
        Some(words) => words,
        None => {
            all[..words.len()].copy_from_slice(words);
            &all
        }
    };
    for j in [0, 4] {
        // SAFETY: `words` and `line` have 8 entries, and j + 4 <= 8.
        unsafe {
            let float = float_of_word(load(words.as_ptr().add(j)));
            _mm256_storeu_pd(line.as_mut_ptr().add(j), float);
        }
    }
}

/// The two vectors of a line.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn vectors(line: &Line) -> [F; 2] {
    // SAFETY: a line has 8 floats.
    unsafe { [0, 4].map(|j| _mm256_loadu_pd(line.as_ptr().add(j))) }
}

/// Two vectors of words as an array.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn array(words: [I; 2]) -> [u64; COLUMNS] {
    let mut array = [0; COLUMNS];
    for (j, words) in words.into_iter().enumerate() {
        // SAFETY: `array` has 8 words, and j < 2.
        unsafe { store(array.as_mut_ptr().add(4 * j), words) };
    }
    array
}

/// Constants of sums in one `f64`.
#[derive(Clone, Copy)]
struct Short {
    c: Consts,
    /// Minus the largest multiple of q but one up to `2^53`: half of q may be added or subtracted.
    lowest: F,
    /// What rounds to an integer, less that multiple's quotient.
    down: F,
}

impl Short {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn new(q: &Modulus) -> Self {
        let quotient = (EXACT as u64 / q.value() - 1) as f64;
        Self {
            c: Consts::new(q),
            lowest: _mm256_set1_pd(-quotient * q.value() as f64),
            down: _mm256_set1_pd(ROUND - quotient),
        }
    }

    /// `x` modulo q, just above `-2^53`: room for sums of positive terms.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn lower(&self, x: F) -> F {
        let rounded = _mm256_fmadd_pd(x, self.c.q_inverse, self.c.round);
        _mm256_fnmadd_pd(_mm256_sub_pd(rounded, self.down), self.c.q, x)
    }
}

impl Rows<SHORT_ROWS> for Short {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn words(
        constants: &[Self; SHORT_ROWS],
        m: &[[f64; SHORT_ROWS]],
        panel: &[Line],
        terms: usize,
    ) -> [[u64; COLUMNS]; SHORT_ROWS] {
        let mut sums = [[_mm256_setzero_pd(); 2]; SHORT_ROWS];
        for (sums, c) in sums.iter_mut().zip(constants) {
            *sums = [c.lowest; 2];
        }
        for (chunk, (m, panel)) in m.chunks(terms).zip(panel.chunks(terms)).enumerate() {
            if chunk > 0 {
                for (sums, c) in sums.iter_mut().zip(constants) {
                    *sums = [c.lower(sums[0]), c.lower(sums[1])];
                }
            }
            for (factors, line) in m.iter().zip(panel) {
                let x = vectors(line);
                for (sums, factor) in sums.iter_mut().zip(factors) {
                    let factor = _mm256_set1_pd(*factor);
                    for (sum, x) in sums.iter_mut().zip(x) {
                        *sum = _mm256_fmadd_pd(x, factor, *sum);
                    }
                }
            }
        }
        let mut words = [[0; COLUMNS]; SHORT_ROWS];
        for ((words, sums), c) in words.iter_mut().zip(sums).zip(constants) {
            let [low, high] = [c.c.reduce(sums[0]), c.c.reduce(sums[1])];
            *words = array([c.c.finish(low), c.c.finish(high)]);
        }
        words
    }
}

impl Rows<LONG_ROWS> for Sums {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn words(
        constants: &[Self; LONG_ROWS],
        m: &[[f64; LONG_ROWS]],
        panel: &[Line],
        terms: usize,
    ) -> [[u64; COLUMNS]; LONG_ROWS] {
        let mut totals = [[_mm256_setzero_pd(); 2]; LONG_ROWS];
        for (m, panel) in m.chunks(terms).zip(panel.chunks(terms)) {
            let mut sums = [[constants[0].zero(); 2]; LONG_ROWS];
            for (factors, line) in m.iter().zip(panel) {
                let x = vectors(line);
                for ((sums, factor), c) in sums.iter_mut().zip(factors).zip(constants) {
                    let factor = _mm256_set1_pd(*factor);
                    for (sum, x) in sums.iter_mut().zip(x) {
                        *sum = c.add(*sum, x, factor);
                    }
                }
            }
            for ((totals, sums), c) in totals.iter_mut().zip(sums).zip(constants) {
                *totals = [c.settle(sums[0], totals[0]), c.settle(sums[1], totals[1])];
            }
        }
        let mut words = [[0; COLUMNS]; LONG_ROWS];
        for ((words, totals), c) in words.iter_mut().zip(totals).zip(constants) {
            *words = array([c.c.finish(totals[0]), c.c.finish(totals[1])]);
        }
        words
    }
}
