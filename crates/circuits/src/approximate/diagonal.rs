//! Plaintexts over `Q_l P`, for products with ciphertexts before their division by `P`.

use crate::error::Result;
use ckks::{Complex64, Error, Params};
use ring::{Basis, Eval, Poly};

/// A plaintext over `Q_l P`. If its slots repeat, every word in the evaluation domain occurs `gap`
/// times in a row, and is stored once.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagonal {
    n: usize,
    gap: usize,
    /// Limb-major, `N / gap` words each.
    words: Vec<u64>,
}

impl Diagonal {
    /// Encodes slots at a scale for ciphertexts at `level`. If there are fewer than `N/2` slots,
    /// they repeat.
    ///
    /// # Errors
    /// [`Error::Slots`] unless the number of slots is a power of two up to `N/2`,
    /// [`Error::NotFinite`] for a slot that is not finite, and [`Error::Overflow`] for a
    /// coefficient beyond 63 bits.
    ///
    /// # Panics
    /// If there is no such level.
    pub fn encode(params: &Params, slots: &[Complex64], level: usize, scale: f64) -> Result<Self> {
        let (found, limit) = (slots.len(), params.slots());
        if !found.is_power_of_two() || found > limit {
            return Err(Error::Slots { found, limit }.into());
        }
        // A diagonal of period p needs a polynomial in X^(N / 2p) only.
        let period = (0..=slots.len().ilog2())
            .map(|bits| 1 << bits)
            .find(|&p| slots.chunks_exact(p).all(|chunk| chunk == &slots[..p]))
            // NaN is not equal to itself. The encoder reports it.
            .unwrap_or(slots.len());
        let own = &slots[..period];
        // A real number is the polynomial of degree 0 with that coefficient.
        let coefficients = match own {
            [number] if number.im == 0.0 && number.re.is_finite() => vec![number.re],
            _ => params.encoder().embed(own)?,
        };
        let scaled: Vec<f64> = coefficients.iter().map(|c| (c * scale).round()).collect();
        // The special limbs are residues of the integers too, and integers are of one word here.
        if scaled.iter().any(|c| c.abs() >= i64::MAX as f64) {
            let found = scaled.iter().fold(0.0f64, |m, c| m.max(c.abs())).log2() + 1.0;
            let limit = 63.0;
            return Err(Error::Overflow {
                found,
                limit,
                level,
            }
            .into());
        }
        let integers: Vec<i64> = scaled.iter().map(|&c| c as i64).collect();
        Ok(Self::of_integers(
            params.rlwe(),
            &integers,
            params.ring_level(level),
        ))
    }

    /// Encodes the polynomial with these integer coefficients, for ciphertexts at a level of the
    /// ring. There are `N`, or one for a number.
    ///
    /// # Panics
    /// If there is another number of them.
    pub fn of_integers(params: &rlwe::Params, coefficients: &[i64], ring_level: usize) -> Self {
        let (n, basis) = (params.n(), params.extended(ring_level));
        // The polynomial is one in X^gap.
        let powers = coefficients.iter().enumerate().filter(|(_, c)| **c != 0);
        let gap = powers.fold(n, |gap, (i, _)| {
            gap.min(1 << i.trailing_zeros().min(n.ilog2()))
        });
        if gap == n {
            // A number is its own transform. Dense layers have a hundred thousand of them.
            let [number, ..] = coefficients else {
                panic!("no coefficients, expected {n} or one");
            };
            let words = basis.moduli().map(|q| q.from_i64(*number));
            let words = words.collect();
            return Self { n, gap, words };
        }
        let poly: Poly<Eval> = Poly::from_signed(&basis, coefficients).into_eval();
        let words = poly.words().iter().step_by(gap).copied().collect();
        Self { n, gap, words }
    }

    /// Number of times that each word occurs in a row.
    pub fn gap(&self) -> usize {
        self.gap
    }

    /// Word `j` of limb `i`, as stored.
    ///
    /// # Panics
    /// If there is no such word.
    pub fn word(&self, i: usize, j: usize) -> u64 {
        self.words[(i * self.n + j) / self.gap]
    }

    /// Writes limb `i`. The special limbs come after those of `Q_l`.
    ///
    /// # Panics
    /// If there is no such limb.
    pub fn write(&self, i: usize, words: &mut [u64]) {
        let own = &self.words[i * self.n / self.gap..][..self.n / self.gap];
        for (block, &word) in words.chunks_exact_mut(self.gap).zip(own) {
            block.fill(word);
        }
    }

    /// Returns the polynomial over its basis.
    ///
    /// # Panics
    /// If the basis has another number of limbs.
    pub(crate) fn to_poly(&self, basis: &Basis) -> Poly<Eval> {
        let words = self.words.iter();
        let words = words.flat_map(|&word| std::iter::repeat_n(word, self.gap));
        Poly::from_words(basis, words.collect::<Vec<u64>>()).expect("limbs of its basis")
    }

    /// As [`to_poly`](Self::to_poly), but over the first limbs of its basis.
    pub(crate) fn prefix(&self, basis: &Basis) -> Poly<Eval> {
        let words = self.words[..basis.len() * self.n / self.gap].iter();
        let words = words.flat_map(|&word| std::iter::repeat_n(word, self.gap));
        Poly::from_words(basis, words.collect::<Vec<u64>>())
            .expect("as many limbs as the basis has")
    }

    /// Size in memory, in bytes.
    pub fn byte_len(&self) -> usize {
        self.words.len() * size_of::<u64>()
    }
}
