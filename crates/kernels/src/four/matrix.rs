//! Matrix products: panels of eight columns, as floats, times a few rows at a time.
//!
//! *Short* products, of at most `2^51`, are summed in one `f64` that is reduced after some terms.
//! They take one operation per term. Larger products become short if words are cut into
//! [pieces](Plan), each with its own factor. *Long* products, of moduli too large for pieces, take
//! [two sums](super::sums) and four operations per term.

use super::float::*;
use super::sums::{Sums, limits};
use crate::Modulus;
use crate::array::array;
use crate::lanes::*;

/// Columns of a panel: two vectors.
const COLUMNS: usize = 8;

/// A row of a panel.
type Line = [f64; COLUMNS];

/// Panel lines that are multiplied with all rows before the next lines are read: 128 KiB.
const CACHED_LINES: usize = 2048;

/// Rows whose sums are in registers at the same time, for short and for long products.
const SHORT_ROWS: usize = 4;
const LONG_ROWS: usize = 2;

/// Operations per vector of sums, counted in the code below: to reduce a short sum between terms,
/// to end a short sum, and to end a long one. By `prices`, a conversion of 5 words of 34 bits to
/// moduli of 34 bits takes 8.4 us a term in pieces and 11.7 us as long products.
const LOWER: usize = 3;
const SHORT_END: usize = 6;
const LONG_END: usize = 16;
/// Operations of a term of a long product.
const LONG_TERM: usize = 4;
/// Largest number of pieces of a word.
const MAX_PIECES: u32 = 4;

/// `2^53`: doubles hold all integers up to it.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The way to multiply the rows of one modulus size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    /// Words are cut into `pieces` pieces of `bits` bits. Sums are reduced after `terms` terms,
    /// where each piece counts as a term.
    Short {
        pieces: u32,
        bits: u32,
        terms: usize,
    },
    Long,
}

impl Plan {
    /// The plan with the fewest operations for `inner` words of `x_bits` bits and factors up to
    /// `largest`. If a word has several pieces, their factors are residues modulo `modulus`.
    fn new(modulus: u64, largest: u64, (inner, x_bits): (usize, u32)) -> Self {
        let mut best = (LONG_TERM * inner + LONG_END, Self::Long);
        for pieces in 1..=MAX_PIECES {
            let bits = x_bits.div_ceil(pieces);
            let factor = if pieces == 1 { largest } else { modulus };
            // Sums go from -2^53 to 2^53, less the largest rest of a reduction at either end.
            let room = 2.0 * (EXACT - 2.0 * modulus as f64);
            let terms = (room / (factor.max(1) as f64 * (1u64 << bits) as f64)) as usize;
            if terms == 0 {
                continue;
            }
            let all = inner * pieces as usize;
            let operations = all + (all - 1) / terms * LOWER + SHORT_END;
            if operations < best.0 {
                let short = Self::Short {
                    pieces,
                    bits,
                    terms,
                };
                best = (operations, short);
            }
        }
        best.1
    }
}

/// `out = m * x`, row `r` modulo `moduli[r]`, words of `x` below `2^x_bits`. The caller has checked
/// the lengths.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
pub(super) fn mat_mul(
    moduli: &[Modulus],
    mut m: &[u64],
    (x, x_bits): (&[&[u64]], u32),
    mut out: &mut [&mut [u64]],
) {
    let (Some(_), false) = (out.first(), x.is_empty()) else {
        return out.iter_mut().for_each(|row| row.fill(0));
    };
    // All rows with moduli of one size follow one plan: that of the largest modulus.
    for moduli in moduli.chunk_by(|p, q| p.bits() == q.bits()) {
        let (factors, rows);
        (factors, m) = m.split_at(moduli.len() * x.len());
        (rows, out) = std::mem::take(&mut out).split_at_mut(moduli.len());
        let largest = factors.iter().copied().max().unwrap_or(0);
        let modulus = moduli.iter().map(Modulus::value).max().unwrap_or(0);
        match Plan::new(modulus, largest, (x.len(), x_bits)) {
            Plan::Short {
                pieces,
                bits,
                terms,
            } => {
                let reductions = per_modulus(moduli, |q| Short::new(q));
                let factors = packed(
                    moduli,
                    factors,
                    x.len(),
                    Pieces {
                        count: pieces as usize,
                        bits,
                    },
                );
                multiply::<SHORT_ROWS, Short>(
                    &reductions,
                    &factors,
                    (x, pieces, bits),
                    rows,
                    terms,
                );
            }
            Plan::Long => {
                let m_bits = u64::BITS - largest.leading_zeros();
                let limits = limits(x.len(), m_bits + x_bits);
                let reductions = per_modulus(moduli, |q| Sums::new(q, limits));
                let factors = packed(
                    moduli,
                    factors,
                    x.len(),
                    Pieces {
                        count: 1,
                        bits: x_bits,
                    },
                );
                multiply::<LONG_ROWS, Sums>(&reductions, &factors, (x, 1, x_bits), rows, limits.0);
            }
        }
    }
}

