//! The dimension switch: from a ciphertext at level 0 to LWE samples modulo `t`.
//!
//! The second component is cut into digits of a few bits. These are multiplied by the key's pairs,
//! and the result is rounded from `q_0` to `t`. For `d` digits: `d + 3` transforms, `2 d` products
//! of limbs, two roundings.
//!
//! Source: Athena (MICRO 2025), section 3.2.2, step 2; Brakerski, Vaikuntanathan, FOCS 2011,
//! section 3.2.

use crate::chain::{Chain, PlainModulus};
use crate::key_switch::{Key, with_key};
use rlwe::DimensionParams;
use trace::{Builder, ValueId};

/// Bodies and masks of the samples of a ciphertext at level 0.
pub(crate) fn to_samples(
    chain: &Chain,
    b: &mut Builder,
    (small, t): (&DimensionParams, PlainModulus),
    [c0, c1]: [ValueId; 2],
    key: &Key,
) -> [ValueId; 2] {
    let (bits, count) = (small.digit_bits(), small.digits());
    let parameters = vec![chain.component(0); 2 + 2 * count];
    let sub = b.sub_trace("to_samples", &parameters, |b| {
        let coefficients = b.intt(1);
        let digits = b.digits(coefficients, bits, count);
        let digits: Vec<ValueId> = digits.into_iter().map(|digit| b.ntt(digit)).collect();
        let pairs = [2, 2 + count].map(|first| (first..first + count).collect::<Vec<_>>());
        let [body, mask] = pairs.map(|part| b.dot(digits.as_slice(), part));
        let body = b.add(body, 0);
        let rounded = [body, mask].map(|part| {
            let part = b.intt(part);
            b.round(part, t.id)
        });
        rounded.to_vec()
    });
    let parts = b.call(sub, &with_key(vec![c0, c1], key));
    [parts[0], parts[1]]
}
