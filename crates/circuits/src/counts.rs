//! Cost of a circuit: operations, the passes over limbs that they consist of, and their time.

use trace::Passes;

/// Number of runs of each costly operation, and the passes over limbs in all of them.
///
/// `cargo test -p palladion-runtime --test lowered` compares the passes of whole networks with
/// those of their traces, and these with the passes that the kernels execute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Products of ciphertexts. A sum of products counts as the number of its terms.
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
/// Measured on an idle AMD EPYC (Milan) with AVX2, in microseconds, by `prices` of `kernels`: a
/// transform 98, a term of an inner product 16, of a conversion 8 to 10, of a combination 2.5 to
/// 3.3, a sum 27, a product with a word 22, a permutation 46. In circuits, terms of inner products
/// read keys and powers from memory. So their price is set to make up for the rest of the seconds
/// of whole networks ([docs/figures.md](../../../docs/figures.md) has these next to the
/// predictions).
mod price {
    pub(super) const TRANSFORM: f64 = 98.0;
    pub(super) const DOT_TERM: f64 = 44.0;
    pub(super) const CONVERSION_TERM: f64 = 9.5;
    pub(super) const COMBINATION_TERM: f64 = 2.7;
    /// Sums, differences, products with a word, permutations, quotients, roundings, digits.
    pub(super) const OTHER: f64 = 28.0;
}

/// Something for each kind of priced pass.
///
/// Seconds of a circuit by kind, or how much longer a pass of each kind takes on another machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ByKind {
    /// Transforms and inverse transforms.
    pub transforms: f64,
    /// Terms of inner products.
    pub inner_products: f64,
    /// Terms of basis conversions.
    pub conversions: f64,
    /// Terms of the combinations of tables.
    pub combinations: f64,
    /// Sums, differences, products with a word, permutations, quotients, roundings, digits.
    pub others: f64,
}

impl ByKind {
    /// Each kind by its name.
    pub fn all(&self) -> [(&'static str, f64); 5] {
        [
            ("transforms", self.transforms),
            ("inner products", self.inner_products),
            ("conversions", self.conversions),
            ("combinations", self.combinations),
            ("others", self.others),
        ]
    }

    /// The sum over all kinds.
    pub fn sum(&self) -> f64 {
        self.all().iter().map(|&(_, x)| x).sum()
    }
}

impl Counts {
    /// Seconds that this work takes on one thread, scaled with `N` from `N = 2^15`.
    pub fn seconds(&self, n: usize) -> f64 {
        self.seconds_by_kind(n).sum()
    }

    /// [`seconds`](Self::seconds) by the kind of pass that takes them.
    pub fn seconds_by_kind(&self, n: usize) -> ByKind {
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
        let seconds = |passes, price| passes as f64 * price * 1e-6 * n as f64 / 32768.0;
        ByKind {
            transforms: seconds(ntt + intt, price::TRANSFORM),
            inner_products: seconds(dot_terms, price::DOT_TERM),
            conversions: seconds(conversion_terms, price::CONVERSION_TERM),
            combinations: seconds(combination_terms, price::COMBINATION_TERM),
            others: seconds(others, price::OTHER),
        }
    }

    /// Returns what was counted since `earlier`.
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
