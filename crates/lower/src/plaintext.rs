//! Plaintexts modulo `t` as factors and as terms of ciphertexts.
//!
//! A factor is the polynomial with centred coefficients, over the limbs of the ciphertext. A term is `t^-1 m'`, with `m'`
//! the centred message times `-Q mu` modulo `t`, so that its residual is what the factor `mu` of the ciphertext asks for.
//!
//! A plaintext in slots takes an inverse transform modulo `t`. Either use takes a conversion from one limb to those of the
//! level, and as many transforms.

use crate::chain::{Chain, inverse};
use program::recording::Plain;
use program::trace::{Builder, ConstantId, ValueId};

/// A plaintext's coefficients modulo `t`, times `unit`.
pub(crate) fn coefficients(
    chain: &Chain,
    b: &mut Builder,
    plain: Plain,
    constants: &[ConstantId],
    unit: u64,
) -> ValueId {
    let row = b.constant(constants[plain.constant], chain.t_id());
    let row = if plain.slots {
        from_slots(chain, b, row)
    } else {
        row
    };
    times(b, row, unit)
}

/// The coefficients of the polynomial whose slots are given.
pub(crate) fn from_slots(chain: &Chain, b: &mut Builder, row: ValueId) -> ValueId {
    let sub = b.sub_trace("from_slots", &[chain.row()], |b| {
        let values = b.slots(0);
        vec![b.intt(values)]
    });
    b.call(sub, &[row])[0]
}

/// A row times a word.
pub(crate) fn times(b: &mut Builder, row: ValueId, unit: u64) -> ValueId {
    if unit == 1 { row } else { b.scale(row, [unit]) }
}

/// A row of coefficients as a factor of ciphertexts at a level.
pub(crate) fn factor(chain: &Chain, b: &mut Builder, row: ValueId, level: usize) -> ValueId {
    let sub = b.sub_trace(&format!("lift.{level}"), &[chain.row()], |b| {
        let lifted = b.convert(0, chain.level(level));
        vec![b.ntt(lifted)]
    });
    b.call(sub, &[row])[0]
}

/// A row of coefficients as a term of ciphertexts at a level that carry the factor `mu`.
pub(crate) fn term(
    chain: &Chain,
    b: &mut Builder,
    row: ValueId,
    (level, mu): (usize, u64),
) -> ValueId {
    let t = chain.t();
    let unit = t.neg(t.mul(chain.product_mod(&chain.level(level), t), mu));
    let row = times(b, row, unit);
    let sub = b.sub_trace(&format!("term.{level}"), &[chain.row()], |b| {
        let limbs = chain.level(level);
        let lifted = b.convert(0, limbs.clone());
        let t_inverse = |q: &_| inverse(q, q.reduce(t.value()));
        let scaled = b.scale(lifted, chain.words(&limbs, t_inverse));
        vec![b.ntt(scaled)]
    });
    b.call(sub, &[row])[0]
}
