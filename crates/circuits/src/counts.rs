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
    /// Passes over limbs.
    pub passes: Passes,
}

impl Counts {
    /// Seconds that this work takes on one thread, scaled with `N` from `N = 2^15`.
    pub fn seconds(&self, n: usize) -> f64 {
        self.seconds_by_kind(n).sum()
    }

    /// [`seconds`](Self::seconds) by the kind of pass that takes them.
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
            passes: self.passes.since(earlier.passes),
        }
    }
}
