//! Builders of linear layers: sums over slots, and a matrix of few rows times a vector.

use super::build::CircuitBuilder;
use super::ir::{Type, ValueId};
use crate::error::{Error, Result};
use std::collections::BTreeMap;

/// `y_j = sum_(i < count) x_(j + i stride)`, with indices modulo the number of slots of a row. It
/// takes `floor(log2(count))` rotations and additions, and one more of both for each further bit of
/// `count`.
///
/// If `count * stride` is the number of slots, every slot gets the sum of its residue class modulo
/// `stride`. A negative stride copies to the right.
///
/// Source: Halevi, Shoup, CRYPTO 2014, section 4 (total sums, replication).
///
/// # Errors
/// [`Error::Shape`] if `count` is 0.
pub fn sum_strided(
    b: &mut CircuitBuilder,
    x: ValueId,
    (stride, count): (isize, usize),
) -> Result<ValueId> {
    if count == 0 {
        return Err(shape(
            "the number of terms of a sum over slots",
            count,
            "at least 1",
        ));
    }
    // `sum` has `terms` terms, a number of the highest bits of `count`.
    let (mut sum, mut terms) = (x, 1usize);
    for bit in (0..count.ilog2()).rev() {
        let rotated = b.rotate(sum, stride.wrapping_mul(terms as isize))?;
        (sum, terms) = (b.add(sum, rotated)?, 2 * terms);
        if count >> bit & 1 == 1 {
            let rotated = b.rotate(sum, stride)?;
            (sum, terms) = (b.add(x, rotated)?, terms + 1);
        }
    }
    Ok(sum)
}

/// The way in which a circuit gets its weights.
pub enum Weights<'a> {
    /// The weights are constants of the circuit, in plain.
    Plain,
    /// Each vector of weights becomes an encrypted input. The map has the numbers of each vector by
    /// name, for their owner to encrypt.
    Encrypted(&'a mut BTreeMap<String, Vec<f64>>),
}

impl Weights<'_> {
    /// Makes a value of these numbers, which repeat, at a level and scale.
    ///
    /// # Errors
    /// The errors of [`CircuitBuilder::constant`] and [`CircuitBuilder::input`].
    pub fn place(
        &mut self,
        b: &mut CircuitBuilder,
        name: &str,
        values: Vec<f64>,
        (level, scale): (usize, f64),
    ) -> Result<ValueId> {
        match self {
            Self::Plain => b.constant(name, &values, (level, scale)),
            Self::Encrypted(kept) => {
                kept.insert(name.into(), values);
                let encrypted = true;
                b.input(
                    name,
                    Type {
                        encrypted,
                        level,
                        scale,
                    },
                )
            }
        }
    }
}

/// A dense layer: a matrix, given by its rows. There is one row for each output, and all have the
/// same length. A bias is a column for an input that is 1.
///
/// `R` rows and `C` columns, both padded to powers of two with `R <= C`, give `R` diagonals of
/// length `C`: `d_k[j] = W[j mod R][(j + k) mod C]`. Their sum `y_j = sum_k d_k[j] x_(j+k)` is
/// folded by `C / R` strides of `R`. The vector repeats after `C` slots, the result after `R`
/// slots.
///
/// Source: Juvekar, Vaikuntanathan, Chandrakasan, "GAZELLE", USENIX Security 2018, section 4
/// (hybrid method).
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    name: String,
    rows: Vec<Vec<f64>>,
    padded: (usize, usize),
}

impl Dense {
    /// Makes a layer. `name` is the name of its weights.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are no weights, rows differ in length, or there are more rows than
    /// columns after both are padded to powers of two.
    pub fn new(name: &str, rows: Vec<Vec<f64>>) -> Result<Self> {
        let columns = rows.first().map_or(0, Vec::len);
        if columns == 0 {
            return Err(shape("a matrix", "empty", "a row and a column"));
        }
        if let Some(row) = rows.iter().find(|row| row.len() != columns) {
            return Err(shape("the length of a row", row.len(), columns));
        }
        let padded = (rows.len().next_power_of_two(), columns.next_power_of_two());
        if padded.0 > padded.1 {
            let expected = format!("at most the {} columns", padded.1);
            return Err(shape("the number of rows, padded,", padded.0, expected));
        }
        let name = name.into();
        Ok(Self { name, rows, padded })
    }

    /// Number of rows, padded: the number of slots after which the result repeats.
    pub fn period_out(&self) -> usize {
        self.padded.0
    }

    /// Number of columns, padded: the number of slots after which the vector repeats.
    pub fn period_in(&self) -> usize {
        self.padded.1
    }

    /// Multiplies the matrix by a vector. Missing entries are zero.
    pub fn apply(&self, x: &[f64]) -> Vec<f64> {
        let dot = |row: &Vec<f64>| row.iter().zip(x).map(|(w, x)| w * x).sum();
        self.rows.iter().map(dot).collect()
    }

    /// Multiplies the weights by the slots of `x`. The result is one level below `x` and has its
    /// scale: weights have the scale of the level's modulus.
    ///
    /// Diagonal `i + g babies` is multiplied with baby step `i`, a rotation of `x`. It is stored
    /// rotated back by giant step `g`. The sum over `g` is computed from the inside out, so that
    /// all giant steps use one rotation key.
    ///
    /// # Errors
    /// [`Error::Shape`] for zero baby steps or fewer slots than columns; [`Error::Step`] if `x` is
    /// at level 0.
    pub fn apply_to(
        &self,
        b: &mut CircuitBuilder,
        x: ValueId,
        babies: usize,
        weights: &mut Weights,
    ) -> Result<ValueId> {
        let (rows, columns) = self.padded;
        if babies == 0 {
            return Err(shape("the number of baby steps", 0, "at least 1"));
        }
        if columns > b.row() {
            let expected = format!("at most the {} slots", b.row());
            return Err(shape("the number of columns, padded,", columns, expected));
        }
        let level = b.ty(x).level;
        let scale = b.arithmetic().factor_scale(level);
        let mut rotated = Vec::new();
        for i in 0..babies.min(rows) {
            rotated.push(b.rotate(x, i as isize)?);
        }
        let diagonals: Vec<usize> = (0..rows).collect();
        let mut sum = None;
        for giant in diagonals.chunks(babies).rev() {
            let mut terms = Vec::new();
            for (&k, &x) in giant.iter().zip(&rotated) {
                let mut diagonal = self.diagonal(k);
                diagonal.rotate_right(giant[0] % columns);
                let name = format!("{}.{k}", self.name);
                let placed = weights.place(b, &name, diagonal, (level, scale))?;
                terms.push([x, placed]);
            }
            let outer = match sum {
                Some(outer) => Some(b.rotate(outer, babies as isize)?),
                None => None,
            };
            let inner = b.dot(&terms)?;
            sum = Some(match outer {
                Some(outer) => b.add(outer, inner)?,
                None => inner,
            });
        }
        let sum = b.rescale(sum.expect("a matrix has a diagonal"))?;
        sum_strided(b, sum, (rows as isize, columns / rows))
    }

    /// Returns diagonal `k`.
    fn diagonal(&self, k: usize) -> Vec<f64> {
        let (rows, columns) = self.padded;
        let entry = |j: usize| {
            let row = self.rows.get(j % rows);
            let value = row.and_then(|row| row.get((j + k) % columns));
            value.copied().unwrap_or(0.0)
        };
        (0..columns).map(entry).collect()
    }
}

pub(super) fn shape(what: &'static str, found: impl ToString, expected: impl ToString) -> Error {
    Error::Shape {
        what,
        found: found.to_string(),
        expected: expected.to_string(),
    }
}
