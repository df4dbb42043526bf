//! What a circuit costs: operations, and the passes over limbs below them.

/// How often each costly operation ran, and the work below it in passes over one limb.
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
    /// Products with integers modulo t.
    pub scalar_products: usize,
    /// NTTs and inverse NTTs of a limb.
    pub transforms: usize,
    /// Products of two limbs, added up.
    pub limb_products: usize,
    /// Products of a limb and a known word, added up, in basis conversions.
    pub limb_scalings: usize,
    /// The same in matrix products: combinations of powers by a table's coefficients.
    pub limb_combinations: usize,
}

/// Seconds of a pass over one limb of `N = 2^15` in the cache: an NTT, a product, a product with a word.
const TRANSFORM: f64 = 45e-6;
const PRODUCT: f64 = 22e-6;
const SCALING: f64 = 1.6e-6;
/// One of a matrix product; a fit to whole networks gave 1.7e-6.
const COMBINATION: f64 = 1.6e-6;
/// Time from memory over time from the cache: one MNIST image took 2.0 s where the passes above add up to 0.97.
const COLD: f64 = 2.0;

impl Counts {
    /// Seconds this work takes on one thread, scaled with `N` from `N = 2^15`.
    ///
    /// Each kind of pass has the price that `cargo run --release -p palladion-kernels --example
    /// throughput` shows on a Xeon with AVX-512 IFMA, where operands are in the cache. In a circuit they
    /// come from memory, and take about twice as long; but a matrix product works on each word it reads
    /// so often that it takes the time of its multiplications.
    pub fn seconds(&self, n: usize) -> f64 {
        let cold = self.transforms as f64 * TRANSFORM
            + self.limb_products as f64 * PRODUCT
            + self.limb_scalings as f64 * SCALING;
        (COLD * cold + self.limb_combinations as f64 * COMBINATION) * n as f64 / 32768.0
    }

    /// What was counted since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            products: self.products - earlier.products,
            relinearizations: self.relinearizations - earlier.relinearizations,
            rotations: self.rotations - earlier.rotations,
            plaintext_products: self.plaintext_products - earlier.plaintext_products,
            scalar_products: self.scalar_products - earlier.scalar_products,
            transforms: self.transforms - earlier.transforms,
            limb_products: self.limb_products - earlier.limb_products,
            limb_scalings: self.limb_scalings - earlier.limb_scalings,
            limb_combinations: self.limb_combinations - earlier.limb_combinations,
        }
    }

    /// A key switch of `limbs` limbs with `digits` digits and `special` special moduli that drops
    /// `dropped` limbs in the end.
    pub(crate) fn key_switch(
        &mut self,
        limbs: usize,
        digits: usize,
        special: usize,
        dropped: usize,
    ) {
        let extended = limbs + special;
        self.transforms += digits * extended + 2 * extended;
        self.limb_products += 2 * digits * extended;
        self.limb_scalings += limbs * extended + 2 * (special + dropped) * (limbs - dropped);
    }

    pub(crate) fn tensors(&mut self, limbs: usize, count: usize) {
        self.products += count;
        self.limb_products += 4 * limbs * count;
    }

    pub(crate) fn plaintexts(&mut self, limbs: usize, count: usize) {
        self.plaintext_products += count;
        self.transforms += (limbs + 1) * count;
        self.limb_products += 2 * limbs * count;
    }
}
