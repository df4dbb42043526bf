//! The number of transforms of a bootstrapping, as formulas.

use program::torus::{KeySwitch, Parameters};

/// Numbers of transforms and inverse transforms, by formulas: of preparing keys, and of one
/// bootstrapping.
pub(crate) struct Forms {
    /// Of all blind rotations.
    pub(crate) rotation: [[u64; 2]; 2],
    /// Of the key switch.
    pub(crate) switch: [[u64; 2]; 2],
}

pub(crate) fn forms(p: &Parameters, primes: usize) -> Forms {
    let components = p.rank + 1;
    let rows = components * p.bootstrap.count as usize;
    let factors = p.rank * p.key_switch.digits().count as usize;
    // Number of polynomials that a key switch gives. By samples, each has only one word that
    // counts.
    let sums = match p.key_switch {
        KeySwitch::Ring(_) => p.small_rank() + 1,
        KeySwitch::Lwe(_) => p.dimension + 1,
    };
    let limbs = |[ntt, intt]: [usize; 2]| [ntt * primes, intt * primes].map(|n| n as u64);
    let n = p.dimension;
    Forms {
        rotation: [[n * rows * components, 0], [n * rows, n * components]].map(limbs),
        switch: [[factors * sums, 0], [factors, sums]].map(limbs),
    }
}

pub(crate) fn sum(left: [u64; 2], right: [u64; 2]) -> [u64; 2] {
    [left[0] + right[0], left[1] + right[1]]
}
