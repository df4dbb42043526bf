//! The transforms and the product of values, for any vector.
//!
//! Complex points stand in groups of eight: eight real parts, then eight imaginary parts. All
//! passes but the last of the forward transform work on whole vectors. The last pass takes blocks
//! of 64 points through two steps of radix 8 in registers. A transposition between the two steps is
//! not undone, so no step works within a vector.

use std::f64::consts::FRAC_1_SQRT_2;

use super::table::{BLOCK, BLOCK_ROOTS, FftTable, Pass};
use super::vector::{Complex, Vector, transform_4, transform_8};
use crate::array::array;

/// A source of the points of a polynomial.
pub(super) trait Source<V: Vector> {
    /// Points `j .. j + 8`: coefficients `j .. j + 8` as real parts, and those `n / 2` further as
    /// imaginary parts.
    ///
    /// # Safety
    /// The CPU has the features of `V`, and `j + 8 <= n / 2`.
    unsafe fn points(&self, j: usize) -> Complex<V>;
}

/// A destination for points.
pub(super) trait Sink<V: Vector> {
    /// Takes points `j .. j + 8`.
    ///
    /// # Safety
    /// As [`Source::points`].
    unsafe fn put(&mut self, j: usize, points: Complex<V>);
}

impl<V: Vector> Source<V> for &[i32] {
    #[inline(always)]
    unsafe fn points(&self, j: usize) -> Complex<V> {
        // SAFETY: by the caller.
        unsafe {
            let p = self.as_ptr().add(j);
            Complex {
                re: V::load_i32(p),
                im: V::load_i32(p.add(self.len() / 2)),
            }
        }
    }
}

impl<V: Vector> Source<V> for &[f64] {
    #[inline(always)]
    unsafe fn points(&self, j: usize) -> Complex<V> {
        // SAFETY: by the caller.
        unsafe {
            let p = self.as_ptr().add(j);
            Complex {
                re: V::load(p),
                im: V::load(p.add(self.len() / 2)),
            }
        }
    }
}

impl<V: Vector> Sink<V> for &mut [u64] {
    #[inline(always)]
    unsafe fn put(&mut self, j: usize, points: Complex<V>) {
        let half = self.len() / 2;
        // SAFETY: by the caller.
        unsafe {
            let p = self.as_mut_ptr().add(j);
            points.re.add_fraction_64(p);
            points.im.add_fraction_64(p.add(half));
        }
    }
}

impl<V: Vector> Sink<V> for &mut [u32] {
    #[inline(always)]
    unsafe fn put(&mut self, j: usize, points: Complex<V>) {
        let half = self.len() / 2;
        // SAFETY: by the caller.
        unsafe {
            let p = self.as_mut_ptr().add(j);
            points.re.add_fraction_32(p);
            points.im.add_fraction_32(p.add(half));
        }
    }
}

/// Memory that will be read next, cut into as many equal parts as there are blocks of work during
/// which it can be prefetched.
///
/// Reading a bootstrapping key from memory takes as long as the arithmetic on it, if one waits for
/// the other.
pub(super) struct Ahead<'a> {
    rest: &'a [f64],
    part: usize,
}

impl<'a> Ahead<'a> {
    pub(super) fn new(all: &'a [f64], blocks: usize) -> Self {
        let part = all.len().div_ceil(blocks);
        Self { rest: all, part }
    }

    /// Prefetches the next part.
    #[inline(always)]
    fn fetch(&mut self) {
        let (part, rest) = self.rest.split_at(self.part.min(self.rest.len()));
        self.rest = rest;
        for line in part.chunks(8) {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a prefetch is a hint, and the address is within a slice.
            unsafe {
                use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
                _mm_prefetch::<_MM_HINT_T1>(line.as_ptr().cast());
            }
            #[cfg(not(target_arch = "x86_64"))]
            let _ = line;
        }
    }
}

