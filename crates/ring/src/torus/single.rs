//! The transform of the ring in single precision, with a proven bound on its error.
//!
//! A real polynomial modulo `X^N + 1` is a complex one modulo `X^(N/2) - i`: coefficient `j < N/2`
//! is the real part of place `j`, and any other the imaginary part of place `j - N/2`. With
//! `X = w Y` and `w^(N/2) = i`, it is a polynomial modulo `Y^(N/2) - 1`. A twist therefore comes
//! before a cyclic transform of `N/2` points.

use std::f64::consts::PI;

/// A complex number in single precision.
pub(super) type Complex = [f32; 2];

/// Half of the distance from 1 to the next number: the largest relative error of a rounding.
const EPSILON: f64 = 1.0 / (1u64 << 24) as f64;
/// Error of a root: at most `2^-25` for each part, and a little from double precision.
const ROOT_ERROR: f64 = 0.7072 * EPSILON;

pub(super) struct Transform {
    n: usize,
    /// `exp(i pi j / N)`.
    twist: Vec<Complex>,
    /// `exp(2 pi i j / (N/2))`, for the first half of `j`.
    roots: Vec<Complex>,
}

#[inline]
fn mul([a, b]: Complex, [c, d]: Complex) -> Complex {
    [a * c - b * d, a * d + b * c]
}

#[inline]
fn conjugate([a, b]: Complex) -> Complex {
    [a, -b]
}

impl Transform {
    /// The transform for polynomials of `n` coefficients, where `n` is a power of two and at least
    /// 4.
    pub(super) fn new(n: usize) -> Self {
        let root = |angle: f64| [angle.cos() as f32, angle.sin() as f32];
        let angles = |count: usize, step: f64| (0..count).map(|j| root(j as f64 * step)).collect();
        Self {
            n,
            twist: angles(n / 2, PI / n as f64),
            roots: angles(n / 4, 4.0 * PI / n as f64),
        }
    }

    /// Values of the polynomial with coefficients `real(j)`, in bit-reversed order.
    pub(super) fn forward(&self, out: &mut [Complex], real: impl Fn(usize) -> f32) {
        self.twist(out, real);
        for stage in 0..self.stages() {
            self.forward_stage(out, stage);
        }
    }

    /// The inverse of [`Transform::forward`], in place. Place `j` then holds coefficients `j` and
    /// `j + N/2`.
    pub(super) fn inverse(&self, values: &mut [Complex]) {
        for stage in 0..self.stages() {
            self.inverse_stage(values, stage);
        }
        self.untwist(values);
    }

    /// Number of stages of butterflies: `log2(N/2)`.
    pub(super) fn stages(&self) -> u32 {
        (self.n / 2).ilog2()
    }

    /// The polynomial with coefficients `real(j)` as a cyclic one, twisted.
    pub(super) fn twist(&self, out: &mut [Complex], real: impl Fn(usize) -> f32) {
        let half = self.n / 2;
        for (j, (out, &twist)) in out.iter_mut().zip(&self.twist).enumerate() {
            *out = mul([real(j), real(j + half)], twist);
        }
    }

    /// Stage `stage` of the transform: butterflies on blocks of `N/2 >> stage` points.
    pub(super) fn forward_stage(&self, values: &mut [Complex], stage: u32) {
        let stride = 1 << stage;
        for block in values.chunks_exact_mut((self.n / 2) >> stage) {
            let (low, high) = block.split_at_mut(block.len() / 2);
            for (j, (x, y)) in low.iter_mut().zip(high).enumerate() {
                let difference = [x[0] - y[0], x[1] - y[1]];
                *x = [x[0] + y[0], x[1] + y[1]];
                *y = mul(difference, self.roots[j * stride]);
            }
        }
    }

