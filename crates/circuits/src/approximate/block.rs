//! Linear maps from several ciphertexts to several, written down by rotations.
//!
//! An output is `sum_g rot_g (sum_(i,b) d_(g,i,b) rot_b x_i)`: rotations `b` of the inputs share one decomposition per input
//! and are taken once for all outputs, rotations `g` are taken once per output. Everything stays over `Q P` until one division per
//! output. Which rotations are of which kind is the caller's choice; [`crate::approximate::LinearTransform`] chooses for one
//! matrix. Diagonals with a short period take little memory: a convolution with channels as the fast index of the slots has the same
//! weights at every place.
//!
//! Sources: Halevi, Shoup, CRYPTO 2018 (baby steps, giant steps, hoisting); Bossuat et al., EUROCRYPT 2021, section 4.

use crate::approximate::linear::{Diagonal, encode};
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
    /// What is summed.
    pub terms: Vec<Term>,
}

/// A linear map encoded for ciphertexts of one level.
pub struct BlockTransform {
    params: Params,
    level: usize,
    scale: f64,
    inputs: usize,
    /// Of each output.
    outputs: Vec<Vec<EncodedGiant>>,
}

struct EncodedGiant {
    rotation: isize,
    terms: Vec<(Rotated, Diagonal)>,
}

/// An input and its rotation.
type Rotated = (usize, isize);

/// What a linear map does, for each time that it is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Products of a ciphertext with a plaintext.
    pub products: usize,
    /// Rotations of inputs, hoisted.
    pub babies: usize,
    /// Rotations of sums.
    pub giants: usize,
}

impl BlockTransform {
    /// Encodes a map for `inputs` ciphertexts at `level`, by the giants of each output, at the scale of the level's modulus: the
    /// scale of the vectors stays. Terms of zeros only are left out.
    ///
    /// # Errors
    /// [`Error::Shape`] for an output without a term that is not zero, an input that is not there and a number of values
    /// that is no power of two; [`ckks::Error::Slots`], [`ckks::Error::Overflow`] and [`ckks::Error::NotFinite`].
    ///
    /// # Panics
    /// If there is no such level.
    pub fn new(
        params: &Params,
        level: usize,
        inputs: usize,
        outputs: impl IntoIterator<Item = Vec<Giant>>,
    ) -> Result<Self> {
        let scale = params.level_modulus(level);
        let term = |term: Term| -> Result<(Rotated, Diagonal)> {
            let found = term.values.len();
            if term.input >= inputs {
                return Err(shape(
                    "the number of an input",
                    term.input,
                    format!("below {inputs}"),
                ));
            }
            if !found.is_power_of_two() {
                return Err(shape(
                    "the number of values of a term",
                    found,
                    "a power of two",
                ));
            }
            let slots: Vec<Complex64> = term.values.iter().map(|&v| v.into()).collect();
            let diagonal = encode(params, &slots, level, scale)?;
            Ok(((term.input, term.baby), diagonal))
        };
        let giant = |giant: Giant| -> Result<EncodedGiant> {
            let terms = giant.terms.into_iter();
            let terms = terms
                .filter(|t| t.values.iter().any(|&v| v != 0.0))
                .map(term);
            Ok(EncodedGiant {
                rotation: giant.rotation,
                terms: terms.collect::<Result<_>>()?,
            })
        };
        let output = |giants: Vec<Giant>| -> Result<Vec<EncodedGiant>> {
            let giants: Result<Vec<_>> = giants.into_iter().map(giant).collect();
            let giants: Vec<_> = giants?
                .into_iter()
                .filter(|g| !g.terms.is_empty())
                .collect();
            if giants.is_empty() {
                return Err(shape(
                    "an output",
                    "a sum without terms",
                    "a term that is not zero",
                ));
            }
            Ok(giants)
        };
        Ok(Self {
            params: params.clone(),
            level,
            scale,
            inputs,
            outputs: outputs.into_iter().map(output).collect::<Result<_>>()?,
        })
    }

    /// The rotations whose keys it needs, at the ring level of its inputs.
    pub fn rotations(&self) -> BTreeSet<isize> {
        let giants = self.outputs.iter().flatten().map(|g| g.rotation);
        let mut all: BTreeSet<isize> = self.babies().into_iter().map(|(_, baby)| baby).collect();
        all.extend(giants);
        all.remove(&0);
        all
    }

