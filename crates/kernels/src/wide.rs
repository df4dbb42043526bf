//! Scalar transforms modulo a wide `q`: 64-bit words, products with Shoup constants.
//!
//! # Source
//! Harvey, "Faster arithmetic for number-theoretic transforms", 2014,
//! <https://arxiv.org/abs/1205.2926>, algorithms 4 and 3: values stay below `4q < 2^62` in the
//! forward transform and below `2q` in the inverse.

use crate::{Modulus, NttTable};

/// Input below q, output below q.
pub(crate) fn ntt(table: &NttTable, a: &mut [u64]) {
    let (q, double) = (table.modulus(), 2 * table.modulus().value());
    let (roots, constants) = (table.forward(), &table.shoup().forward);
    let mut nodes = 1;
    while nodes < a.len() {
        let half = a.len() / (2 * nodes);
        for (block, k) in a.chunks_exact_mut(2 * half).zip(nodes..) {
            let (low, high) = block.split_at_mut(half);
            for (x, y) in low.iter_mut().zip(high) {
                let x0 = q.subtract_once(*x, 2);
                let t = q.mul_shoup_lazy(*y, roots[k], constants[k]);
                (*x, *y) = (x0 + t, x0 + double - t);
            }
        }
        nodes *= 2;
    }
    for x in a {
        *x = q.subtract_once(q.subtract_once(*x, 2), 1);
    }
}

/// Inverse of [`ntt`]. Input below q, output below q.
pub(crate) fn intt(table: &NttTable, a: &mut [u64]) {
    let (q, double) = (table.modulus(), 2 * table.modulus().value());
    let (roots, constants) = (table.inverse(), &table.shoup().inverse);
    let mut nodes = a.len() / 2;
    while nodes > 1 {
        let half = a.len() / (2 * nodes);
        for (block, k) in a.chunks_exact_mut(2 * half).zip(nodes..) {
            let (low, high) = block.split_at_mut(half);
            for (x, y) in low.iter_mut().zip(high) {
                let difference = *x + double - *y;
                *x = q.subtract_once(*x + *y, 2);
                *y = q.mul_shoup_lazy(difference, roots[k], constants[k]);
            }
        }
        nodes /= 2;
    }
    let ([n_inverse, root], [n_constant, constant]) = (table.last(), table.shoup().last);
    let (low, high) = a.split_at_mut(table.n() / 2);
    for (x, y) in low.iter_mut().zip(high) {
        let (sum, difference) = (*x + *y, *x + double - *y);
        *x = mul(q, sum, n_inverse, n_constant);
        *y = mul(q, difference, root, constant);
    }
}

/// `x * w mod q`, for any `x` and the Shoup constant of `w`.
#[inline]
pub(crate) fn mul(q: &Modulus, x: u64, w: u64, constant: u64) -> u64 {
    q.subtract_once(q.mul_shoup_lazy(x, w, constant), 1)
}
