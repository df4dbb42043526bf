//! Index arithmetic of the automorphisms `X -> X^g` of `Z[X]/(X^N + 1)`.

/// The permutation by which `X -> X^g` acts on values in evaluation order: `out[i] = a[index[i]]`.
///
/// Position `i` holds the value at `psi^(2 bitrev(i) + 1)`. The image of `a` holds there the value
/// of `a` at `psi^(g (2 bitrev(i) + 1))`.
///
/// # Panics
/// If `n` is not a power of two in `2..=2^31`, or `g` is even.
pub fn eval_automorphism_index(n: usize, g: usize) -> Vec<u32> {
    assert!(n.is_power_of_two() && (2..=1 << 31).contains(&n), "N = {n}");
    assert!(g % 2 == 1, "the Galois element {g} is even");
    let log_n = n.trailing_zeros();
    let reverse = |i: usize| i.reverse_bits() >> (usize::BITS - log_n);
    let g = g % (2 * n);
    (0..n)
        .map(|i| {
            let exponent = (2 * reverse(i) + 1) * g % (2 * n);
            reverse(exponent / 2) as u32
        })
        .collect()
}

/// The position in `[0, N)` to which `X -> X^g` sends coefficient `i`, and true if its sign
/// changes.
#[inline]
pub(crate) fn coefficient_target(i: usize, g: usize, n: usize) -> (usize, bool) {
    let exponent = i.wrapping_mul(g) & (2 * n - 1);
    (exponent & (n - 1), exponent >= n)
}
