//! Blind rotation: multiplies the test polynomial by `X^(-b)`. Then, for each bit `s_i` of the
//! small secret, a step multiplies the accumulator by `X^(a_i)` if the bit is 1.
//!
//! A step adds the external product of `(X^(a_i) - 1) accumulator` with the GGSW ciphertext of the
//! bit. It is one sub-trace, called for each bit. At its end the exponents are multiplied by
//! `X^-1`, so that the next exponent is word 0.
//!
//! Source: Chillotti, Gama, Georgieva, Izabachène, "TFHE: Fast Fully Homomorphic Encryption over
//! the Torus", Journal of Cryptology 33, 2020, section 4.3.

use super::product::{digits, products};
use super::table::ModulusTable;
use trace::{Builder, SubId, ValueId};

/// Returns the accumulator after all steps. `exponents` are masks and body, and `key` has the rows
/// of all steps.
pub(super) fn rotate(
    table: &ModulusTable,
    b: &mut Builder,
    exponents: &[ValueId],
    test: ValueId,
    key: &[ValueId],
) -> Vec<ValueId> {
    let p = &table.parameters;
    let (body, masks) = exponents.split_last().expect("a sample has a body");
    let zero = b.zero(table.exponents());
    let back = b.sub(zero, *body);
    let mask = b.zero(table.words());
    let mut accumulator = vec![mask; p.rank];
    accumulator.push(b.turn(test, back));
    let step = step(table, b);
    let mut next = masks[0];
    let rows = key.chunks_exact(key.len() / p.dimension);
    for (bit, rows) in rows.enumerate() {
        if bit % p.n == 0 {
            next = masks[bit / p.n];
        }
        let mut arguments = accumulator;
        arguments.push(next);
        arguments.extend(rows);
        accumulator = b.call(step, &arguments);
        next = accumulator.pop().expect("a step gives the exponents");
    }
    accumulator
}

/// The sub-trace of a step. Parameters: accumulator, exponents and the rows of a GGSW ciphertext.
/// Results: accumulator and exponents.
fn step(table: &ModulusTable, b: &mut Builder) -> SubId {
    let p = &table.parameters;
    let (components, gadget) = (p.rank + 1, p.bootstrap);
    let mut parameters = vec![table.words(); components];
    parameters.push(table.exponents());
    let rows = components * gadget.count as usize;
    parameters.extend(table.rows(rows, components));
    b.sub_trace("rotate", &parameters, |b| {
        let (exponents, first) = (components, components + 1);
        let kept = table.kept(gadget.kept());
        let mut factors = Vec::with_capacity(rows);
        for component in 0..components {
            let turned = b.turn(component, exponents);
            let difference = b.sub(turned, component);
            let rounded = b.round(difference, kept.modulus);
            factors.extend(digits(table, b, rounded, gadget));
        }
        let sums = products(table, b, &factors, (first, components));
        let sums = sums.into_iter().enumerate();
        let mut results: Vec<ValueId> = sums.map(|(own, sum)| b.add(own, sum)).collect();
        results.push(b.shift(exponents, 2 * p.n - 1));
        results
    })
}
