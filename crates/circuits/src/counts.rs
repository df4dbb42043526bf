//! What a circuit costs: operations, the passes over limbs below them, and their time.

use program::trace::Passes;

/// How often each costly operation ran, and the work below it.
///
/// `cargo test -p palladion-runtime --test lowered` holds the passes of whole networks to those of their traces, and
/// these to what the kernels execute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Ciphertext products, each sum of products counted by its terms.
    pub products: usize,
    /// Relinearisations.
    pub relinearizations: usize,
    /// Rotations and row swaps.
    pub rotations: usize,
    /// Products with plaintext polynomials.
    pub plaintext_products: usize,
    /// Passes over limbs.
    pub passes: Passes,
}

/// Microseconds of a pass over one limb of `N = 2^15` words on one thread.
///
/// In the cache of a Xeon with AVX-512 IFMA, `throughput` of `kernels` gave 45 for a transform, 22 for a term of an inner
/// product and 1.6 for one of a matrix product. Circuits have their operands in memory: one MNIST image took 2.0 s where
/// these add up to 0.97, so the prices are twice as much, but for combinations, which read each word many times. These
/// prices are of the kernels at that time, and `prices` of `kernels` measures such passes on any machine.
mod price {
    pub(super) const TRANSFORM: f64 = 90.0;
    pub(super) const DOT_TERM: f64 = 44.0;
    pub(super) const CONVERSION_TERM: f64 = 3.2;
    pub(super) const COMBINATION_TERM: f64 = 1.6;
    /// Sums, differences, products with a word, permutations, roundings: the prices above were fitted without them.
    pub(super) const OTHER: f64 = 0.0;
}

impl Counts {
    /// Seconds this work takes on one thread, scaled with `N` from `N = 2^15`.
    pub fn seconds(&self, n: usize) -> f64 {
        let Passes {
            ntt,
            intt,
            dot_terms,
            conversion_terms,
            combination_terms,
            additions,
            products,
            scalings,
            permutations,
            quotients,
            roundings,
            digits,
            ..
        } = self.passes;
        let others =
            additions + products + scalings + permutations + quotients + roundings + digits;
        let priced = [
            (ntt + intt, price::TRANSFORM),
            (dot_terms, price::DOT_TERM),
            (conversion_terms, price::CONVERSION_TERM),
            (combination_terms, price::COMBINATION_TERM),
            (others, price::OTHER),
        ];
        let microseconds: f64 = priced
            .iter()
            .map(|&(count, price)| count as f64 * price)
            .sum();
        microseconds * 1e-6 * n as f64 / 32768.0
    }

    /// What was counted since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            products: self.products - earlier.products,
            relinearizations: self.relinearizations - earlier.relinearizations,
            rotations: self.rotations - earlier.rotations,
            plaintext_products: self.plaintext_products - earlier.plaintext_products,
            passes: self.passes.since(earlier.passes),
        }
    }
}
