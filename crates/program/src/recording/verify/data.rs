//! Checks of packings.

use super::super::ir::{Packing, Parameters};
use trace::reading::{Checked, Problem, check};

/// Slots of a packing. Each value has copies, and each copy has as many entries of the LWE secret.
#[derive(Clone, Copy)]
pub(super) struct PackedSlots {
    /// Number of entries of the secret for each copy. This is the number of rotations in all steps.
    pub(super) width: usize,
}

impl PackedSlots {
    /// Returns the layout of a number of values.
    pub(super) fn new(p: &Parameters, values: usize) -> Checked<Self> {
        let samples = p.samples.ok_or_else(|| {
            let expected = "those of samples, which are packed";
            Problem::new("the parameters", "without samples", expected)
        })?;
        let n = p.n;
        let divides = values > 0 && n.is_multiple_of(values);
        check(divides, "the number of values", values, || {
            format!("a divisor of {n}, the ring degree")
        })?;
        let (dimension, copies) = (samples.dimension, n / values);
        check(
            dimension.is_multiple_of(copies),
            "the number of copies",
            copies,
            || format!("a divisor of {dimension}, the LWE dimension"),
        )?;
        let width = dimension / copies;
        Ok(Self { width })
    }
}

/// Refuses a packing that breaks a rule. Its sources are not checked here.
pub(super) fn packing(p: &Parameters, packing: &Packing) -> Checked<()> {
    let (n, values, baby) = (p.n, packing.values, packing.baby_steps);
    let width = PackedSlots::new(p, values)?.width;
    let fits = (1..=width).contains(&baby);
    check(fits, "the number of baby steps", baby, || {
        format!("1 to {width}, the rotations of the secret")
    })?;
    let found = packing.samples.len();
    check(found <= values, "the number of sums", found, || {
        format!("at most {values}, the values")
    })?;
    let sources = packing.sources.len();
    for &[source, coefficient] in packing.samples.iter().flatten() {
        check(source < sources, "a source", source, || {
            format!("a number below {sources}")
        })?;
        check(coefficient < n, "a coefficient", coefficient, || {
            format!("less than {n}, the ring degree")
        })?;
    }
    Ok(())
}
