//! Plaintexts: coefficients and slots modulo `t`.
//!
//! A plaintext polynomial modulo `t = 1 mod 2N` is determined by its values at the odd powers of
//! the `2N`-th root `zeta`. Slots are these values in two rows of `N/2`: slot `i` of the first row
//! is the value at `zeta^(5^i)`, slot `i` of the second at `zeta^(-5^i)`. The automorphism
//! `X -> X^(5^k)` rotates both rows left by `k`, `X -> X^(2N-1)` swaps them.

use ring::{Basis, Coeff, Eval, Modulus, Poly};
use zeroize::Zeroize;

/// Generator of the rotations: the odd residues modulo `2N` are `±5^i`.
const GENERATOR: usize = 5;

/// A polynomial modulo `t`: coefficients in `[0, t)`.
#[derive(Clone, Debug, PartialEq, Eq, Zeroize)]
pub struct Plaintext {
    coefficients: Vec<u64>,
}

impl Plaintext {
    /// Coefficients in `[0, t)`.
    pub fn coefficients(&self) -> &[u64] {
        &self.coefficients
    }
}

/// Encoder of coefficients and slots for one degree and plaintext modulus.
pub struct Encoder {
    /// The one-limb basis `t`: the slot transform is a Fermat NTT.
    basis: Basis,
    /// Place in the bit-reversed transform of each slot.
    place: Vec<u32>,
}

impl Encoder {
    /// `None` unless `t` is a prime with `t = 1 mod 2N`.
    pub(crate) fn new(n: usize, t: u64) -> Option<Self> {
        let basis = Basis::new(n, &[t]).ok()?;
        let bits = n.ilog2();
        let place_of =
            |exponent: usize| ((exponent - 1) / 2).reverse_bits() >> (usize::BITS - bits);
        let mut encoder = Self {
            basis,
            place: vec![0; n],
        };
        encoder.place = encoder
            .exponents()
            .into_iter()
            .map(|e| place_of(e) as u32)
            .collect();
        Some(encoder)
    }

    /// Plaintext modulus `t`.
    pub fn modulus(&self) -> &Modulus {
        self.basis.modulus(0)
    }

    /// Number of slots, which is the ring degree.
    pub fn slots(&self) -> usize {
        self.place.len()
    }

    /// The root `zeta` whose powers the slots are values at.
    pub fn root(&self) -> u64 {
        self.basis.tables()[0].root()
    }

    /// For each slot, the exponent `e` of its point `zeta^e`, odd and below `2N`.
    pub fn exponents(&self) -> Vec<usize> {
        let (n, columns) = (self.slots(), self.slots() / 2);
        let mut exponents = vec![0; n];
        let mut e = 1;
        for i in 0..columns {
            exponents[i] = e;
            exponents[i + columns] = 2 * n - e;
            e = e * GENERATOR % (2 * n);
        }
        exponents
    }

    /// Galois element of the rotation of both rows left by `k`; negative `k` rotates right.
    pub fn rotation_element(&self, k: isize) -> usize {
        let (n, columns) = (self.slots(), self.slots() / 2);
        let mut steps = k.rem_euclid(columns as isize) as usize;
        // Squares: plans ask for millions of elements.
        let (mut element, mut power) = (1, GENERATOR % (2 * n));
        while steps > 0 {
            if steps % 2 == 1 {
                element = element * power % (2 * n);
            }
            power = power * power % (2 * n);
            steps /= 2;
        }
        element
    }

    /// Galois element of the swap of the two rows.
    pub fn swap_element(&self) -> usize {
        2 * self.slots() - 1
    }

    /// The plaintext with these coefficients, taken modulo `t`; missing ones are zero.
    ///
    /// # Panics
    /// If there are more than `N`.
    pub fn coefficients(&self, values: &[i64]) -> Plaintext {
        assert!(values.len() <= self.slots(), "at most N coefficients");
        let t = self.modulus();
        let mut coefficients: Vec<u64> = values.iter().map(|&v| t.from_i64(v)).collect();
        coefficients.resize(self.slots(), 0);
        Plaintext { coefficients }
    }

    /// The plaintext with these coefficients, in `[0, t)`.
    ///
    /// # Panics
    /// If there are not `N`.
    pub fn from_residues(&self, coefficients: Vec<u64>) -> Plaintext {
        assert_eq!(coefficients.len(), self.slots(), "N coefficients");
        Plaintext { coefficients }
    }

    /// The plaintext with these slots, in `[0, t)`; missing ones are zero.
    ///
    /// # Panics
    /// If there are more than `N`.
    pub fn slots_to_plaintext(&self, values: &[u64]) -> Plaintext {
        assert!(values.len() <= self.slots(), "at most N slots");
        let mut words = vec![0; self.slots()];
        for (&value, &place) in values.iter().zip(&self.place) {
            words[place as usize] = value;
        }
        let eval: Poly<Eval> = Poly::from_words(&self.basis, words).expect("slots are in [0, t)");
        Plaintext {
            coefficients: eval.into_coeff().into_words(),
        }
    }

    /// Slots of a plaintext, in `[0, t)`.
    pub fn slots_of(&self, plaintext: &Plaintext) -> Vec<u64> {
        let coeff: Poly<Coeff> = Poly::from_words(&self.basis, plaintext.coefficients.clone())
            .expect("coefficients are in [0, t)");
        let eval = coeff.into_eval();
        self.place
            .iter()
            .map(|&p| eval.limb(0)[p as usize])
            .collect()
    }

    /// The plaintext with centred coefficients, over the basis of a ciphertext: as a factor.
    pub fn lift(&self, plaintext: &Plaintext, basis: &Basis) -> Poly<Eval> {
        let t = self.modulus();
        let centred: Vec<i64> = plaintext
            .coefficients
            .iter()
            .map(|&c| t.center(c))
            .collect();
        Poly::from_signed(basis, &centred).into_eval()
    }
}