/// The values of a polynomial, `out` of `n` numbers.
///
/// # Safety
/// The CPU has the features of `V`; `source` and `out` have `n` numbers.
#[inline(always)]
pub(super) unsafe fn forward<V: Vector>(
    table: &FftTable,
    out: &mut [f64],
    source: impl Source<V>,
    mut ahead: Ahead<'_>,
) {
    let (first, rest) = table.passes.split_first().expect("N is at least 512");
    let out = out.as_mut_ptr();
    // SAFETY: points stay below n / 2 = passes[0].size, each of two numbers of `out`.
    unsafe {
        first_pass::<V>(first, out, source);
        // Takes each part of the first pass through all further passes while it is in the cache.
        let part = first.size / first.radix;
        for start in (0..first.size).step_by(part) {
            for pass in rest {
                for at in (start..start + part).step_by(pass.size) {
                    let roots = pass
                        .roots
                        .as_ptr()
                        .add(at / pass.size * (pass.radix - 1) * 2);
                    match pass.radix {
                        4 => node_forward::<V, 4>(out.add(2 * at), pass.size, roots),
                        _ => node_forward::<V, 8>(out.add(2 * at), pass.size, roots),
                    }
                }
            }
            for at in (start..start + part).step_by(BLOCK) {
                let roots = table.blocks.as_ptr().add(at / BLOCK * BLOCK_ROOTS);
                block_forward::<V>(out.add(2 * at), roots);
                ahead.fetch();
            }
        }
    }
}

/// A column of a product: `digits[r]` and `matrix[r * row_len ..]` for each row, `n` values each.
#[derive(Clone, Copy)]
pub(super) struct Column<'a> {
    pub(super) digits: &'a [f64],
    pub(super) matrix: &'a [f64],
    pub(super) row_len: usize,
}

/// The points of the sum of products of a column, multiplied by `n / 2`. `values` is overwritten.
///
/// # Safety
/// The CPU has the features of `V`; `values` and `sink` have `n` numbers, the column's rows as
/// many.
#[inline(always)]
pub(super) unsafe fn products<V: Vector>(
    table: &FftTable,
    values: &mut [f64],
    column: Column<'_>,
    sink: impl Sink<V>,
    mut ahead: Ahead<'_>,
) {
    let (first, rest) = table.passes.split_first().expect("N is at least 512");
    let values = values.as_mut_ptr();
    // SAFETY: as in `forward`.
    unsafe {
        let part = first.size / first.radix;
        for start in (0..first.size).step_by(part) {
            for at in (start..start + part).step_by(BLOCK) {
                let roots = table.blocks.as_ptr().add(at / BLOCK * BLOCK_ROOTS);
                let sums = block_sums::<V>(table.n(), 2 * at, column);
                block_inverse::<V>(values.add(2 * at), sums, roots);
                ahead.fetch();
            }
            for pass in rest.iter().rev() {
                for at in (start..start + part).step_by(pass.size) {
                    let roots = pass
                        .roots
                        .as_ptr()
                        .add(at / pass.size * (pass.radix - 1) * 2);
                    match pass.radix {
                        4 => node_inverse::<V, 4>(values.add(2 * at), pass.size, roots),
                        _ => node_inverse::<V, 8>(values.add(2 * at), pass.size, roots),
                    }
                }
            }
        }
        last_pass::<V>(first, values, sink);
    }
}

/// `sum over r of digits[r] * matrix[r]`, for the numbers at `at .. at + 128`.
///
/// # Safety
/// As [`products`].
#[inline(always)]
unsafe fn block_sums<V: Vector>(n: usize, at: usize, column: Column<'_>) -> [Complex<V>; 8] {
    let rows = column.digits.len() / n;
    let (digits, matrix) = (column.digits.as_ptr(), column.matrix.as_ptr());
    // SAFETY: by the caller.
    unsafe {
        let (digits, matrix) = (digits.add(at), matrix.add(at));
        let mut sums: [Complex<V>; 8] = array!(
            v => Complex::load(digits.add(16 * v)).mul(Complex::load(matrix.add(16 * v)))
        );
        for r in 1..rows {
            let (digits, matrix) = (digits.add(r * n), matrix.add(r * column.row_len));
            for (v, sum) in sums.iter_mut().enumerate() {
                *sum = sum.add_product(
                    Complex::load(digits.add(16 * v)),
                    Complex::load(matrix.add(16 * v)),
                );
            }
        }
        sums
    }
}

