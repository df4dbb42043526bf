//! Raising the modulus: the centred representative, read modulo more moduli.
//!
//! From `l` limbs to `k`: `l` inverse transforms, a conversion from `l` to `k - l` limbs, `k - l`
//! transforms.
//!
//! Source: Cheon, Han, Kim, Kim, Song, "Bootstrapping for Approximate Homomorphic Encryption",
//! EUROCRYPT 2018, section 3.

use crate::chain::Chain;
use trace::{Builder, SubId};

/// The sub-trace that raises a component from one level to another.
pub(crate) fn raise(chain: &Chain, b: &mut Builder, (from, to): (usize, usize)) -> SubId {
    let name = format!("raise.{from}.{to}");
    b.sub_trace(&name, &[chain.component(from)], |b| {
        let coefficients = b.intt(0);
        let rest = chain.level(to).minus(&chain.level(from));
        let high = b.convert(coefficients, rest);
        let high = b.ntt(high);
        vec![b.join([0, high])]
    })
}