    /// Stage `stage` of the inverse: butterflies on blocks of `2 << stage` points.
    pub(super) fn inverse_stage(&self, values: &mut [Complex], stage: u32) {
        let stride = (self.n / 4) >> stage;
        for block in values.chunks_exact_mut(2 << stage) {
            let (low, high) = block.split_at_mut(block.len() / 2);
            for (j, (x, y)) in low.iter_mut().zip(high).enumerate() {
                let turned = mul(*y, conjugate(self.roots[j * stride]));
                *y = [x[0] - turned[0], x[1] - turned[1]];
                *x = [x[0] + turned[0], x[1] + turned[1]];
            }
        }
    }

    /// Undoes the twist, and divides by the number of points.
    pub(super) fn untwist(&self, values: &mut [Complex]) {
        let scale = 1.0 / (self.n / 2) as f32; // a power of two
        for (value, &twist) in values.iter_mut().zip(&self.twist) {
            let [a, b] = mul(*value, conjugate(twist));
            *value = [a * scale, b * scale];
        }
    }

    /// Bound on the error of any coefficient of a sum of `rows` products, in units of the sum of
    /// the products of the Euclidean norms of their factors.
    ///
    /// *Source.* Percival, "Rapid multiplication modulo the sum and difference of highly composite
    /// numbers", Math. Comp. 72 (2003), theorem 5.1, with the bound of Brent, Percival and
    /// Zimmermann (Math. Comp. 76, 2007) for complex products: for a cyclic transform of `2^k`
    /// points, `(1 + e)^3k (1 + sqrt(5) e)^(3k+1) (1 + b)^3k - 1`. The twists of both factors and
    /// of the product are three more products with a root. Each row of the sum is one more
    /// addition.
    pub(super) fn error(&self, rows: usize) -> f64 {
        let stages = 3.0 * f64::from((self.n / 2).ilog2());
        let log = (stages + rows as f64) * EPSILON.ln_1p()
            + (stages + 4.0) * (5f64.sqrt() * EPSILON).ln_1p()
            + (stages + 3.0) * ROOT_ERROR.ln_1p();
        log.exp_m1()
    }

    /// Estimate of the relative root mean square error of a product of random polynomials.
    ///
    /// A rounding adds a relative square error of `e^2 / 6`, on average over numbers between two
    /// powers of two. A butterfly has about three roundings for each value: one of its sum, and for
    /// half of the values those of a product and of its root.
    pub(super) fn relative_rms(&self) -> f64 {
        let stages = 3.0 * f64::from((self.n / 2).ilog2()) + 3.0;
        (stages * 3.0 / 6.0).sqrt() * EPSILON
    }
}

/// `acc += x y`, place by place.
pub(super) fn mul_add(acc: &mut [Complex], x: &[Complex], y: &[Complex]) {
    for ((acc, &x), &y) in acc.iter_mut().zip(x).zip(y) {
        let product = mul(x, y);
        *acc = [acc[0] + product[0], acc[1] + product[1]];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_products_are_those_of_the_ring() {
        for n in [4usize, 8, 64] {
            let transform = Transform::new(n);
            let (a, b) = ((0..n).map(|i| i % 5), (0..n).map(|i| 3 * i % 7));
            let (a, b): (Vec<_>, Vec<_>) = (a.collect(), b.collect());
            let spectrum = |x: &[usize]| {
                let mut out = vec![[0.0; 2]; n / 2];
                transform.forward(&mut out, |j| x[j] as f32);
                out
            };
            let mut found = vec![[0.0; 2]; n / 2];
            mul_add(&mut found, &spectrum(&a), &spectrum(&b));
            transform.inverse(&mut found);
            for j in 0..n {
                let want: i64 = (0..n)
                    .map(|t| {
                        let sign = if t <= j { 1 } else { -1 };
                        sign * (a[t] * b[(n + j - t) % n]) as i64
                    })
                    .sum();
                let value = found[j % (n / 2)][j / (n / 2)];
                assert!(
                    (f64::from(value) - want as f64).abs() < 0.01,
                    "N = {n}, {j}"
                );
            }
        }
    }
}
