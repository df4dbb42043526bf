//! Tables of the negacyclic number-theoretic transform.

use std::sync::OnceLock;

use crate::float::Factor;
use crate::modulus::Modulus;
use crate::prime::is_prime;

/// Roots of `X^N + 1` modulo a prime, in the order in which the transform reads them.
///
/// The transform evaluates `a(X)` at the odd powers of `psi`, a primitive `2N`-th root of unity:
/// `out[i] = a(psi^(2 bitrev(i) + 1))`. It walks a binary tree: node `k` splits the residue of `a`
/// modulo `X^(2t) - r^2` into those modulo `X^t - r` and `X^t + r`, with `r = psi^bitrev(k)`, and
/// its children are `2k` and `2k + 1`. Node 1 is the root, with `t = N/2`. A block of the array
/// under node `k` therefore needs the roots `k`, then `2k` and `2k+1`, then `4k..4k+4`, and so on.
///
/// Roots of narrow moduli are kept in Montgomery form with radix 2^52, one word per root and
/// direction. The second constant of a product takes one multiplication to compute: for the product
/// of Montgomery it is `root * q^-1 mod 2^52`, and its negative is the constant of Shoup. Roots of
/// wide moduli are kept unchanged, with their Shoup constants beside them.
///
/// # Source
/// Harvey, "Faster arithmetic for number-theoretic transforms", 2014,
/// <https://arxiv.org/abs/1205.2926>; the merged negacyclic form: Longa and Naehrig,
/// <https://ia.cr/2016/504>. `psi` is the least primitive root, as in SEAL and OpenFHE.
#[derive(Clone, Debug)]
pub struct NttTable {
    q: Modulus,
    n: usize,
    root: u64,
    /// `psi^bitrev(k)` at `k` if the modulus is wide; else its Montgomery form. Below `q`.
    forward: Box<[u64]>,
    /// `psi^-bitrev(k)` at `k`, in the same form.
    inverse: Box<[u64]>,
    /// `1/N` and `psi^-bitrev(1) / N`, factors of the last inverse stage, in the same form.
    last: [u64; 2],
    shoup: Shoup,
    /// Made at the first use by `Float`, the only backend that needs it.
    factors: OnceLock<Box<[Factor]>>,
    /// Made at the first use by AVX2 or NEON, the only backends that need it.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    floats: OnceLock<FloatRoots>,
}

/// The Shoup constants `floor(w 2^64 / q)` of all factors `w` of a wide modulus. Empty for a narrow
/// one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shoup {
    pub(crate) forward: Box<[u64]>,
    pub(crate) inverse: Box<[u64]>,
    pub(crate) last: [u64; 2],
}

/// The roots as `f64`, centred: in `(-q/2, q/2]`.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[derive(Clone, Debug)]
pub(crate) struct FloatRoots {
    pub(crate) forward: Box<[f64]>,
    pub(crate) inverse: Box<[f64]>,
    /// `1/N`, and the root of the last stage divided by `N`.
    pub(crate) last: [f64; 2],
}

impl NttTable {
    /// The table for `q` and ring degree `n`, or `None` unless `n` is a power of two in
    /// `2^4..=2^17` and `q` a prime that is 1 modulo `2n`.
    pub fn new(q: Modulus, n: usize) -> Option<Self> {
        let good_degree = n.is_power_of_two() && (4..=17).contains(&n.trailing_zeros());
        if !good_degree || q.value() % (2 * n as u64) != 1 || !is_prime(q.value()) {
            return None;
        }
        let root = least_primitive_root(&q, n)?;
        let inverse_root = q.inv(root)?;
        let n_inverse = q.inv(n as u64)?;
        let one = if q.is_wide() { 1 } else { q.montgomery(1) };
        let forward = powers_in_tree_order(&q, root, one, n);
        let inverse = powers_in_tree_order(&q, inverse_root, one, n);
        // Each product has one factor in the form of the table, so the result has that form too.
        let last = [q.mul(one, n_inverse), q.mul(inverse[1], n_inverse)];
        let shoup = if q.is_wide() {
            let constants = |roots: &[u64]| roots.iter().map(|&w| q.shoup(w)).collect();
            Shoup {
                forward: constants(&forward),
                inverse: constants(&inverse),
                last: last.map(|w| q.shoup(w)),
            }
        } else {
            Shoup::default()
        };
        Some(Self {
            q,
            n,
            root,
            forward,
            inverse,
            last,
            shoup,
            factors: OnceLock::new(),
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            floats: OnceLock::new(),
        })
    }

