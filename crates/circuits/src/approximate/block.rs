//! Linear maps from several ciphertexts to several, written down by rotations.
//!
//! An output is `sum_g rot_g (sum_(i,b) d_(g,i,b) rot_b x_i)`: rotations `b` of the inputs share one decomposition per input
//! and are taken once for all outputs, rotations `g` are taken once per output. Everything stays over `Q P` until one division per
//! output. Which rotations are of which kind is the caller's choice; [`crate::approximate::LinearTransform`] chooses for one
//! matrix.
//!
//! Values with a short period take little memory, and all sums are then one product of matrices for each part of the slots: a
//! convolution with channels as the fast index of the slots has the same weights at every place.
//!
//! Sources: Halevi, Shoup, CRYPTO 2018 (baby steps, giant steps, hoisting); Bossuat et al., EUROCRYPT 2021, section 4.

use crate::approximate::Diagonal;
use crate::error::{Error, Result};
use ckks::{Ciphertext, Complex64, Params};
use rlwe::{Decomposed, Extended, GaloisKeys};
use std::collections::{BTreeMap, BTreeSet};

/// One product of a [`Giant`]: `values * rot_baby(x_input)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// Which of the ciphertexts.
    pub input: usize,
    /// Rotation of its slots to the left.
    pub baby: isize,
    /// The factors, a power of two of them; they repeat.
    pub values: Vec<f64>,
}

/// A sum of products, rotated.
#[derive(Clone, Debug, PartialEq)]
pub struct Giant {
    /// Rotation of the sum to the left.
    pub rotation: isize,
    /// What is summed. Of several terms with the same input and baby the last counts.
    pub terms: Vec<Term>,
}

/// A linear map encoded for ciphertexts of one level.
pub struct BlockTransform {
    params: Params,
    level: usize,
    inputs: usize,
    /// The inputs and their rotations: columns of the matrix.
    babies: Vec<(usize, isize)>,
    /// The outputs and the rotations of sums: rows of the matrix, by output.
    giants: Vec<(usize, isize)>,
    products: usize,
    gap: usize,
    /// Words of the plaintexts as [`ring::block_combinations`] takes them.
    matrix: Vec<u64>,
}

/// What a linear map does, each time that it is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Products of a ciphertext with a plaintext that is not zero.
    pub products: usize,
    /// Rotations of inputs, hoisted.
    pub babies: usize,
    /// Rotations of sums.
    pub giants: usize,
}

/// The plaintexts of a giant that are not zero, by input and baby.
type Row = BTreeMap<(usize, isize), Diagonal>;

impl BlockTransform {
    /// Encodes a map for `inputs` ciphertexts at `level`, by the giants of each output, at the scale of the level's modulus: the
    /// scale of the vectors stays. Terms of zeros only are left out.
    ///
    /// # Errors
    /// [`Error::Shape`] without outputs, for an output without a term that is not zero, for an input that is not there, for a number of
    /// values that is no power of two and for more than 512 babies; [`ckks::Error::TooManyValues`], [`ckks::Error::Overflow`]
    /// and [`ckks::Error::NotFinite`].
    ///
    /// # Panics
    /// If there is no such level.
    pub fn new(
        params: &Params,
        level: usize,
        inputs: usize,
        outputs: impl IntoIterator<Item = Vec<Giant>>,
    ) -> Result<Self> {
        let (mut giants, mut rows) = (Vec::new(), Vec::new());
        let mut count = 0;
        for (output, own) in outputs.into_iter().enumerate() {
            count = output + 1;
            for giant in own {
                let row = row(params, level, inputs, giant.terms)?;
                if !row.is_empty() {
                    giants.push((output, giant.rotation));
                    rows.push(row);
                }
            }
            if giants.last().is_none_or(|(last, _)| *last != output) {
                return Err(shape("an output", "zero", "a term that is not"));
            }
        }
        let babies: BTreeSet<(usize, isize)> = rows.iter().flat_map(Row::keys).copied().collect();
        if count == 0 || babies.len() > MOST_BABIES {
            let found = format!("{count} of {} babies", babies.len());
            let expected = format!("at least 1, of at most {MOST_BABIES}");
            return Err(shape("the number of outputs", found, expected));
        }
        let babies: Vec<(usize, isize)> = babies.into_iter().collect();
        let diagonals = rows.iter().flat_map(Row::values);
        let gap = diagonals.clone().map(Diagonal::gap).min();
        let (gap, n) = (gap.expect("a term"), params.n());
        let limbs = params.rlwe().extended(params.ring_level(level)).len();
        let mut matrix = Vec::with_capacity(limbs * n / gap * rows.len() * babies.len());
        for i in 0..limbs {
            for j in (0..n).step_by(gap) {
                for row in &rows {
                    let word = |baby| row.get(baby).map_or(0, |d| d.word(i, j));
                    matrix.extend(babies.iter().map(word));
                }
            }
        }
        Ok(Self {
            params: params.clone(),
            level,
            inputs,
            babies,
            giants,
            products: diagonals.count(),
            gap,
            matrix,
        })
    }

