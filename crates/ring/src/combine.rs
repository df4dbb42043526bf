//! Sums of tensor products, also of linear combinations, fused. This is the inner loop of
//! polynomial evaluation.

use crate::basis::Basis;
use crate::par::{self, for_each_item};
use crate::poly::{Eval, Poly, dot_limb};
use kernels::{Combinations, kernels};

/// Columns of the shortest strip.
const BLOCK: usize = 1 << 9;

/// Words of all operands of a block of [`tensor_sum`]: 256 KB, which stay in the L2 cache.
const SUM_WORDS: usize = 1 << 15;

/// The two components of a ciphertext.
pub type Pair<'a> = [&'a Poly<Eval>; 2];

/// A limb of both components of some ciphertexts.
type Rows<'a> = [Vec<&'a [u64]>; 2];

/// `c sum_k a_k (x) b_k`: three polynomials `d_0, d_1, d_2`, with
/// `(a_0, a_1) (x) (b_0, b_1) = (a_0 b_0, a_0 b_1 + a_1 b_0, a_1 b_1)`. `scalar(i)` is `c` modulo
/// `q_i`.
///
/// All three components of a block of columns are made while its operands are in the cache. Limbs
/// beyond those of `basis` are ignored.
///
/// # Panics
/// If there are no products, or not as many left factors as right ones.
pub fn tensor_sum(
    basis: &Basis,
    a: &[Pair],
    b: &[Pair],
    scalar: impl Fn(usize) -> u64 + Sync,
) -> [Poly<Eval>; 3] {
    assert!(
        !a.is_empty() && a.len() == b.len(),
        "as many left factors as right ones"
    );
    let width = (SUM_WORDS / (4 * a.len() + 3)).next_power_of_two();
    let width = width.clamp(BLOCK.min(basis.n()), basis.n());
    let mut out = [(); 3].map(|()| Poly::stale(basis));
    let limbs = strips(out.iter_mut(), basis.len(), basis.n());
    for_each_item(limbs, |i, mut limb| {
        let (q, scalar) = (basis.modulus(i), scalar(i));
        let (a, b) = (rows(a, i), rows(b, i));
        for start in (0..basis.n()).step_by(width) {
            let columns = start..start + width;
            let [a0, a1, b0, b1] = [&a[0], &a[1], &b[0], &b[1]].map(|rows| slices(rows, &columns));
            let terms = [
                (a0.clone(), b0.clone()),
                ([&*a0, &a1].concat(), [&*b1, &b0].concat()),
                (a1, b1),
            ];
            for (out, (left, right)) in limb.iter_mut().zip(&terms) {
                let out = &mut out[columns.clone()];
                dot_limb(q, out, left, right);
                kernels().scalar_mul_assign(q, out, scalar);
            }
        }
    });
    out
}

/// For each group `g`, `c sum_j (sum_i m[g][j][i] x_i) (x) y_j`, as in [`tensor_sum`].
///
/// # Shape
/// `matrix` holds `groups * y.len() * x.len()` words below 2^17, group-major, then by `j`. The
/// combinations are never stored whole: each block of columns is combined, multiplied and added
/// while it is in the cache. Limbs beyond those of `basis` are ignored.
///
/// # Panics
/// If the matrix has another size.
pub fn tensor_combinations(
    basis: &Basis,
    matrix: &[u64],
    x: &[Pair],
    y: &[Pair],
    scalar: impl Fn(usize) -> u64 + Sync,
) -> Vec<[Poly<Eval>; 3]> {
    let per_group = x.len() * y.len();
    assert_eq!(matrix.len() % per_group, 0, "a matrix of whole groups");
    let groups = matrix.len() / per_group;
    let mut out: Vec<[Poly<Eval>; 3]> = (0..groups)
        .map(|_| std::array::from_fn(|_| Poly::stale(basis)))
        .collect();
    let width = width(basis.n(), basis.len(), par::threads());
    let per_limb = basis.n() / width;
    let strips = strips(out.iter_mut().flatten(), basis.len() * per_limb, width);
    for_each_item(strips, |item, mut out| {
        let (i, start) = (item / per_limb, item % per_limb * width);
        let columns = start..start + width;
        let strip = |pairs| rows(pairs, i).map(|rows| slices(&rows, &columns));
        let ([x0, x1], [y0, y1]) = (strip(x), strip(y));
        let combinations = Combinations {
            matrix,
            x: [&x0, &x1],
            y: [&y0, &y1],
        };
        let (q, scalar) = (basis.modulus(i), scalar(i));
        kernels().tensor_combinations(q, &combinations, &mut out);
        for words in &mut out {
            kernels().scalar_mul_assign(q, words, scalar);
        }
    });
    out
}