/// One value per row, or a single value if all moduli are equal.
fn per_modulus<T>(moduli: &[Modulus], value: impl Fn(&Modulus) -> T) -> Vec<T> {
    let same = moduli.iter().all(|q| *q == moduli[0]);
    let moduli = if same { &moduli[..1] } else { moduli };
    moduli.iter().map(value).collect()
}

/// A way to multiply `R` rows with a panel.
trait Rows<const R: usize>: Copy {
    /// The words of `R` result rows. `m` holds the `R` factors of each panel line, one line after
    /// the other. `constants` belong to the moduli of the rows.
    ///
    /// # Safety
    /// The CPU has the operations of `lanes`.
    unsafe fn words(
        constants: &[Self; R],
        m: &[[f64; R]],
        panel: &[Line],
        terms: usize,
    ) -> [[u64; COLUMNS]; R];
}

/// Multiplies all blocks of `R` rows. `factors` has one part per block: for each panel line the
/// factors of its rows.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
fn multiply<const R: usize, C: Rows<R>>(
    constants: &[C],
    factors: &[[f64; R]],
    (x, pieces, bits): (&[&[u64]], u32, u32),
    out: &mut [&mut [u64]],
    terms: usize,
) {
    let (columns, lines) = (out[0].len(), x.len() * pieces as usize);
    let last = constants.len() - 1;
    // The panels that stay in the cache while all rows are multiplied with them.
    let width = COLUMNS * (CACHED_LINES / lines).clamp(1, columns.div_ceil(COLUMNS));
    let mut panels = vec![[0.0; COLUMNS]; width / COLUMNS * lines];
    for start in (0..columns).step_by(width) {
        let columns = start..(start + width).min(columns);
        // Row by row, so that each row of `x` is read in one run.
        for (k, row) in x.iter().enumerate() {
            let panels = panels.chunks_exact_mut(lines);
            for (panel, words) in panels.zip(row[columns.clone()].chunks(COLUMNS)) {
                let pieces = k * pieces as usize..(k + 1) * pieces as usize;
                fill(&mut panel[pieces], words, bits);
            }
        }
        let rows = out.chunks_mut(R).zip(factors.chunks_exact(lines));
        for (block, (out, m)) in rows.enumerate() {
            let constants = std::array::from_fn(|r| constants[(block * R + r).min(last)]);
            let starts = columns.clone().step_by(COLUMNS);
            for (panel, start) in panels.chunks_exact(lines).zip(starts) {
                // SAFETY: this function is compiled for the same features.
                let words = unsafe { C::words(&constants, m, panel, terms) };
                for (out, words) in out.iter_mut().zip(&words) {
                    put(&mut out[start..columns.end], words);
                }
            }
        }
    }
}

/// Writes as many of `words` as fit into `out`.
#[inline]
fn put(out: &mut [u64], words: &[u64; COLUMNS]) {
    match out.first_chunk_mut::<COLUMNS>() {
        Some(out) => *out = *words,
        None => out.copy_from_slice(&words[..out.len()]),
    }
}

/// The pieces into which words are cut.
struct Pieces {
    count: usize,
    /// Bits of a piece.
    bits: u32,
}

