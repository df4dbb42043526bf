//! The statistical distance of a program's answers, computed again by the server that holds the
//! weights: its floods and masks must hide them.

use crate::error::{Error, Result};
use crate::geometry::Geometry;
use crate::half::Half;
use crate::noise::{Flooding, Norms, log2_distance};
use crate::plan::STATISTICAL;
use crate::program::{Activations, LayerWeights, Program};

/// The norms of a term's kernels. `chosen` is true if the client may choose its share of the
/// source: an input, or an output that was revealed to it.
pub(crate) fn norms(layout: &Geometry, weights: &[i64], chosen: bool) -> Norms {
    let norms = Norms::of(layout.block_weights(weights));
    match chosen {
        true => norms.with_chosen(layout.kernel_weights(weights)),
        false => norms,
    }
}

/// log2 of the statistical distance of all answers to one input from floods and masks alone, which
/// hide nothing.
///
/// # Errors
/// [`Error::Program`] for floods that hide too little, or so large that answers would be wrong.
pub(crate) fn log2_of_one_input(half: &Half, weights: &[LayerWeights]) -> Result<f64> {
    let public = &half.public;
    let revealed = public.activations == Activations::Revealed;
    let mut sum = 0.0;
    for ((layer, tables), weights) in public.layers.iter().zip(&half.tables).zip(weights) {
        let outputs = layer.shape.iter().product();
        let terms = layer.encrypted.iter().zip(tables).zip(&weights.terms);
        for ((term, tables), weights) in terms {
            let ring = &public.rings[term.ring];
            let norms = norms(&tables.geometry, weights, revealed || term.source == 0);
            let exact = Flooding::largest(ring, layer.bits, &norms, outputs);
            let most = exact.map_or(0, |flooding| flooding.bits);
            if term.flood_bits > most {
                let what = format!("layer {}: the bits of a flood", layer.name);
                let expected = format!("at most {most}, for the weights' noise and exact answers");
                return Err(Error::program(what, term.flood_bits, expected));
            }
            sum += log2_distance(&norms, ring.n, outputs, term.flood_bits).exp2();
        }
    }
    let counts = public.product_counts();
    for plan in &public.products {
        let count = counts.get(&(plan.kind, plan.bits)).copied().unwrap_or(0);
        let distances = plan.log2_distances(count.max(1), &public.rings[plan.ring]);
        let Some(distances) = distances else {
            let what = format!("the flood of products modulo 2^{}", plan.bits);
            return Err(Error::program(
                what,
                plan.flood_bits,
                "one under which answers are exact",
            ));
        };
        sum += distances
            .iter()
            .map(|distance| distance.exp2())
            .sum::<f64>();
    }
    let log2_distance = sum.log2();
    if log2_distance > -f64::from(STATISTICAL) {
        return Err(Error::program(
            "the statistical distance of one input's answers",
            format!("2^{log2_distance:.1}"),
            format!(
                "at most 2^-{STATISTICAL}: the floods hide too little of the weights; compile again"
            ),
        ));
    }
    Ok(log2_distance)
}

impl Program {
    /// log2 of the statistical distance of all answers to one input from floods and masks alone,
    /// which hide nothing. For `k` inputs the distance is `k` times as large.
    ///
    /// # Errors
    /// [`Error::Program`] for a program that does not pass its check, or that hides too little.
    pub fn log2_distance(&self) -> Result<f64> {
        self.check()?;
        log2_of_one_input(&Half::new(self.public.clone())?, &self.weights)
    }
}
