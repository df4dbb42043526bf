//! A matrix of few rows times an encrypted vector: weights in plain or encrypted.
//!
//! With `R` rows and `C` columns, both padded to powers of two, `R <= C`, there are `R` diagonals of length `C`:
//! `d_k[j] = W[j mod R][(j + k) mod C]`. Their sum `y_j = sum_k d_k[j] x_(j+k)` is folded by `C / R` strides of `R`. The vector
//! repeats after `C` slots, the result after `R`.
//!
//! Source: Juvekar, Vaikuntanathan, Chandrakasan, "GAZELLE", USENIX Security 2018, section 4 (hybrid method).

use crate::approximate::{LinearTransform, Matrix, sum_rotations, sum_strided};
use crate::error::{Error, Result};
use ckks::{Ciphertext, Complex64, Evaluator, Params, Plaintext};
use rlwe::{GaloisKeys, SwitchKey};
use std::collections::BTreeSet;

/// Weights of a dense layer by rows: one per output, all of one length.
///
/// A bias is a column for an input that is 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    rows: Vec<Vec<f64>>,
    padded: (usize, usize),
}

impl Weights {
    /// Weights by rows.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are none, rows differ in length, or there are more rows than columns after both are padded to
    /// powers of two.
    pub fn new(rows: Vec<Vec<f64>>) -> Result<Self> {
        let columns = rows.first().map_or(0, Vec::len);
        if columns == 0 {
            return Err(shape("a matrix", "empty", "a row and a column"));
        }
        if let Some(row) = rows.iter().find(|row| row.len() != columns) {
            return Err(shape("the length of a row", row.len(), columns));
        }
        let padded = (rows.len().next_power_of_two(), columns.next_power_of_two());
        if padded.0 > padded.1 {
            return Err(shape(
                "the number of rows, padded,",
                padded.0,
                format!("at most the {} columns", padded.1),
            ));
        }
        Ok(Self { rows, padded })
    }

    /// Rows, padded: the slots after which the result repeats.
    pub fn period_out(&self) -> usize {
        self.padded.0
    }

    /// Columns, padded: the slots after which the vector repeats.
    pub fn period_in(&self) -> usize {
        self.padded.1
    }

    /// The product with a vector, by the definition; missing entries are zero.
    pub fn apply(&self, x: &[f64]) -> Vec<f64> {
        let dot = |row: &Vec<f64>| row.iter().zip(x).map(|(w, x)| w * x).sum();
        self.rows.iter().map(dot).collect()
    }

    /// Diagonal `k`.
    fn diagonal(&self, k: usize) -> Vec<f64> {
        let (rows, columns) = self.padded;
        let entry = |j: usize| {
            let row = self.rows.get(j % rows);
            let value = row.and_then(|row| row.get((j + k) % columns));
            value.copied().unwrap_or(0.0)
        };
        (0..columns).map(entry).collect()
    }

    /// Stride and count of the sum that ends the product.
    fn folds(&self) -> (isize, usize) {
        (self.padded.0 as isize, self.padded.1 / self.padded.0)
    }

    fn fold_rotations(&self) -> impl Iterator<Item = usize> + use<> {
        let (stride, count) = self.folds();
        sum_rotations(stride, count).map(|k| k as usize)
    }
}

/// A dense layer with weights in plain, for ciphertexts of one level.
pub struct Dense {
    map: LinearTransform,
    folds: (isize, usize),
    rotations: BTreeSet<usize>,
}

impl Dense {
    /// Encodes `weights` for ciphertexts at `level`, at the scale of the level's modulus: the scale of the vector stays.
    ///
    /// # Errors
    /// Those of [`LinearTransform::new`].
    ///
    /// # Panics
    /// If there is no such level, or `babies` is zero.
    pub fn new(params: &Params, weights: &Weights, level: usize, babies: usize) -> Result<Self> {
        let diagonals = (0..weights.period_out()).map(|k| {
            let entries = weights.diagonal(k).into_iter().map(Complex64::from);
            (k as isize, entries.collect())
        });
        let matrix = Matrix::new(weights.period_in(), diagonals);
        let scale = params.level_modulus(level);
        let map = LinearTransform::new(params, &matrix, level, scale, babies)?;
        let mut rotations = map.rotations();
        rotations.extend(weights.fold_rotations());
        Ok(Self {
            map,
            folds: weights.folds(),
            rotations,
        })
    }

    /// The rotations whose keys it needs, at the level of its inputs.
    pub fn rotations(&self) -> &BTreeSet<usize> {
        &self.rotations
    }

