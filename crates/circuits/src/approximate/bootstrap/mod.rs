//! Bootstrapping: a ciphertext at level 0 becomes one at a high level, with the same message.
//!
//! 1. *Raise*: read modulo the whole `Q`, the phase is `Delta m + q_0 I` with a small integer
//!    polynomial `I`. While it is raised, the ciphertext is encrypted under a sparse secret, so
//!    that `I` is small. This secret only ever protects the small modulus `q_0 p`. Messages of `n`
//!    slots that repeat are polynomials in `X^(N/2n)`. A sum over automorphisms makes `I` such a
//!    polynomial too.
//! 2. *Coefficients to slots*: the inverse of the slot transform as a few sparse matrices.
//!    Coefficients become real and imaginary parts of the slots. For messages that repeat, both
//!    parts go into one vector of `2n` slots.
//! 3. *Reduction modulo `q_0`* of each slot, as `sin(2 pi x) / 2 pi`: a polynomial for
//!    `cos((2 pi x - pi/2) / 2^r)`, then `r` times `2 c^2 - 1`. The polynomial only interpolates at
//!    the integers, because its arguments are near them.
//! 4. *Slots to coefficients*.
//!
//! Between steps 2 and 4, vectors stay bit-reversed. They are also rotated, which saves keys: all
//! diagonals are at non-negative multiples of a step. The transforms therefore need baby steps of
//! one sign and one giant step, and step 4 uses the keys of step 2.
//!
//! Sources: Cheon, Han, Kim, Kim, Song, EUROCRYPT 2018; Han, Ki, CT-RSA 2020 (cosine, double
//! angles, interpolation near integers); Bossuat, Mouchet, Troncoso-Pastoriza, Hubaux, EUROCRYPT
//! 2021; Bossuat, Troncoso-Pastoriza, Hubaux, ACNS 2022 (sparse-secret encapsulation).

mod keys;
mod overflow;
mod params;
mod precision;
mod record;
mod spec;
mod stated;
mod transforms;

pub use keys::BootstrapKeys;
pub use spec::BootstrapSpec;
pub use stated::arithmetic;

use crate::approximate::arithmetic::{Arithmetic, Scaled, ScaledOf};
use crate::approximate::{Chebyshev, LinearTransform, Matrix, evaluate, sum_strided};
use crate::error::Result;
use crate::operations::{RingOperations, RunRing, Secret};
use ckks::{Ciphertext, Params};
use program::circuit::Bootstrapping;
use rlwe::security::{SPARSE_WEIGHT, Security};
use stated::{Levels, transforms};
use std::collections::BTreeSet;
use std::f64::consts::PI;
use transforms::Transforms;

/// Tables of bootstrapping for one set of parameters.
pub struct Bootstrapper {
    params: Params,
    spec: BootstrapSpec,
    stated: Bootstrapping,
    /// Number of slots of the messages.
    slots: usize,
    /// Parameters of the sparse secret: modulus `q_0`, one special modulus.
    sparse: rlwe::Params,
    /// Level to which ciphertexts are raised.
    start: usize,
    /// Factor that is multiplied before a division that takes a level. `None` if there is no such
    /// division.
    factor: Option<f64>,
    to_coefficients: Vec<LinearTransform>,
    reduction: Chebyshev,
    to_slots: Vec<LinearTransform>,
}

impl Bootstrapper {
    /// Makes the tables for `params`. Bootstrapping takes the upper levels of `params`.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) if there are too few levels or slots, and errors of
    /// the parameters of the sparse secret.
    pub fn new(params: &Params, spec: &BootstrapSpec) -> Result<Self> {
        let shape = Levels::new(params, spec)?;
        let sparse = sparse_params(params).map_err(ckks::Error::from)?;
        let Levels {
            slots,
            spare,
            start,
            top,
            reduced,
            ..
        } = shape;
        let Transforms { inward, outward } = transforms(params, slots);
        let reduction = spec.reduction();
        // Slots hold coefficients over (range + 1) q_0, multiplied by the number of terms of the
        // sum over automorphisms. They are halved, because real and imaginary parts are sums with
        // the conjugate.
        let wide = (spec.range + 1) as f64 * (params.slots() / slots) as f64;
        let mut scale = params.level_modulus(0) * wide;
        let encode = |matrices: Vec<Matrix>, top: usize, ratio: f64| {
            let each = ratio.powf(1.0 / matrices.len() as f64);
            let encoded = matrices.into_iter().enumerate().map(|(i, matrix)| {
                let level = top - i;
                let scale = params.level_modulus(level) * each;
                LinearTransform::new(params, &matrix, level, scale, spec.babies)
            });
            encoded.collect::<Result<Vec<_>>>()
        };
        let halved = inward
            .into_iter()
            .enumerate()
            .map(|(i, m)| if i == 0 { m.scaled(0.5) } else { m });
        // If matrices divided by a large number, they would be encoded at low scales and lose as
        // many bits of precision.
        let factor = (spare > 0).then(|| {
            let wanted = params.level_modulus(reduced) * params.level_modulus(start);
            let factor = (wanted / scale).round();
            scale *= factor / params.level_modulus(start);
            factor
        });
        let ratio = params.level_modulus(reduced) / scale;
        let to_coefficients = encode(halved.collect(), top, ratio)?;
        // The scale after the reduction: each double angle squares it and divides by a level.
        scale = params.level_modulus(reduced);
        let (first, last) = (shape.angles, shape.angles - spec.doublings);
        for level in (last + 1..=first).rev() {
            scale = scale * scale / params.level_modulus(level);
        }
        let stated = Self::stated(params, spec)?;
        let arithmetic = arithmetic(params);
        let message = stated.from_scale * stated.room(&arithmetic, stated.from_scale);
        let after = scale * 2.0 * PI * message / params.level_modulus(0);
        let to_slots = encode(outward, last, stated.to_scale / after)?;
        // This constant is made now, like the matrices, not in the first bootstrapping.
        params.imaginary();
        Ok(Self {
            params: params.clone(),
            spec: spec.clone(),
            stated,
            slots,
            sparse,
            start,
            factor,
            to_coefficients,
            reduction,
            to_slots,
        })
    }

