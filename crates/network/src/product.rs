//! Products of two values.

use crate::place::Shape;

/// For each value of shape `left`, in the order channel, row, column: the index of its factor in a
/// value of shape `right`. Each side of `right` is that of `left`, or 1.
pub fn partners([channels, height, width]: Shape, right: Shape) -> Vec<usize> {
    let [_, rows, columns] = right;
    let at = |index: usize, side: usize| if side == 1 { 0 } else { index };
    let mut partners = Vec::with_capacity(channels * height * width);
    for c in 0..channels {
        for y in 0..height {
            for x in 0..width {
                partners.push((at(c, right[0]) * rows + at(y, rows)) * columns + at(x, columns));
            }
        }
    }
    partners
}

/// The factors of a product, prepared for evaluation: their sources, numbered as for terms, and
/// which values meet.
#[derive(Clone, Debug)]
pub(crate) struct Factors {
    pub(crate) sources: [usize; 2],
    /// Number of values of each factor.
    pub(crate) inputs: [usize; 2],
    partners: Vec<usize>,
}

impl Factors {
    pub(crate) fn new(sources: [usize; 2], shapes: [Shape; 2]) -> Self {
        Self {
            sources,
            inputs: shapes.map(|shape| shape.iter().product()),
            partners: partners(shapes[0], shapes[1]),
        }
    }

    /// Adds the product to `sums`.
    pub(crate) fn add_to(&self, sums: &mut [i64], left: &[i16], right: &[i16]) {
        for ((sum, &x), &partner) in sums.iter_mut().zip(left).zip(&self.partners) {
            *sum += i64::from(x) * i64::from(right[partner]);
        }
    }
}
