//! The prices of work, in seconds of one thread of the reference machine.
//!
//! *Concept.* All predictions are seconds of one machine, the [reference](REFERENCE). They are
//! counted work times the prices here. `timing::machine_factors` says how much longer each kind of
//! pass takes on this machine. Prices stand nowhere else: compiler, packings, the two-party mode
//! and Python ask this crate.
//!
//! *May use* `trace`, for the passes that are counted.
//!
//! # To measure on another machine
//!
//! 1. `cargo run --release -p palladion-kernels --example prices` for [`PASSES`].
//! 2. Runs of whole networks for [`IN_CIRCUITS`] and [`EFFICIENCY`]: `docs/figures.md` has them
//!    next to their predictions.
//! 3. `bench/run-hybrid` for [`two_parties`].

#![forbid(unsafe_code)]

pub mod two_parties;

use trace::Passes;

/// The reference machine, on which predictions were measured.
pub const REFERENCE: &str = "AMD EPYC (Milan) with AVX2";

/// Words of the limb whose passes are priced. Prices grow with the ring degree.
pub const WORDS: usize = 1 << 15;

/// A number for each kind of pass: a price, seconds of a circuit, or how much longer a pass takes
/// on another machine.
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

/// Microseconds of a pass over one limb of [`WORDS`] words, by itself.
///
/// Measured on the idle reference machine by the loops of `timing`: a term of a conversion takes 8
/// to 10, of a combination 2.5 to 3.3, a sum 27, a product with a word 22, a permutation 46.
pub const PASSES: ByKind = ByKind {
    transforms: 98.0,
    inner_products: 16.0,
    conversions: 9.0,
    combinations: 2.9,
    others: 32.0,
};

/// Microseconds of a pass within circuits.
///
/// Terms of inner products read keys and powers from memory there. Their price is set to make up
/// for the rest of the seconds of whole networks.
pub const IN_CIRCUITS: ByKind = ByKind {
    transforms: 98.0,
    inner_products: 44.0,
    conversions: 9.5,
    combinations: 2.7,
    others: 28.0,
};

/// Seconds of one product on coefficients and of the samples taken from it, at the end of the
/// chain.
pub const COEFFICIENT_PRODUCT: f64 = 2.5e-3;

/// Seconds to hide and write one limb of an answer's ciphertext: an encryption of zero, uniform
/// numbers at all coefficients but those of outputs, two transforms, and the bytes.
pub const HIDDEN_LIMB: f64 = 2.5e-3;

/// Seconds to put one weight of a linear layer into a plaintext of coefficients.
///
/// Measured on 196 products of 32,768 weights: 0.9 ms of each beside its passes.
pub const WEIGHT: f64 = 2.7e-8;

/// Predicted seconds on one thread, divided by the number of threads times the measured seconds.
///
/// Measured on 2 idle cores of the reference machine for one image. MNIST w7a7: 4.5 / (2 x 2.56).
/// ResNet-20, with start and reading of keys: 184 / (2 x 103).
pub const EFFICIENCY: f64 = 0.9;

/// Seconds to read a byte of evaluation keys, on two threads: 1.17 s for LeNet-5's 348 MB.
pub const READING: f64 = 3.4e-9;

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

    /// Seconds of counted passes over limbs of `n` words, at these prices.
    #[must_use]
    pub fn seconds(&self, passes: &Passes, n: usize) -> Self {
        let &Passes {
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
        } = passes;
        let others =
            additions + products + scalings + permutations + quotients + roundings + digits;
        let seconds = |passes, price| passes as f64 * price * 1e-6 * n as f64 / WORDS as f64;
        Self {
            transforms: seconds(ntt + intt, self.transforms),
            inner_products: seconds(dot_terms, self.inner_products),
            conversions: seconds(conversion_terms, self.conversions),
            combinations: seconds(combination_terms, self.combinations),
            others: seconds(others, self.others),
        }
    }
}
