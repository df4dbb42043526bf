//! A bootstrapping as circuits state it: levels, scales and keys, without its tables.

use super::transforms::Transforms;
use super::{BootstrapSpec, Bootstrapper};
use crate::approximate::linear::rotations_of;
use crate::approximate::sum_rotations;
use crate::error::{Error, Result};
use ckks::Params;
use program::circuit::{Arithmetic, Bootstrapping};

/// The levels of the parts of a bootstrapping.
pub(super) struct Levels {
    /// Number of slots of the messages.
    pub(super) slots: usize,
    /// Number of levels that are not needed because fewer slots take fewer matrices. One of them is
    /// used for a division, the others are left out.
    pub(super) spare: usize,
    /// Level to which ciphertexts are raised.
    pub(super) start: usize,
    /// Levels of the first matrix, of the polynomial, and of the first double angle.
    pub(super) top: usize,
    pub(super) reduced: usize,
    pub(super) angles: usize,
    /// Level of the results.
    pub(super) output: usize,
}

impl Levels {
    /// # Errors
    /// [`Error::Shape`] if there are too few levels or slots.
    pub(super) fn new(params: &Params, spec: &BootstrapSpec) -> Result<Self> {
        let slots = spec.slots.unwrap_or(params.slots());
        if !slots.is_power_of_two() || slots > params.slots() {
            return Err(Error::Shape {
                what: "the number of slots to bootstrap",
                found: slots.to_string(),
                expected: format!("a power of two up to {}", params.slots()),
            });
        }
        let (all, own) = (Transforms::count(params.slots()), Transforms::count(slots));
        // Fewer slots take fewer matrices. Of the levels of the missing matrices one is used for a
        // division, and the others are left out.
        let spare = all - own;
        let taken = all + spec.reduction_levels() + own;
        let highest = params.max_level();
        if highest <= taken {
            return Err(Error::Shape {
                what: "the number of levels",
                found: highest.to_string(),
                expected: format!("more than {taken}, which bootstrapping takes"),
            });
        }
        let (top, reduced) = (highest - spare, highest - all);
        Ok(Self {
            slots,
            spare,
            start: highest - spare.saturating_sub(1),
            top,
            reduced,
            angles: reduced - spec.reduction().depth(),
            output: highest - taken,
        })
    }
}

/// The matrices for messages of `slots` slots.
pub(super) fn transforms(params: &Params, slots: usize) -> Transforms {
    let matrices = Transforms::new(params.encoder(), slots);
    match slots < params.slots() {
        true => matrices.by_parts(),
        false => matrices,
    }
}

/// The arithmetic of circuits for these parameters: all their levels.
pub fn arithmetic(params: &Params) -> Arithmetic {
    let levels = 0..=params.max_level();
    let moduli = levels.map(|l| params.level_modulus(l)).collect();
    Arithmetic::Approximate { moduli }
}

impl Bootstrapper {
    /// Number of levels that the transform between `slots` slots and their coefficients takes, in
    /// each direction.
    pub fn transform_levels(slots: usize) -> usize {
        Transforms::count(slots)
    }

    /// The description of a spec's bootstrapping that a circuit states. The function computes it
    /// from the parameters alone, without tables and keys.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are too few levels or slots, or if the ratio leaves no room for
    /// the scale.
    ///
    /// # Panics
    /// If the spec has no baby steps.
    pub fn stated(params: &Params, spec: &BootstrapSpec) -> Result<Bootstrapping> {
        let shape = Levels::new(params, spec)?;
        let Transforms { inward, outward } = transforms(params, shape.slots);
        let matrices = inward.iter().chain(&outward);
        let rotations = matrices.flat_map(|matrix| rotations_of(matrix, spec.babies));
        // Rotations of two sums: over the automorphisms before the matrices, and of real and
        // imaginary parts after them.
        let copies = params.slots() / shape.slots;
        let sums = sum_rotations(shape.slots as isize, copies).map(|k| k as usize);
        let stated = Bootstrapping {
            slots: shape.slots,
            range: spec.range,
            doublings: spec.doublings,
            log_ratio: spec.log_ratio,
            babies: spec.babies,
            level: shape.output,
            from_scale: params.scale_at(0),
            to_scale: params.scale_at(shape.output),
            rotations: rotations.chain(sums).collect(),
        };
        let arithmetic = arithmetic(params);
        if stated.room(&arithmetic, stated.from_scale) >= 1.0 {
            return Ok(stated);
        }
        Err(Error::Shape {
            what: "the scale of messages to bootstrap",
            found: format!("2^{:.1}", stated.from_scale.log2()),
            expected: format!("at most 2^{:.1}", stated.log_bound(&arithmetic)),
        })
    }
}