/// Strips of `width` words of every polynomial: for each limb, for each strip of it, the words of
/// all polynomials in order. There are `count` strips.
fn strips<'a>(
    polys: impl Iterator<Item = &'a mut Poly<Eval>>,
    count: usize,
    width: usize,
) -> Vec<Vec<&'a mut [u64]>> {
    let mut strips: Vec<Vec<&mut [u64]>> = Vec::new();
    strips.resize_with(count, Vec::new);
    for poly in polys {
        let words = poly.limbs_mut().flat_map(|limb| limb.chunks_mut(width));
        for (strip, words) in strips.iter_mut().zip(words) {
            strip.push(words);
        }
    }
    strips
}

/// For each row `r`, `sum_k p_(r,k) x_k`, for polynomials `p` in `X^gap`: in the evaluation domain
/// each of their words stands `gap` times in a row. All rows are computed at once, so `x` is read
/// from memory once.
///
/// # Shape
/// `matrix` is limb-major, then by block of `gap` columns, then by `r`, then by `k`.
///
/// # Panics
/// If the matrix does not have `rows * x.len()` entries for each block of each limb, or if `x` has
/// more than 512 pairs.
pub fn block_combinations(
    basis: &Basis,
    matrix: &[u64],
    (gap, rows): (usize, usize),
    x: &[Pair],
) -> Vec<[Poly<Eval>; 2]> {
    let (size, blocks) = (rows * x.len(), basis.n() / gap);
    assert_eq!(
        matrix.len(),
        basis.len() * blocks * size,
        "a matrix for each block"
    );
    let mut out: Vec<[Poly<Eval>; 2]> = (0..rows)
        .map(|_| [(); 2].map(|()| Poly::zero(basis)))
        .collect();
    let width = width(basis.n(), basis.len(), par::threads());
    let per_limb = basis.n() / width;
    let strips = strips(out.iter_mut().flatten(), basis.len() * per_limb, width);
    for_each_item(strips, |item, mut out| {
        let (i, start) = (item / per_limb, item % per_limb * width);
        let (q, x) = (basis.modulus(i), self::rows(x, i));
        let moduli = vec![*q; rows];
        // A strip has several blocks, or is a part of one.
        let step = gap.min(width);
        for first in (start..start + width).step_by(step) {
            let m = &matrix[(i * blocks + first / gap) * size..][..size];
            for (part, x) in x.iter().enumerate() {
                let x = slices(x, &(first..first + step));
                let own = out.iter_mut().skip(part).step_by(2);
                let columns = first - start..first - start + step;
                let mut own: Vec<&mut [u64]> = own.map(|o| &mut o[columns.clone()]).collect();
                kernels().mat_mul_into(&moduli, m, (&x, q.bits()), &mut own);
            }
        }
    });
    out
}

/// Columns that one thread works on at a time: a limb of `n` words, or less if there are few limbs
/// for each thread. With 8 strips for each, threads end at about the same time.
fn width(n: usize, limbs: usize, threads: usize) -> usize {
    let strips = (8 * threads).div_ceil(limbs.max(1)).next_power_of_two();
    (n / strips).clamp(BLOCK.min(n), n)
}

/// Limb `i` of every component: first the limbs of all first components, then the limbs of all
/// second components.
fn rows<'a>(pairs: &[Pair<'a>], i: usize) -> Rows<'a> {
    [0, 1].map(|part| pairs.iter().map(|p| p[part].limb(i)).collect())
}

fn slices<'a>(rows: &[&'a [u64]], columns: &std::ops::Range<usize>) -> Vec<&'a [u64]> {
    rows.iter().map(|r| &r[columns.clone()]).collect()
}
