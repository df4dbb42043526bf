//! Packing all coefficients of a ciphertext at once.
//!
//! The phases of all `N` samples of a ciphertext are the coefficients of one polynomial, `b + a
//! z(X^(N/n))` modulo `t`, where `b` and `a` are known. So one product slot by slot, with the
//! encrypted secret, gives its blocks, and [`CoeffsToSlots`] brings its coefficients to the slots.
//! This takes 25 rotations and 61 products, whatever the coefficients hold, where a packing of `N`
//! chosen samples takes `n` products ([`pack`](fn@crate::pack::pack)). It pays where most
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
    engine.count_blocks(n / map.dimension());
    let masks = |_| operations.blocks(samples, 1);
    let mut blocks = engine.mul_plain_sum_at(level, &[&secret], squares, 1, masks)?;
    let bodies = || operations.blocks(samples, 0);
    engine.add_plain_assign(&mut blocks, Encoding::Coefficients, bodies);
    let slots = map.apply(engine, &blocks)?;
    engine.settle("packing", slots)
}