    /// Bytes of its plaintexts.
    pub fn byte_len(&self) -> usize {
        let terms = self.outputs.iter().flatten().flat_map(|g| &g.terms);
        terms.map(|(_, diagonal)| diagonal.byte_len()).sum()
    }

    /// What [`BlockTransform::apply`] does.
    pub fn counts(&self) -> Counts {
        let giants = self.outputs.iter().flatten();
        Counts {
            products: giants.clone().map(|g| g.terms.len()).sum(),
            babies: self.babies().iter().filter(|(_, b)| *b != 0).count(),
            giants: giants.filter(|g| g.rotation != 0).count(),
        }
    }

    /// The map of `x`, one level below.
    ///
    /// # Errors
    /// If there are not as many ciphertexts as it was made for, one is at another level, scales differ, or a key is missing.
    pub fn apply(&self, x: &[Ciphertext], keys: &GaloisKeys) -> Result<Vec<Ciphertext>> {
        let babies = self.rotate(x, keys)?;
        let n = self.params.n();
        let dropped = self.params.ring_level(self.level) - self.params.ring_level(self.level - 1);
        let output = |giants: &Vec<EncodedGiant>| -> Result<Ciphertext> {
            let mut sum: Option<Extended> = None;
            for giant in giants {
                let terms = giant.terms.iter();
                let rotated: Vec<&Extended> = terms.map(|(key, _)| &babies[key]).collect();
                let fill = |k: usize, i, words: &mut [u64]| giant.terms[k].1.write(n, i, words);
                let inner = Extended::dot(&rotated, fill);
                let element = self.params.encoder().rotation_element(giant.rotation);
                let inner = inner
                    .automorphism(element, keys)
                    .map_err(ckks::Error::from)?;
                match &mut sum {
                    Some(sum) => sum.add_assign(&inner).map_err(ckks::Error::from)?,
                    None => sum = Some(inner),
                }
            }
            let sum = sum.expect("an output has a term");
            let scale = x[0].scale() * self.scale / self.params.level_modulus(self.level);
            let divided = sum.divide(dropped).map_err(ckks::Error::from)?;
            Ok(Ciphertext::new(divided, scale))
        };
        self.outputs.iter().map(output).collect()
    }

    /// The inputs by their rotations.
    fn rotate(&self, x: &[Ciphertext], keys: &GaloisKeys) -> Result<BTreeMap<Rotated, Extended>> {
        if x.len() != self.inputs {
            return Err(shape("the number of ciphertexts", x.len(), self.inputs));
        }
        if self.level == 0 {
            return Err(ckks::Error::LevelExhausted { need: 1, have: 0 }.into());
        }
        for x in x {
            let (left, right) = (self.params.level_of(x.rlwe())?, self.level);
            if left != right {
                return Err(ckks::Error::from(rlwe::Error::LevelMismatch { left, right }).into());
            }
        }
        if let Some(other) = x.iter().find(|other| other.scale() != x[0].scale()) {
            let [left, right] = [x[0].scale(), other.scale()].map(f64::log2);
            return Err(ckks::Error::ScaleMismatch { left, right }.into());
        }
        let mut out = BTreeMap::new();
        let mut decomposed: Option<(usize, Decomposed)> = None;
        for (input, baby) in self.babies() {
            let ct = x[input].rlwe();
            let rotated = if baby == 0 {
                Extended::new(self.params.rlwe(), ct)
            } else {
                if decomposed.as_ref().is_none_or(|(of, _)| *of != input) {
                    let c1 = ct.pair().map_err(ckks::Error::from)?.1;
                    decomposed = Some((input, Decomposed::new(self.params.rlwe(), c1)));
                }
                let (_, digits) = decomposed.as_ref().expect("just made");
                let element = self.params.encoder().rotation_element(baby);
                Extended::automorphism_of(ct, digits, element, keys)
            };
            out.insert((input, baby), rotated.map_err(ckks::Error::from)?);
        }
        Ok(out)
    }

    fn babies(&self) -> BTreeSet<Rotated> {
        let terms = self.outputs.iter().flatten().flat_map(|g| &g.terms);
        terms.map(|(rotated, _)| *rotated).collect()
    }
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
