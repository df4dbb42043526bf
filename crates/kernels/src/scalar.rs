//! The portable reference. Plain enough to be read as the definition.

use crate::backend::{MAX_DOT, check_dot, check_lengths, check_mat_mul, check_ntt};
use crate::wide;
use crate::{Kernels, Modulus, NttTable};

/// Portable backend, and the specification of every other one.
#[derive(Clone, Copy, Debug)]
pub struct Scalar;

/// Runs `$work` with `$times` multiplying a residue by `$c`: by Montgomery, or by Shoup for wide
/// moduli.
macro_rules! with_factor {
    ($q:ident, $c:ident, |$times:ident| $work:expr) => {
        if $q.is_wide() {
            let constant = $q.shoup($c);
            let $times = |x: u64| wide::mul($q, x, $c, constant);
            $work
        } else {
            let factor = $q.montgomery($c);
            let $times = |x: u64| $q.mul_montgomery(x, factor);
            $work
        }
    };
}

impl Kernels for Scalar {
    fn name(&self) -> &'static str {
        "scalar"
    }

    fn ntt(&self, table: &NttTable, a: &mut [u64]) {
        check_ntt(table, a);
        if table.modulus().is_wide() {
            return wide::ntt(table, a);
        }
        let (q, roots) = (table.modulus(), table.forward());
        let mut nodes = 1;
        while nodes < a.len() {
            let half = a.len() / (2 * nodes);
            for (block, &root) in a.chunks_exact_mut(2 * half).zip(&roots[nodes..2 * nodes]) {
                let (low, high) = block.split_at_mut(half);
                for (x, y) in low.iter_mut().zip(high) {
                    let t = q.mul_montgomery(*y, root);
                    (*x, *y) = (q.add(*x, t), q.sub(*x, t));
                }
            }
            nodes *= 2;
        }
    }

    fn intt(&self, table: &NttTable, a: &mut [u64]) {
        check_ntt(table, a);
        if table.modulus().is_wide() {
            return wide::intt(table, a);
        }
        let (q, roots) = (table.modulus(), table.inverse());
        let mut nodes = a.len() / 2;
        while nodes > 1 {
            let half = a.len() / (2 * nodes);
            for (block, &root) in a.chunks_exact_mut(2 * half).zip(&roots[nodes..2 * nodes]) {
                let (low, high) = block.split_at_mut(half);
                for (x, y) in low.iter_mut().zip(high) {
                    (*x, *y) = (q.add(*x, *y), q.mul_montgomery(q.sub(*x, *y), root));
                }
            }
            nodes /= 2;
        }
        let [n_inverse, root] = table.last();
        let (low, high) = a.split_at_mut(table.n() / 2);
        for (x, y) in low.iter_mut().zip(high) {
            (*x, *y) = (
                q.mul_montgomery(q.add(*x, *y), n_inverse),
                q.mul_montgomery(q.sub(*x, *y), root),
            );
        }
    }

    fn add_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64]) {
        check_lengths(a, [b.len()]);
        for (x, &y) in a.iter_mut().zip(b) {
            *x = q.add(*x, y);
        }
    }

    fn sub_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64]) {
        check_lengths(a, [b.len()]);
        for (x, &y) in a.iter_mut().zip(b) {
            *x = q.sub(*x, y);
        }
    }

    fn neg_assign(&self, q: &Modulus, a: &mut [u64]) {
        for x in a {
            *x = q.neg(*x);
        }
    }

    fn mul_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64]) {
        check_lengths(a, [b.len()]);
        for (x, &y) in a.iter_mut().zip(b) {
            *x = q.mul(*x, y);
        }
    }

    fn mul_into(&self, q: &Modulus, out: &mut [u64], a: &[u64], b: &[u64]) {
        check_lengths(out, [a.len(), b.len()]);
        for ((o, &x), &y) in out.iter_mut().zip(a).zip(b) {
            *o = q.mul(x, y);
        }
    }

    fn mul_add_assign(&self, q: &Modulus, acc: &mut [u64], a: &[u64], b: &[u64]) {
        check_lengths(acc, [a.len(), b.len()]);
        for ((o, &x), &y) in acc.iter_mut().zip(a).zip(b) {
            *o = q.add(*o, q.mul(x, y));
        }
    }

    fn scalar_mul_assign(&self, q: &Modulus, a: &mut [u64], c: u64) {
        with_factor!(q, c, |times| for x in a {
            *x = times(*x);
        });
    }

    fn scalar_mul_add_assign(&self, q: &Modulus, acc: &mut [u64], a: &[u64], c: u64) {
        check_lengths(acc, [a.len()]);
        with_factor!(q, c, |times| for (o, &x) in acc.iter_mut().zip(a) {
            *o = q.add(*o, times(x));
        });
    }

    fn sub_scalar_mul_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64], c: u64) {
        check_lengths(a, [b.len()]);
        with_factor!(q, c, |times| for (x, &y) in a.iter_mut().zip(b) {
            *x = times(q.sub(*x, y));
        });
    }

    fn reduce_into(&self, q: &Modulus, out: &mut [u64], a: &[u64]) {
        check_lengths(out, [a.len()]);
        for (o, &x) in out.iter_mut().zip(a) {
            *o = q.reduce(x);
        }
    }

    fn dot_into(&self, q: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
        out.fill(0);
        self.dot_add_assign(q, out, a, b);
    }

    fn dot_add_assign(&self, q: &Modulus, acc: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
        check_dot(acc, a, b);
        for (i, o) in acc.iter_mut().enumerate() {
            let terms = a
                .iter()
                .zip(b)
                .map(|(x, y)| u128::from(x[i]) * u128::from(y[i]));
            *o = q.reduce_u128(u128::from(*o) + terms.sum::<u128>());
        }
    }

    fn mat_mul_into(
        &self,
        moduli: &[Modulus],
        m: &[u64],
        (x, _): (&[&[u64]], u32),
        out: &mut [&mut [u64]],
    ) {
        check_mat_mul(moduli, m, x, out);
        for (r, (row, q)) in out.iter_mut().zip(moduli).enumerate() {
            let factors = &m[r * x.len()..(r + 1) * x.len()];
            for (c, o) in row.iter_mut().enumerate() {
                // 256 products of words below 2^60, and a residue, stay below 2^128.
                let parts = factors.chunks(MAX_DOT).zip(x.chunks(MAX_DOT));
                *o = parts.fold(0, |sum, (factors, x)| {
                    let terms = factors
                        .iter()
                        .zip(x)
                        .map(|(&f, column)| u128::from(f) * u128::from(column[c]));
                    q.reduce_u128(u128::from(sum) + terms.sum::<u128>())
                });
            }
        }
    }
}
