//! The passes over limbs of each operation, in closed form.
//!
//! The numbers equal the passes of the rules of `lower`, where each number is derived. The number
//! of additions of samples, and of choices of a packing's coefficients, depends on the packing.
//! Here each is counted once.

use rlwe::Params;
use trace::Passes;

/// Numbers of limbs of a level and of key switching there.
pub(crate) struct Sizes {
    limbs: u64,
    special: u64,
    digits: Vec<u64>,
}

impl Sizes {
    pub(crate) fn new(params: &Params, level: usize) -> Self {
        Self {
            limbs: level as u64 + 1,
            special: params.special().len() as u64,
            digits: params.digits(level).map(|d| d.len() as u64).collect(),
        }
    }

    /// Number of limbs of `Q_l P`.
    fn extended(&self) -> u64 {
        self.limbs + self.special
    }

    /// Passes that decompose a polynomial into raised digits.
    pub(crate) fn decompose(&self) -> Passes {
        let intt = Passes {
            intt: self.limbs,
            ..Passes::default()
        };
        let raised = self.digits.iter().map(|&digit| {
            let others = self.extended() - digit;
            convert(digit, others)
                + Passes {
                    ntt: others,
                    ..Passes::default()
                }
        });
        raised.fold(intt, |sum, passes| sum + passes)
    }

    /// Passes of the sums of digits times the two halves of a key.
    fn inner_products(&self) -> Passes {
        Passes {
            dot_terms: 2 * self.digits.len() as u64 * self.extended(),
            ..Passes::default()
        }
    }

    /// Passes of the relinearisation of a product, with its division by the last `dropped` moduli.
    pub(crate) fn relinearize(&self, dropped: usize) -> Passes {
        let dropped = dropped as u64;
        let carried = Passes {
            scalings: 2 * self.limbs,
            additions: 2 * self.limbs,
            ..Passes::default()
        };
        let divided = divide(self.special + dropped, self.limbs - dropped).times(2);
        self.decompose() + self.inner_products() + carried + divided
    }

    /// Passes of an automorphism of a decomposed polynomial.
    pub(crate) fn automorphism(&self) -> Passes {
        let moved = Passes {
            additions: self.limbs,
            permutations: 2 * self.limbs,
            ..Passes::default()
        };
        self.inner_products() + divide(self.special, self.limbs).times(2) + moved
    }
}

/// Passes of a conversion from some limbs to others.
fn convert(from: u64, to: u64) -> Passes {
    Passes {
        scalings: from,
        quotients: 1,
        conversion_terms: (from + 1) * to,
        ..Passes::default()
    }
}

/// Passes of the rounded division of a component by some moduli.
fn divide(dropped: u64, kept: u64) -> Passes {
    convert(dropped, kept)
        + Passes {
            intt: dropped,
            ntt: kept,
            additions: kept,
            scalings: kept,
            ..Passes::default()
        }
}

/// Passes of a modulus switch of a ciphertext from `level` to `to`.
pub(crate) fn switch(level: usize, to: usize) -> Passes {
    match level - to {
        0 => Passes::default(),
        dropped => divide(dropped as u64, to as u64 + 1).times(2),
    }
}

/// Passes of a sum of `count` products of residuals.
pub(crate) fn tensors(limbs: usize, count: usize) -> Passes {
    Passes {
        dot_terms: 4 * (limbs * count) as u64,
        scalings: 3 * limbs as u64,
        ..Passes::default()
    }
}

/// Passes of the combinations of `columns` ciphertexts by a matrix of `rows` rows.
pub(crate) fn combinations(limbs: usize, rows: usize, columns: usize) -> Passes {
    Passes {
        combination_terms: 2 * (limbs * rows * columns) as u64,
        ..Passes::default()
    }
}

/// Form from which the plaintexts of an operation are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Coefficients.
    Coefficients,
    /// Slots. Each plaintext takes an inverse transform modulo `t`.
    Slots,
}

/// Passes that lift a plaintext to the limbs of a level.
fn lifted(limbs: u64, encoding: Encoding) -> Passes {
    let slots = u64::from(encoding == Encoding::Slots);
    convert(1, limbs)
        + Passes {
            intt: slots,
            permutations: slots,
            scalings: 1,
            ntt: limbs,
            ..Passes::default()
        }
}

/// Passes of a sum of `count` products with plaintexts.
pub(crate) fn plaintexts(limbs: usize, count: usize, encoding: Encoding) -> Passes {
    let products = Passes {
        dot_terms: 2 * limbs as u64,
        ..Passes::default()
    };
    (lifted(limbs as u64, encoding) + products).times(count)
}

/// Passes of a plaintext as a term, with or without a ciphertext to which it is added.
pub(crate) fn term(limbs: usize, encoding: Encoding) -> Passes {
    let limbs = limbs as u64;
    let scaled = Passes {
        scalings: limbs,
        additions: limbs,
        ..Passes::default()
    };
    lifted(limbs, encoding) + scaled
}

/// Passes that make the coefficients of a plaintext whose slots are blocks, `count` in a row.
pub(crate) fn blocks(count: usize) -> Passes {
    let count = count as u64;
    Passes {
        constants: count,
        permutations: 2 * count,
        ntt: count,
        dot_terms: count,
        intt: 1,
        ..Passes::default()
    }
}

/// Passes of a sum or difference of two ciphertexts.
pub(crate) fn sum(limbs: usize) -> Passes {
    Passes {
        additions: 2 * limbs as u64,
        ..Passes::default()
    }
}

/// Passes of the dimension switch of a ciphertext at level 0, with `digits` digits.
pub(crate) fn samples(digits: usize) -> Passes {
    let digits = digits as u64;
    Passes {
        intt: 3,
        ntt: digits,
        digits,
        dot_terms: 2 * digits,
        additions: 1,
        roundings: 2,
        ..Passes::default()
    }
}
