//! The findings of an inspection, by layer.

use std::collections::BTreeMap;

/// Sums over integers, for their mean and deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// Numbers added.
    pub count: u64,
    /// The sum of the numbers.
    pub sum: f64,
    /// The sum of their squares.
    pub squares: f64,
    /// The largest absolute value.
    pub largest: i64,
}

impl Moments {
    pub(crate) fn add(&mut self, x: i64) {
        self.count += 1;
        self.sum += x as f64;
        self.squares += (x as f64).powi(2);
        self.largest = self.largest.max(x.abs());
    }

    /// The mean, or 0 without numbers.
    pub fn mean(&self) -> f64 {
        self.sum / (self.count.max(1)) as f64
    }

    /// The root mean square.
    pub fn sigma(&self) -> f64 {
        (self.squares / (self.count.max(1)) as f64).sqrt()
    }
}

/// The findings in one layer, over all images so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerFindings {
    /// Name of the layer.
    pub name: String,
    /// Noise of the accumulators. Accumulators of the last layer have no noise of their own.
    pub noise: Moments,
    /// Number of accumulators beyond the bound for which the table was made.
    pub beyond_bound: u64,
    /// Number of slots checked, copies included. In the last layer, the number of logits.
    pub slots: u64,
    /// Number of slots that differ from the layer's exact value for the accumulator that entered
    /// it.
    pub wrong: u64,
    /// Number of activations compared with those of the exact network.
    pub values: u64,
    /// For each difference (activation minus exact), the number of activations. Equal activations
    /// are not counted.
    pub changes: BTreeMap<i64, u64>,
}

impl LayerFindings {
    pub(crate) fn compare(&mut self, real: i64, exact: i64) {
        self.values += 1;
        if real != exact {
            *self.changes.entry(real - exact).or_default() += 1;
        }
    }
}
