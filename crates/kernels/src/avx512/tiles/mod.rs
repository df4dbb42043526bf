//! Products of linear combinations on the matrix unit of a CPU, AMX.
//!
//! The unit multiplies bytes and adds up 32-bit words. A coefficient below 2^16 has two bytes and a
//! word below 2^39 five, so a product of matrices is ten of bytes, in six sums by weight. One
//! chunk of columns is cut into bytes once for all groups. Its combinations are never reduced:
//! they stay below 2^52, which is what the multiplier of the dot products takes.
//!
//! A coefficient of 2^16 is counted as `2^16 - 1`, and its word is added once more at the end.

mod unit;

use std::arch::x86_64::*;
use std::cell::RefCell;
use std::ops::Range;

use super::dot::Reduction;
use super::vector::*;
use crate::Modulus;
use crate::aligned::Line;
use crate::array::array;
use crate::combine::Combinations;
use unit::{DIAGONALS, LEFT, RIGHT, ROW, ROWS, Sums, Unit};

pub(super) use unit::allowed;

/// Columns that are worked on together: four tiles of 16.
const COLUMNS: usize = 64;
const TILES: usize = COLUMNS / 16;
/// Most terms of a combination. Pairs of sums fit into words of 32 bits up to it.
const MAX_TERMS: usize = 128;
/// Bits of the largest modulus: a folded combination, below `2^51 + 2^(2 bits - 28)`, then leaves
/// room below 2^52 for [`MAX_TERMS`] words more.
const MAX_BITS: u32 = 39;
/// A combination `s` is folded to `(s mod 2^FOLD) + (s >> FOLD) (2^FOLD mod q)`.
const FOLD: u32 = 51;
/// The largest coefficient.
const MAX_COEFFICIENT: u64 = 1 << 16;

/// Whether [`tensor_combinations`] can do it.
pub(super) fn fits(q: &Modulus, combinations: &Combinations) -> bool {
    combinations.x[0].len() <= MAX_TERMS
        && q.bits() <= MAX_BITS
        && combinations.matrix.iter().all(|&m| m <= MAX_COEFFICIENT)
}

/// Buffers that are kept between calls.
struct Scratch {
    left: Vec<Line>,
    right: [Vec<Line>; 2],
    y: [Vec<Line>; 2],
    sums: Box<Sums>,
    combinations: [Vec<Line>; 2],
    totals: Vec<Line>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch {
        left: Vec::new(),
        right: [const { Vec::new() }; 2],
        y: [const { Vec::new() }; 2],
        sums: Box::new([[Line([0; 8]); ROWS]; DIAGONALS]),
        combinations: std::array::from_fn(|_| vec![Line([0; 8]); ROWS * COLUMNS / 8]),
        totals: vec![Line([0; 8]); 6 * COLUMNS / 8],
    });
}

/// [`crate::Kernels::tensor_combinations`], for checked sizes that [fit](fits).
///
/// # Safety
/// [`allowed`] has returned true.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) unsafe fn tensor_combinations(
    q: &Modulus,
    &Combinations { matrix, x, y }: &Combinations,
    out: &mut [&mut [u64]],
) {
    let (inner, height) = (x[0].len(), y[0].len());
    let width = out.first().map_or(0, |row| row.len());
    let shape = Shape::new(inner, height);
    let product = Product {
        fold: splat((1 << FOLD) % q.value()),
        // Both halves of the middle component: sums of `2 height` products.
        reduction: Reduction::new(q, (2 * height as u128) << (52 + q.bits())),
        large: large(matrix, &shape),
        shape,
        // SAFETY: the caller's promise.
        unit: unsafe { Unit::new(shape.rows, shape.depth) },
    };
    SCRATCH.with_borrow_mut(|scratch| {
        shape.split_matrix(matrix, &mut scratch.left);
        for start in (0..width).step_by(COLUMNS) {
            let columns = start..(start + COLUMNS).min(width);
            for part in 0..2 {
                shape.split_columns(x[part], &columns, &mut scratch.right[part]);
                copy_columns(y[part], &columns, &mut scratch.y[part]);
            }
            for (group, out) in out.chunks_exact_mut(3).enumerate() {
                product.group(group, (x, &columns), scratch);
                product.finish(&scratch.totals, out, &columns);
            }
        }
    });
}

/// How a matrix of `height` combinations of `inner` terms is cut into tiles.
#[derive(Clone, Copy)]
struct Shape {
    inner: usize,
    height: usize,
    /// Rows and bytes of a row of the left tiles.
    rows: usize,
    depth: usize,
    /// Tiles side by side and one below the other.
    across: usize,
    down: usize,
}

