//! Largest accumulators over all inputs.

use crate::error::Result;
use crate::linear::Linear;
use crate::model::{IntNetwork, Source};
use crate::place::Shape;

impl IntNetwork {
    /// For each layer, the largest absolute value of an accumulator that sources within their
    /// ranges can give, without noise. Every range is taken to contain 0, because of padding.
    ///
    /// # Errors
    /// The errors of [`check`](Self::check).
    pub fn worst_cases(&self) -> Result<Vec<i64>> {
        let shapes = self.shapes()?;
        let source = |source: Source| match source {
            Source::Input => (self.input.shape, [self.input.min, self.input.max]),
            Source::Layer(index) => {
                let lut = self.layers[index].lut.as_ref();
                (shapes[index], lut.map_or([0, 0], |lut| lut.range()))
            }
        };
        let worst = self.layers.iter().map(|layer| {
            let mut extremes: Vec<[i64; 2]> = layer.bias.iter().map(|&b| [b, b]).collect();
            for term in &layer.terms {
                let (shape, range) = source(term.source);
                term.linear.widen(&mut extremes, shape, range);
            }
            if let Some(product) = layer.product {
                let [left, right] = <[Source; 2]>::from(product).map(|factor| source(factor).1);
                let corners = left.iter().flat_map(|l| right.iter().map(move |r| l * r));
                let least = corners.clone().min().unwrap_or(0);
                let most = corners.max().unwrap_or(0);
                for [low, high] in &mut extremes {
                    (*low, *high) = (*low + least, *high + most);
                }
            }
            let sizes = extremes.iter().flatten().map(|a| a.abs());
            sizes.max().unwrap_or(0)
        });
        Ok(worst.collect())
    }
}

impl Linear {
    /// Adds the smallest and the largest sum of this map to those of each channel.
    fn widen(&self, extremes: &mut [[i64; 2]], source: Shape, [min, max]: [i64; 2]) {
        let (min, max) = (min.min(0), max.max(0));
        let map = self.grouped(source);
        let rows = map.weights.chunks(map.row_len()).cycle();
        for ([low, high], row) in extremes[map.channels()].iter_mut().zip(rows) {
            for &weight in row {
                let (a, b) = (weight * min, weight * max);
                *low += a.min(b);
                *high += a.max(b);
            }
        }
    }
}
