//! Definitions as code: slow and obvious. The tests compare with them.

use crate::{Modulus, NttTable};

/// `a * b` modulo `X^N + 1` and `q`: the sum over all pairs of coefficients.
///
/// # Panics
/// If `a` and `b` differ in length.
pub fn negacyclic_mul(q: &Modulus, a: &[u64], b: &[u64]) -> Vec<u64> {
    assert_eq!(a.len(), b.len());
    let n = a.len();
    let mut out = vec![0; n];
    for (i, &x) in a.iter().enumerate() {
        for (j, &y) in b.iter().enumerate() {
            let term = q.mul(x, y);
            let k = (i + j) % n;
            out[k] = if i + j < n {
                q.add(out[k], term)
            } else {
                q.sub(out[k], term)
            };
        }
    }
    out
}

/// The transform by its definition: `out[i] = a(psi^(2 bitrev(i) + 1))`.
///
/// # Panics
/// If `a` does not have `N` words.
pub fn ntt(table: &NttTable, a: &[u64]) -> Vec<u64> {
    let (q, n) = (table.modulus(), table.n());
    assert_eq!(a.len(), n);
    let shift = usize::BITS - n.trailing_zeros();
    (0..n)
        .map(|i| {
            let exponent = 2 * (i.reverse_bits() >> shift) + 1;
            let x = q.pow(table.root(), exponent as u64);
            a.iter().rev().fold(0, |sum, &c| q.add(q.mul(sum, x), c))
        })
        .collect()
}
