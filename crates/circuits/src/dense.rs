//! A dense layer from slots to coefficients in one plaintext product.
//!
//! Write `h` for half the copies of a value, and let `y_i` be in all copies of value `i`. The slots
//! of value `i` are the roots of `Psi_i = (X^h - a)(X^h - 1/a)`, with `a = zeta^(h 5^i)`. A
//! plaintext that is nonzero only in these slots is `v (X^N + 1) / Psi_i` for some `v` of degree
//! below `2h`. Since `1 / Psi_i = 1 + (a + 1/a) X^h + ..`, its first `2h` coefficients are those of
//! `v`, plus `(a + 1/a) v_(k-h)` at `k >= h`. The first `2h` coefficients can therefore have any
//! values. Summed over `i`, one product of the ciphertext with one plaintext has `sum_i w_oi y_i`
//! in coefficient `o`, for as many outputs `o` as there are copies. Rotations,
//! slots-to-coefficients and a second product are not needed: extraction ignores the other
//! coefficients.
//!
//! This method is our own. `docs/adr/0003-dense-from-slots.md` says how much time the method saves.

use crate::engine::{Engine, ValueOf};
use crate::error::{Error, Result};
use crate::operations::{Operations, Plain, Words};
use crate::residual::Squares;
use bfv::{Encoder, Plaintext};
use exchange::Layout;
use ring::Modulus;
use std::sync::{Arc, OnceLock};

/// A dense layer whose shape was checked.
#[derive(Clone, Debug)]
pub struct Layer {
    layout: Layout,
    /// For each output, the value at which its inputs begin, and its weights.
    weights: Vec<(usize, Vec<i64>)>,
    /// Coefficients in `[0, t)` of the plaintext that brings slots to the outputs' coefficients.
    /// The first product makes it, so that dry runs do not need it.
    plaintext: OnceLock<Arc<[u32]>>,
}

impl Layer {
    /// Makes the layer whose output `o` is `sum_i weights[o].1[i] y_(weights[o].0 + i)`. Each row
    /// of weights comes with the value at which its inputs begin.
    ///
    /// # Errors
    /// [`Error::Shape`] for more outputs than copies, for a single copy, or for rows that reach
    /// beyond the values.
    pub fn new(layout: Layout, weights: Vec<(usize, Vec<i64>)>) -> Result<Self> {
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
        if let Some((start, row)) = weights
            .iter()
            .find(|(start, row)| start + row.len() > layout.values())
        {
            return Err(Error::Shape {
                what: "the last input of a dense layer on slots",
                found: (start + row.len()).to_string(),
                expected: format!("at most {}", layout.values()),
            });
        }
        Ok(Self {
            layout,
            weights,
            plaintext: OnceLock::new(),
        })
    }

    /// A layer of zeros with as many outputs as a layer of this layout can have. It shows the
    /// largest noise that such a layer makes.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn largest(layout: Layout) -> Result<Self> {
        Self::new(layout, vec![(0, vec![0]); layout.copies()])
    }

    /// Prepares a value for a layer at `level`. The plaintext is counted as one with as many
    /// outputs as there are copies.
    ///
    /// # Errors
    /// As [`Engine::cool_for_product`].
    pub fn ready<O: Operations>(
        engine: &Engine<O>,
        layout: Layout,
        y: ValueOf<O>,
        level: usize,
    ) -> Result<ValueOf<O>> {
        let squares = Squares::uniform(engine.model(), layout.slots() as f64, layout.slots());
        engine.cool_for_product("a dense layer", y, level, squares)
    }

    /// Applies the layer. Output `o` is coefficient `o` of the result. The result is not switched
    /// down.
    ///
    /// # Errors
    /// Errors of the scheme.
    pub fn apply<O: Operations>(&self, engine: &Engine<O>, y: &ValueOf<O>) -> Result<ValueOf<O>> {
        // `(X^N + 1) / Psi_i` has powers of `X^h` only. Hence coefficient `k` of the plaintext is 0
        // unless `k mod h` belongs to an output.
        let (layout, h) = (self.layout, self.layout.copies() / 2);
        let nonzero = layout.slots() * self.weights.len().min(h) / h;
        let squares = Squares::uniform(engine.model(), nonzero as f64, layout.slots());
        let plain = |_| {
            let words = self.words(engine.params().encoder());
            Plain::Coefficients(Words::All(words))
        };
        // Samples are extracted directly from the result, so its factor must be 1.
        engine.mul_plain_sum(&[y], squares, 1, plain)
    }

    fn words(&self, encoder: &Encoder) -> Arc<[u32]> {
        let make = || words_of(&plaintext(encoder, self.layout, &self.weights));
        self.plaintext.get_or_init(make).clone()
    }
}

