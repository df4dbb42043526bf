//! Plaintexts as integers.

use crate::error::{Error, Result};
use program::recording::Scalar;
use ring::{Eval, Modulus, Poly};
use trace::Constant;

/// Number of low bits of coefficients in the first of two constants.
const LOW_BITS: u32 = 62;
/// Bits of the moduli from which coefficients are computed.
const MOST_BITS: f64 = 125.0;

/// Splits a polynomial into constants, each with a number that it is multiplied by. Their sum is
/// the polynomial. There is one constant, or two if coefficients have more than 63 bits. The
/// polynomial times `over` has short coefficients, and the numbers are divided by `over`.
///
/// # Errors
/// [`Error::Shape`] if coefficients have more than 124 bits.
pub(super) fn integers(
    poly: &Poly<Eval>,
    (sign, over): (i64, u64),
) -> Result<Vec<(Constant, Scalar)>> {
    let coefficients = centred(poly, over)?;
    let by = |shift: u32| Scalar {
        integer: sign,
        shift,
        over,
    };
    let narrow: Option<Vec<i64>> = coefficients.iter().map(|&c| c.try_into().ok()).collect();
    if let Some(narrow) = narrow {
        return Ok(vec![(constant(narrow), by(0))]);
    }
    let half = 1 << (LOW_BITS - 1);
    let high = |c: i128| (c + half) >> LOW_BITS;
    let low = |c: i128| c - (high(c) << LOW_BITS);
    let part = |of: &dyn Fn(i128) -> i128| -> Vec<i64> {
        let parts = coefficients.iter().map(|&c| of(c) as i64);
        parts.collect()
    };
    let parts = [(part(&low), 0), (part(&high), LOW_BITS)];
    Ok(parts.map(|(c, shift)| (constant(c), by(shift))).into())
}

/// The coefficients of a polynomial times `over`.
fn centred(poly: &Poly<Eval>, over: u64) -> Result<Vec<i128>> {
    let (mut poly, basis) = (poly.clone(), poly.basis().clone());
    poly.scalar_mul_assign(|i| basis.modulus(i).reduce(over));
    let poly = poly.into_coeff();
    let moduli: Vec<Modulus> = basis.moduli().copied().collect();
    let mut bits = 0.0;
    let few = moduli.iter().take_while(|q| {
        bits += (q.value() as f64).log2();
        bits < MOST_BITS
    });
    let few = few.count().max(1);
    let product = |i: usize, q: &Modulus| {
        let before = moduli[..i].iter();
        before.fold(1, |product, p| q.mul(product, q.reduce(p.value())))
    };
    let inverses: Vec<u64> = (0..few)
        .map(|i| {
            let inverse = moduli[i].inv(product(i, &moduli[i]));
            inverse.expect("moduli are pairwise coprime")
        })
        .collect();
    let wholes: Vec<i128> = (0..=few)
        .map(|i| moduli[..i].iter().map(|q| i128::from(q.value())).product())
        .collect();
    let coefficient = |j: usize| -> Option<i128> {
        // Digits in mixed radix, the lowest first (Garner).
        let mut value = 0i128;
        for (i, q) in moduli[..few].iter().enumerate() {
            let known = (value % i128::from(q.value())) as u64;
            let digit = q.mul(q.sub(poly.limb(i)[j], known), inverses[i]);
            value += wholes[i] * i128::from(digit);
        }
        let centred = match value > wholes[few] / 2 {
            true => value - wholes[few],
            false => value,
        };
        let agrees = |i: usize| {
            let q = i128::from(moduli[i].value());
            i128::from(poly.limb(i)[j]) == centred.rem_euclid(q)
        };
        (few..moduli.len()).all(agrees).then_some(centred)
    };
    let all = (0..poly.n()).map(|j| {
        coefficient(j).ok_or_else(|| Error::Shape {
            what: "a coefficient of a plaintext that is recorded",
            found: format!("longer at X^{j}"),
            expected: "an integer of at most 124 bits".into(),
        })
    });
    all.collect()
}

fn constant(coefficients: Vec<i64>) -> Constant {
    let some = coefficients.iter().filter(|&&c| c != 0).count();
    if some > coefficients.len() / 4 {
        return Constant::Words(coefficients);
    }
    let places = coefficients.into_iter().enumerate();
    Constant::Sparse(places.filter(|&(_, c)| c != 0).collect())
}
