//! Values of circuits, and sums of products that are not yet values.

use crate::operations::Operations;
use crate::passes::Encoding;
use crate::residual::{Residual, Squares};
use bfv::Ciphertext;
use bfv::noise::Noise;

/// A value of a circuit: a ciphertext in the form of a mode of [`Operations`], with what is known of it in all modes.
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

/// A value of a dry run: what is known without encrypting.
pub type DryValue = Value<()>;

impl EncryptedValue {
    /// An encrypted value with its predicted noise.
    pub fn encrypted(ct: Ciphertext, noise: Noise) -> Self {
        let (level, factor) = (ct.level(), ct.factor());
        Self::new(ct, level, factor, noise)
    }
}

impl DryValue {
    /// What is known of a value of factor 1 at `level`.
    pub fn dry(level: usize, noise: Noise) -> Self {
        Self::new((), level, 1, noise)
    }
}

impl<C> Value<C> {
    /// A ciphertext with its level, factor and predicted noise.
    pub fn new(ct: C, level: usize, factor: u64, noise: Noise) -> Self {
        let residual = Residual::even(noise);
        Self {
            ct,
            level,
            factor,
            residual,
        }
    }

    /// This value without its ciphertext.
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

    /// This value with another factor: what is known of it, not its ciphertext.
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

    /// The ciphertext itself.
    pub fn into_ciphertext(self) -> C {
        self.ct
    }

    /// Limbs minus one.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Predicted noise, over all coefficients.
    pub fn noise(&self) -> Noise {
        self.residual.mean
    }

    /// Predicted noise of the largest coefficients, where sums of copies have gathered it.
    pub fn peak(&self) -> Noise {
        self.residual.peak
    }

    pub(crate) fn residual(&self) -> Residual {
        self.residual
    }
}

/// What a dry run knows of the plaintexts of a sum of products.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Squares of their coefficients.
    pub squares: Squares,
    /// What they are encoded from.
    pub encoding: Encoding,
}

/// Of plaintexts that are given by their coefficients.
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
    /// Whether a factor carries so much of earlier products that this one must come down to a rounding.
    pub(crate) hot: bool,
    /// Whether it is a factor of one more product only, whose other factor is not hot.
    pub(crate) last: bool,
}

impl<C> Product<C> {
    /// This product, as a factor of one more product at most, whose other factor is not hot.
    #[must_use]
    pub fn last(self) -> Self {
        Self { last: true, ..self }
    }
}
