//! A table as a polynomial modulo a prime.
//!
//! Newton's forward differences at consecutive points are a convolution with factorials. The sum of
//! Newton's products is computed by halves. This takes `O(len log^2 len)`. Sources: von zur Gathen,
//! Gerhard, "Modern Computer Algebra", sections 10.2 and 23.1.

use crate::error::{Error, Result};
use ring::{Basis, Coeff, Modulus, Poly, ntt_primes};
use std::collections::HashMap;

/// Returns the polynomial of degree at most `2 bound` whose value is `table(x)` at every `x` in
/// `-bound ..= bound`.
///
/// The polynomial has `2 bound + 1` coefficients in `[0, t)`, lowest first. With
/// `bound = (t - 1) / 2` the table covers all of `Z_t`. Values of the table are taken modulo `t`.
///
/// # Errors
/// [`Error::Shape`] if `bound` exceeds `(t - 1) / 2`, or `t` is above 65537.
pub fn interpolate(t: &Modulus, bound: i64, table: impl Fn(i64) -> i64) -> Result<Vec<u64>> {
    // With this limit, sums of `t` products of residues stay below a prime of 50 bits.
    if t.value() > LARGEST {
        return Err(Error::Shape {
            what: "the plaintext modulus of a table",
            found: t.value().to_string(),
            expected: format!("at most {LARGEST}"),
        });
    }
    let half = (t.value() as i64 - 1) / 2;
    if !(0..=half).contains(&bound) {
        return Err(Error::Shape {
            what: "the bound of a table",
            found: bound.to_string(),
            expected: format!("0 to {half}"),
        });
    }
    let values = (-bound..=bound).map(|x| t.from_i64(table(x))).collect();
    let mut products = Products {
        t: *t,
        bases: HashMap::new(),
    };
    let divided = divided_differences(&mut products, values);
    Ok(halves(&mut products, &divided, t.from_i64(-bound)).sum)
}

/// Largest plaintext modulus.
const LARGEST: u64 = (1 << 16) + 1;

/// `D^k f(x_0) / k!` for every `k`, from the values at `x_0, x_0 + 1, ..`. It is the convolution of
/// `f(x_0 + i) / i!` with `(-1)^j / j!`.
fn divided_differences(products: &mut Products, mut values: Vec<u64>) -> Vec<u64> {
    let t = products.t;
    let len = values.len();
    let mut factorials = vec![1; len];
    for k in 1..len {
        factorials[k] = t.mul(factorials[k - 1], k as u64);
    }
    let mut inverses = vec![t.inv(factorials[len - 1]).expect("k < t is a unit"); len];
    for k in (1..len).rev() {
        inverses[k - 1] = t.mul(inverses[k], k as u64);
    }
    for (value, &inverse) in values.iter_mut().zip(&inverses) {
        *value = t.mul(*value, inverse);
    }
    let signed = |(j, &inverse): (usize, &u64)| if j % 2 == 0 { inverse } else { t.neg(inverse) };
    let inverses: Vec<u64> = inverses.iter().enumerate().map(signed).collect();
    let mut out = products.product(&values, &inverses);
    out.truncate(len);
    out
}

/// A part of a sum in Newton's form.
struct Part {
    /// `sum_k c_k (x - x_0) .. (x - x_0 - k + 1)`.
    sum: Vec<u64>,
    /// `(x - x_0) .. (x - x_0 - len + 1)`.
    points: Vec<u64>,
}

/// Computes the part with the coefficients `c` whose first point is `start`.
fn halves(products: &mut Products, c: &[u64], start: u64) -> Part {
    let t = products.t;
    if c.len() <= SMALL {
        let (mut sum, mut points) = (vec![0; c.len()], vec![1]);
        for (k, &c) in c.iter().enumerate() {
            for (out, &p) in sum.iter_mut().zip(&points) {
                *out = t.add(*out, t.mul(c, p));
            }
            let root = t.neg(t.reduce(start + k as u64));
            points = products.product(&points, &[root, 1]);
        }
        return Part { sum, points };
    }
    let (low, high) = c.split_at(c.len() / 2);
    let next = t.reduce(start + low.len() as u64);
    let (low, high) = (halves(products, low, start), halves(products, high, next));
    let mut sum = products.product(&low.points, &high.sum);
    for (out, &value) in sum.iter_mut().zip(&low.sum) {
        *out = t.add(*out, value);
    }
    Part {
        sum,
        points: products.product(&low.points, &high.points),
    }
}

