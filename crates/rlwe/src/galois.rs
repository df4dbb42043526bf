//! The automorphisms `X -> X^g`: which Galois element moves the slots in which way.
//!
//! The slots of a polynomial are its values at the odd powers of a `2N`-th root. The values at
//! `5^i` are the first row of `N/2` slots, those at `-5^i` the second. `X -> X^(5^k)` rotates both
//! rows left by `k`. `X -> X^(2N-1)` swaps the rows; over the complex numbers it conjugates.

/// Generator of the rotations: the odd residues modulo `2N` are `±5^i`.
const GENERATOR: usize = 5;

/// Galois element of the rotation of both rows left by `k`. Negative `k` rotates right.
pub fn rotation_element(n: usize, k: isize) -> usize {
    let mut steps = k.rem_euclid((n / 2) as isize) as usize;
    // Repeated squaring, since plans ask for millions of elements.
    let (mut element, mut power) = (1, GENERATOR % (2 * n));
    while steps > 0 {
        if steps % 2 == 1 {
            element = element * power % (2 * n);
        }
        power = power * power % (2 * n);
        steps /= 2;
    }
    element
}

/// Galois element of the swap of the two rows, which is the conjugation of complex slots.
pub fn conjugation_element(n: usize) -> usize {
    2 * n - 1
}

/// For each slot of both rows, the exponent `e` of its root, odd and below `2N`.
pub fn slot_exponents(n: usize) -> Vec<usize> {
    let columns = n / 2;
    let mut exponents = vec![0; n];
    let mut e = 1;
    for i in 0..columns {
        exponents[i] = e;
        exponents[i + columns] = 2 * n - e;
        e = e * GENERATOR % (2 * n);
    }
    exponents
}