    /// The weights times the slots of `x`, one level below `x`.
    ///
    /// # Errors
    /// If `x` is at another level, or a key is missing.
    pub fn apply(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
        keys: &GaloisKeys,
    ) -> Result<Ciphertext> {
        let sums = self.map.apply(x, keys)?;
        sum_strided(evaluator, &sums, self.folds, keys)
    }
}

/// A dense layer with encrypted weights, for ciphertexts of one level.
///
/// A product with each diagonal, one relinearisation per giant step.
pub struct EncryptedDense {
    /// For each giant step, the diagonals of its baby steps, rotated back by the giant step.
    giants: Vec<Vec<Ciphertext>>,
    babies: usize,
    folds: (isize, usize),
    rotations: BTreeSet<usize>,
}

impl EncryptedDense {
    /// Encrypts `weights` for ciphertexts at `level`, at the scale of the level's modulus: the scale of the vector stays.
    ///
    /// # Errors
    /// Those of [`Plaintext::encode`] and of `encrypt`, and [`Error::Shape`] for zero baby steps.
    ///
    /// # Panics
    /// If there is no such level.
    pub fn new(
        params: &Params,
        weights: &Weights,
        level: usize,
        babies: usize,
        mut encrypt: impl FnMut(&Plaintext) -> ckks::Result<Ciphertext>,
    ) -> Result<Self> {
        if babies == 0 {
            return Err(shape("the number of baby steps", 0, "at least 1"));
        }
        let scale = params.level_modulus(level);
        let mut encrypted = |k: usize| {
            let mut diagonal = weights.diagonal(k);
            diagonal.rotate_right(k / babies * babies % weights.period_in());
            let plain = Plaintext::encode_real(params, &diagonal, level, scale)?;
            Ok(encrypt(&plain)?)
        };
        let diagonals: Vec<usize> = (0..weights.period_out()).collect();
        let giants: Vec<Vec<Ciphertext>> = diagonals
            .chunks(babies)
            .map(|chunk| chunk.iter().map(|&k| encrypted(k)).collect())
            .collect::<Result<_>>()?;
        let mut rotations: BTreeSet<usize> = (1..giants[0].len()).collect();
        if giants.len() > 1 {
            rotations.insert(babies);
        }
        rotations.extend(weights.fold_rotations());
        Ok(Self {
            giants,
            babies,
            folds: weights.folds(),
            rotations,
        })
    }

    /// The rotations whose keys it needs, at the level of its inputs.
    pub fn rotations(&self) -> &BTreeSet<usize> {
        &self.rotations
    }

    /// Bytes of its ciphertexts.
    pub fn byte_len(&self) -> usize {
        self.giants.iter().flatten().map(Ciphertext::byte_len).sum()
    }

    /// The weights times the slots of `x`, one level below `x`.
    ///
    /// # Errors
    /// If `x` is at another level, or a key is missing.
    pub fn apply(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
        key: &SwitchKey,
        keys: &GaloisKeys,
    ) -> Result<Ciphertext> {
        let steps: Vec<isize> = (1..self.giants[0].len() as isize).collect();
        let mut babies = vec![x.clone()];
        babies.extend(evaluator.rotate_hoisted(x, &steps, keys)?);
        let mut sum: Option<Ciphertext> = None;
        for diagonals in self.giants.iter().rev() {
            let inner = dot(evaluator, &babies, diagonals)?;
            let inner = evaluator.relinearize(&inner, key)?;
            sum = Some(match sum {
                None => inner,
                Some(outer) => {
                    let mut outer = evaluator.rotate(&outer, self.babies as isize, keys)?;
                    evaluator.add_assign(&mut outer, &inner)?;
                    outer
                }
            });
        }
        let mut sum = sum.expect("a matrix has a diagonal");
        evaluator.rescale(&mut sum)?;
        sum_strided(evaluator, &sum, self.folds, keys)
    }
}

/// `sum_i a_i b_i` over as many terms as both have: three components, the scales multiply.
///
/// # Errors
/// [`Error::Shape`] without terms, and if levels, or scales of products, differ.
pub fn dot(evaluator: &Evaluator, a: &[Ciphertext], b: &[Ciphertext]) -> Result<Ciphertext> {
    let mut sum: Option<Ciphertext> = None;
    for (a, b) in a.iter().zip(b) {
        let product = evaluator.mul(a, b)?;
        match &mut sum {
            Some(sum) => evaluator.add_assign(sum, &product)?,
            None => sum = Some(product),
        }
    }
    sum.ok_or_else(|| shape("the number of terms", 0, "at least 1"))
}

fn shape(
    what: &'static str,
    found: impl std::fmt::Display,
    expected: impl std::fmt::Display,
) -> Error {
    Error::Shape {
        what,
        found: found.to_string(),
        expected: expected.to_string(),
    }
}