/// The factors as floats. For each block of `R` rows, the factors of one panel line stand together.
/// The factor of each further piece of a word is `2^bits` times that of the piece before. Rows
/// missing from the last block get zeros.
fn packed<const R: usize>(
    moduli: &[Modulus],
    m: &[u64],
    inner: usize,
    pieces: Pieces,
) -> Vec<[f64; R]> {
    let Pieces {
        count: pieces,
        bits,
    } = pieces;
    let mut factors = vec![[0.0; R]; moduli.len().div_ceil(R) * inner * pieces];
    for (r, (q, row)) in moduli.iter().zip(m.chunks_exact(inner)).enumerate() {
        let lines = &mut factors[r / R * inner * pieces..][..inner * pieces];
        let next = q.reduce(1 << bits);
        for (lines, &factor) in lines.chunks_exact_mut(pieces).zip(row) {
            lines[0][r % R] = if pieces == 1 {
                factor
            } else {
                q.reduce(factor)
            } as f64;
            let mut factor = factor;
            for line in &mut lines[1..] {
                factor = q.mul(q.reduce(factor), next);
                line[r % R] = factor as f64;
            }
        }
    }
    factors
}

/// Converts words below `2^52` to floats, cut into one piece of `bits` bits per line, the lowest
/// first. Missing words become zeros.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
fn fill(lines: &mut [Line], words: &[u64], bits: u32) {
    let mut all = [0u64; COLUMNS];
    let words = match words.first_chunk::<COLUMNS>() {
        Some(words) => words,
        None => {
            all[..words.len()].copy_from_slice(words);
            &all
        }
    };
    let piece = splat_word((1 << bits) - 1);
    for j in [0, 4] {
        // SAFETY: `words` has 8 entries, and j + 4 <= 8.
        let mut rest = unsafe { load(words.as_ptr().add(j)) };
        for line in &mut *lines {
            let float = float_of_word(and(rest, piece));
            // SAFETY: `line` has 8 entries, and j + 4 <= 8.
            unsafe { store_floats(line.as_mut_ptr().add(j), float) };
            rest = shift_right(rest, bits);
        }
    }
}

/// The two vectors of a line.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
fn vectors(line: &Line) -> [F; 2] {
    // SAFETY: a line has 8 floats.
    unsafe { array!(k => load_floats(line.as_ptr().add(4 * k))) }
}

/// Two vectors of words as an array.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
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
    /// The negative of the largest multiple of q up to `2^53`, less one multiple, so that half of q
    /// may be added or subtracted.
    lowest: F,
    /// The rounding constant, less the quotient of that multiple.
    down: F,
}

impl Short {
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    fn new(q: &Modulus) -> Self {
        let quotient = (EXACT as u64 / q.value() - 1) as f64;
        Self {
            c: Consts::new(q),
            lowest: splat(-quotient * q.value() as f64),
            down: splat(ROUND - quotient),
        }
    }

    /// Reduces `x` modulo q to a value just above `-2^53`, which leaves room for positive terms.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    fn lower(&self, x: F) -> F {
        let rounded = fmadd(x, self.c.q_inverse, self.c.round);
        fnmadd(sub(rounded, self.down), self.c.q, x)
    }
}

impl Rows<SHORT_ROWS> for Short {
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    unsafe fn words(
        constants: &[Self; SHORT_ROWS],
        m: &[[f64; SHORT_ROWS]],
        panel: &[Line],
        terms: usize,
    ) -> [[u64; COLUMNS]; SHORT_ROWS] {
        let mut sums = [[zero(); 2]; SHORT_ROWS];
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
                    let factor = splat(*factor);
                    for (sum, x) in sums.iter_mut().zip(x) {
                        *sum = fmadd(x, factor, *sum);
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
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    unsafe fn words(
        constants: &[Self; LONG_ROWS],
        m: &[[f64; LONG_ROWS]],
        panel: &[Line],
        terms: usize,
    ) -> [[u64; COLUMNS]; LONG_ROWS] {
        let mut totals = [[zero(); 2]; LONG_ROWS];
        for (m, panel) in m.chunks(terms).zip(panel.chunks(terms)) {
            let mut sums = [[constants[0].zero(); 2]; LONG_ROWS];
            for (factors, line) in m.iter().zip(panel) {
                let x = vectors(line);
                for ((sums, factor), c) in sums.iter_mut().zip(factors).zip(constants) {
                    let factor = splat(*factor);
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
