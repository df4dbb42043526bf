//! Division by some of the moduli, with rounding: mod down, modulus switch and rescale.
//!
//! `round(x / D) = (x - [x]_D) / D`, where `D` is the product of the dropped moduli. The centred
//! remainder `[x]_D` is converted from the dropped limbs to the others. Only the dropped limbs
//! leave the evaluation domain.
//!
//! For `d` dropped limbs and `k` kept ones: `d` inverse transforms, a conversion from `d` to `k`
//! limbs, `k` transforms, `k` differences, `k` scalings.
//!
//! Source: Cheon, Han, Kim, Kim, Song, "A Full RNS Variant of Approximate Homomorphic Encryption",
//! SAC 2018, section 3.2.

use crate::chain::{Chain, eval, inverse};
use trace::{Builder, Limbs, SubId, ValueId};

/// The sub-trace that divides a value over the limbs `whole` by all their moduli except those of
/// `keep`. It has one parameter and one result.
pub(crate) fn divide(chain: &Chain, b: &mut Builder, whole: &Limbs, keep: &Limbs) -> SubId {
    let drop = whole.minus(keep);
    let name = format!("divide.{}.{}", label(whole), label(keep));
    b.sub_trace(&name, &[eval(whole.clone())], |b| {
        let dropped = b.select(0, drop.clone());
        let dropped = b.intt(dropped);
        let remainder = b.convert(dropped, keep.clone());
        let remainder = b.ntt(remainder);
        let kept = b.select(0, keep.clone());
        let difference = b.sub(kept, remainder);
        let inverse = |q: &_| inverse(q, chain.product_mod(&drop, q));
        vec![b.scale(difference, chain.words(keep, inverse))]
    })
}

/// Divides both components of a ciphertext.
pub(crate) fn divide_pair(
    chain: &Chain,
    b: &mut Builder,
    pair: [ValueId; 2],
    (whole, keep): (&Limbs, &Limbs),
) -> [ValueId; 2] {
    if whole == keep {
        return pair;
    }
    let divide = divide(chain, b, whole, keep);
    pair.map(|part| b.call(divide, &[part])[0])
}

/// Limbs as a part of a sub-trace's name.
fn label(limbs: &Limbs) -> String {
    let ranges = limbs.ranges().iter();
    let ranges: Vec<String> = ranges.map(|r| format!("{}-{}", r.start, r.end)).collect();
    ranges.join("_")
}
