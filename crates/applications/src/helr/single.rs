//! The circuit of one iteration, without a bootstrapping.

use super::iteration::{Given, Iteration, value};
use crate::error::Result;
use circuits::approximate::{Samples, arithmetic_of};
use ckks::Params;
use program::circuit::{Circuit, CircuitBuilder, Type};

/// Builds the circuit of one iteration. Inputs are `w` and `v` at the highest level, and the
/// `count` [`part`](super::part)s of batch 0. Outputs are `w` and `v`, [`DEPTH`](super::DEPTH)
/// levels lower. `step` is the learning rate divided by the number of samples of a batch.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for parameters with too few levels and for a batch without
/// ciphertexts, and those of the builder.
pub fn iteration(
    params: &Params,
    (layout, count): (Samples, usize),
    [step, momentum]: [f64; 2],
) -> Result<Circuit> {
    let mut b = CircuitBuilder::new("helr", arithmetic_of(params), layout.slots())?;
    let top = Type {
        encrypted: true,
        level: params.max_level(),
        scale: params.scale(),
    };
    let state = [b.input("w", top)?, b.input("v", top)?];
    let iteration = Iteration {
        layout,
        scale: params.scale(),
        count,
        step,
        half: 0,
    };
    let mut inputs = |b: &mut CircuitBuilder, _: usize, given: Given, ty: Type| {
        value(b, (&layout, 0, momentum), given, ty)
    };
    let [w, v] = iteration.write(&mut b, state, &mut inputs)?;
    b.output("w", w)?;
    b.output("v", v)?;
    Ok(b.finish()?)
}
