//! Quadratic steps: the step of a layer whose table is a quadratic function.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::product_plan::MOST_PRODUCT_BITS;
use crate::program::{LayerPlan, in_range};
use crate::quadratic::Quadratic;

/// A quadratic function of accumulators, which may be clipped before the square.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Squared {
    /// Largest absolute value of an accumulator before the square: larger ones are clipped to it.
    /// `None` if the function holds for all accumulators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clip: Option<i64>,
    /// Bits of the modulus of the squares: they are shared modulo `2^bits`.
    pub bits: u32,
    /// The function.
    pub form: Quadratic,
}

impl Squared {
    /// Computes the output for an accumulator.
    pub fn apply(&self, x: i64) -> i64 {
        self.form
            .apply(self.clip.map_or(x, |clip| x.clamp(-clip, clip)))
    }

    /// Largest absolute value that is squared, for accumulators of absolute value at most
    /// `largest`.
    pub(crate) fn reach(&self, largest: i64) -> i64 {
        self.clip.map_or(largest, |clip| clip.min(largest))
    }
}

/// Checks the quadratic step of a layer whose bits are checked.
pub(crate) fn check_squared(layer: &LayerPlan, squared: &Squared) -> Result<()> {
    let form = &squared.form;
    in_range(
        "the bits of a square",
        squared.bits,
        layer.bits,
        MOST_PRODUCT_BITS,
    )?;
    if let Some(clip) = squared.clip {
        let most = (1i64 << (layer.bits - 1)) - 1;
        in_range("the clip before a square", clip, 0, most)?;
        in_range("the largest accumulator", layer.largest, 0, most - clip)?;
    }
    in_range("the clips", form.low, -(1 << 15), form.high)?;
    in_range("the clips", form.high, form.low, 1 << 16)?;
    in_range("the shift", form.shift, 0, squared.bits - 1)?;
    let most = 1i64 << (MOST_PRODUCT_BITS - 1);
    for factor in [form.square, form.linear, form.offset] {
        in_range("a factor of a quadratic", factor, -most, most)?;
    }
    let bits = form.bits(squared.reach(layer.largest));
    in_range(
        "the bits of a quadratic",
        bits.unwrap_or(u32::MAX),
        1,
        squared.bits,
    )
}