fn words_of(plaintext: &Plaintext) -> Arc<[u32]> {
    let words = plaintext.coefficients().iter();
    words
        .map(|&c| u32::try_from(c).expect("slots exist for t below 2^32 only"))
        .collect()
}

fn plaintext(encoder: &Encoder, layout: Layout, weights: &[(usize, Vec<i64>)]) -> Plaintext {
    let t = encoder.modulus();
    let copies = layout.copies();
    let (n, h) = (layout.slots(), copies / 2);
    let zeta: Vec<u64> = powers_of_root(encoder, n);
    let power = |e: usize| zeta[e % (2 * n)];
    let half = t
        .inv(t.reduce(h as u64))
        .expect("powers of two are units modulo an odd prime");
    let scale = t.mul(half, t.reduce(n as u64));
    let exponents = encoder.exponents();
    // At a root x of Psi_i, x^h is y_i or its inverse, where y_i = zeta^(h e_i).
    let differences = exponents[..layout.values()].iter().map(|&e| {
        let base = h * e;
        t.sub(power(base), power(2 * n - base % (2 * n)))
    });
    let inverses = inverses(t, &differences.collect::<Vec<_>>());
    let by_value = ring::par_map(layout.values(), |i| {
        let base = h * exponents[i];
        let trace = t.add(power(base), power(2 * n - base % (2 * n)));
        let mut v = vec![0u64; copies];
        for k in 0..copies {
            let weight = weights
                .get(k)
                .and_then(|(start, row)| row.get(i.checked_sub(*start)?));
            let carried = if k >= h { t.mul(trace, v[k - h]) } else { 0 };
            v[k] = t.sub(weight.map_or(0, |&w| t.from_i64(w)), carried);
        }
        let nonzero: Vec<(usize, u64)> =
            v.into_iter().enumerate().filter(|&(_, c)| c != 0).collect();
        (i..n)
            .step_by(layout.values())
            .map(|slot| {
                let e = exponents[slot];
                let value = nonzero
                    .iter()
                    .fold(0, |sum, &(k, c)| t.add(sum, t.mul(c, power(e * k))));
                // (X^N + 1) / Psi_i at a root x: N x^(N-1) / Psi_i'(x), where
                // Psi_i' = h x^(h-1) (2 x^h - y_i - 1/y_i), which is y_i - 1/y_i or its negation.
                let inverse = match e * h % (2 * n) == base % (2 * n) {
                    true => inverses[i],
                    false => t.neg(inverses[i]),
                };
                t.mul(t.mul(value, scale), t.mul(power(e * (n - h)), inverse))
            })
            .collect::<Vec<u64>>()
    });
    let slots: Vec<u64> = (0..n)
        .map(|s| by_value[layout.value_of(s)][s / layout.values()])
        .collect();
    encoder.slots_to_plaintext(&slots)
}

/// The inverses of units modulo `t`, with one division for all (Montgomery's trick).
fn inverses(t: &Modulus, units: &[u64]) -> Vec<u64> {
    let products = units.iter().scan(1, |product, &unit| {
        let before = *product;
        *product = t.mul(before, unit);
        Some(before)
    });
    let mut inverses: Vec<u64> = products.collect();
    let all = inverses.last().zip(units.last());
    let all = all.map_or(1, |(&before, &unit)| t.mul(before, unit));
    let mut rest = t.inv(all).expect("units have inverses");
    for (inverse, &unit) in inverses.iter_mut().zip(units).rev() {
        *inverse = t.mul(*inverse, rest);
        rest = t.mul(rest, unit);
    }
    inverses
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
            let rows: Vec<_> = weights.iter().map(|row| (0, row.clone())).collect();
            let layer = Layer::new(layout, rows).unwrap();
            let words = layer.words(encoder);
            let words = words.iter().map(|&w| u64::from(w)).collect();
            let layer = encoder.slots_of(&encoder.from_residues(words));
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
        assert!(Layer::new(layout, vec![(0, vec![1])]).is_err());
    }
}