    /// The rotations whose keys it needs, at the ring level of its inputs.
    pub fn rotations(&self) -> BTreeSet<isize> {
        let all = self.babies.iter().chain(&self.giants);
        all.map(|(_, k)| *k).filter(|k| *k != 0).collect()
    }

    /// Bytes of its plaintexts.
    pub fn byte_len(&self) -> usize {
        size_of_val(self.matrix.as_slice())
    }

    /// What [`BlockTransform::apply`] does.
    pub fn counts(&self) -> Counts {
        let rotated = |of: &[(usize, isize)]| of.iter().filter(|(_, k)| *k != 0).count();
        Counts {
            products: self.products,
            babies: rotated(&self.babies),
            giants: rotated(&self.giants),
        }
    }

    /// The map of `x`, one level below.
    ///
    /// # Errors
    /// If there are not as many ciphertexts as it was made for, one is at another level, scales differ, or a key is missing.
    pub fn apply(&self, x: &[Ciphertext], keys: &GaloisKeys) -> Result<Vec<Ciphertext>> {
        self.check(x)?;
        let babies = self.rotate(x, keys).map_err(ckks::Error::from)?;
        let terms: Vec<&Extended> = babies.iter().collect();
        let sums = Extended::combinations(&terms, &self.matrix, (self.gap, self.giants.len()));
        drop(babies);
        let mut outputs: Vec<Extended> = Vec::new();
        for (sum, &(output, rotation)) in sums.into_iter().zip(&self.giants) {
            let element = self.params.encoder().rotation_element(rotation);
            let sum = sum.automorphism(element, keys).map_err(ckks::Error::from)?;
            match outputs.get_mut(output) {
                Some(output) => output.add_assign(&sum).map_err(ckks::Error::from)?,
                None => outputs.push(sum),
            }
        }
        let dropped = self.params.ring_level(self.level) - self.params.ring_level(self.level - 1);
        let divide = |sum: Extended| -> Result<Ciphertext> {
            let divided = sum.divide(dropped).map_err(ckks::Error::from)?;
            Ok(Ciphertext::new(divided, x[0].scale()))
        };
        outputs.into_iter().map(divide).collect()
    }

    /// The inputs, rotated, in the order of `babies`.
    fn rotate(&self, x: &[Ciphertext], keys: &GaloisKeys) -> rlwe::Result<Vec<Extended>> {
        let mut decomposed: Option<(usize, Decomposed)> = None;
        let mut rotated = |&(input, baby): &(usize, isize)| {
            let ct = x[input].rlwe();
            if baby == 0 {
                return Extended::new(self.params.rlwe(), ct);
            }
            let digits = match decomposed.take() {
                Some((of, digits)) if of == input => digits,
                _ => Decomposed::new(self.params.rlwe(), ct.pair()?.1),
            };
            let (_, digits) = decomposed.insert((input, digits));
            let element = self.params.encoder().rotation_element(baby);
            Extended::automorphism_of(ct, digits, element, keys)
        };
        self.babies.iter().map(&mut rotated).collect()
    }

    fn check(&self, x: &[Ciphertext]) -> Result<()> {
        if x.len() != self.inputs {
            return Err(shape("the number of ciphertexts", x.len(), self.inputs));
        }
        if self.level == 0 {
            return Err(ckks::Error::LevelExhausted { need: 1, have: 0 }.into());
        }
        for ct in x {
            let (left, right) = (self.params.level_of(ct.rlwe())?, self.level);
            if left != right {
                return Err(ckks::Error::from(rlwe::Error::LevelMismatch { left, right }).into());
            }
            if ct.scale() != x[0].scale() {
                let [left, right] = [x[0].scale(), ct.scale()].map(f64::log2);
                return Err(ckks::Error::ScaleMismatch { left, right }.into());
            }
        }
        Ok(())
    }
}

/// Columns of a matrix that [`ring::block_combinations`] takes, at most.
const MOST_BABIES: usize = 512;

fn row(params: &Params, level: usize, inputs: usize, terms: Vec<Term>) -> Result<Row> {
    let mut row = Row::new();
    for Term {
        input,
        baby,
        values,
    } in terms
    {
        if input >= inputs {
            let expected = format!("below {inputs}");
            return Err(shape("the number of an input", input, expected));
        }
        if !values.len().is_power_of_two() {
            let expected = "a power of two";
            return Err(shape(
                "the number of values of a term",
                values.len(),
                expected,
            ));
        }
        let (found, limit) = (values.len(), params.slots());
        if found > limit {
            return Err(ckks::Error::TooManyValues { found, limit }.into());
        }
        if values.iter().any(|&v| v != 0.0) {
            let slots: Vec<Complex64> = values.into_iter().map(Complex64::from).collect();
            let diagonal = Diagonal::encode(params, &slots, level, params.level_modulus(level))?;
            row.insert((input, baby), diagonal);
        }
    }
    Ok(row)
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
