//! Prices of counts: transforms, limb products, bytes and seconds.

use crate::counts::Counts;
use crate::frame::Frame;
use program::circuit::Circuit;

/// Seconds of the two passes over a limb of which a layer consists, and of a byte between client
/// and server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// A transform of a limb with `2^15` words.
    pub transform: f64,
    /// A product of two such limbs, added to a third one.
    pub product: f64,
    /// A byte of ciphertexts between client and server: 0 if only the computation counts.
    pub byte: f64,
}

impl Prices {
    /// Seconds on one thread of the [reference machine](cost::REFERENCE).
    pub const REFERENCE: Self = Self {
        transform: cost::PASSES.transforms * 1e-6,
        product: cost::PASSES.inner_products * 1e-6,
        byte: 0.0,
    };

    /// The prices of a machine that takes this many times as long for transforms and for inner
    /// products.
    #[must_use]
    pub fn scaled(self, transforms: f64, products: f64) -> Self {
        Self {
            transform: self.transform * transforms,
            product: self.product * products,
            ..self
        }
    }
}

/// Bytes by kind, of words of 64 bits. Of fresh ciphertexts and of keys, one half is a seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Ciphertexts from the client.
    pub inputs: u64,
    /// Evaluation keys from the client, sent once. `None` before there is a circuit.
    pub keys: Option<u64>,
    /// Ciphertexts to the client.
    pub outputs: u64,
    /// Encoded weights and masks in the server's memory.
    pub weights: u64,
}

impl Traffic {
    /// The bytes of a layer whose circuit has `depth` products in a row.
    pub fn new(counts: &Counts, frame: &Frame, depth: usize) -> Self {
        let limb = 8 * frame.n() as u64;
        let fresh = depth as u64 + 1;
        let masks = if depth > 1 { limb } else { 0 };
        Self {
            inputs: counts.inputs * fresh * limb,
            keys: None,
            outputs: counts.outputs * 2 * limb,
            weights: counts.plaintexts * 2 * limb + masks,
        }
    }

    /// Bytes of ciphertexts, both ways.
    pub fn moved(&self) -> u64 {
        self.inputs + self.outputs
    }

    /// These bytes with the keys that a circuit needs. A key switch has a digit for each limb.
    #[must_use]
    pub fn with_keys(self, circuit: &Circuit, frame: &Frame) -> Self {
        let size = |level: usize| {
            let digits = level as u64 + 1;
            digits * (digits + 1) * 8 * frame.n() as u64
        };
        let keys = circuit.keys();
        let bytes = keys.rotations.values().map(|&level| size(level)).sum();
        Self {
            keys: Some(bytes),
            ..self
        }
    }
}

/// Passes over limbs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passes {
    /// Number-theoretic transforms of a limb.
    pub transforms: u64,
    /// Products of limbs, added up.
    pub products: u64,
}

impl Counts {
    /// Passes over limbs for these counts, where inputs are `depth` levels above outputs, and a key
    /// switch has one limb in a digit and one special modulus. The encoding of weights is not
    /// included, because it is done once.
    ///
    /// Rotations of inputs share a decomposition and stay over the special modulus until their
    /// products are added up. The division by the special modulus is then one with the rescale.
    pub fn passes(&self, depth: usize) -> Passes {
        let top = depth as u64 + 1;
        let late = self.rotations - self.early;
        let early_decompositions = if self.early > 0 { self.turned } else { 0 };
        let late_decompositions = self.decompositions - early_decompositions;
        let decomposition = |limbs: u64| limbs + limbs * limbs;
        let switched = |limbs: u64| 2 * limbs * (limbs + 1);
        let weighted = self.products - self.masks;
        // Sums of rotated inputs are the sums with masks, or all sums if there is no mask.
        let moved = self.sums - self.outer;
        let wide = u64::from(self.masks == 0 && self.early > 0);
        Passes {
            transforms: early_decompositions * decomposition(top)
                + late_decompositions * decomposition(1)
                + late * 4
                + moved * (2 + 2 * top)
                + self.outer * (4 + 2 * wide),
            products: self.early * switched(top)
                + late * switched(1)
                + self.masks * 2 * (top + 1)
                + weighted * (4 + 2 * wide),
        }
    }

    /// Seconds on one thread.
    pub fn seconds(&self, frame: &Frame, depth: usize, prices: &Prices) -> f64 {
        let Passes {
            transforms,
            products,
        } = self.passes(depth);
        let n = frame.n() as f64;
        let part = n / f64::from(1 << 15);
        let steps = n.log2() / 15.0;
        part * (transforms as f64 * steps * prices.transform + products as f64 * prices.product)
    }
}
