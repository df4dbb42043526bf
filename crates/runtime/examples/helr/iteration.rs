//! The iteration as a circuit: 4 levels.
//!
//! `w` and `v` stand in all slots of their feature. A batch is several ciphertexts `Z`, labels multiplied in. With
//! `x = Z v`, summed over features, the gradient is `sum x Z (A1 + A3 x^2) + Z / 2`: levels for `Z v`, for `x^2` and
//! `x Z`, for their product, and for the mask of the sum over samples. Factors that a level would be spent on are read from
//! scales.

use crate::common::Result;
use crate::plain::{A1, A3};
use circuits::approximate::Samples;
use program::circuit::{Arithmetic, Circuit, CircuitBuilder, Type, ValueId, sum_strided};

/// Levels of an iteration.
pub(crate) const DEPTH: usize = 4;

/// What an iteration is written for.
pub(crate) struct Iteration {
    pub(crate) arithmetic: Arithmetic,
    pub(crate) layout: Samples,
    /// Level and scale of the ciphertexts of a batch; the results have this scale, or near it.
    pub(crate) top: usize,
    pub(crate) scale: f64,
    /// Types of the weights `w` and of the point `v` of the gradient, at one level.
    pub(crate) w: Type,
    pub(crate) v: Type,
    /// Ciphertexts of a batch.
    pub(crate) count: usize,
    /// Learning rate over the samples of a batch.
    pub(crate) step: f64,
    /// Momentum.
    pub(crate) gamma: f64,
}

/// The name of part `i` of a batch.
pub(crate) fn part(i: usize) -> String {
    format!("batch.{i}")
}

impl Iteration {
    /// From the inputs `w`, `v` and the [`part`]s of a batch to the outputs `w` and `v`, [`DEPTH`] levels lower.
    pub(crate) fn circuit(&self) -> Result<Circuit> {
        let (layout, scale, level) = (&self.layout, self.scale, self.v.level);
        let target = level
            .checked_sub(DEPTH)
            .ok_or("an iteration takes 4 levels")?;
        let mut b = CircuitBuilder::new("helr", self.arithmetic.clone(), layout.slots())?;
        let w = b.input("w", self.w)?;
        let v = b.input("v", self.v)?;
        let gradient = self.gradient(&mut b, v)?;
        // The mask is 1: the step is read from the scale.
        let gradient = b.read(gradient, self.step)?;
        let modulus = b.arithmetic().divisor(target + 1);
        let mask = scale * modulus / b.ty(gradient).scale;
        let first = &layout.first(1.0)[..layout.samples()];
        let mask = b.constant("mask", first, (target + 1, mask))?;
        let masked = b.mul(gradient, mask)?;
        let masked = b.rescale(masked)?;
        let change = sum_strided(&mut b, masked, layout.to_samples())?;
        let old = b.scaled_to(v, 1.0, (target, scale))?;
        let new = b.add(change, old)?;
        b.output("w", new)?;
        // v = (1 - gamma) w' + gamma w: the first factor from the scale again.
        let ahead = b.read(new, 1.0 - self.gamma)?;
        let ahead_scale = b.ty(ahead).scale;
        let momentum = b.scaled_to(w, self.gamma, (target, ahead_scale))?;
        let ahead = b.add(ahead, momentum)?;
        b.output("v", ahead)?;
        Ok(b.finish()?)
    }

    /// `sum_s sigma(-z_s v) z_s`, in the first slot of each feature, three levels below `v`.
    fn gradient(&self, b: &mut CircuitBuilder, v: ValueId) -> Result<ValueId> {
        let (layout, level) = (&self.layout, self.v.level);
        let (mut terms, mut total) = (Vec::new(), None);
        for i in 0..self.count {
            let (encrypted, scale) = (true, self.scale);
            let ty = Type {
                encrypted,
                level: self.top,
                scale,
            };
            let z = b.input(&part(i), ty)?;
            let z = b.drop_to(z, level)?;
            let x = b.mul(z, v)?;
            let x = b.rescale(x)?;
            let x = sum_strided(b, x, layout.over_features())?;
            let z = b.drop_to(z, level - 1)?;
            let outer = b.mul(x, z)?;
            let outer = b.rescale(outer)?;
            let x = b.read(x, A3.sqrt())?;
            let square = b.mul(x, x)?;
            let square = b.rescale(square)?;
            let a1 = b.constant("a1", &[A1], (level - 2, b.ty(square).scale))?;
            let inner = b.add(square, a1)?;
            terms.push([outer, inner]);
            let z = b.drop_to(z, level - 2)?;
            total = Some(match total {
                None => z,
                Some(total) => b.add(total, z)?,
            });
        }
        let sum = b.dot(&terms)?;
        let total = total.ok_or("a batch without ciphertexts")?;
        let half = b.constant(
            "half",
            &[0.5],
            (level - 2, b.ty(sum).scale / b.ty(total).scale),
        )?;
        let half = b.mul(total, half)?;
        let sum = b.add(sum, half)?;
        let sum = b.rescale(sum)?;
        Ok(sum_strided(b, sum, layout.over_samples())?)
    }
}
