//! The exact network with which a run is compared.

/// An exact network, for comparison. Methods return `None` if there is no such layer, or if it
/// takes another number of integers.
pub trait Exact {
    /// Number of layers.
    fn layers(&self) -> usize;

    /// The output of the linear group of `layer` for an image and the outputs of the layers before
    /// it.
    fn accumulate(&self, layer: usize, image: &[i64], outputs: &[Vec<i64>]) -> Option<Vec<i64>>;

    /// The value of the table of `layer` at an accumulator. The last layer returns the accumulator
    /// unchanged.
    fn activate(&self, layer: usize, accumulator: i64) -> Option<i64>;

    /// The largest accumulator for which the table of `layer` was made.
    fn bound(&self, layer: usize) -> i64;
}
