//! What was found, by layer.

use std::collections::BTreeMap;

/// Sums over integers from which mean and deviation follow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// Numbers added.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// Sum of their squares.
    pub squares: f64,
    /// Largest absolute value.
    pub largest: i64,
}

impl Moments {
    pub(crate) fn add(&mut self, x: i64) {
        self.count += 1;
        self.sum += x as f64;
        self.squares += (x as f64).powi(2);
        self.largest = self.largest.max(x.abs());
    }

    /// Mean; 0 of nothing.
    pub fn mean(&self) -> f64 {
        self.sum / (self.count.max(1)) as f64
    }

    /// Root mean square.
    pub fn sigma(&self) -> f64 {
        (self.squares / (self.count.max(1)) as f64).sqrt()
    }
}

/// What was found in one layer, over all images so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerFindings {
    /// Name of the layer.
    pub name: String,
    /// Noise of the accumulators; the last layer's have none of their own.
    pub noise: Moments,
    /// Accumulators beyond the bound that the table was made for.
    pub beyond_bound: u64,
    /// Slots looked at, copies included; in the last layer, logits.
    pub slots: u64,
    /// Slots that do not hold what the layer makes, exactly, of what entered it.
    pub wrong: u64,
    /// Activations compared with the exact network's.
    pub values: u64,
    /// How many differ from it by how much (activation minus exact); those that agree are not in
    /// it.
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
