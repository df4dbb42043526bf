//! What a run is compared with.

/// An exact network, to compare with. What it gives is `None` where a layer does not exist or takes
/// another number of integers.
pub trait Exact {
    /// Number of layers.
    fn layers(&self) -> usize;

    /// What the linear group of `layer` makes of an image and of the outputs of the layers before
    /// it.
    fn accumulate(&self, layer: usize, image: &[i64], outputs: &[Vec<i64>]) -> Option<Vec<i64>>;

    /// What the table of `layer` makes of an accumulator; the last layer leaves it as it is.
    fn activate(&self, layer: usize, accumulator: i64) -> Option<i64>;

    /// Largest accumulator that the table of `layer` was made for.
    fn bound(&self, layer: usize) -> i64;
}
