//! Plaintexts: coefficients and slots modulo `t`.
//!
//! A plaintext polynomial modulo `t = 1 mod 2N` is determined by its values at the odd powers of
//! the `2N`-th root `zeta`. Slots are these values in two rows of `N/2`: slot `i` of the first row
//! is the value at `zeta^(5^i)`, slot `i` of the second at `zeta^(-5^i)`. The automorphism
//! `X -> X^(5^k)` rotates both rows left by `k`, `X -> X^(2N-1)` swaps them.

use crate::error::{Error, Result};
use ring::{Basis, Coeff, Eval, Modulus, Poly};
use rlwe::galois;
use zeroize::Zeroize;

/// A polynomial modulo `t`: coefficients in `[0, t)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plaintext {
    coefficients: Vec<u64>,
}

impl Zeroize for Plaintext {
    fn zeroize(&mut self) {
        let Self { coefficients } = self;
        coefficients.zeroize();
    }
}

impl Plaintext {
    /// Coefficients in `[0, t)`.
    pub fn coefficients(&self) -> &[u64] {
        &self.coefficients
    }
}

/// Encoder for one degree and plaintext modulus: of coefficients, and of slots where there are any.
pub struct Encoder {
    n: usize,
    t: Modulus,
    slots: Option<Slots>,
}

struct Slots {
    /// The basis of the one modulus `t`. The slot transform is its NTT.
    basis: Basis,
    /// For each slot, its place in the bit-reversed transform.
    place: Vec<u32>,
    /// The slot of each place.
    slot_at: Vec<u32>,
}

impl Slots {
    /// Tables, or `None` unless `t` is a prime with `t = 1 mod 2N`.
    fn new(n: usize, t: u64) -> Option<Self> {
        let basis = Basis::new(n, &[t]).ok()?;
        let bits = n.ilog2();
        let place_of =
            |exponent: usize| ((exponent - 1) / 2).reverse_bits() >> (usize::BITS - bits);
        let exponents = galois::slot_exponents(n).into_iter();
        let place: Vec<u32> = exponents.map(|e| place_of(e) as u32).collect();
        let mut slot_at = vec![0; n];
        for (slot, &place) in (0..).zip(&place) {
            slot_at[place as usize] = slot;
        }
        Some(Self {
            basis,
            place,
            slot_at,
        })
    }
}

impl Encoder {
    /// An encoder, or `None` unless `t` is odd and below the kernels' limit.
    pub(crate) fn new(n: usize, t: u64) -> Option<Self> {
        let (t, slots) = (Modulus::new(t)?, Slots::new(n, t));
        Some(Self { n, t, slots })
    }

    /// Returns true if there are slots, that is, if `t` is a prime with `t = 1 mod 2N`.
    pub fn has_slots(&self) -> bool {
        self.slots.is_some()
    }

    fn tables(&self) -> &Slots {
        self.slots.as_ref().expect("t splits the ring into slots")
    }

    /// Plaintext modulus `t`.
    pub fn modulus(&self) -> &Modulus {
        &self.t
    }

    /// Number of slots and of coefficients: the ring degree.
    pub fn slots(&self) -> usize {
        self.n
    }

    /// The root `zeta`. Slots are values at its powers.
    ///
    /// # Panics
    /// If there are no slots.
    pub fn root(&self) -> u64 {
        self.tables().basis.tables()[0].root()
    }

    /// For each slot, the exponent `e` of its point `zeta^e`, odd and below `2N`.
    pub fn exponents(&self) -> Vec<usize> {
        galois::slot_exponents(self.slots())
    }

    /// Galois element of the rotation of both rows left by `k`. Negative `k` rotates right.
    pub fn rotation_element(&self, k: isize) -> usize {
        galois::rotation_element(self.slots(), k)
    }

    /// Galois element of the swap of the two rows.
    pub fn swap_element(&self) -> usize {
        galois::conjugation_element(self.slots())
    }

