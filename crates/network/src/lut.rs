//! Tables: activation and requantisation in one.

use serde::{Deserialize, Serialize};

/// A function of an accumulator, stored as runs of equal values.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Lut {
    /// Start of each run: strictly increasing, the first is `-bound`.
    pub starts: Vec<i64>,
    /// Value of each run. A run ends before the next one starts, the last one at `bound`.
    pub values: Vec<i64>,
}

impl Lut {
    /// Makes the runs of `function` on `-bound..=bound`.
    pub fn new(bound: i64, function: impl Fn(i64) -> i64) -> Self {
        let (mut starts, mut values) = (Vec::new(), Vec::new());
        for accumulator in -bound..=bound {
            let value = function(accumulator);
            if values.last() != Some(&value) {
                starts.push(accumulator);
                values.push(value);
            }
        }
        Self { starts, values }
    }

    /// Returns the value at `accumulator`. Beyond either end it is the value at that end.
    ///
    /// # Panics
    /// If there are no runs, or fewer values than starts. A checked network has neither.
    pub fn apply(&self, accumulator: i64) -> i64 {
        let run = self.starts.partition_point(|&start| start <= accumulator);
        self.values[run.saturating_sub(1)]
    }

    /// Smallest and largest value. For a table of a checked network.
    pub fn range(&self) -> [i64; 2] {
        let values = || self.values.iter().copied();
        [values().min().unwrap_or(0), values().max().unwrap_or(0)]
    }
}
