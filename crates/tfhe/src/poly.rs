//! Polynomials times powers of X.

use ring::torus::Torus;

/// `out = X^power poly` in `Z_q[X]/(X^N + 1)`, with `power < 2N`: two runs of coefficients, one of
/// them negated.
pub(crate) fn rotate_into<T: Torus>(out: &mut [T], poly: &[T], power: usize) {
    let n = poly.len();
    debug_assert!(power < 2 * n && out.len() == n);
    let shift = power % n;
    let (stay, wrap) = poly.split_at(n - shift);
    let (low, high) = out.split_at_mut(shift);
    low.copy_from_slice(wrap);
    high.copy_from_slice(stay);
    // X^N = -1, so coefficients that pass the top come back negated.
    let negated = if power < n { low } else { high };
    negated
        .iter_mut()
        .for_each(|word| *word = T::default().minus(*word));
}

/// The sample of coefficient `place` of the phase, from `k + 1` polynomials: `k N` words of mask,
/// then the body.
///
/// Source: Chillotti et al. 2020, section 4.2.
pub(crate) fn extract_into<T: Torus>(out: &mut [T], glwe: &[T], n: usize, place: usize) {
    let masks = glwe.len() - n;
    debug_assert_eq!(out.len(), masks + 1);
    for (out, poly) in out[..masks].chunks_exact_mut(n).zip(glwe.chunks_exact(n)) {
        // Coefficient `place` of A S is the sum of A[place - j] S[j], and of -A[N + place - j] S[j]
        // for larger j.
        for (o, &a) in out[..=place].iter_mut().zip(poly[..=place].iter().rev()) {
            *o = a;
        }
        for (o, &a) in out[place + 1..]
            .iter_mut()
            .zip(poly[place + 1..].iter().rev())
        {
            *o = T::default().minus(a);
        }
    }
    out[masks] = glwe[masks + place];
}

/// The inverse of extracting coefficient 0, without its body: a mask of `k N` words becomes `k`
/// polynomials.
pub(crate) fn insert_into<T: Torus>(out: &mut [T], mask: &[T], n: usize) {
    debug_assert_eq!(out.len(), mask.len());
    for (out, mask) in out.chunks_exact_mut(n).zip(mask.chunks_exact(n)) {
        out[0] = mask[0];
        for (o, &a) in out[1..].iter_mut().zip(mask[1..].iter().rev()) {
            *o = T::default().minus(a);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ring::torus::{Multiplier, Naive};

    proptest! {
        /// All powers of the group, on a degree small enough that every wrap occurs often.
        #[test]
        fn a_rotation_is_the_product_with_the_power(poly in proptest::collection::vec(any::<u64>(), 8), power in 0usize..16) {
            let multiplier = Naive::new(8);
            let mut digits = [0i32; 8];
            digits[power % 8] = if power < 8 { 1 } else { -1 };
            let mut expected = vec![0u64; 8];
            multiplier.dot_add(&mut expected, &digits, &poly, &mut ());
            let mut found = vec![0; 8];
            rotate_into(&mut found, &poly, power);
            prop_assert_eq!(&found, &expected);
        }

        #[test]
        fn insertion_undoes_the_extraction_of_the_constant(glwe in proptest::collection::vec(any::<u32>(), 12)) {
            let mut sample = vec![0; 9];
            extract_into(&mut sample, &glwe, 4, 0);
            let mut back = vec![0; 8];
            insert_into(&mut back, &sample[..8], 4);
            prop_assert_eq!(&back[..], &glwe[..8]);
            prop_assert_eq!(sample[8], glwe[8]);
        }
    }
}
