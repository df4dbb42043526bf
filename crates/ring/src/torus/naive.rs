//! The definition of the product, for comparison.

use super::{Multiplier, Torus};

/// Exact products by their definition, in `N^2` steps each.
pub struct Naive {
    n: usize,
}

impl Naive {
    /// A multiplier for polynomials of `n` coefficients.
    pub fn new(n: usize) -> Self {
        Self { n }
    }
}

impl<T: Torus> Multiplier<T> for Naive {
    type Word = T;
    type Scratch = ();

    fn name(&self) -> &'static str {
        "naive"
    }

    fn n(&self) -> usize {
        self.n
    }

    fn prepared_len(&self) -> usize {
        self.n
    }

    fn scratch(&self, _rows: usize, _columns: usize) {}

    fn prepare(&self, polys: &[T]) -> Vec<T> {
        assert_eq!(polys.len() % self.n, 0, "whole polynomials");
        polys.to_vec()
    }

    fn dot_add(&self, out: &mut [T], digits: &[i32], matrix: &[T], _scratch: &mut ()) {
        let (n, columns, rows) = (self.n, out.len() / self.n, digits.len() / self.n);
        assert_eq!(
            matrix.len(),
            rows * columns * n,
            "a polynomial for each row and column"
        );
        for (row, digits) in digits.chunks_exact(n).enumerate() {
            for (column, out) in out.chunks_exact_mut(n).enumerate() {
                let poly = &matrix[(row * columns + column) * n..][..n];
                for (i, &digit) in digits.iter().enumerate() {
                    let digit = i64::from(digit);
                    for (j, &word) in poly.iter().enumerate() {
                        // X^N = -1.
                        let (place, factor) = if i + j < n {
                            (i + j, digit)
                        } else {
                            (i + j - n, -digit)
                        };
                        out[place] = out[place].plus(word.times(factor));
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
    use super::*;

    #[test]
    fn a_power_of_x_turns_a_polynomial_with_its_sign() {
        let multiplier = Naive::new(4);
        let prepared = Multiplier::<u32>::prepare(&multiplier, &[1, 2, 3, 4]);
        let mut out = [10u32, 0, 0, 0];
        multiplier.dot_add(&mut out, &[0, -2, 0, 0], &prepared, &mut ());
        assert_eq!(out, [18, (-2i32) as u32, (-4i32) as u32, (-6i32) as u32]);
    }
}
