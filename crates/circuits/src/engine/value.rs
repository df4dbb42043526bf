//! Values of circuits, and sums of products that are not yet values.

use crate::operations::Operations;
use crate::passes::Encoding;
use crate::residual::{Residual, Squares};
use bfv::Ciphertext;
use bfv::noise::Noise;

/// A value of a circuit: a ciphertext in the form of a mode of [`Operations`], and the level,
/// factor and noise, which all modes know.
#[derive(Clone, Debug)]
pub struct Value<C> {
    pub(super) ct: C,
    pub(super) level: usize,
    pub(super) factor: u64,
    pub(super) residual: Residual,
}

/// A value of a run on ciphertexts.
pub type EncryptedValue = Value<Ciphertext>;

/// A value of the mode `O`.
pub type ValueOf<O> = Value<<O as Operations>::Ciphertext>;

/// A value of a dry run. It has no ciphertext, only the records that need no encryption.
pub type DryValue = Value<()>;

impl EncryptedValue {
    /// Makes an encrypted value with its predicted noise.
    pub fn encrypted(ct: Ciphertext, noise: Noise) -> Self {
        let (level, factor) = (ct.level(), ct.factor());
        Self::new(ct, level, factor, noise)
    }
}

impl DryValue {
    /// Makes a value of a dry run at `level`, with factor 1.
    pub fn dry(level: usize, noise: Noise) -> Self {
        Self::new((), level, 1, noise)
    }
}

impl<C> Value<C> {
    /// Makes a value of a ciphertext with its level, factor and predicted noise.
    pub fn new(ct: C, level: usize, factor: u64, noise: Noise) -> Self {
        let residual = Residual::even(noise);
        Self {
            ct,
            level,
            factor,
            residual,
        }
    }

    /// Returns this value without its ciphertext.
    #[must_use]
    pub fn to_dry(&self) -> DryValue {
        let Self {
            level,
            factor,
            residual,
            ..
        } = *self;
        Value {
            ct: (),
            level,
            factor,
            residual,
        }
    }

    /// Returns this value with another factor. The ciphertext does not change.
    pub(crate) fn of_factor(self, factor: u64) -> Self {
        Self { factor, ..self }
    }

    /// Factor of the message, as in [`bfv::Ciphertext::factor`].
    pub fn factor(&self) -> u64 {
        self.factor
    }

    /// The ciphertext.
    pub fn ciphertext(&self) -> &C {
        &self.ct
    }

    /// Returns the ciphertext.
    pub fn into_ciphertext(self) -> C {
        self.ct
    }

    /// Level: the number of limbs minus one.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Predicted noise, averaged over all coefficients.
    pub fn noise(&self) -> Noise {
        self.residual.mean
    }

    /// Predicted noise of the largest coefficients, at which sums of copies have added it up.
    pub fn peak(&self) -> Noise {
        self.residual.peak
    }

    pub(crate) fn residual(&self) -> Residual {
        self.residual
    }
}

/// The properties of plaintexts from which a dry run predicts the noise of a sum of products.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Squares of the plaintexts' coefficients.
    pub squares: Squares,
    /// Form from which the plaintexts are encoded.
    pub encoding: Encoding,
}

/// The squares of plaintexts that are encoded from coefficients.
impl From<Squares> for Known {
    fn from(squares: Squares) -> Self {
        Self {
            squares,
            encoding: Encoding::Coefficients,
        }
    }
}

/// A sum of products that is not yet relinearised.
#[derive(Clone, Debug)]
pub struct Product<C> {
    pub(crate) ct: C,
    pub(crate) level: usize,
    pub(crate) factor: u64,
    pub(crate) residual: Residual,
    /// True if a factor is hot, so that this product must come down to a rounding.
    pub(crate) hot: bool,
    /// True if it is a factor of only one more product, whose other factor is not hot.
    pub(crate) last: bool,
}

impl<C> Product<C> {
    /// Marks this product as a factor of at most one more product, whose other factor is not hot.
    #[must_use]
    pub fn last(self) -> Self {
        Self { last: true, ..self }
    }
}
