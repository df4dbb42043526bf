//! Tensor products of two pairs, with the result in the coefficient domain. The work goes limb by
//! limb: all steps modulo one prime run while its limbs and roots are in the cache.

use crate::convert::with_scratch;
use crate::par::for_each_item;
use crate::poly::{Coeff, Eval, Poly};
use kernels::{NttTable, kernels};

/// `(a_0 b_0, a_0 b_1 + a_1 b_0, a_1 b_1)`.
///
/// # Panics
/// If the bases differ.
pub fn tensor(a: [&Poly<Eval>; 2], b: [&Poly<Eval>; 2]) -> [Poly<Coeff>; 3] {
    let basis = a[0].basis();
    assert!(
        [a[1], b[0], b[1]].iter().all(|p| p.basis() == basis),
        "operands over one basis"
    );
    let mut out = [(); 3].map(|()| Poly::stale(basis));
    for_each_item(by_limb(&mut out), |i, mut limbs| {
        let table = &basis.tables()[i];
        let q = table.modulus();
        let [a0, a1, b0, b1] = [a[0], a[1], b[0], b[1]].map(|p| p.limb(i));
        let [d0, d1, d2] = &mut limbs[..] else {
            unreachable!("three components");
        };
        kernels().mul_into(q, d0, a0, b0);
        kernels().dot_into(q, d1, &[a0, a1], &[b1, b0]);
        kernels().mul_into(q, d2, a1, b1);
        limbs.iter_mut().for_each(|d| kernels().intt(table, d));
    });
    out
}

/// As [`tensor`], from the coefficient domain. Without `b`, the square of `a`.
///
/// # Panics
/// If the bases differ.
pub fn tensor_coeff(mut a: [Poly<Coeff>; 2], b: Option<[Poly<Coeff>; 2]>) -> [Poly<Coeff>; 3] {
    let basis = a[0].basis().clone();
    let mut middle = Poly::stale(&basis);
    let mut b = b.map_or(vec![], Vec::from);
    assert!(
        a.iter().chain(&b).all(|p| p.basis() == &basis),
        "operands over one basis"
    );
    let items = by_limb(a.iter_mut().chain([&mut middle]).chain(&mut b));
    for_each_item(items, |i, mut limbs| {
        tensor_limb(&basis.tables()[i], &mut limbs);
    });
    let [d0, d2] = a;
    [d0, middle, d2]
}

/// `limbs` holds `a_0`, `a_1`, room for the middle component and, unless a square is wanted, `b_0`
/// and `b_1`. The first two become the outer components.
fn tensor_limb(table: &NttTable, limbs: &mut [&mut [u64]]) {
    let (k, q) = (kernels(), table.modulus());
    match limbs {
        [a0, a1, middle] => {
            k.ntt(table, a0);
            k.ntt(table, a1);
            k.dot_into(q, middle, &[a0, a0], &[a1, a1]);
            with_scratch(middle.len(), |square| {
                for a in [a0, a1] {
                    k.mul_into(q, square, a, a);
                    a.copy_from_slice(square);
                }
            });
        }
        [a0, a1, middle, b0, b1] => {
            for limb in [&mut *a0, a1, b0, b1] {
                k.ntt(table, limb);
            }
            k.dot_into(q, middle, &[a0, a1], &[b1, b0]);
            k.mul_assign(q, a0, b0);
            k.mul_assign(q, a1, b1);
        }
        _ => unreachable!("three or five limbs"),
    }
    limbs[..3].iter_mut().for_each(|d| k.intt(table, d));
}

/// Entry `i` holds limb `i` of every polynomial.
pub(crate) fn by_limb<'a>(
    polys: impl IntoIterator<Item = &'a mut Poly<Coeff>>,
) -> Vec<Vec<&'a mut [u64]>> {
    let mut limbs: Vec<Vec<&mut [u64]>> = Vec::new();
    for poly in polys {
        limbs.resize_with(poly.limbs(), Vec::new);
        for (entry, limb) in limbs.iter_mut().zip(poly.limbs_mut()) {
            entry.push(limb);
        }
    }
    limbs
}
