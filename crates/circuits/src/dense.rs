//! A dense layer from slots to coefficients in one plaintext product.
//!
//! Write `h` for half the copies of a value, and let `y_i` stand in all copies of value `i`. The
//! slots of value `i` are the roots of `Psi_i = (X^h - a)(X^h - 1/a)`, with `a = zeta^(h 5^i)`. A
//! plaintext that is nonzero in these slots only is `v (X^N + 1) / Psi_i` for some `v` of degree below
//! `2h`, and since `1 / Psi_i = 1 + (a + 1/a) X^h + ..`, its first `2h` coefficients are those of `v`,
//! plus `(a + 1/a) v_(k-h)` at `k >= h`. So any `2h` first coefficients can be had. Summed over `i`,
//! one product of the ciphertext with one plaintext has `sum_i w_oi y_i` in coefficient `o`, for as
//! many outputs `o` as there are copies. Rotations, slots-to-coefficients and a second product are
//! not needed: the other coefficients are left as they fall, and extraction does not take them.
//!
//! This is ours; `docs/adr/0003-dense-from-slots.md` says what it saves.

use crate::engine::{Engine, Value};
use crate::error::{Error, Result};
use crate::layout::Layout;
use bfv::{Encoder, Plaintext};

/// The plaintext that takes slots to `sum_i weights[o][i] y_i` in coefficient `o`.
///
/// # Errors
/// [`Error::Shape`] for more outputs than copies, for a single copy, or for rows of weights longer
/// than the number of values.
pub fn plaintext(encoder: &Encoder, layout: Layout, weights: &[Vec<i64>]) -> Result<Plaintext> {
    let copies = layout.copies();
    if copies < 2 || weights.len() > copies {
        return Err(Error::Shape {
            what: "the number of outputs of a dense layer on slots",
            found: weights.len().to_string(),
            expected: format!(
                "at most the {copies} copies of a value, of which there are two or more"
            ),
        });
    }
    if let Some(row) = weights.iter().find(|row| row.len() > layout.values()) {
        return Err(Error::Shape {
            what: "the number of inputs of a dense layer on slots",
            found: row.len().to_string(),
            expected: format!("at most {}", layout.values()),
        });
    }
    let t = encoder.modulus();
    let (n, h) = (layout.slots(), copies / 2);
    let zeta: Vec<u64> = powers_of_root(encoder, n);
    let power = |e: usize| zeta[e % (2 * n)];
    let unit = t.inv(t.mul(t.reduce(h as u64), t.inv(t.reduce(n as u64)).unwrap_or(1)));
    let scale = unit.expect("powers of two are units modulo an odd prime");
    let exponents = encoder.exponents();
    let mut slots = vec![0u64; n];
    let mut v = vec![0u64; copies];
    for i in 0..layout.values() {
        let base = h * exponents[i];
        let (a, a_inverse) = (power(base), power(2 * n - base % (2 * n)));
        let trace = t.add(a, a_inverse);
        for k in 0..copies {
            let weight = weights
                .get(k)
                .and_then(|row| row.get(i))
                .map_or(0, |&w| t.from_i64(w));
            let carried = if k >= h { t.mul(trace, v[k - h]) } else { 0 };
            v[k] = t.sub(weight, carried);
        }
        for slot in (i..n).step_by(layout.values()) {
            let e = exponents[slot];
            let value = v
                .iter()
                .enumerate()
                .fold(0, |sum, (k, &c)| t.add(sum, t.mul(c, power(e * k))));
            // (X^N + 1) / Psi_i at a root x: N x^(N-1) / Psi_i'(x), Psi_i' = h x^(h-1) (2 x^h - a - 1/a).
            let x_h = power(e * h);
            let spread = t.sub(t.add(x_h, x_h), trace);
            let inverse = t.inv(spread).expect("the roots of Psi_i are distinct");
            slots[slot] = t.mul(t.mul(value, scale), t.mul(power(e * (n - h)), inverse));
        }
    }
    Ok(encoder.slots_to_plaintext(&slots))
}

/// `zeta^0, .., zeta^(2N-1)` for the encoder's root.
fn powers_of_root(encoder: &Encoder, n: usize) -> Vec<u64> {
    let t = encoder.modulus();
    let mut x = 1;
    (0..2 * n)
        .map(|_| {
            let power = x;
            x = t.mul(x, encoder.root());
            power
        })
        .collect()
}

/// Applies a dense layer to slots; output `o` is coefficient `o` of the result, not switched down.
///
/// # Errors
/// As [`plaintext`].
pub fn from_slots(
    engine: &Engine<'_>,
    layout: Layout,
    y: &Value,
    weights: &[Vec<i64>],
) -> Result<Value> {
    let encoder = engine.params().encoder();
    let factor = plaintext(encoder, layout, weights)?;
    let squares = engine.model().uniform_plaintext(layout.slots() as f64);
    let t = engine.params().t();
    engine.mul_plain_sum(&[y], squares, y.factor(), |_, unit| {
        let scaled = factor
            .coefficients()
            .iter()
            .map(|&c| t.mul(unit, c))
            .collect();
        encoder.from_residues(scaled)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bfv::{Params, T_FERMAT};
    use ring::ntt_primes;
    use rlwe::ParamsSpec;

    #[test]
    fn first_coefficients_of_the_product_are_the_layer() {
        let n = 1 << 10;
        let spec = ParamsSpec {
            n,
            q: ntt_primes(30, n, 1).unwrap(),
            p: ntt_primes(31, n, 1).unwrap(),
            digit_limbs: 1,
        };
        let params = Params::new_insecure(&spec, T_FERMAT).unwrap();
        let (encoder, t) = (params.encoder(), params.t());
        for (values, inputs, outputs) in [(16, 16, 64), (64, 50, 16), (512, 512, 2), (256, 256, 3)]
        {
            let layout = Layout::new(n, values).unwrap();
            let weights: Vec<Vec<i64>> = (0..outputs)
                .map(|o| {
                    (0..inputs)
                        .map(|i| ((o * 31 + i * 17) % 127) as i64 - 63)
                        .collect()
                })
                .collect();
            let y: Vec<i64> = (0..inputs).map(|i| (i * 29 % 128) as i64).collect();
            let mut slots: Vec<u64> = (0..n)
                .map(|s| y.get(layout.value_of(s)).map_or(999, |&y| t.from_i64(y)))
                .collect();
            let layer = encoder.slots_of(&plaintext(encoder, layout, &weights).unwrap());
            slots
                .iter_mut()
                .zip(layer)
                .for_each(|(y, w)| *y = t.mul(*y, w));
            let product = encoder.slots_to_plaintext(&slots);
            for (o, row) in weights.iter().enumerate() {
                let want: i64 = row.iter().zip(&y).map(|(w, y)| w * y).sum();
                assert_eq!(
                    product.coefficients()[o],
                    t.from_i64(want),
                    "{values} values, output {o}"
                );
            }
        }
        let layout = Layout::new(n, n).unwrap();
        assert!(plaintext(encoder, layout, &[vec![1]]).is_err());
    }
}