impl Shape {
    fn new(inner: usize, height: usize) -> Self {
        let (rows, depth) = (height.min(ROWS), inner.next_multiple_of(4).min(ROW));
        Self {
            inner,
            height,
            rows,
            depth,
            across: inner.div_ceil(depth),
            down: height.div_ceil(rows),
        }
    }

    /// Cuts the coefficients into planes of bytes: group by group, by rows of tiles, by tiles.
    fn split_matrix(&self, matrix: &[u64], left: &mut Vec<Line>) {
        let per_row_of_tiles = self.across * LEFT * ROWS;
        let groups = matrix.len() / (self.height * self.inner);
        left.clear();
        left.resize(groups * self.down * per_row_of_tiles, Line([0; 8]));
        for (r, row) in matrix.chunks_exact(self.inner).enumerate() {
            let (group, r) = (r / self.height, r % self.height);
            let tiles = (group * self.down + r / self.rows) * per_row_of_tiles;
            for (k, words) in row.chunks(self.depth).enumerate() {
                let mut planes = [[0u8; ROW]; LEFT];
                for (j, &word) in words.iter().enumerate() {
                    [planes[0][j], planes[1][j]] =
                        (word.min(MAX_COEFFICIENT - 1) as u16).to_le_bytes();
                }
                for (p, bytes) in planes.iter().enumerate() {
                    let (bytes, _) = bytes.as_chunks::<8>();
                    let line = tiles + (k * LEFT + p) * ROWS + r % self.rows;
                    left[line] = Line(std::array::from_fn(|i| u64::from_le_bytes(bytes[i])));
                }
            }
        }
    }

    /// Cuts the words of some columns into planes of bytes, for the right side. In a tile, columns 0
    /// to 7 have the even places and columns 8 to 15 the odd ones, so that halves of 64-bit words
    /// are eight columns in order.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn split_columns(&self, x: &[&[u64]], columns: &Range<usize>, right: &mut Vec<Line>) {
        let per_tile = RIGHT * ROWS;
        right.resize(TILES * self.across * per_tile, Line([0; 8]));
        for (four, rows) in x.chunks(4).enumerate() {
            let (k, row) = (4 * four / self.depth, four % (self.depth / 4));
            for tile in 0..columns.len().div_ceil(16) {
                let first = columns.start + 16 * tile;
                let words: [_; 4] = array!(i => match rows.get(i) {
                    Some(row) => pair(&row[first..columns.end.min(first + 16)]),
                    None => [zero(); 2],
                });
                let base = (tile * self.across + k) * per_tile + row;
                for (p, plane) in planes(words).into_iter().enumerate() {
                    // SAFETY: a line is one vector.
                    unsafe { store(right[base + p * ROWS].0.as_mut_ptr(), plane) };
                }
            }
        }
    }
}

/// Up to 16 words as two vectors, with zeros after the last one.
#[inline]
#[target_feature(enable = "avx512f")]
fn pair(words: &[u64]) -> [V; 2] {
    let at = |start: usize| {
        let rest = words.get(start..).unwrap_or(&[]);
        let mask = if rest.len() >= 8 {
            0xff
        } else {
            (1u8 << rest.len()) - 1
        };
        // SAFETY: the mask keeps the lanes within `rest`.
        unsafe { _mm512_maskz_loadu_epi64(mask, rest.as_ptr().cast()) }
    };
    [at(0), at(8)]
}

