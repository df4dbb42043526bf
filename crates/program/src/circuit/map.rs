//! A builder of linear maps from several values to several values, given by rotations.

use super::build::CircuitBuilder;
use super::ir::ValueId;
use super::linear::{Weights, shape};
use crate::error::Result;
use std::collections::BTreeMap;

/// One product of a [`Giant`]: `values * rot_baby(x_input)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// Index of the value.
    pub input: usize,
    /// Number of slots by which the value is rotated to the left.
    pub baby: isize,
    /// The factors. Their count is a power of two, and they repeat.
    pub values: Vec<f64>,
}

/// A sum of products that is rotated.
#[derive(Clone, Debug, PartialEq)]
pub struct Giant {
    /// Number of slots by which the sum is rotated to the left.
    pub rotation: isize,
    /// Terms of the sum.
    pub terms: Vec<Term>,
}

/// Writes the maps `sum_g rot_g (sum_(i,b) d_(g,i,b) rot_b x_i)` of values at one level. There is
/// one map for the giants of each output. Results are one level below and have the scale of the
/// inputs. Terms that only have zeros are left out.
///
/// Rotations of inputs come first and serve all outputs. Then all sums of products follow next to
/// each other, then the rotations of sums. A runtime can then compute the sums as one product of
/// matrices, if values have a short period. The caller chooses which rotations are baby steps and
/// which are giant steps.
///
/// Source: Halevi, Shoup, CRYPTO 2018 (baby steps, giant steps).
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for an output without a term that is not zero and for an
/// input that does not exist, and those of [`Weights::place`] and [`CircuitBuilder::dot`].
pub fn linear_maps(
    b: &mut CircuitBuilder,
    name: &str,
    x: &[ValueId],
    outputs: Vec<Vec<Giant>>,
    weights: &mut Weights,
) -> Result<Vec<ValueId>> {
    let mut rotated = BTreeMap::new();
    let all = outputs.iter().flatten().flat_map(|giant| &giant.terms);
    for term in all.filter(|term| !is_zero(term)) {
        if term.input >= x.len() {
            let expected = format!("below {}", x.len());
            return Err(shape("the number of an input", term.input, expected));
        }
        rotated.insert((term.input, term.baby), 0);
    }
    for (&(input, baby), value) in &mut rotated {
        *value = b.rotate(x[input], baby)?;
    }
    let mut sums = Vec::new();
    for (o, giants) in outputs.into_iter().enumerate() {
        let mut own = Vec::new();
        for (g, giant) in giants.into_iter().enumerate() {
            let mut terms = Vec::new();
            for term in giant.terms.into_iter().filter(|term| !is_zero(term)) {
                let left = rotated[&(term.input, term.baby)];
                let level = b.ty(left).level;
                let at = (level, b.arithmetic().factor_scale(level));
                let name = format!("{name}.{o}.{g}.{}.{}", term.input, term.baby);
                terms.push([left, weights.place(b, &name, term.values, at)?]);
            }
            if !terms.is_empty() {
                own.push((giant.rotation, b.dot(&terms)?));
            }
        }
        if own.is_empty() {
            return Err(shape("an output", "zero", "a term that is not"));
        }
        sums.push(own);
    }
    let mut made = Vec::new();
    for own in sums {
        let mut total = None;
        for (rotation, sum) in own {
            let sum = b.rotate(sum, rotation)?;
            total = Some(match total {
                Some(total) => b.add(total, sum)?,
                None => sum,
            });
        }
        made.push(b.rescale(total.expect("an output has a sum"))?);
    }
    Ok(made)
}

fn is_zero(term: &Term) -> bool {
    term.values.iter().all(|&v| v == 0.0)
}
