//! Data samples with features in the slots, laid out so that one of the two sums over them needs no
//! mask.

use crate::error::{Error, Result};

/// Layout of a matrix of `samples` by `features`, both powers of two. It is stored feature by
/// feature: sample `s` has feature `f` in slot `f * samples + s`.
///
/// If the matrix fills all slots, the sum over features is cyclic:
/// [`sum_strided`](super::sum_strided) with [`Samples::over_features`] gives it in every slot of
/// its sample. The sum over samples is in the first slot of its feature. The other slots hold sums
/// that mix two features.
///
/// Source: Han, Song, Cheon, Park, AAAI 2019, section 4 (rows of samples there, of features here).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Samples {
    samples: usize,
    features: usize,
}

impl Samples {
    /// Makes the layout for `samples` samples and `features` features.
    ///
    /// # Errors
    /// [`Error::Shape`] unless both are powers of two.
    pub fn new(samples: usize, features: usize) -> Result<Self> {
        for (what, found) in [
            ("the number of samples", samples),
            ("the number of features", features),
        ] {
            if !found.is_power_of_two() {
                return Err(Error::Shape {
                    what,
                    found: found.to_string(),
                    expected: "a power of two".into(),
                });
            }
        }
        Ok(Self { samples, features })
    }

    /// Number of samples in a ciphertext.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Number of features of a sample.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Number of slots of a matrix.
    pub fn slots(&self) -> usize {
        self.samples * self.features
    }

    /// Stride and count of the sum over features.
    pub fn over_features(&self) -> (isize, usize) {
        (self.samples as isize, self.features)
    }

    /// Stride and count of the sum over samples.
    pub fn over_samples(&self) -> (isize, usize) {
        (1, self.samples)
    }

    /// Stride and count of the sum that copies the first slot of each feature to all of its
    /// samples. The other slots must be zero.
    pub fn to_samples(&self) -> (isize, usize) {
        (-1, self.samples)
    }

    /// Returns the slots of a matrix, given by its samples. Missing entries are zero.
    ///
    /// # Errors
    /// [`Error::Shape`] for too many samples or features.
    pub fn pack(&self, rows: &[impl AsRef<[f64]>]) -> Result<Vec<f64>> {
        check("the number of samples", rows.len(), self.samples)?;
        let mut slots = vec![0.0; self.slots()];
        for (s, row) in rows.iter().enumerate() {
            let row = row.as_ref();
            check("the number of features", row.len(), self.features)?;
            for (f, &value) in row.iter().enumerate() {
                slots[f * self.samples + s] = value;
            }
        }
        Ok(slots)
    }

    /// Returns the slots of a matrix in which every sample is `row`.
    ///
    /// # Errors
    /// [`Error::Shape`] for too many features.
    pub fn repeat(&self, row: &[f64]) -> Result<Vec<f64>> {
        self.pack(&vec![row; self.samples])
    }

    /// Returns a mask that is `value` at the first sample of each feature and zero at the others.
    pub fn first(&self, value: f64) -> Vec<f64> {
        let slot = |j: usize| {
            if j.is_multiple_of(self.samples) {
                value
            } else {
                0.0
            }
        };
        (0..self.slots()).map(slot).collect()
    }
}

fn check(what: &'static str, found: usize, limit: usize) -> Result<()> {
    if found <= limit {
        Ok(())
    } else {
        Err(Error::Shape {
            what,
            found: found.to_string(),
            expected: format!("at most {limit}"),
        })
    }
}