/// Multiplies point `k` by `w^k`, then transforms.
///
/// # Safety
/// `roots` has `RADIX - 1` complex numbers.
#[inline(always)]
unsafe fn split<V: Vector, const RADIX: usize>(
    x: [Complex<V>; RADIX],
    roots: [Complex<V>; RADIX],
    half: V,
) -> [Complex<V>; RADIX] {
    let x: [Complex<V>; RADIX] = array!(k => if k == 0 { x[0] } else { x[k].mul(roots[k]) });
    transform::<V, RADIX, false>(x, half)
}

#[inline(always)]
fn transform<V: Vector, const RADIX: usize, const INVERSE: bool>(
    x: [Complex<V>; RADIX],
    half: V,
) -> [Complex<V>; RADIX] {
    let mut out = x;
    if RADIX == 4 {
        let y = transform_4::<V, INVERSE>([x[0], x[1], x[2], x[3]]);
        out[..4].copy_from_slice(&y);
    } else {
        let y = transform_8::<V, INVERSE>([x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]], half);
        out[..8].copy_from_slice(&y);
    }
    out
}

/// Transforms, then multiplies point `k` by the conjugate of `w^k`.
#[inline(always)]
fn join<V: Vector, const RADIX: usize>(
    y: [Complex<V>; RADIX],
    roots: [Complex<V>; RADIX],
    half: V,
) -> [Complex<V>; RADIX] {
    let x = transform::<V, RADIX, true>(y, half);
    array!(k => if k == 0 { x[0] } else { x[k].mul_conjugate(roots[k]) })
}

/// `w^k` in all lanes. The first entry stands for 1 and is not used.
///
/// # Safety
/// The CPU has the features of `V`, and `RADIX - 1` complex numbers are readable.
#[inline(always)]
unsafe fn roots_of_node<V: Vector, const RADIX: usize>(roots: *const f64) -> [Complex<V>; RADIX] {
    // SAFETY: by the caller.
    unsafe { array!(k => Complex::splat(roots.add(2 * k.saturating_sub(1)))) }
}

/// # Safety
/// As [`forward`], with all points of `out` writable.
#[inline(always)]
unsafe fn first_pass<V: Vector>(pass: &Pass, out: *mut f64, source: impl Source<V>) {
    // SAFETY: by the caller.
    unsafe {
        match pass.radix {
            4 => first_pass_of::<V, 4>(pass, out, source),
            _ => first_pass_of::<V, 8>(pass, out, source),
        }
    }
}

#[inline(always)]
unsafe fn first_pass_of<V: Vector, const RADIX: usize>(
    pass: &Pass,
    out: *mut f64,
    source: impl Source<V>,
) {
    let stride = pass.size / RADIX;
    // SAFETY: by the caller of `first_pass`.
    unsafe {
        let half = V::splat(FRAC_1_SQRT_2);
        let roots = roots_of_node::<V, RADIX>(pass.roots.as_ptr());
        for j in (0..stride).step_by(8) {
            let x = array!(k => source.points(k * stride + j));
            for (c, y) in split(x, roots, half).iter().enumerate() {
                y.store(out.add(2 * (c * stride + j)));
            }
        }
    }
}

#[inline(always)]
unsafe fn node_forward<V: Vector, const RADIX: usize>(
    at: *mut f64,
    size: usize,
    roots: *const f64,
) {
    let stride = size / RADIX;
    // SAFETY: by the caller of `forward`: the node has `size` points.
    unsafe {
        let half = V::splat(FRAC_1_SQRT_2);
        let roots = roots_of_node::<V, RADIX>(roots);
        for j in (0..stride).step_by(8) {
            let x = array!(k => Complex::load(at.add(2 * (k * stride + j))));
            for (c, y) in split(x, roots, half).iter().enumerate() {
                y.store(at.add(2 * (c * stride + j)));
            }
        }
    }
}

