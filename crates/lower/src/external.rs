//! External products: a ciphertext times the message of an RGSW ciphertext.
//!
//! The digits of both components are raised as in key switching. They are multiplied by the rows of
//! two keys: one encrypts `m`, the other `m s`. The sums are divided by the special moduli.
//!
//! For `l` limbs, `k` special ones and `d` digits: `2 (l + k)` inverse transforms, `2 d (l + k)`
//! transforms, `4 d (l + k)` terms of inner products. A digit has its own limbs at hand, but as
//! many limbs are transformed again after the division.
//!
//! Source: Chillotti, Gama, Georgieva, Izabachène, "TFHE: Fast Fully Homomorphic Encryption over
//! the Torus", Journal of Cryptology 33, 2020, section 3.3, with the gadget of
//! [key switching](crate::key_switch).

use crate::chain::Chain;
use crate::divide::divide_pair;
use crate::key_switch::{decompose, key_at, key_types};
use trace::{Builder, SubId, ValueId};

/// The sub-trace of an external product at a level. Parameters: two components and two keys.
/// Results: two components.
pub(crate) fn external_product(chain: &Chain, b: &mut Builder, level: usize) -> SubId {
    let count = chain.digits(level).len();
    let mut parameters = vec![chain.component(level); 2];
    parameters.extend(key_types(chain, level, 2 * count));
    b.sub_trace(&format!("external_product.{level}"), &parameters, |b| {
        let decompose = decompose(chain, b, level);
        let digits = [0, 1].map(|part| b.call(decompose, &[part])).concat();
        let keys = [0, 1].map(|component| key_at(2 + 2 * count * component, count));
        let [bodies, masks] = [
            keys.each_ref().map(|key| key.bodies.clone()).concat(),
            keys.each_ref().map(|key| key.masks.clone()).concat(),
        ];
        let sums = [bodies, masks].map(|rows: Vec<ValueId>| b.dot(digits.as_slice(), rows));
        let limbs = (&chain.extended(level), &chain.level(level));
        divide_pair(chain, b, sums, limbs).to_vec()
    })
}
