//! One iteration of the training. It takes 4 levels.
//!
//! `w` and `v` have each feature's value in all its slots. A batch is several ciphertexts `Z`,
//! already multiplied by labels. With `x = Z v`, summed over features, the gradient is
//! `sum x Z (A1 + A3 x^2) + Z / 2`. This takes levels for `Z v`, for `x^2` and `x Z`, for their
//! product, and for the mask of the sum over samples. Factors that would take a level are put into
//! scales. The momentum differs between iterations, but scales do not. The momentum is therefore a
//! plaintext, and a second mask has it as a factor.

use super::{IMAGINARY, Source, part};
use crate::error::{Error, Result};
use circuits::approximate::Samples;
use program::circuit::{CircuitBuilder, Type, ValueId, sum_strided};

/// `sigma(-t)` is near `1/2 + A1 t + A3 t^3` on [-8, 8], by least squares (Han, Song, Cheon, Park,
/// AAAI 2019, section 3).
pub const A1: f64 = -1.20096 / 8.0;
/// See [`A1`].
pub const A3: f64 = 0.81562 / 512.0;

/// Levels of an iteration.
pub const DEPTH: usize = 4;

/// An input of an iteration.
#[derive(Clone, Copy, Debug)]
pub(super) enum Given {
    /// Ciphertext number `i` of the batch.
    Batch(usize),
    /// A plaintext: the mask of the sum over samples, times 1 minus the momentum.
    Ahead,
    /// A plaintext: 1 minus the momentum.
    Keep,
    /// A plaintext: the momentum.
    Lag,
    /// A plaintext: `i`.
    Imaginary,
}

/// The parameters of an iteration.
pub(super) struct Iteration {
    pub(super) layout: Samples,
    /// Scale of the ciphertexts of a batch, and of the results.
    pub(super) scale: f64,
    /// Ciphertexts of a batch.
    pub(super) count: usize,
    /// Learning rate divided by the number of samples of a batch.
    pub(super) step: f64,
    /// Index of the iteration in its pair: 0 or 1.
    pub(super) half: usize,
}

impl Iteration {
    /// Writes an iteration. Takes `w` and `v` at one level and scale. Returns the new `w` and `v`,
    /// [`DEPTH`] levels lower.
    pub(super) fn write(
        &self,
        b: &mut CircuitBuilder,
        [w, v]: [ValueId; 2],
        inputs: Source<'_>,
    ) -> Result<[ValueId; 2]> {
        let (layout, scale) = (&self.layout, self.scale);
        let Type { level, .. } = b.ty(v);
        let target = level
            .checked_sub(DEPTH)
            .ok_or_else(|| too_low(level, DEPTH))?;
        let gradient = self.gradient(b, v, inputs)?;
        // The mask is 1, because the step is in the scale.
        let gradient = b.read(gradient, self.step)?;
        let modulus = b.arithmetic().divisor(target + 1);
        let plain = |scale: f64| Type {
            encrypted: false,
            level: target + 1,
            scale,
        };
        let ty = plain(scale * modulus / b.ty(gradient).scale);
        let first = &layout.first(1.0)[..layout.samples()];
        let mask = b.constant("mask", first, (ty.level, ty.scale))?;
        let ahead = inputs(b, self.half, Given::Ahead, ty)?;
        let mut change = |mask: ValueId| -> Result<ValueId> {
            let masked = b.mul(gradient, mask)?;
            let masked = b.rescale(masked)?;
            Ok(sum_strided(b, masked, layout.to_samples())?)
        };
        let (change, ahead) = (change(mask)?, change(ahead)?);
        let old = b.scaled_to(v, 1.0, (target, scale))?;
        let new = b.add(change, old)?;
        // v = (1 - gamma) w' + gamma w, and w' is the change plus v.
        let ty = plain(scale * modulus / b.ty(v).scale);
        let keep = inputs(b, self.half, Given::Keep, ty)?;
        let lag = inputs(b, self.half, Given::Lag, ty)?;
        let [w, v] = [b.drop_to(w, target + 1)?, b.drop_to(v, target + 1)?];
        let momentum = b.dot(&[[v, keep], [w, lag]])?;
        let momentum = b.rescale(momentum)?;
        Ok([new, b.add(ahead, momentum)?])
    }

    /// `sum_s sigma(-z_s v) z_s`, in the first slot of each feature, three levels below `v`.
    fn gradient(&self, b: &mut CircuitBuilder, v: ValueId, inputs: Source<'_>) -> Result<ValueId> {
        let (layout, level) = (&self.layout, b.ty(v).level);
        let (mut terms, mut total) = (Vec::new(), None);
        for i in 0..self.count {
            let (encrypted, scale) = (true, self.scale);
            let ty = Type {
                encrypted,
                level,
                scale,
            };
            let z = inputs(b, self.half, Given::Batch(i), ty)?;
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
        let total = total.ok_or_else(|| Error::Shape {
            what: "the number of ciphertexts of a batch",
            found: "0".into(),
            expected: "at least 1".into(),
        })?;
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

/// The error for weights whose level is too low for an iteration.
pub(super) fn too_low(found: usize, least: usize) -> Error {
    Error::Shape {
        what: "the level of the weights",
        found: found.to_string(),
        expected: format!("at least {least}"),
    }
}

/// Adds an input of iteration `t`, whose momentum is `momentum`.
pub(super) fn value(
    b: &mut CircuitBuilder,
    (layout, t, momentum): (&Samples, usize, f64),
    given: Given,
    ty: Type,
) -> Result<ValueId> {
    let at = (ty.level, ty.scale);
    Ok(match given {
        Given::Batch(i) => b.input(&part(t, i), ty)?,
        Given::Imaginary => b.input(IMAGINARY, ty)?,
        Given::Ahead => {
            let mask = &layout.first(1.0 - momentum)[..layout.samples()];
            b.constant(&format!("ahead.{t}"), mask, at)?
        }
        Given::Keep => b.constant(&format!("keep.{t}"), &[1.0 - momentum], at)?,
        Given::Lag => b.constant(&format!("lag.{t}"), &[momentum], at)?,
    })
}