    /// The parameters of the tables.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Estimated security: the weaker of the parameters' secret and the sparse secret.
    pub fn security(&self) -> Security {
        let all = self.params.rlwe().security();
        all.weaker(self.sparse.security())
    }

    /// Parameters of the sparse secret.
    pub fn sparse(&self) -> &rlwe::Params {
        &self.sparse
    }

    /// The bootstrapping as circuits state it: levels, scales and keys.
    pub fn as_stated(&self) -> &Bootstrapping {
        &self.stated
    }

    /// Level of the results.
    pub fn output_level(&self) -> usize {
        self.stated.level
    }

    /// The rotations that need Galois keys.
    pub fn rotations(&self) -> &BTreeSet<usize> {
        &self.stated.rotations
    }

    /// Number of times that a message repeats in the slots.
    fn copies(&self) -> usize {
        self.params.slots() / self.slots
    }

    /// Size of the encoded matrices, in bytes.
    pub fn byte_len(&self) -> usize {
        let all = self.to_coefficients.iter().chain(&self.to_slots);
        all.map(LinearTransform::byte_len).sum()
    }

    /// Bootstraps `x`, which is dropped to level 0, to [`Bootstrapper::output_level`]. If the
    /// message has the scale of level 0, the result has the [scale of its new
    /// level](Params::scale_at), otherwise one near it.
    ///
    /// The result is correct for messages whose coefficients times the scale stay below `q_0` over
    /// the ratio of the spec. Slots up to 1 at the default scale do.
    ///
    /// # Errors
    /// If `x` belongs to other parameters or does not have two components.
    pub fn bootstrap(&self, x: &Ciphertext, keys: &BootstrapKeys) -> Result<Ciphertext> {
        let relinearization = Some(&keys.relinearization);
        let mut operations = RunRing::new(self.params.rlwe(), relinearization, &keys.galois);
        operations.add_sparse(&keys.sparse);
        self.bootstrap_with(x, &operations)
    }

    /// As [`Bootstrapper::bootstrap`], with the keys of `operations`.
    ///
    /// # Errors
    /// As [`Bootstrapper::bootstrap`], and if a key is missing.
    pub fn bootstrap_with(&self, x: &Ciphertext, operations: &RunRing) -> Result<Ciphertext> {
        let arithmetic = Arithmetic::of(&self.params, operations);
        let x = arithmetic.open(x)?;
        Ok(arithmetic.close(self.refresh(&arithmetic, x)?))
    }

    /// [`Bootstrapper::bootstrap`] in the mode of `operations`, on a ciphertext at level `level`
    /// whose message has the scale `scale`.
    ///
    /// # Errors
    /// As [`Bootstrapper::bootstrap`], and errors of the mode.
    pub fn apply<O: RingOperations>(
        &self,
        operations: &O,
        x: O::Ciphertext,
        (level, scale): (usize, f64),
    ) -> Result<O::Ciphertext> {
        let arithmetic = Arithmetic::of(&self.params, operations);
        let made = self.refresh(&arithmetic, Scaled::new(x, level, scale))?;
        Ok(made.ct)
    }

