//! The choices of a bootstrapping, and the polynomial that follows from them.

use crate::approximate::Chebyshev;
use program::circuit::Bootstrapping;
use std::f64::consts::PI;

/// The choices of a bootstrapping that a caller makes.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrapSpec {
    /// Range of the reduction: it is correct for `|I| <= range`.
    pub range: usize,
    /// Number `r` of double angles.
    pub doublings: usize,
    /// log2 of the ratio of `q_0` to the largest coefficient of the message times its scale.
    pub log_ratio: f64,
    /// Number of slots after which messages repeat. `None`: all slots. Fewer slots take less work.
    pub slots: Option<usize>,
    /// Number of baby steps of the linear transforms. Fewer steps need fewer keys and more time.
    pub babies: usize,
}

impl Default for BootstrapSpec {
    fn default() -> Self {
        Self {
            range: 15,
            doublings: 3,
            log_ratio: 8.0,
            slots: None,
            babies: 8,
        }
    }
}

impl From<&Bootstrapping> for BootstrapSpec {
    fn from(stated: &Bootstrapping) -> Self {
        Self {
            range: stated.range,
            doublings: stated.doublings,
            log_ratio: stated.log_ratio,
            slots: Some(stated.slots),
            babies: stated.babies,
        }
    }
}

impl BootstrapSpec {
    /// Returns the spec for messages of `slots` slots that repeat.
    ///
    /// The coefficients of such messages may be as large as the message itself. In contrast, the
    /// coefficients of many different slots are small. The sine is off by
    /// `(2 pi / 2^log_ratio)^2 / 6` of the largest possible coefficient, and the noise is amplified
    /// by `2^log_ratio`. The ratio is chosen so that both errors are equal for scales of 60 bits in
    /// the reduction.
    pub fn for_slots(slots: usize) -> Self {
        let coefficients = (slots.max(1) as f64).log2() / 2.0;
        Self {
            slots: Some(slots),
            log_ratio: ((41.6 - coefficients) / 3.0).ceil(),
            ..Self::default()
        }
    }

    /// Levels of the reduction.
    pub fn reduction_levels(&self) -> usize {
        self.reduction().depth() + self.doublings
    }

    /// The polynomial that equals `cos(2 pi (x (range + 1) - 1/4) / 2^r)` at the integers
    /// `x (range + 1)` of size up to `range`.
    pub(super) fn reduction(&self) -> Chebyshev {
        let range = self.range as isize;
        let wide = (range + 1) as f64;
        let period = (self.doublings as f64).exp2();
        let nodes: Vec<f64> = (-range..=range).map(|i| i as f64 / wide).collect();
        let values: Vec<f64> = nodes
            .iter()
            .map(|x| (2.0 * PI * (x * wide - 0.25) / period).cos())
            .collect();
        Chebyshev::new(interpolate(&nodes, values))
    }
}

/// Chebyshev coefficients of the polynomial through the given points.
fn interpolate(nodes: &[f64], mut values: Vec<f64>) -> Vec<f64> {
    let n = nodes.len();
    let mut rows: Vec<Vec<f64>> = nodes
        .iter()
        .map(|x| (0..n).map(|k| (k as f64 * x.acos()).cos()).collect())
        .collect();
    // Gaussian elimination with row pivots.
    for k in 0..n {
        let pivot = (k..n)
            .max_by(|&a, &b| rows[a][k].abs().total_cmp(&rows[b][k].abs()))
            .expect("a row is left");
        rows.swap(k, pivot);
        values.swap(k, pivot);
        for i in k + 1..n {
            let (above, below) = rows.split_at_mut(i);
            let (pivot, row) = (&above[k], &mut below[0]);
            let factor = row[k] / pivot[k];
            for (x, p) in row.iter_mut().zip(pivot).skip(k) {
                *x -= factor * p;
            }
            values[i] -= factor * values[k];
        }
    }
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|j| rows[k][j] * values[j]).sum();
        values[k] = (values[k] - known) / rows[k][k];
    }
    values
}