/// The bytes of four rows of 16 words: each plane has a 32-bit lane for a column, with a byte for
/// each row.
#[inline]
#[target_feature(enable = "avx512f")]
fn planes(rows: [[V; 2]; 4]) -> [V; RIGHT] {
    const ODD: __mmask16 = 0xaaaa;
    // Lower and upper halves of the words, 16 lanes each.
    let lower: [V; 4] = array!(i => {
        let [a, b] = rows[i];
        _mm512_mask_blend_epi32(ODD, a, _mm512_slli_epi64::<32>(b))
    });
    let upper: [V; 4] = array!(i => {
        let [a, b] = rows[i];
        _mm512_mask_blend_epi32(ODD, _mm512_srli_epi64::<32>(a), b)
    });
    // A transposition of 4 x 4 bytes in each lane: bytes of two rows, then of four.
    let even = _mm512_set1_epi32(0x00ff_00ff);
    let low = _mm512_set1_epi32(0x0000_ffff);
    let [r0, r1, r2, r3] = lower;
    let even_bytes = |a: V, b: V| select(even, a, _mm512_slli_epi32::<8>(b));
    let odd_bytes = |a: V, b: V| select(even, _mm512_srli_epi32::<8>(a), b);
    let (e0, e1) = (even_bytes(r0, r1), even_bytes(r2, r3));
    let (o0, o1) = (odd_bytes(r0, r1), odd_bytes(r2, r3));
    let lower_pairs = |a: V, b: V| select(low, a, _mm512_slli_epi32::<16>(b));
    let upper_pairs = |a: V, b: V| select(low, _mm512_srli_epi32::<16>(a), b);
    // The fifth bytes, with nothing above them.
    let [u0, u1, u2, u3] = upper;
    let last = lower_pairs(
        _mm512_or_si512(u0, _mm512_slli_epi32::<8>(u1)),
        _mm512_or_si512(u2, _mm512_slli_epi32::<8>(u3)),
    );
    [
        lower_pairs(e0, e1),
        lower_pairs(o0, o1),
        upper_pairs(e0, e1),
        upper_pairs(o0, o1),
        last,
    ]
}

/// The bits of `a` where `mask` has ones, of `b` elsewhere.
#[inline]
#[target_feature(enable = "avx512f")]
fn select(mask: V, a: V, b: V) -> V {
    _mm512_ternarylogic_epi32::<0xca>(mask, a, b)
}

/// Copies some columns of every row to where rows do not push each other out of the cache.
fn copy_columns(rows: &[&[u64]], columns: &Range<usize>, lines: &mut Vec<Line>) {
    lines.resize(rows.len() * COLUMNS / 8, Line([0; 8]));
    for (row, lines) in rows.iter().zip(lines.chunks_exact_mut(COLUMNS / 8)) {
        for (words, line) in row[columns.clone()].chunks(8).zip(lines) {
            line.0[..words.len()].copy_from_slice(words);
        }
    }
}

/// A coefficient of 2^16: its row of the whole matrix and its column.
type Large = (usize, usize);

fn large(matrix: &[u64], shape: &Shape) -> Vec<Large> {
    let entries = matrix.iter().enumerate();
    let largest = entries.filter(|&(_, &m)| m == MAX_COEFFICIENT);
    largest
        .map(|(i, _)| (i / shape.inner, i % shape.inner))
        .collect()
}

struct Product {
    shape: Shape,
    fold: V,
    reduction: Reduction,
    /// In the order of their rows.
    large: Vec<Large>,
    unit: Unit,
}

