//! Modular matrix product: tiles of accumulators in registers, one reduction per output.
//!
//! Lower and upper halves of the products are summed in two 64-bit accumulators: 512 products of
//! 50-bit words stay below 2^61 and 2^57. When no product reaches 2^52 the upper half is zero and
//! its multiply-add is left out, which doubles the speed.
//!
//! Columns are copied to panels first: rows of `x` lie a multiple of 4 KiB apart, and more than
//! a dozen of them would evict each other from the cache.

use std::arch::x86_64::*;

use super::dot::Reduction;
use super::vector::*;
use crate::Modulus;

/// Vectors per panel row, and its words.
const WIDTH: usize = 2;
const PANEL: usize = 8 * WIDTH;
/// Panels that are copied together, so that each row is read in runs of 768 bytes.
const GROUP: usize = 6;
/// Rows of a tile: 6 * 2 pairs of accumulators, or 12 * 2 single ones, fill 24 of 32 registers.
/// A panel of 256 rows and two vectors (32 KiB) stays in the L1 cache; three vectors would not.
const ROWS_FULL: usize = 6;
const ROWS_LOW: usize = 12;

/// `out = m * x`, row `r` modulo `moduli[r]`. Lengths were checked.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn mat_mul(moduli: &[Modulus], m: &[u64], x: &[&[u64]], out: &mut [&mut [u64]]) {
    let (Some(first), inner) = (moduli.first(), x.len()) else {
        return;
    };
    let columns = out[0].len();
    let same = moduli.iter().all(|q| q == first);
    let x_bits = if same {
        first.bits()
    } else {
        Modulus::MAX_BITS
    };
    let largest = m.iter().copied().max().unwrap_or(0);
    let product = u128::from(largest) << x_bits;
    let only_low = product <= 1 << 52;
    let reductions: Vec<Reduction> = moduli
        .iter()
        .map(|q| Reduction::new(q, product * inner as u128))
        .collect();

    let mut panels = vec![0u64; GROUP * PANEL * inner];
    for start in (0..columns).step_by(GROUP * PANEL) {
        let width = (columns - start).min(GROUP * PANEL);
        for (k, row) in x.iter().enumerate() {
            let row = &row[start..start + width];
            for (p, part) in row.chunks(PANEL).enumerate() {
                panels[(p * inner + k) * PANEL..][..part.len()].copy_from_slice(part);
            }
        }
        for p in 0..width.div_ceil(PANEL) {
            let panel = &panels[p * inner * PANEL..(p + 1) * inner * PANEL];
            let job = Job {
                panel,
                start: start + p * PANEL,
                width: (width - p * PANEL).min(PANEL),
            };
            if only_low {
                job.rows::<ROWS_LOW, true>(&reductions, m, out);
            } else {
                job.rows::<ROWS_FULL, false>(&reductions, m, out);
            }
        }
    }
}

/// One panel of columns: `panel[k * PANEL + j]` is `x[k][start + j]` for `j < width`.
struct Job<'a> {
    panel: &'a [u64],
    start: usize,
    width: usize,
}

impl Job<'_> {
    /// All rows of the result in this panel.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn rows<const R: usize, const LOW: bool>(
        &self,
        reductions: &[Reduction],
        m: &[u64],
        out: &mut [&mut [u64]],
    ) {
        let inner = self.panel.len() / PANEL;
        let mut first = 0;
        while first < out.len() {
            // The largest tile that fits: few sizes, so that few copies of the loop are compiled.
            let left = out.len() - first;
            let rows = [R, 8, 6, 4, 2, 1]
                .into_iter()
                .find(|&rows| rows <= left.min(R))
                .expect("at least one row is left");
            let factors = &m[first * inner..(first + rows) * inner];
            let reductions = &reductions[first..first + rows];
            let out = &mut out[first..first + rows];
            match rows {
                12 => self.tile::<12, LOW>(reductions, factors, out),
                8 => self.tile::<8, LOW>(reductions, factors, out),
                6 => self.tile::<6, LOW>(reductions, factors, out),
                4 => self.tile::<4, LOW>(reductions, factors, out),
                2 => self.tile::<2, LOW>(reductions, factors, out),
                _ => self.tile::<1, LOW>(reductions, factors, out),
            }
            first += rows;
        }
    }

    /// `R` rows of the result in this panel.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn tile<const R: usize, const LOW: bool>(
        &self,
        reductions: &[Reduction],
        factors: &[u64],
        out: &mut [&mut [u64]],
    ) {
        let (rows, _) = self.panel.as_chunks::<PANEL>();
        let inner = rows.len();
        assert!(factors.len() == R * inner && out.len() == R && reductions.len() == R);
        let mut lower = [[zero(); WIDTH]; R];
        let mut upper = [[zero(); WIDTH]; R];
        for (k, row) in rows.iter().enumerate() {
            // SAFETY: a row has 2 vectors.
            let x = [0, 8].map(|j| unsafe { load(row.as_ptr().add(j)) });
            for r in 0..R {
                // SAFETY: r * inner + k < R * inner, the length of `factors`.
                let f = splat(unsafe { *factors.get_unchecked(r * inner + k) });
                for j in 0..WIDTH {
                    lower[r][j] = low(lower[r][j], x[j], f);
                    if !LOW {
                        upper[r][j] = high(upper[r][j], x[j], f);
                    }
                }
            }
        }
        for r in 0..R {
            let target = &mut out[r][self.start..self.start + self.width];
            for j in 0..WIDTH.min(self.width.div_ceil(8)) {
                let left = self.width - 8 * j;
                let mask = if left >= 8 { 0xff } else { (1u8 << left) - 1 };
                let v = reductions[r].run(lower[r][j], upper[r][j]);
                // SAFETY: the mask keeps the lanes within `target`.
                unsafe { _mm512_mask_storeu_epi64(target.as_mut_ptr().add(8 * j).cast(), mask, v) };
            }
        }
    }
}
