//! Plaintexts as factors and as terms of ciphertexts.
//!
//! *Modulo `t`.* A factor is the polynomial with centred coefficients, over the limbs of the
//! ciphertext. A term is `t^-1 m'`, where `m'` is the centred representative of the message times
//! `-Q mu` modulo `t`. Its residual is then the one that the factor `mu` of the ciphertext
//! requires. A plaintext in slots takes an inverse transform modulo `t`. Either use takes a
//! conversion from one limb to those of the level, and as many transforms.
//!
//! *Integers.* Either use takes a transform for each limb, and a scaling if they are multiplied by
//! a number.

use crate::chain::{Chain, PlainModulus, inverse};
use program::recording::Scalar;
use trace::{Builder, Constant, ConstantId, Limbs, ValueId};

/// The polynomial whose coefficients modulo `t` are given by a constant.
pub(crate) fn coefficients(b: &mut Builder, t: PlainModulus, constant: ConstantId) -> ValueId {
    b.constant(constant, Limbs::one(t.id))
}

/// The coefficients of the polynomial with the given slots modulo `t`.
pub(crate) fn from_slots(b: &mut Builder, t: PlainModulus, row: ValueId) -> ValueId {
    let sub = b.sub_trace(&named("from_slots", t), &[t.row()], |b| {
        let values = b.slots(0);
        vec![b.intt(values)]
    });
    b.call(sub, &[row])[0]
}

/// The polynomial whose slots are the blocks of a row of coefficients: block `i` of the slots is
/// that of the slots of the coefficients `r + gap j`, moved to `gap j`, where `r` has the bits of
/// `i` reversed.
pub(crate) fn blocks(b: &mut Builder, t: PlainModulus, (row, gap): (ValueId, usize)) -> ValueId {
    let n = b.n();
    let sub = b.sub_trace(&named("blocks", t), &[t.row()], |b| {
        let (mut parts, mut places) = (Vec::with_capacity(gap), Vec::with_capacity(gap));
        for block in 0..gap {
            let r = match gap {
                1 => 0,
                _ => block.reverse_bits() >> (usize::BITS - gap.ilog2()),
            };
            let from = |at: usize| match at % gap {
                0 => (at + r) as i64,
                _ => -1,
            };
            let at = b.define(Constant::Words((0..n).map(from).collect()));
            let part = b.extract(vec![0], at, None);
            parts.push(b.ntt(part));
            let mut values = vec![0; gap];
            values[block] = 1;
            let run = n / 2 / gap;
            let place = b.define(Constant::Repeat { run, values });
            let place = coefficients(b, t, place);
            places.push(b.slots(place));
        }
        let sum = b.dot(parts, places);
        vec![b.intt(sum)]
    });
    b.call(sub, &[row])[0]
}

/// A row times a word.
pub(crate) fn times(b: &mut Builder, row: ValueId, unit: u64) -> ValueId {
    if unit == 1 { row } else { b.scale(row, [unit]) }
}

/// A row of coefficients modulo `t` as a factor of ciphertexts at a level.
pub(crate) fn factor(
    chain: &Chain,
    b: &mut Builder,
    (t, row): (PlainModulus, ValueId),
    level: usize,
) -> ValueId {
    let name = named(&format!("lift.{level}"), t);
    let sub = b.sub_trace(&name, &[t.row()], |b| {
        let lifted = b.convert(0, chain.level(level));
        vec![b.ntt(lifted)]
    });
    b.call(sub, &[row])[0]
}

/// A row of coefficients modulo `t` as a term of ciphertexts at a level that carry the factor `mu`.
pub(crate) fn term(
    chain: &Chain,
    b: &mut Builder,
    (modulus, row): (PlainModulus, ValueId),
    (level, mu): (usize, u64),
) -> ValueId {
    let t = modulus.t;
    let unit = t.neg(t.mul(chain.product_mod(&chain.level(level), &t), mu));
    let row = times(b, row, unit);
    let name = named(&format!("term.{level}"), modulus);
    let sub = b.sub_trace(&name, &[modulus.row()], |b| {
        let limbs = chain.level(level);
        let lifted = b.convert(0, limbs.clone());
        let t_inverse = |q: &_| inverse(q, q.reduce(t.value()));
        let scaled = b.scale(lifted, chain.words(&limbs, t_inverse));
        vec![b.ntt(scaled)]
    });
    b.call(sub, &[row])[0]
}

/// The polynomial with integer coefficients times the number `by`, over some limbs.
pub(crate) fn integers(
    chain: &Chain,
    b: &mut Builder,
    (constant, by): (ConstantId, Scalar),
    limbs: &Limbs,
) -> ValueId {
    let mut value = b.constant(constant, limbs.clone());
    if by != Scalar::ONE {
        value = b.scale(value, chain.scalar(limbs, by));
    }
    b.ntt(value)
}

/// A name of a sub-trace, for one plaintext modulus.
fn named(name: &str, t: PlainModulus) -> String {
    format!("{name}.t{}", t.t.value())
}
