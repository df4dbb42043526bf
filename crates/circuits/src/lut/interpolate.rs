//! A table as a polynomial modulo a prime.

use crate::error::{Error, Result};
use ring::Modulus;

/// The polynomial of degree below `t` that takes `table(x)` at every `x` of `-bound ..= bound`.
///
/// Coefficients in `[0, t)`, lowest first, `2 bound + 1` of them or up to 65,536; `bound = (t - 1) / 2` is the
/// whole of `Z_t`. Values of the table are taken modulo `t`.
///
/// # Errors
/// [`Error::Shape`] if `bound` exceeds `(t - 1) / 2`.
pub fn interpolate(t: &Modulus, bound: i64, table: impl Fn(i64) -> i64) -> Result<Vec<u64>> {
    let half = (t.value() as i64 - 1) / 2;
    if !(0..=half).contains(&bound) {
        return Err(Error::Shape {
            what: "the bound of a table",
            found: bound.to_string(),
            expected: format!("0 to {half}"),
        });
    }
    let values = |bound: i64| (-bound..=bound).map(|x| t.from_i64(table(x)));
    if t.value() != 65537 || bound < FAST {
        return Ok(newton(t, bound, values(bound).collect()));
    }
    let mut out = if bound == half {
        whole(t, &values(half).collect::<Vec<_>>())
    } else {
        // Points beyond the bound are free: with the right value at one of them the coefficient of x^(t-1),
        // minus the sum of all values, vanishes.
        let mut all: Vec<u64> = values(half - 1).collect();
        let sum = all.iter().fold(0, |sum, &v| t.add(sum, v));
        all.insert(0, t.neg(sum));
        all.push(0);
        let mut out = whole(t, &all);
        out.pop();
        out
    };
    while out.len() > 2 * bound as usize + 1 && out.last() == Some(&0) {
        out.pop();
    }
    Ok(out)
}

/// Bound from which the whole of `Z_65537` is interpolated, in milliseconds, where differences take seconds. What
/// that adds to the degree costs a few products of a table.
const FAST: i64 = 24_000;

/// Newton's forward differences: `f = sum_k D^k f(x_0)/k! (x - x_0) .. (x - x_0 - k + 1)`, then
/// Horner's rule on the products. Quadratic, with additions for the most part.
fn newton(t: &Modulus, bound: i64, mut values: Vec<u64>) -> Vec<u64> {
    let (q, len) = (t.value(), values.len());
    for order in 1..len {
        for k in (order..len).rev() {
            let difference = values[k] + q - values[k - 1];
            values[k] = if difference >= q {
                difference - q
            } else {
                difference
            };
        }
    }
    let mut factorial = 1;
    for (k, value) in values.iter_mut().enumerate().skip(1) {
        factorial = t.mul(factorial, k as u64);
        *value = t.mul(*value, t.inv(factorial).expect("k < t is a unit"));
    }
    let mut out = vec![0u64; len];
    for k in (0..len).rev() {
        // out = out * (x - (x_0 + k)) + values[k]
        let negated = t.from_i64(bound - k as i64);
        for i in (1..len - k).rev() {
            out[i] = t.reduce(out[i - 1] + negated * out[i]);
        }
        out[0] = t.reduce(negated * out[0] + values[k]);
    }
    out
}

/// The whole of `Z_t` for the Fermat prime: `a_k = -sum_x f(x) x^(t-1-k)` for `k > 0`, since
/// `1 - (x - v)^(t-1)` is 1 at `v` and 0 elsewhere. With `x = g^i` it is a cyclic transform of
/// length `t - 1 = 2^16`.
fn whole(t: &Modulus, values: &[u64]) -> Vec<u64> {
    const GENERATOR: u64 = 3;
    let len = values.len() - 1;
    let at = |x: u64| values[(t.center(x) + (len / 2) as i64) as usize];
    let mut powers = Vec::with_capacity(len);
    let mut x = 1;
    for _ in 0..len {
        powers.push(at(x));
        x = t.mul(x, GENERATOR);
    }
    // a_k = -sum_i f(g^i) g^(-ik), and at k = t - 1 also -f(0).
    let root = t.inv(GENERATOR).expect("a generator is a unit");
    transform(t, &mut powers, root);
    let mut out: Vec<u64> = powers.into_iter().map(|a| t.neg(a)).collect();
    let top = t.sub(out[0], at(0));
    out[0] = at(0);
    out.push(top);
    out
}

/// Cyclic transform `A_k = sum_i a_i root^(ik)`, by decimation in time.
fn transform(t: &Modulus, a: &mut [u64], root: u64) {
    let len = a.len();
    let bits = len.ilog2();
    for i in 0..len {
        let j = i.reverse_bits() >> (usize::BITS - bits);
        if i < j {
            a.swap(i, j);
        }
    }
    let mut half = 1;
    while half < len {
        let step = t.pow(root, (len / (2 * half)) as u64);
        for block in a.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            let mut w = 1;
            for (x, y) in low.iter_mut().zip(high) {
                let term = t.mul(w, *y);
                (*x, *y) = (t.add(*x, term), t.sub(*x, term));
                w = t.mul(w, step);
            }
        }
        half *= 2;
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
        for bound in [0, 1, 50, 700] {
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
        for bound in [FAST, 32767] {
            let most = interpolate(&t, bound, table).unwrap();
            assert_eq!(most.len(), 65536);
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
