//! Modular matrix product: blocks of accumulators in registers, one reduction per output.
//!
//! Lower and upper halves of the products are summed in two 64-bit accumulators. 512 products of
//! 50-bit words stay below 2^61 and 2^57. If no product reaches 2^52, the upper half is zero and
//! its multiply-add is left out, which doubles the speed.
//!
//! Columns are copied to panels first: rows of `x` lie a multiple of 4 KiB apart, and more than
//! a dozen of them would evict each other from the cache.

use std::arch::x86_64::*;
use std::cell::RefCell;
use std::ops::Range;

use super::dot::Reduction;
use super::vector::*;
use crate::Modulus;
use crate::aligned::Line;
use crate::array::array;

/// Vectors in a row of a panel, and words in that row.
const WIDTH: usize = 2;
const PANEL: usize = 8 * WIDTH;
/// Lines of all panels that are copied together: 512 KiB, a quarter of the L2 cache.
const GROUP_LINES: usize = 1 << 13;
/// Rows of a block: 6 * 2 pairs of accumulators, or 12 * 2 single ones, fill 24 of 32 registers.
/// A panel of 256 rows and two vectors (32 KiB) stays in the L1 cache; three vectors would not.
const ROWS_FULL: usize = 6;
const ROWS_LOW: usize = 12;

/// `out = m * x`, row `r` modulo `moduli[r]`. The caller has checked the lengths.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn mat_mul(
    moduli: &[Modulus],
    m: &[u64],
    (x, x_bits): (&[&[u64]], u32),
    out: &mut [&mut [u64]],
) {
    let (Some(first), inner) = (moduli.first(), x.len()) else {
        return;
    };
    let same = moduli.iter().all(|q| q == first);
    let largest = m.iter().copied().max().unwrap_or(0);
    let product = u128::from(largest) << x_bits;
    let only_low = product <= 1 << 52;
    // One reduction for all rows if possible: constants of 256 rows would push the panel out of the
    // cache.
    let reductions: Vec<Reduction> = moduli[..if same { 1 } else { moduli.len() }]
        .iter()
        .map(|q| Reduction::new(q, product * inner as u128))
        .collect();

    let blocks = blocks(moduli.len(), if only_low { ROWS_LOW } else { ROWS_FULL });
    SCRATCH.with_borrow_mut(|scratch| {
        let Scratch { factors, panels } = scratch;
        pack_factors(&blocks, m, inner, factors);
        let group = (GROUP_LINES / (WIDTH * inner.max(1))).clamp(4, 64);
        panels.resize(group * WIDTH * inner, Line([0; 8]));
        let product = Product {
            blocks: &blocks,
            reductions: &reductions,
            factors,
        };
        if only_low {
            product.run::<true>(x, panels, out);
        } else {
            product.run::<false>(x, panels, out);
        }
    });
}

/// Buffers that are kept between calls. Fresh pages for them would cost as much as a small product.
struct Scratch {
    factors: Vec<u64>,
    panels: Vec<Line>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = const {
        RefCell::new(Scratch { factors: Vec::new(), panels: Vec::new() })
    };
}

/// Heights of the blocks for `rows` rows: as large as fit, and of few sizes, so that few copies of
/// the inner loop are compiled.
fn blocks(rows: usize, most: usize) -> Vec<usize> {
    let mut left = rows;
    let next = || {
        let fits = |&size: &usize| size <= left.min(most);
        let size = [12, 8, 6, 4, 2, 1].into_iter().find(fits)?;
        left -= size;
        Some(size)
    };
    std::iter::from_fn(next).collect()
}

/// Copies the matrix in the order in which the blocks read it: each block column by column.
fn pack_factors(blocks: &[usize], m: &[u64], inner: usize, packed: &mut Vec<u64>) {
    packed.clear();
    let mut first = 0;
    for &rows in blocks {
        for k in 0..inner {
            packed.extend((first..first + rows).map(|r| m[r * inner + k]));
        }
        first += rows;
    }
}

/// The data that all columns of one product share: the matrix, its blocks and reductions.
struct Product<'a> {
    blocks: &'a [usize],
    /// One reduction per row of the result, or a single one for all.
    reductions: &'a [Reduction],
    factors: &'a [u64],
}

impl Product<'_> {
    /// Computes all columns, one group of panels at a time. Each row is read and written in long
    /// runs.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn run<const LOW: bool>(&self, x: &[&[u64]], panels: &mut [Line], out: &mut [&mut [u64]]) {
        let columns = out[0].len();
        let group = 64.max(panels.len() * 8 / x.len().max(1));
        for start in (0..columns).step_by(group) {
            let width = (columns - start).min(group);
            for (k, row) in x.iter().enumerate() {
                copy_row(&row[start..start + width], k, x.len(), panels);
            }
            let mut first = 0;
            for &rows in self.blocks {
                let reductions = match self.reductions {
                    [_] => self.reductions,
                    all => &all[first..first + rows],
                };
                let block = Block {
                    reductions,
                    factors: &self.factors[first * x.len()..(first + rows) * x.len()],
                    panels,
                    start,
                    width,
                    next: &x[first * x.len() / out.len()..(first + rows) * x.len() / out.len()],
                };
                let out = &mut out[first..first + rows];
                match rows {
                    12 => block.run::<12, LOW>(out),
                    8 => block.run::<8, LOW>(out),
                    6 => block.run::<6, LOW>(out),
                    4 => block.run::<4, LOW>(out),
                    2 => block.run::<2, LOW>(out),
                    _ => block.run::<1, LOW>(out),
                }
                first += rows;
            }
        }
    }
}

