//! The canonical embedding between complex slots and polynomials with real coefficients.
//!
//! Slot `j` of a polynomial `m` is `m(zeta^(5^j))`, with `zeta = exp(i pi / N)`. With fewer slots
//! than `N/2`, `m` is a polynomial in `X^gap` and the slots repeat: sparse packing. The transform
//! is the FFT over the powers of five.
//!
//! Source: Cheon, Han, Kim, Kim, Song, "Bootstrapping for Approximate Homomorphic Encryption",
//! EUROCRYPT 2018, section 5.

use crate::error::{Error, Result};
use num_complex::Complex64;
use rlwe::galois;

/// Encoder for one ring degree.
pub struct Encoder {
    n: usize,
    /// `zeta^k` for `k` below `2N`.
    roots: Vec<Complex64>,
    /// `5^j` modulo `2N`.
    powers: Vec<usize>,
}

impl Encoder {
    pub(crate) fn new(n: usize) -> Self {
        let angle = |k: usize| std::f64::consts::PI * k as f64 / n as f64;
        let mut powers = galois::slot_exponents(n);
        powers.truncate(n / 2);
        Self {
            n,
            roots: (0..2 * n).map(|k| Complex64::cis(angle(k))).collect(),
            powers,
        }
    }

    /// Number of slots of a full plaintext, `N/2`.
    pub fn slots(&self) -> usize {
        self.n / 2
    }

    /// `zeta^k`, `zeta = exp(i pi / N)`.
    pub fn root(&self, k: usize) -> Complex64 {
        self.roots[k % (2 * self.n)]
    }

    /// Galois element of the rotation of the slots left by `k`. Negative `k` rotates right.
    pub fn rotation_element(&self, k: isize) -> usize {
        galois::rotation_element(self.n, k)
    }

    /// Galois element of complex conjugation.
    pub fn conjugation_element(&self) -> usize {
        galois::conjugation_element(self.n)
    }

    /// The factor of butterfly `j` in the transform stage that joins blocks of `len / 2` values to
    /// `len`.
    pub fn twiddle(&self, len: usize, j: usize) -> Complex64 {
        self.roots[(self.powers[j] % (4 * len)) * (self.n / (2 * len))]
    }

    /// Transforms the coefficients `a_k + i a_(k + slots)` to slots, in place.
    ///
    /// # Panics
    /// If the length is no power of two up to `N/2`.
    pub fn coefficients_to_slots(&self, values: &mut [Complex64]) {
        self.check_length(values.len()).expect("a power of two");
        bit_reverse(values);
        let mut len = 2;
        while len <= values.len() {
            let twiddles: Vec<Complex64> = (0..len / 2).map(|j| self.twiddle(len, j)).collect();
            for block in values.chunks_exact_mut(len) {
                let (low, high) = block.split_at_mut(len / 2);
                for ((u, v), w) in low.iter_mut().zip(high).zip(&twiddles) {
                    let product = *v * w;
                    *v = *u - product;
                    *u += product;
                }
            }
            len *= 2;
        }
    }

    /// Inverse of [`Encoder::coefficients_to_slots`].
    ///
    /// # Panics
    /// If the length is no power of two up to `N/2`.
    pub fn slots_to_coefficients(&self, values: &mut [Complex64]) {
        self.check_length(values.len()).expect("a power of two");
        let mut len = values.len();
        while len >= 2 {
            let twiddles: Vec<Complex64> =
                (0..len / 2).map(|j| self.twiddle(len, j).conj()).collect();
            for block in values.chunks_exact_mut(len) {
                let (low, high) = block.split_at_mut(len / 2);
                for ((u, v), w) in low.iter_mut().zip(high).zip(&twiddles) {
                    let difference = *u - *v;
                    *u += *v;
                    *v = difference * w;
                }
            }
            len /= 2;
        }
        bit_reverse(values);
        let inverse = 1.0 / values.len() as f64;
        values.iter_mut().for_each(|v| *v *= inverse);
    }

    /// The `N` coefficients of the polynomial with these slots. Missing values, up to the next
    /// power of two, are zero.
    ///
    /// # Errors
    /// [`Error::TooManyValues`], [`Error::NotFinite`].
    pub fn embed(&self, values: &[Complex64]) -> Result<Vec<f64>> {
        if values.len() > self.slots() {
            return Err(Error::TooManyValues {
                found: values.len(),
                limit: self.slots(),
            });
        }
        if let Some(index) = values.iter().position(|v| !v.is_finite()) {
            let found = values[index].to_string();
            return Err(Error::NotFinite { index, found });
        }
        let mut slots = values.to_vec();
        slots.resize(values.len().next_power_of_two(), Complex64::ZERO);
        self.slots_to_coefficients(&mut slots);
        let gap = self.slots() / slots.len();
        let mut coefficients = vec![0.0; self.n];
        for (k, v) in slots.iter().enumerate() {
            coefficients[k * gap] = v.re;
            coefficients[k * gap + self.n / 2] = v.im;
        }
        Ok(coefficients)
    }

    /// The first `slots` slots of the polynomial in `X^(N / (2 slots))` with these coefficients.
    /// Other coefficients are ignored.
    ///
    /// # Errors
    /// [`Error::Slots`] for a number that is no power of two up to `N/2`.
    ///
    /// # Panics
    /// If there are not `N` coefficients.
    pub fn slots_of(&self, coefficients: &[f64], slots: usize) -> Result<Vec<Complex64>> {
        self.check_length(slots)?;
        assert_eq!(coefficients.len(), self.n, "N coefficients");
        let gap = self.slots() / slots;
        let (real, imaginary) = coefficients.split_at(self.n / 2);
        let pairs = real.iter().zip(imaginary).step_by(gap);
        let mut values: Vec<Complex64> = pairs.map(|(&a, &b)| Complex64::new(a, b)).collect();
        self.coefficients_to_slots(&mut values);
        Ok(values)
    }

    fn check_length(&self, found: usize) -> Result<()> {
        if found.is_power_of_two() && found <= self.slots() {
            Ok(())
        } else {
            Err(Error::Slots {
                found,
                limit: self.slots(),
            })
        }
    }
}

/// Swaps each entry with the one at the bit-reversed index.
fn bit_reverse(values: &mut [Complex64]) {
    let bits = values.len().ilog2();
    for i in 0..values.len() {
        let j = i.reverse_bits() >> (usize::BITS - bits.max(1));
        if bits > 0 && i < j {
            values.swap(i, j);
        }
    }
}