#[inline(always)]
unsafe fn node_inverse<V: Vector, const RADIX: usize>(
    at: *mut f64,
    size: usize,
    roots: *const f64,
) {
    let stride = size / RADIX;
    // SAFETY: as in `node_forward`.
    unsafe {
        let half = V::splat(FRAC_1_SQRT_2);
        let roots = roots_of_node::<V, RADIX>(roots);
        for j in (0..stride).step_by(8) {
            let y = array!(c => Complex::load(at.add(2 * (c * stride + j))));
            for (k, x) in join(y, roots, half).iter().enumerate() {
                x.store(at.add(2 * (k * stride + j)));
            }
        }
    }
}

/// # Safety
/// As [`products`].
#[inline(always)]
unsafe fn last_pass<V: Vector>(pass: &Pass, values: *const f64, sink: impl Sink<V>) {
    // SAFETY: by the caller.
    unsafe {
        match pass.radix {
            4 => last_pass_of::<V, 4>(pass, values, sink),
            _ => last_pass_of::<V, 8>(pass, values, sink),
        }
    }
}

#[inline(always)]
unsafe fn last_pass_of<V: Vector, const RADIX: usize>(
    pass: &Pass,
    values: *const f64,
    mut sink: impl Sink<V>,
) {
    let stride = pass.size / RADIX;
    // SAFETY: by the caller of `last_pass`.
    unsafe {
        let half = V::splat(FRAC_1_SQRT_2);
        let roots = roots_of_node::<V, RADIX>(pass.roots.as_ptr());
        for j in (0..stride).step_by(8) {
            let y = array!(c => Complex::load(values.add(2 * (c * stride + j))));
            for (k, x) in join(y, roots, half).iter().enumerate() {
                sink.put(k * stride + j, *x);
            }
        }
    }
}

/// The roots of the second half of a block, with one of its nodes per lane.
///
/// # Safety
/// The CPU has the features of `V`, and the roots of a block are readable.
#[inline(always)]
unsafe fn roots_of_lanes<V: Vector>(roots: *const f64) -> [Complex<V>; 8] {
    // SAFETY: by the caller.
    unsafe { array!(k => Complex::load(roots.add(16 * k))) }
}

#[inline(always)]
fn transpose<V: Vector>(x: [Complex<V>; 8]) -> [Complex<V>; 8] {
    let re = V::transpose(array!(i => x[i].re));
    let im = V::transpose(array!(i => x[i].im));
    array!(i => Complex { re: re[i], im: im[i] })
}

#[inline(always)]
unsafe fn block_forward<V: Vector>(at: *mut f64, roots: *const f64) {
    // SAFETY: by the caller of `forward`: the block has 64 points.
    unsafe {
        let half = V::splat(FRAC_1_SQRT_2);
        let x = array!(k => Complex::load(at.add(16 * k)));
        let x = split::<V, 8>(x, roots_of_node(roots), half);
        let y = split::<V, 8>(transpose(x), roots_of_lanes(roots), half);
        for (c, y) in y.iter().enumerate() {
            y.store(at.add(16 * c));
        }
    }
}

#[inline(always)]
unsafe fn block_inverse<V: Vector>(at: *mut f64, y: [Complex<V>; 8], roots: *const f64) {
    // SAFETY: as in `block_forward`.
    unsafe {
        let half = V::splat(FRAC_1_SQRT_2);
        let y = transpose(join::<V, 8>(y, roots_of_lanes(roots), half));
        let x = join::<V, 8>(y, roots_of_node(roots), half);
        for (k, x) in x.iter().enumerate() {
            x.store(at.add(16 * k));
        }
    }
}
