//! The plan of a transform: passes and their roots of unity.

use std::f64::consts::TAU;

/// Complex points of a block. A block is transformed in registers.
pub(super) const BLOCK: usize = 64;
/// Numbers in the roots of one block: 7 complex ones of its first half, padded, and 7 vectors of
/// complex ones of its second half.
pub(super) const BLOCK_ROOTS: usize = 16 + 7 * 16;

/// Roots of the transform of real polynomials of `N` coefficients modulo `X^N + 1`.
///
/// `R[X]/(X^N + 1)` is `C[X]/(X^M - i)` with `M = N/2`. Point `j` of `M` holds coefficient `j` as
/// its real part and coefficient `j + M` as its imaginary part. A node of the transform is
/// `C[X]/(X^m - e^(2 pi i f))`. It splits into `r` nodes of `m/r` points with `f_c = (f + c)/r`:
/// the `k`-th part is multiplied by `e^(2 pi i f k / r)`, and a transform of `r` points follows.
/// Nodes stay in place, so values come out in the order of the splitting. Products need not know
/// that order.
#[derive(Debug)]
pub struct FftTable {
    n: usize,
    pub(super) passes: Vec<Pass>,
    /// For each block, [`BLOCK_ROOTS`] numbers: first `w^k` of its node as (re, im), then for each
    /// `k` from 1 to 7 a vector of the real parts and one of the imaginary parts of `w^k` of its
    /// eight nodes.
    pub(super) blocks: Vec<f64>,
}

/// One pass over all points: the nodes of one size.
#[derive(Debug)]
pub(super) struct Pass {
    /// 4 or 8.
    pub(super) radix: usize,
    /// Points of a node.
    pub(super) size: usize,
    /// For each node, `w^k` for `k` from 1 to `radix - 1` as (re, im).
    pub(super) roots: Vec<f64>,
}

impl FftTable {
    /// log2 of the smallest and largest number of coefficients.
    pub const LOG_N: std::ops::RangeInclusive<u32> = 9..=16;

    /// The table for polynomials of `n` coefficients, or `None` unless `n` is a power of two with
    /// its log2 in [`FftTable::LOG_N`].
    pub fn new(n: usize) -> Option<Self> {
        if !n.is_power_of_two() || !Self::LOG_N.contains(&n.ilog2()) {
            return None;
        }
        let mut size = n / 2;
        let mut nodes = vec![0.25]; // X^M - i
        let mut passes = Vec::new();
        while size > BLOCK {
            let radix = match size / BLOCK {
                4 | 16 => 4,
                _ => 8,
            };
            let mut roots = Vec::with_capacity(nodes.len() * (radix - 1) * 2);
            for &f in &nodes {
                (1..radix).for_each(|k| roots.extend(root(f * k as f64 / radix as f64)));
            }
            passes.push(Pass { radix, size, roots });
            nodes = nodes.iter().flat_map(|&f| children(f, radix)).collect();
            size /= radix;
        }
        let blocks = nodes.iter().flat_map(|&f| block_roots(f)).collect();
        Some(Self { n, passes, blocks })
    }

    /// Number of coefficients, and of doubles in a transform.
    pub fn n(&self) -> usize {
        self.n
    }
}

fn children(f: f64, radix: usize) -> impl Iterator<Item = f64> {
    // Exact: `f` is a multiple of `1/2^18` or of a larger power of two.
    (0..radix).map(move |c| (f + c as f64) / radix as f64)
}

fn block_roots(f: f64) -> [f64; BLOCK_ROOTS] {
    let mut out = [0.0; BLOCK_ROOTS];
    for k in 1..8 {
        out[2 * (k - 1)..2 * k].copy_from_slice(&root(f * k as f64 / 8.0));
        for (c, f) in children(f, 8).enumerate() {
            let [re, im] = root(f * k as f64 / 8.0);
            out[16 * k + c] = re;
            out[16 * k + 8 + c] = im;
        }
    }
    out
}

/// `e^(2 pi i f)`. `f` is first reduced to an eighth of a turn, where sine and cosine are accurate
/// to their last bit.
fn root(f: f64) -> [f64; 2] {
    let f = f - f.floor();
    let quarter = (4.0 * f).round();
    let (sin, cos) = (TAU * (f - quarter / 4.0)).sin_cos();
    match quarter as u32 % 4 {
        0 => [cos, sin],
        1 => [-sin, cos],
        2 => [-cos, -sin],
        _ => [sin, -cos],
    }
}
