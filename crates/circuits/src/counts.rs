//! Cost of a circuit: operations, the passes over limbs that they consist of, and their time.

use cost::ByKind;
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
    /// Weights of linear layers on coefficients, which are made into plaintexts.
    pub weights: usize,
    /// Limbs of the answer's ciphertexts, which are hidden and written. A run does not do that, so
    /// they are no passes.
    pub hidden_limbs: usize,
    /// Passes over limbs.
    pub passes: Passes,
}

impl Counts {
    /// Seconds that this work takes on one thread, scaled with `N` from `N = 2^15`.
    pub fn seconds(&self, n: usize) -> f64 {
        let hidden = self.hidden_limbs as f64 * cost::HIDDEN_LIMB * n as f64 / cost::WORDS as f64;
        self.seconds_by_kind(n).sum() + hidden + self.weights as f64 * cost::WEIGHT
    }

    /// [`seconds`](Self::seconds) of passes, by their kind.
    pub fn seconds_by_kind(&self, n: usize) -> ByKind {
        cost::IN_CIRCUITS.seconds(&self.passes, n)
    }

    /// Returns the counts since `earlier`: these counts minus the earlier ones.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            products: self.products - earlier.products,
            relinearizations: self.relinearizations - earlier.relinearizations,
            rotations: self.rotations - earlier.rotations,
            plaintext_products: self.plaintext_products - earlier.plaintext_products,
            weights: self.weights - earlier.weights,
            hidden_limbs: self.hidden_limbs - earlier.hidden_limbs,
            passes: self.passes.since(earlier.passes),
        }
    }
}
