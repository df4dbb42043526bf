//! One iteration of the training. It takes 4 levels.
//!
//! `w` and `v` have each feature's value in all its slots. A batch is several ciphertexts `Z`,
//! already multiplied by labels. With `x = Z v`, summed over features, the gradient is
//! `sum x Z (A1 + A3 x^2) + Z / 2`. This takes levels for `Z v`, for `x^2` and `x Z`, for their
//! product, and for the mask of the sum over samples. Factors that would take a level are put into
//! scales. The momentum differs between iterations, but scales do not. So it is a plaintext, and a
//! second mask has it as a factor.

use crate::common::Result;
use crate::plain::{A1, A3};
use crate::training::Source;
use circuits::approximate::Samples;
use program::circuit::{CircuitBuilder, Type, ValueId, sum_strided};

/// Number of levels of an iteration.
pub(crate) const DEPTH: usize = 4;

/// Arguments of an iteration.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Given {
    /// Ciphertext of its batch.
    Batch(usize),
    /// In plain: the mask of the sum over samples, times 1 minus the momentum.
    Ahead,
    /// In plain: 1 minus the momentum.
    Keep,
    /// In plain: the momentum.
    Lag,
    /// In plain: `i`.
    Imaginary,
}

/// Parameters of an iteration.
pub(crate) struct Iteration {
    pub(crate) layout: Samples,
    /// Scale of the ciphertexts of a batch, and of the results.
    pub(crate) scale: f64,
    /// Number of ciphertexts of a batch.
    pub(crate) count: usize,
    /// Learning rate divided by the number of samples of a batch.
    pub(crate) step: f64,
    /// Number of the iteration in its pair.
    pub(crate) half: usize,
}

impl Iteration {
    /// Writes an iteration. `w` and `v` are at one level and scale; the results are [`DEPTH`]
    /// levels lower.
    pub(crate) fn write(
        &self,
        b: &mut CircuitBuilder,
        [w, v]: [ValueId; 2],
        given: Source<'_>,
    ) -> Result<[ValueId; 2]> {
        let (layout, scale) = (&self.layout, self.scale);
        let Type { level, .. } = b.ty(v);
        let target = level
            .checked_sub(DEPTH)
            .ok_or("an iteration takes 4 levels")?;
        let gradient = self.gradient(b, v, given)?;
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
        let ahead = given(b, self.half, Given::Ahead, ty)?;
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
        let keep = given(b, self.half, Given::Keep, ty)?;
        let lag = given(b, self.half, Given::Lag, ty)?;
        let [w, v] = [b.drop_to(w, target + 1)?, b.drop_to(v, target + 1)?];
        let momentum = b.dot(&[[v, keep], [w, lag]])?;
        let momentum = b.rescale(momentum)?;
        Ok([new, b.add(ahead, momentum)?])
    }

    /// `sum_s sigma(-z_s v) z_s`, in the first slot of each feature, three levels below `v`.
    fn gradient(&self, b: &mut CircuitBuilder, v: ValueId, given: Source<'_>) -> Result<ValueId> {
        let (layout, level) = (&self.layout, b.ty(v).level);
        let (mut terms, mut total) = (Vec::new(), None);
        for i in 0..self.count {
            let (encrypted, scale) = (true, self.scale);
            let ty = Type {
                encrypted,
                level,
                scale,
            };
            let z = given(b, self.half, Given::Batch(i), ty)?;
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