    /// [`Bootstrapper::bootstrap`] in any mode.
    pub(super) fn refresh<O: RingOperations>(
        &self,
        arithmetic: &Arithmetic<O>,
        x: ScaledOf<O>,
    ) -> Result<ScaledOf<O>> {
        let mut x = arithmetic.drop_to(x, 0)?;
        // Scales the message up to the limit that the ratio sets below q_0.
        let q0 = self.params.level_modulus(0);
        let given = x.scale();
        let room = self
            .stated
            .room(&self::arithmetic(&self.params), given)
            .max(1.0);
        arithmetic.mul_const_assign(&mut x, room, 1.0)?;
        let message_scale = x.scale() * room;
        let y = self.raise(arithmetic, &x)?;
        let repeats = (self.slots as isize, self.copies());
        let mut y = sum_strided(arithmetic, &y, repeats)?;
        y.set_scale(q0 * ((self.spec.range + 1) * self.copies()) as f64);
        if let Some(factor) = self.factor {
            arithmetic.mul_const_assign(&mut y, 1.0, factor)?;
            y = arithmetic.rescale(y)?;
        }
        for matrix in &self.to_coefficients {
            y = matrix.apply(arithmetic, &y)?;
        }
        let mut sum = if self.copies() > 1 {
            let conjugate = arithmetic.conjugate(&y)?;
            arithmetic.add_assign(&mut y, &conjugate)?;
            self.reduce(arithmetic, &y)?
        } else {
            self.reduce_parts(arithmetic, y)?
        };
        sum.set_scale(sum.scale() * 2.0 * PI * message_scale / q0);
        for (i, matrix) in self.to_slots.iter().enumerate() {
            sum = matrix.apply(arithmetic, &sum)?;
            if i == 0 && self.copies() > 1 {
                sum = sum_strided(arithmetic, &sum, (self.slots as isize, 2))?;
            }
        }
        // Sets the stated scale. The computed one differs only by the rounding of doubles.
        sum.set_scale(
            self.stated
                .result_scale(&self::arithmetic(&self.params), given),
        );
        Ok(sum)
    }

    /// Reduces real and imaginary parts. Both come as halves.
    fn reduce_parts<O: RingOperations>(
        &self,
        arithmetic: &Arithmetic<O>,
        y: ScaledOf<O>,
    ) -> Result<ScaledOf<O>> {
        let conjugate = arithmetic.conjugate(&y)?;
        let mut real = y.clone();
        arithmetic.add_assign(&mut real, &conjugate)?;
        let mut imaginary = conjugate;
        arithmetic.sub_assign(&mut imaginary, &y)?;
        arithmetic.mul_i_assign(&mut imaginary)?;
        drop(y);
        let mut sum = self.reduce(arithmetic, &real)?;
        drop(real);
        let mut imaginary = self.reduce(arithmetic, &imaginary)?;
        arithmetic.mul_i_assign(&mut imaginary)?;
        arithmetic.add_assign(&mut sum, &imaginary)?;
        Ok(sum)
    }

    /// Raises the ciphertext to the highest level that is used. Its phase gains a multiple of
    /// `q_0`.
    fn raise<O: RingOperations>(
        &self,
        arithmetic: &Arithmetic<O>,
        x: &ScaledOf<O>,
    ) -> Result<ScaledOf<O>> {
        let operations = arithmetic.operations();
        let sparse = operations.switch_secret(&x.ct, Secret::Sparse)?;
        let raised = operations.raise(&sparse, self.params.ring_level(self.start))?;
        let dense = operations.switch_secret(&raised, Secret::Dense)?;
        Ok(Scaled::new(dense, self.start, x.scale()))
    }

    /// `sin(2 pi t)` of slots that hold `t / (range + 1)`, where `t` is near an integer.
    fn reduce<O: RingOperations>(
        &self,
        arithmetic: &Arithmetic<O>,
        x: &ScaledOf<O>,
    ) -> Result<ScaledOf<O>> {
        let mut y = evaluate(arithmetic, &self.reduction, x, x.scale())?;
        for _ in 0..self.spec.doublings {
            y = arithmetic.mul(&y, &y)?;
            arithmetic.mul_const_assign(&mut y, 2.0, 1.0)?;
            arithmetic.add_const_assign(&mut y, -1.0)?;
            y = arithmetic.rescale(y)?;
        }
        Ok(y)
    }
}

/// Parameters of the sparse secret under which ciphertexts are raised. It protects `q_0` and one
/// special modulus.
///
/// # Errors
/// If the parameters of such a sparse secret are not secure or not valid.
pub fn sparse_params(params: &Params) -> rlwe::Result<rlwe::Params> {
    let spec = rlwe::ParamsSpec {
        n: params.n(),
        q: params.rlwe().basis(params.ring_level(0)).values(),
        p: params.spec().special[..1].to_vec(),
        digit_limbs: 1,
    };
    if params.rlwe().is_secure() {
        rlwe::Params::sparse(&spec, SPARSE_WEIGHT)
    } else {
        rlwe::Params::sparse_insecure(&spec, SPARSE_WEIGHT)
    }
}