/// Length up to which products are computed by their definition.
const SMALL: usize = 32;

/// Products of polynomials modulo `t`.
struct Products {
    t: Modulus,
    /// The ring of a product, by its degree.
    bases: HashMap<usize, Basis>,
}

impl Products {
    fn product(&mut self, a: &[u64], b: &[u64]) -> Vec<u64> {
        let (t, len) = (self.t, a.len() + b.len() - 1);
        if a.len().min(b.len()) <= SMALL {
            let mut out = vec![0; len];
            for (i, &x) in a.iter().enumerate() {
                for (out, &y) in out[i..].iter_mut().zip(b) {
                    *out = t.reduce(*out + x * y);
                }
            }
            return out;
        }
        // If the length is one above a power of two, the last coefficient wraps to the first. Both
        // are products of two coefficients.
        let n = (len - 1).next_power_of_two();
        let basis = self.bases.entry(n).or_insert_with(|| {
            let q =
                ntt_primes(50, n, 1).expect("there is a prime of 50 bits for every degree here");
            Basis::new(n, &q).expect("the prime suits the degree")
        });
        let transformed = |values: &[u64]| {
            let mut words = values.to_vec();
            words.resize(n, 0);
            Poly::<Coeff>::from_words(basis, words)
                .expect("residues modulo t are below the prime")
                .into_eval()
        };
        let product = transformed(a).mul(&transformed(b)).into_coeff();
        let kept = product.limb(0).iter().take(len);
        let mut out: Vec<u64> = kept.map(|&v| t.reduce(v)).collect();
        if len > n {
            out[0] = t.mul(a[0], b[0]);
            out.push(t.mul(a[a.len() - 1], b[b.len() - 1]));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluate(t: &Modulus, coefficients: &[u64], x: i64) -> u64 {
        let x = t.from_i64(x);
        coefficients
            .iter()
            .rev()
            .fold(0, |acc, &c| t.add(t.mul(acc, x), c))
    }

    #[test]
    fn the_polynomial_takes_the_values_of_the_table() {
        let t = Modulus::new(65537).unwrap();
        let table = |x: i64| (x * x * 31 + 7 * x - 5) ^ (x >> 3);
        for bound in [0, 1, 15, 16, 50, 700] {
            let polynomial = interpolate(&t, bound, table).unwrap();
            assert_eq!(polynomial.len(), 2 * bound as usize + 1);
            for x in -bound..=bound {
                assert_eq!(
                    evaluate(&t, &polynomial, x),
                    t.from_i64(table(x)),
                    "bound {bound}, x = {x}"
                );
            }
        }
        let whole = interpolate(&t, 32768, table).unwrap();
        assert_eq!(whole.len(), 65537);
        for x in (-32768..=32768)
            .step_by(97)
            .chain([0, 1, -1, 32768, -32768])
        {
            assert_eq!(evaluate(&t, &whole, x), t.from_i64(table(x)), "x = {x}");
        }
        for bound in [12_345, 32767] {
            let most = interpolate(&t, bound, table).unwrap();
            assert_eq!(most.len(), 2 * bound as usize + 1);
            for x in (-bound..=bound).step_by(101).chain([0, bound]) {
                assert_eq!(evaluate(&t, &most, x), t.from_i64(table(x)), "x = {x}");
            }
        }
        assert!(interpolate(&t, 32769, table).is_err() && interpolate(&t, -1, table).is_err());
    }

    #[test]
    fn powers_of_x_have_one_coefficient() {
        let t = Modulus::new(65537).unwrap();
        let polynomial = interpolate(&t, 32768, |x| {
            let x = t.from_i64(x);
            t.pow(x, 12345) as i64
        });
        let nonzero: Vec<_> = polynomial
            .unwrap()
            .into_iter()
            .enumerate()
            .filter(|&(_, c)| c != 0)
            .collect();
        assert_eq!(nonzero, [(12345, 1)]);
    }
}