/// Prefetches the cache line of `word`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[allow(unused_unsafe, reason = "unsafe in Rust 1.89, safe in later ones")]
fn prefetch<const HINT: i32>(word: *const u64) {
    // SAFETY: a prefetch is a hint and reads nothing.
    unsafe { _mm_prefetch::<HINT>(word.cast()) };
}

/// Copies row `k` of `inner` into the panels.
fn copy_row(row: &[u64], k: usize, inner: usize, panels: &mut [Line]) {
    let line = |j: usize| (j / WIDTH * inner + k) * WIDTH + j % WIDTH;
    let (full, rest) = row.as_chunks::<8>();
    for (j, words) in full.iter().enumerate() {
        panels[line(j)].0 = *words;
    }
    if !rest.is_empty() {
        panels[line(full.len())].0[..rest.len()].copy_from_slice(rest);
    }
}

/// Some rows of the result in one group of panels, columns `start..start + width`.
struct Block<'a> {
    reductions: &'a [Reduction],
    factors: &'a [u64],
    panels: &'a [Line],
    start: usize,
    width: usize,
    /// Rows of `x` whose next columns this block prefetches from memory.
    next: &'a [&'a [u64]],
}

impl Block<'_> {
    /// Computes all panels of the group, for `R` rows.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn run<const R: usize, const LOW: bool>(&self, out: &mut [&mut [u64]]) {
        let (factors, _) = self.factors.as_chunks::<R>();
        let step = WIDTH * factors.len();
        for p in 0..self.width.div_ceil(PANEL) {
            let columns = p * PANEL..self.width.min((p + 1) * PANEL);
            let panel = &self.panels[p * step..(p + 1) * step];
            let ahead = self.start + self.width + columns.start;
            for words in self
                .next
                .iter()
                .filter_map(|row| row.get(ahead..ahead + PANEL))
            {
                prefetch::<_MM_HINT_T1>(words.as_ptr());
                prefetch::<_MM_HINT_T1>(words[8..].as_ptr());
            }
            self.panel::<R, LOW>(factors, panel, columns, out);
        }
    }

    /// Computes one panel. Two lines per row hold `x[k][start..][columns]`.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn panel<const R: usize, const LOW: bool>(
        &self,
        factors: &[[u64; R]],
        panel: &[Line],
        columns: Range<usize>,
        out: &mut [&mut [u64]],
    ) {
        let (rows, _) = panel.as_chunks::<WIDTH>();
        let reductions = self.reductions;
        assert!(out.len() == R && (reductions.len() == R || reductions.len() == 1));
        if columns.len() == PANEL {
            return self.full_panel::<R, LOW>(factors, rows, columns.start, out);
        }
        let mut lower = [[zero(); WIDTH]; R];
        let mut upper = [[zero(); WIDTH]; R];
        for (row, factors) in rows.iter().zip(factors) {
            // SAFETY: a line is one vector.
            let x: [_; 2] = array!(j => unsafe { load(row[j].0.as_ptr()) });
            for r in 0..R {
                let f = splat(factors[r]);
                for j in 0..WIDTH {
                    lower[r][j] = low(lower[r][j], x[j], f);
                    if !LOW {
                        upper[r][j] = high(upper[r][j], x[j], f);
                    }
                }
            }
        }
        for r in 0..R {
            let target = &mut out[r][self.start..][columns.clone()];
            for j in 0..WIDTH.min(columns.len().div_ceil(8)) {
                let left = columns.len() - 8 * j;
                let mask = if left >= 8 { 0xff } else { (1u8 << left) - 1 };
                let v = reductions[r.min(reductions.len() - 1)].run(lower[r][j], upper[r][j]);
                // SAFETY: the mask keeps the lanes within `target`.
                unsafe { _mm512_mask_storeu_epi64(target.as_mut_ptr().add(8 * j).cast(), mask, v) };
            }
        }
    }

    /// As [`Block::panel`], for a panel with all its columns. Every loop over rows is unrolled, so
    /// that the sums stay in registers to the end.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn full_panel<const R: usize, const LOW: bool>(
        &self,
        factors: &[[u64; R]],
        rows: &[[Line; WIDTH]],
        start: usize,
        out: &mut [&mut [u64]],
    ) {
        let reductions = self.reductions;
        let targets: [*mut u64; R] =
            std::array::from_fn(|r| out[r][self.start + start..][..PANEL].as_mut_ptr());
        // Prefetch the lines of the result now: a store that misses the cache holds up later loads.
        for target in targets {
            prefetch::<_MM_HINT_ET0>(target);
            prefetch::<_MM_HINT_ET0>(target.wrapping_add(8));
        }
        let mut lower = [[zero(); WIDTH]; R];
        let mut upper = [[zero(); WIDTH]; R];
        for (row, factors) in rows.iter().zip(factors) {
            // SAFETY: a line is one vector.
            let x: [_; 2] = array!(j => unsafe { load(row[j].0.as_ptr()) });
            for r in 0..R {
                let f = splat(factors[r]);
                for j in 0..WIDTH {
                    lower[r][j] = low(lower[r][j], x[j], f);
                    if !LOW {
                        upper[r][j] = high(upper[r][j], x[j], f);
                    }
                }
            }
        }
        let last = reductions.len() - 1;
        macro_rules! finish {
            ($($r:literal)*) => {$(
                if $r < R {
                    let reduction = &reductions[last.min($r)];
                    for j in 0..WIDTH {
                        let v = reduction.run(lower[$r % R][j], upper[$r % R][j]);
                        // SAFETY: PANEL words of every target were sliced above.
                        unsafe { store(targets[$r % R].add(8 * j), v) };
                    }
                }
            )*};
        }
        finish!(0 1 2 3 4 5 6 7 8 9 10 11);
    }
}
