//! Arithmetic modulo a prime, for a few numbers.

use crate::reading::{Checked, Problem};

/// Number of candidates that are tried to find a root. Half of all residues give one.
const CANDIDATES: u64 = 1000;

/// The product modulo `q`. Operands may be any words.
pub fn mul(a: u64, b: u64, q: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(q)) as u64
}

/// The power `base^exponent` modulo `q`.
pub fn pow(base: u64, mut exponent: u64, q: u64) -> u64 {
    let (mut power, mut square) = (1, base % q);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = mul(power, square, q);
        }
        square = mul(square, square, q);
        exponent >>= 1;
    }
    power
}

/// The inverse of the product of some numbers modulo a prime.
pub fn inverse_of_product(factors: impl IntoIterator<Item = u64>, q: u64) -> Checked<u64> {
    let factors = factors.into_iter();
    let product = factors.fold(1, |product, factor| mul(product, factor % q, q));
    let inverse = pow(product, q - 2, q);
    match mul(product, inverse, q) {
        1 => Ok(inverse),
        _ => Err(no_prime(q)),
    }
}

/// Returns true if `root` has order `2N`, where `N` is a power of two.
pub fn is_root(root: u64, n: usize, q: u64) -> bool {
    pow(root, n as u64, q) == q - 1
}

/// Returns the smallest word of order `2N` modulo a prime that is 1 modulo `2N`.
pub fn least_root(n: usize, q: u64) -> Checked<u64> {
    let exponent = (q - 1) / (2 * n as u64);
    let mut powers = (2..CANDIDATES.min(q)).map(|g| pow(g, exponent, q));
    let root = powers.find(|&root| is_root(root, n, q));
    let root = root.ok_or_else(|| no_prime(q))?;
    let step = mul(root, root, q);
    let all = std::iter::successors(Some(root), |&odd| Some(mul(odd, step, q)));
    Ok(all.take(n).fold(root, u64::min))
}

/// Returns `k` in `0 .. N/2` with `5^k = element` modulo `2N`. `None` if there is none.
pub fn log_of_five(element: usize, n: usize) -> Option<usize> {
    let powers = std::iter::successors(Some(1), |&power| Some(power * 5 % (2 * n)));
    powers.take(n / 2).position(|power| power == element)
}

fn no_prime(q: u64) -> Problem {
    Problem::new("a modulus", q, "a prime that is 1 modulo 2N")
}