    /// The modulus.
    pub fn modulus(&self) -> &Modulus {
        &self.q
    }

    /// The ring degree `N`.
    pub fn n(&self) -> usize {
        self.n
    }

    /// `psi`, the least primitive `2N`-th root of unity modulo `q`.
    pub fn root(&self) -> u64 {
        self.root
    }

    pub(crate) fn forward(&self) -> &[u64] {
        &self.forward
    }

    pub(crate) fn inverse(&self) -> &[u64] {
        &self.inverse
    }

    pub(crate) fn shoup(&self) -> &Shoup {
        &self.shoup
    }

    /// `psi^bitrev(k)` at `k`, for a narrow modulus.
    pub(crate) fn factors(&self) -> &[Factor] {
        self.factors.get_or_init(|| {
            let factor = |&w| Factor::new(&self.q, self.q.mul_montgomery(1, w));
            self.forward.iter().map(factor).collect()
        })
    }

    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub(crate) fn floats(&self) -> &FloatRoots {
        let float = |w| self.q.center(self.q.mul_montgomery(1, w)) as f64;
        self.floats.get_or_init(|| FloatRoots {
            forward: self.forward.iter().map(|&w| float(w)).collect(),
            inverse: self.inverse.iter().map(|&w| float(w)).collect(),
            last: self.last.map(float),
        })
    }

    pub(crate) fn last(&self) -> [u64; 2] {
        self.last
    }
}

/// The least primitive `2n`-th root of unity modulo the prime `q`, `q = 1 mod 2n`.
fn least_primitive_root(q: &Modulus, n: usize) -> Option<u64> {
    let cofactor = (q.value() - 1) / (2 * n as u64);
    // Half of all bases are non-residues, and each non-residue gives a primitive root.
    let some = (2..q.value())
        .map(|base| q.pow(base, cofactor))
        .find(|&r| q.pow(r, n as u64) == q.value() - 1)?;
    let square = q.mul(some, some);
    // The odd powers of one primitive root are all primitive roots.
    std::iter::successors(Some(some), |&r| Some(q.mul(r, square)))
        .take(n)
        .min()
}

/// `one * root^bitrev(k)` at `k`.
fn powers_in_tree_order(q: &Modulus, root: u64, one: u64, n: usize) -> Box<[u64]> {
    let mut table = vec![one; n].into_boxed_slice();
    let squares = std::iter::successors(Some(root), |&power| Some(q.mul(power, power)));
    let squares: Vec<u64> = squares.take(n.trailing_zeros() as usize).collect();
    // bitrev(2^level + k) = n / 2^(level + 1) + bitrev(k). No product waits for the one before it.
    for (level, &step) in squares.iter().rev().enumerate() {
        let (known, next) = table.split_at_mut(1 << level);
        for (power, &before) in next.iter_mut().zip(&*known) {
            *power = q.mul(before, step);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_have_the_order_of_reversed_bits() {
        let q = Modulus::new(65537).unwrap();
        let table = powers_in_tree_order(&q, 3, 5, 16);
        for (k, &found) in table.iter().enumerate() {
            let reversed = k.reverse_bits() >> (usize::BITS - 4);
            let expected = (0..reversed).fold(5, |power, _| power * 3 % 65537);
            assert_eq!(found, expected, "{k}");
        }
    }

    #[test]
    fn unfit_degrees_and_moduli_are_refused() {
        let q = Modulus::new(65537).unwrap();
        for n in [0, 1, 8, 24, 1 << 16, 1 << 18] {
            assert!(NttTable::new(q, n).is_none(), "N = {n}");
        }
        let composite = Modulus::new(33).unwrap(); // 1 modulo 32, but 3 * 11
        assert!(NttTable::new(composite, 16).is_none());
        assert!(NttTable::new(q, 1 << 15).is_some());
    }

    #[test]
    fn the_root_is_the_least_one() {
        let q = Modulus::new(97).unwrap();
        let table = NttTable::new(q, 16).unwrap();
        let least = (2..97).find(|&r| q.pow(r, 16) == 96);
        assert_eq!(Some(table.root()), least);
    }
}
