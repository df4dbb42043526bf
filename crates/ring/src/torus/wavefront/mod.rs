//! Products by definition on a chain of processing elements, each of which computes a block of the
//! result.
//!
//! With `b_(-m) = -b_(N-m)`, coefficient `j` of a product in `Z[X]/(X^N + 1)` is the sum of
//! `a_t b_(j-t)` over all `t`. Hence an element that has all of `a`, and `b` extended by its
//! negative, computes any block of coefficients alone. Elements form a chain. Operands go from
//! element to element, and so do results: each element sends those of the elements before it, then
//! its own. No element needs more than two input and two output streams, for a chain of any length.
//!
//! *Source.* Wu, Arafin, "ATHENA: Accelerating Torus Fully Homomorphic Encryption on
//! Energy-Efficient Heterogeneous Architecture", section III-A2, equations 6 to 10 and figures 6 to
//! 8.

mod element;

pub use element::{ACCUMULATORS, Element, Instruction, Issue, LANES, Section};

use super::Multiplier;
use crate::error::{Error, Result};

/// Exact products of words of 32 bits by a chain of [elements](Element). They are exact because
/// words wrap around.
///
/// The arrays of the simulator are made of the same elements.
pub struct Wavefront {
    n: usize,
    elements: usize,
}

impl Wavefront {
    /// A chain of `elements` for polynomials of `n` coefficients.
    ///
    /// Every element has a block of `n / elements` coefficients, a multiple of the [lanes](LANES)
    /// of its vectors. Blocks that are multiples of `LANES * ACCUMULATORS = 32` keep all of its
    /// accumulators busy.
    ///
    /// # Errors
    /// [`Error::Elements`] if the block is not a multiple of the lanes.
    pub fn new(n: usize, elements: usize) -> Result<Self> {
        if n == 0 || elements == 0 || !n.is_multiple_of(elements.saturating_mul(LANES)) {
            return Err(Error::Elements {
                n,
                elements,
                lanes: LANES,
            });
        }
        Ok(Self { n, elements })
    }

    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.elements
    }

    /// Bytes of local memory of each element.
    pub fn element_memory(&self) -> usize {
        let words = self
            .n
            .saturating_mul(3)
            .saturating_add(self.n / self.elements);
        words.saturating_mul(4)
    }

    /// The elements in the order of the chain, without operands.
    pub fn chain(&self) -> Vec<Element> {
        (0..self.elements)
            .map(|place| Element::new(self.n, self.n / self.elements, place))
            .collect()
    }
}

impl Multiplier<u32> for Wavefront {
    type Word = u32;
    type Scratch = Vec<Element>;

    fn name(&self) -> &'static str {
        "wavefront"
    }

    fn n(&self) -> usize {
        self.n
    }

    fn prepared_len(&self) -> usize {
        self.n
    }

    fn scratch(&self, _rows: usize, _columns: usize) -> Vec<Element> {
        self.chain()
    }

    fn prepare(&self, polys: &[u32]) -> Vec<u32> {
        assert_eq!(polys.len() % self.n, 0, "whole polynomials");
        polys.to_vec()
    }

    fn dot_add(&self, out: &mut [u32], digits: &[i32], matrix: &[u32], chain: &mut Vec<Element>) {
        let (n, columns, rows) = (self.n, out.len() / self.n, digits.len() / self.n);
        assert_eq!(
            matrix.len(),
            rows * columns * n,
            "a polynomial for each row and column"
        );
        for (row, digits) in digits.chunks_exact(n).enumerate() {
            for (column, out) in out.chunks_exact_mut(n).enumerate() {
                let poly = &matrix[(row * columns + column) * n..][..n];
                for (i, (&digit, &word)) in digits.iter().zip(poly).enumerate() {
                    let mut pair = [digit as u32, word];
                    for element in chain.iter_mut() {
                        pair = element.receive(i, pair);
                    }
                }
                for (element, out) in chain
                    .iter_mut()
                    .zip(out.chunks_exact_mut(n / self.elements))
                {
                    element.compute(|_| ());
                    for (word, &result) in out.iter_mut().zip(element.results()) {
                        *word = word.wrapping_add(result);
                    }
                }
            }
        }
    }

    fn error_bound(&self, _rows: usize, _digit: f64) -> f64 {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::conformance::{compare_with_naive, extremes};
    use super::*;

    #[test]
    fn any_chain_of_whole_vectors_multiplies_exactly() {
        for (n, elements) in [
            (512, 1),
            (512, 8),
            (512, 64),
            (1024, 16),
            (1024, 32),
            (1024, 128),
            (2048, 32),
            (2048, 256),
            (96, 3), // no power of two, and three vectors for four accumulators after one loop
        ] {
            let multiplier = Wavefront::new(n, elements).expect("whole vectors");
            compare_with_naive(&multiplier, (2, 2), 512);
            compare_with_naive(&multiplier, (1, 1), 1 << 30);
            extremes(&multiplier, 1, 1 << 30);
        }
    }

    #[test]
    fn blocks_that_are_no_whole_vectors_are_refused() {
        for (n, elements) in [(1024, 3), (1024, 256), (512, 0), (0, 8), (512, usize::MAX)] {
            let found = Wavefront::new(n, elements).err();
            let want = Error::Elements {
                n,
                elements,
                lanes: LANES,
            };
            assert_eq!(found, Some(want));
        }
    }
}