    /// The plaintext with these coefficients, reduced modulo `t`. Missing ones are zero.
    ///
    /// # Panics
    /// If there are more than `N` values.
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
    /// If there are not `N` coefficients.
    pub fn from_residues(&self, coefficients: Vec<u64>) -> Plaintext {
        assert_eq!(coefficients.len(), self.slots(), "N coefficients");
        Plaintext { coefficients }
    }

    /// Checks that `values` are at most `N` residues modulo `t`.
    ///
    /// # Errors
    /// [`Error::TooManyValues`] and [`Error::Message`].
    pub fn check(&self, values: &[u64]) -> Result<()> {
        let (found, limit, t) = (values.len(), self.slots(), self.modulus().value());
        if found > limit {
            return Err(Error::TooManyValues { found, limit });
        }
        match values.iter().position(|&v| v >= t) {
            None => Ok(()),
            Some(index) => Err(Error::Message {
                index,
                found: values[index],
                t,
            }),
        }
    }

    /// As [`Encoder::slots_to_plaintext`], for values that a user supplies.
    ///
    /// # Errors
    /// As [`Encoder::check`], and [`Error::PlaintextModulus`] without slots.
    pub fn encode_slots(&self, values: &[u64]) -> Result<Plaintext> {
        if !self.has_slots() {
            let (t, n) = (self.t.value(), self.n);
            return Err(Error::PlaintextModulus { t, n });
        }
        self.check(values)?;
        Ok(self.slots_to_plaintext(values))
    }

    /// The plaintext with these slots, in `[0, t)`. Missing ones are zero.
    ///
    /// # Panics
    /// If there are more than `N` values, or if there are no slots.
    pub fn slots_to_plaintext(&self, values: &[u64]) -> Plaintext {
        assert!(values.len() <= self.slots(), "at most N slots");
        let tables = self.tables();
        let mut words = vec![0; self.n];
        for (&value, &place) in values.iter().zip(&tables.place) {
            words[place as usize] = value;
        }
        let eval: Poly<Eval> = Poly::from_words(&tables.basis, words).expect("slots are in [0, t)");
        Plaintext {
            coefficients: eval.into_coeff().words().to_vec(),
        }
    }

    /// The centred coefficients of the plaintext with `value(i)`, in `[0, t)`, in slot `i`.
    ///
    /// # Panics
    /// If there are no slots, if `t` has more than 32 bits, or if a value is not below `t`.
    pub fn slots_to_centred(&self, value: impl Fn(usize) -> u64 + Sync) -> Vec<i32> {
        let tables = self.tables();
        let eval = Poly::<Eval>::from_limbs(&tables.basis, |_, limb| {
            for (word, &slot) in limb.iter_mut().zip(&tables.slot_at) {
                *word = value(slot as usize);
            }
        });
        let coefficients = eval.expect("slots are in [0, t)").into_coeff();
        self.centred(coefficients.words())
    }

    /// Residues of `[0, t)`, centred.
    ///
    /// # Panics
    /// If `t` has more than 32 bits.
    pub fn centred(&self, residues: &[u64]) -> Vec<i32> {
        let (t, half) = (self.t.value() as i64, self.t.value() / 2);
        assert!(t < 1 << 32, "centred words of t fit 32 bits");
        // This loop has no branch. With a branch it took 3 % of ResNet-20.
        let centre = |&c: &u64| (c as i64 - if c > half { t } else { 0 }) as i32;
        residues.iter().map(centre).collect()
    }

    /// Slots of a plaintext, in `[0, t)`.
    ///
    /// # Panics
    /// If there are no slots.
    pub fn slots_of(&self, plaintext: &Plaintext) -> Vec<u64> {
        let tables = self.tables();
        let coeff: Poly<Coeff> = Poly::from_words(&tables.basis, &plaintext.coefficients)
            .expect("coefficients are in [0, t)");
        let eval = coeff.into_eval();
        tables
            .place
            .iter()
            .map(|&p| eval.limb(0)[p as usize])
            .collect()
    }

    /// The plaintext with centred coefficients, over the basis of a ciphertext, for use as a
    /// factor.
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