impl Product {
    /// Adds up one group's products with `y` for some columns: `totals` gets, for each vector of
    /// columns, lower and upper halves of three sums.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn group(
        &self,
        group: usize,
        (x, columns): ([&[&[u64]]; 2], &Range<usize>),
        scratch: &mut Scratch,
    ) {
        let shape = &self.shape;
        let Scratch {
            left,
            right,
            y,
            sums,
            combinations,
            totals,
        } = scratch;
        let per_row_of_tiles = shape.across * LEFT * ROWS;
        totals.fill(Line([0; 8]));
        for down in 0..shape.down {
            let left = &left[(group * shape.down + down) * per_row_of_tiles..][..per_row_of_tiles];
            let first = down * shape.rows;
            let rows = shape.rows.min(shape.height - first);
            let tiles = columns.len().div_ceil(16);
            for (right, combined) in right.iter().zip(&mut *combinations) {
                let right = right.chunks_exact(shape.across * RIGHT * ROWS).take(tiles);
                for (tile, right) in right.enumerate() {
                    self.unit.multiply(left, right, sums);
                    self.join(sums, rows, tile, combined);
                }
            }
            for part in 0..2 {
                let row = group * shape.height + first;
                self.add_large((row..row + rows, x[part]), columns, &mut combinations[part]);
            }
            let lines = |part: usize| &y[part][first * (COLUMNS / 8)..];
            for vector in (0..columns.len().div_ceil(8)).step_by(2) {
                let factors = [
                    combinations[0].as_slice(),
                    &combinations[1],
                    lines(0),
                    lines(1),
                ];
                add_products(factors, rows, vector, totals);
            }
        }
    }

    /// Writes a product of tiles as words below `2^52`: 16 columns of `rows` rows.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn join(&self, sums: &Sums, rows: usize, tile: usize, combined: &mut [Line]) {
        let (half, below_fold) = (splat(0xffff_ffff), splat((1 << FOLD) - 1));
        let combined = combined.chunks_exact_mut(COLUMNS / 8).take(rows);
        for (r, row) in combined.enumerate() {
            // SAFETY: a line is one vector.
            let d: [V; DIAGONALS] = array!(i => unsafe { load(sums[i][r].0.as_ptr()) });
            let [e0, e1, e2] = array!(i =>
                _mm512_add_epi32(d[2 * i], _mm512_slli_epi32::<8>(d[2 * i + 1])));
            let even = add(
                add(
                    _mm512_and_si512(e0, half),
                    _mm512_slli_epi64::<16>(_mm512_and_si512(e1, half)),
                ),
                _mm512_slli_epi64::<32>(e2),
            );
            let odd = add(
                add(
                    _mm512_srli_epi64::<32>(e0),
                    _mm512_slli_epi64::<16>(_mm512_srli_epi64::<32>(e1)),
                ),
                _mm512_andnot_si512(half, e2),
            );
            for (line, s) in row[2 * tile..][..2].iter_mut().zip([even, odd]) {
                let rest = _mm512_and_si512(s, below_fold);
                let folded = low(rest, _mm512_srli_epi64::<FOLD>(s), self.fold);
                // SAFETY: as above.
                unsafe { store(line.0.as_mut_ptr(), folded) };
            }
        }
    }

    /// Adds the words that [coefficients of 2^16](Large) in `rows` lack.
    fn add_large(
        &self,
        (rows, x): (Range<usize>, &[&[u64]]),
        columns: &Range<usize>,
        combined: &mut [Line],
    ) {
        let from = self.large.partition_point(|&(r, _)| r < rows.start);
        for &(r, k) in self.large[from..]
            .iter()
            .take_while(|&&(r, _)| r < rows.end)
        {
            let lines = &mut combined[(r - rows.start) * (COLUMNS / 8)..][..COLUMNS / 8];
            let words = lines.iter_mut().flat_map(|line| &mut line.0);
            for (sum, word) in words.zip(&x[k][columns.clone()]) {
                *sum += word;
            }
        }
    }

    /// Reduces the sums of some columns.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn finish(&self, totals: &[Line], out: &mut [&mut [u64]], columns: &Range<usize>) {
        for (d, out) in out.iter_mut().enumerate() {
            for (words, totals) in out[columns.clone()]
                .chunks_mut(8)
                .zip(totals.chunks_exact(6))
            {
                // SAFETY: a line is one vector.
                let sum: [V; 2] = array!(i => unsafe { load(totals[2 * d + i].0.as_ptr()) });
                let mask = if words.len() == 8 {
                    0xff
                } else {
                    (1u8 << words.len()) - 1
                };
                let v = self.reduction.run(sum[0], sum[1]);
                // SAFETY: the mask keeps the lanes within `words`.
                unsafe { _mm512_mask_storeu_epi64(words.as_mut_ptr().cast(), mask, v) };
            }
        }
    }
}

/// Adds products of combinations `p` and factors `y`, `[p0, p1, y0, y1]`, to the totals of two
/// vectors of columns.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn add_products(factors: [&[Line]; 4], rows: usize, vector: usize, totals: &mut [Line]) {
    const LINES: usize = COLUMNS / 8;
    let [p0, p1, y0, y1] = factors.map(|lines| &lines[..rows * LINES]);
    let totals = &mut totals[6 * vector..6 * (vector + 2)];
    let mut sums: [[V; 6]; 2] = array!(v => {
        let totals = &totals[6 * v..];
        // SAFETY: a line is one vector.
        array!(i => unsafe { load(totals[i].0.as_ptr()) })
    });
    for r in 0..rows {
        for (v, [l0, h0, l1, h1, l2, h2]) in sums.iter_mut().enumerate() {
            let lines = [p0, p1, y0, y1];
            let at = r * LINES + vector + v;
            // SAFETY: as above.
            let [p0, p1, y0, y1] = array!(i => unsafe { load(lines[i][at].0.as_ptr()) });
            (*l0, *h0) = (low(*l0, p0, y0), high(*h0, p0, y0));
            (*l1, *h1) = (low(*l1, p0, y1), high(*h1, p0, y1));
            (*l1, *h1) = (low(*l1, p1, y0), high(*h1, p1, y0));
            (*l2, *h2) = (low(*l2, p1, y1), high(*h2, p1, y1));
        }
    }
    for (v, sums) in sums.into_iter().enumerate() {
        for (i, sum) in sums.into_iter().enumerate() {
            // SAFETY: as above.
            unsafe { store(totals[6 * v + i].0.as_mut_ptr(), sum) };
        }
    }
}
