//! A matrix times the slots of a ciphertext. Baby steps share one decomposition, and giant steps
//! use one key.
//!
//! The diagonals are at `step (i + b g)` with `0 <= i < b`. The product is then
//! `sum_g rot_(step b)^g (sum_i d'_(i,g) x_i)`, where `x_i` is the vector rotated by `step i`, and
//! `d'` the diagonal rotated back. The sum over `g` is computed from the inside out, so all giant
//! steps use one rotation key. Everything stays over `Q P` until one division at the end.
//!
//! Sources: Halevi, Shoup, CRYPTO 2018 (baby steps, giant steps, hoisting); Bossuat et al.,
//! EUROCRYPT 2021, section 4.

use crate::approximate::arithmetic::{Arithmetic, Scaled, ScaledOf};
use crate::approximate::{Diagonal, Matrix};
use crate::error::Result;
use crate::operations::RingOperations;
use ckks::{Error, Params};
use std::collections::BTreeSet;

/// A matrix encoded for ciphertexts of one level.
pub struct LinearTransform {
    params: Params,
    level: usize,
    scale: f64,
    /// Number of slots that one step rotates by.
    step: usize,
    babies: usize,
    rotations: BTreeSet<usize>,
    /// For each giant step, its diagonals with their baby steps.
    giants: Vec<Vec<(usize, Diagonal)>>,
}

/// The split of a matrix's diagonals into baby and giant steps.
struct Split {
    step: usize,
    babies: usize,
    giants: usize,
}

impl Split {
    /// # Panics
    /// If the matrix or `babies` is zero.
    fn new(matrix: &Matrix, babies: usize) -> Self {
        let indices: Vec<usize> = matrix.diagonals().map(|(k, _)| k).collect();
        assert!(!indices.is_empty() && babies > 0, "a matrix and baby steps");
        let step = indices.iter().fold(0, |a, &b| gcd(a, b)).max(1);
        let last = indices.iter().map(|k| k / step / babies).max();
        let giants = last.expect("a diagonal") + 1;
        Self {
            step,
            babies,
            giants,
        }
    }

    /// Giant step and baby step of a diagonal.
    fn of(&self, diagonal: usize) -> (usize, usize) {
        let steps = diagonal / self.step;
        (steps / self.babies, steps % self.babies)
    }
}

/// The rotations that need Galois keys when the matrix is applied with at most `babies` baby steps.
///
/// # Panics
/// If the matrix or `babies` is zero.
pub(super) fn rotations_of(matrix: &Matrix, babies: usize) -> BTreeSet<usize> {
    let split = Split::new(matrix, babies);
    let babies = matrix.diagonals().map(|(k, _)| split.of(k).1 * split.step);
    let mut steps: BTreeSet<usize> = babies.collect();
    if split.giants > 1 {
        steps.insert(split.step * split.babies);
    }
    steps.remove(&0);
    steps
}

impl LinearTransform {
    /// Encodes `matrix` at `scale` for ciphertexts at `level`, with at most `babies` baby steps.
    ///
    /// A matrix of fewer slots than `N/2` acts on sparsely packed ciphertexts, whose slots repeat.
    ///
    /// # Errors
    /// [`Error::Slots`] for too many slots, [`Error::NotFinite`] for an entry that is not finite,
    /// and [`Error::Overflow`] for a coefficient of a diagonal beyond 63 bits.
    ///
    /// # Panics
    /// If there is no such level, or the matrix or `babies` is zero.
    pub fn new(
        params: &Params,
        matrix: &Matrix,
        level: usize,
        scale: f64,
        babies: usize,
    ) -> Result<Self> {
        let (found, limit) = (matrix.slots(), params.slots());
        if found > limit {
            return Err(Error::Slots { found, limit }.into());
        }
        let split = Split::new(matrix, babies);
        let mut out = Self {
            params: params.clone(),
            level,
            scale,
            step: split.step,
            babies,
            rotations: rotations_of(matrix, babies),
            giants: Vec::new(),
        };
        out.giants.resize_with(split.giants, Vec::new);
        for (k, diagonal) in matrix.diagonals() {
            let (giant, baby) = split.of(k);
            let back = split.step * babies * giant % found;
            let mut rotated = diagonal.to_vec();
            rotated.rotate_right(back);
            let encoded = Diagonal::encode(params, &rotated, level, scale)?;
            out.giants[giant].push((baby, encoded));
        }
        Ok(out)
    }

