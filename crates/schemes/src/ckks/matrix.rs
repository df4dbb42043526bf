//! Matrices times encrypted vectors, with few keys.

use super::{Ciphertext, Complex64, Params};
use crate::error::{Error, Result};
use ::ckks::Size;
use circuits::approximate::{self, Arithmetic, LinearTransform};
use circuits::operations::RunRing;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A matrix of real or complex numbers, for products with encrypted vectors.
///
/// A vector is in the first slots of its ciphertext. The product reads as many slots as the matrix
/// has columns, and writes as many as it has rows; the others are zero. A product of `r` rows and
/// `c` columns takes one level, about `2 sqrt(r + c)` rotations by baby and giant steps, and half
/// as many keys, because all giant steps use one. The matrix is encoded at its first product at a
/// level, and the encoding is kept.
///
/// ```
/// use palladion_schemes::{Needs, ckks};
///
/// let mut rng = palladion_schemes::rng();
/// let params = ckks::Params::for_depth(13, 1, 30)?;
/// let matrix = ckks::Matrix::new(&params, &[[1.0, 2.0, 3.0], [0.0, -1.0, 0.5]])?;
///
/// let secret = params.generate_secret(&mut rng);
/// let needs = Needs { rotations: &matrix.rotations(), ..Needs::default() };
/// let keys = secret.keys(&needs, &mut rng)?;
/// let x = secret.encrypt(&[2.0, 1.0, -1.0], &mut rng)?.with_keys(&keys);
/// let y = secret.decrypt_real(&matrix.mul(&x)?)?;
/// assert!((y[0] - 1.0).abs() < 1e-3 && (y[1] + 1.5).abs() < 1e-3 && y[2].abs() < 1e-3);
/// # Ok::<(), palladion_schemes::Error>(())
/// ```
pub struct Matrix {
    params: Params,
    /// The matrix on all slots, of vectors that were rotated right by `offset`. `None` for zero.
    matrix: Option<approximate::Matrix>,
    offset: usize,
    babies: usize,
    /// Largest sum of absolute values of a row, and largest absolute value of an entry.
    row_sum: f64,
    /// The encodings, by level.
    encoded: Mutex<BTreeMap<usize, Arc<LinearTransform>>>,
}

impl Matrix {
    /// The matrix with these rows, at most as many as there are slots, as there are columns.
    ///
    /// # Errors
    /// For rows of different lengths, for too many rows or columns, and for entries that are not
    /// finite.
    pub fn new<V, R>(params: &Params, rows: &[R]) -> Result<Self>
    where
        V: Copy + Into<Complex64>,
        R: AsRef<[V]>,
    {
        let columns = rows.first().map_or(0, |row| row.as_ref().len());
        let slots = params.slots();
        for (what, found) in [
            ("the number of rows of a matrix", rows.len()),
            ("the number of columns of a matrix", columns),
        ] {
            if !(1..=slots).contains(&found) {
                return Err(Error::argument(what, found, format!("1 to {slots}")));
            }
        }
        let mut diagonals: BTreeMap<usize, Vec<Complex64>> = BTreeMap::new();
        // With few rows and columns, diagonals below the main one come first, not last.
        let offset = match rows.len() + columns - 1 < slots {
            true => rows.len() - 1,
            false => 0,
        };
        let mut row_sum = 0f64;
        for (i, row) in rows.iter().enumerate() {
            let row = row.as_ref();
            if row.len() != columns {
                let found = format!("{} in row {i}", row.len());
                return Err(Error::argument("the number of columns", found, columns));
            }
            let mut sum = 0.0;
            for (j, &entry) in row.iter().enumerate() {
                let entry: Complex64 = entry.into();
                if !entry.is_finite() {
                    let found = entry.to_string();
                    let index = i * columns + j;
                    return Err(::ckks::Error::NotFinite { index, found }.into());
                }
                if entry != Complex64::ZERO {
                    let k = (slots + j + offset - i) % slots;
                    diagonals
                        .entry(k)
                        .or_insert_with(|| vec![Complex64::ZERO; slots])[i] = entry;
                }
                sum += entry.norm();
            }
            row_sum = row_sum.max(sum);
        }
        let count = diagonals.keys().next_back().map_or(1, |last| last + 1);
        let diagonals = diagonals.into_iter().map(|(k, d)| (k as isize, d));
        let matrix = approximate::Matrix::new(slots, diagonals);
        let is_zero = matrix.diagonals().len() == 0;
        Ok(Self {
            params: params.clone(),
            matrix: (!is_zero).then_some(matrix),
            offset,
            babies: (count as f64).sqrt().ceil() as usize,
            row_sum,
            encoded: Mutex::default(),
        })
    }

    /// The rotations for which [`Matrix::mul`] needs keys.
    pub fn rotations(&self) -> Vec<isize> {
        let Some(matrix) = &self.matrix else {
            return Vec::new();
        };
        let steps = LinearTransform::rotations_of(matrix, self.babies);
        let offset = (self.offset > 0).then_some(-(self.offset as isize));
        let steps = steps.into_iter().map(|k| k as isize);
        offset.into_iter().chain(steps).collect()
    }

    /// The matrix times the first slots of `x`, one level lower.
    ///
    /// # Errors
    /// If no level is left, [`Error::NoKeys`], and [`Error::MissingKey`] without the keys of
    /// [`Matrix::rotations`].
    pub fn mul(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.params.check("ciphertext", x.params())?;
        let Some(matrix) = &self.matrix else {
            return x.mul(0);
        };
        let level = x.level();
        if level == 0 {
            return Err(::ckks::Error::LevelExhausted { need: 1, have: 0 }.into());
        }
        let keys = x.needed(None)?;
        for k in self.rotations() {
            keys.for_rotation(k)?;
        }
        let largest = x.raw().size().largest();
        let x = match self.offset {
            0 => x.clone(),
            offset => x.rotate(-(offset as isize))?,
        };
        let params = x.params().evaluator().params();
        let operations = RunRing::new(params.rlwe(), None, &keys.raw().galois);
        let arithmetic = Arithmetic::of(params, &operations);
        let transform = self.encoded(matrix, level)?;
        let product = transform.apply(&arithmetic, &arithmetic.open(x.raw())?)?;
        let mut ct = arithmetic.close(product);
        ct.set_size(Size::at_most(self.row_sum * largest));
        Ok(x.result(ct))
    }

    fn encoded(&self, matrix: &approximate::Matrix, level: usize) -> Result<Arc<LinearTransform>> {
        let mut encoded = self.encoded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(transform) = encoded.get(&level) {
            return Ok(transform.clone());
        }
        let params = self.params.evaluator().params();
        // The scale by which the result has that of its level.
        let wanted = params.scale_at(level - 1) * params.level_modulus(level);
        let scale = wanted / params.scale_at(level);
        let transform = LinearTransform::new(params, matrix, level, scale, self.babies)?;
        Ok(encoded.entry(level).or_insert(Arc::new(transform)).clone())
    }
}

impl std::fmt::Debug for Matrix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let diagonals = self.matrix.as_ref().map_or(0, |m| m.diagonals().len());
        write!(f, "Matrix({diagonals} diagonals)")
    }
}
