//! Packing all coefficients of a ciphertext at once.
//!
//! The phases of all `N` samples of a ciphertext are the coefficients of one polynomial,
//! `b + a z(X^(N/n))` modulo `t`, where `b` and `a` are known. So one product of `a` with the
//! encrypted secret gives them as coefficients, and [`CoeffsToSlots`] brings them to the slots. This
//! takes about 40 rotations and 160 products, whatever the coefficients hold, where a packing of
//! `N` chosen samples takes `n` products ([`pack`](fn@crate::pack::pack)). It pays where most
//! coefficients of a ciphertext are wanted.
//!
//! Source: the homomorphic inner product and the maps around it are those of the bootstrapping of
//! BFV (Fan, Vercauteren, 2012/144, section 5; Chen, Han, EUROCRYPT 2018). The secret of a subring
//! is that of [`rlwe::DimensionKey`].

use crate::engine::{Engine, Value, ValueOf};
use crate::error::Result;
use crate::operations::Operations;
use crate::passes::Encoding;
use crate::residual::Squares;
use crate::transform::CoeffsToSlots;
use exchange::packing;

/// Packs all samples of a ciphertext: that of coefficient `k` comes to slot
/// [`coefficient_of_slot`](crate::transform::coefficient_of_slot)`(k)`.
///
/// The packing starts at `level`. The result is lower by as many levels as the noise requires.
///
/// # Errors
/// [`Error::OutOfLevels`](crate::Error::OutOfLevels) if the chain is too short,
/// [`exchange::Error::MissingPackingKey`], and an error for a missing Galois key.
pub fn pack_all<O: Operations>(
    engine: &Engine<O>,
    map: &CoeffsToSlots,
    samples: &O::Samples,
    level: usize,
) -> Result<ValueOf<O>> {
    engine.log().needs.packing(packing::ALL, level);
    let (model, operations) = (engine.model(), engine.operations());
    let n = engine.params().n();
    let secret = Value::new(operations.secret()?, level, 1, model.fresh());
    let squares = Squares::uniform(model, n as f64, n);
    let masks = |_| operations.of_samples(samples, 1, 1);
    let mut phases = engine.mul_plain_sum_at(level, &[&secret], squares, 1, masks)?;
    let bodies = || operations.of_samples(samples, 0, 1);
    engine.add_plain_assign(&mut phases, Encoding::Coefficients, bodies);
    let slots = map.apply(engine, &phases)?;
    engine.settle("packing", slots)
}