    /// The rotations that need Galois keys when `matrix` is applied with at most `babies` baby
    /// steps.
    ///
    /// # Panics
    /// If the matrix or `babies` is zero.
    pub fn rotations_of(matrix: &Matrix, babies: usize) -> BTreeSet<usize> {
        rotations_of(matrix, babies)
    }

    /// Level of the inputs.
    pub fn level(&self) -> usize {
        self.level
    }

    /// The rotations that need Galois keys, at the ring level of the inputs.
    pub fn rotations(&self) -> &BTreeSet<usize> {
        &self.rotations
    }

    /// Size of the plaintexts, in bytes.
    pub fn byte_len(&self) -> usize {
        let diagonals = self.giants.iter().flatten();
        diagonals.map(|(_, d)| d.byte_len()).sum()
    }

    /// Multiplies the slots of `x` by the matrix and rescales by one level. The scale of the result
    /// is the product of both scales over the moduli of the level.
    ///
    /// # Errors
    /// If `x` is at another level, or a key is missing.
    pub fn apply<O: RingOperations>(
        &self,
        arithmetic: &Arithmetic<O>,
        x: &ScaledOf<O>,
    ) -> Result<ScaledOf<O>> {
        let (found, operations) = (x.level(), arithmetic.operations());
        if found != self.level {
            let (left, right) = (found, self.level);
            return Err(Error::from(rlwe::Error::LevelMismatch { left, right }).into());
        }
        let below = arithmetic.below(self.level)?;
        let element = |k: usize| self.params.encoder().rotation_element(k as isize);
        operations.begin_scale(x.scale());
        let decomposed = operations.decompose(&x.ct)?;
        let used: BTreeSet<usize> = self.giants.iter().flatten().map(|(b, _)| *b).collect();
        let mut babies: Vec<Option<O::Extended>> = vec![None; self.babies];
        for &baby in &used {
            let g = element(baby * self.step);
            babies[baby] = Some(operations.automorphism_extended(&x.ct, &decomposed, g)?);
        }
        drop(decomposed);
        let mut sum: Option<O::Extended> = None;
        for diagonals in self.giants.iter().rev() {
            if let Some(inner) = sum.take() {
                operations.begin_scale(x.scale() * self.scale);
                sum = Some(operations.turn(inner, element(self.giant()))?);
            }
            if diagonals.is_empty() {
                continue;
            }
            let terms: Vec<&O::Extended> = diagonals
                .iter()
                .map(|(baby, _)| babies[*baby].as_ref().expect("a baby step in use"))
                .collect();
            operations.begin_scale(x.scale() * self.scale);
            let factors: Vec<&Diagonal> = diagonals.iter().map(|(_, factor)| factor).collect();
            let dot = operations.dot(&terms, &factors)?;
            match &mut sum {
                Some(sum) => operations.add_extended(sum, &dot)?,
                None => sum = Some(dot),
            }
        }
        let dropped = self.params.ring_level(self.level) - self.params.ring_level(below);
        let sum = sum.expect("a matrix has a diagonal");
        let scale = x.scale() * self.scale / self.params.level_modulus(self.level);
        operations.begin_scale(scale);
        Ok(Scaled::new(operations.divide(sum, dropped)?, below, scale))
    }

    fn giant(&self) -> usize {
        self.step * self.babies
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}
