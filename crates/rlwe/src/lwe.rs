//! From RLWE to LWE: a smaller secret, a smaller modulus, and single coefficients.
//!
//! The [dimension switch](crate::DimensionKey) comes first. *Rounding* to `t` then adds noise of
//! variance `(1 + |z|^2)/12`. For a ternary secret of dimension 1024 that is a standard deviation
//! of 7.5. Without the dimension switch it would be 42.7.
//!
//! *Extraction.* Coefficient `k` of the phase is an LWE sample with mask
//! `a_j = c_1[k - j N/n]`, negated where the index wraps.
//!
//! Source: Athena (MICRO 2025), section 3.2.2, steps 2 and 3.

use crate::ciphertext::Ciphertext;
use crate::dimension::DimensionKey;
use crate::error::{Error, Result};
use rand::CryptoRng;
use ring::sample;
use zeroize::Zeroizing;

/// LWE secret: ternary, with `n` coefficients. Overwritten when dropped.
#[derive(Clone)]
pub struct LweSecret {
    coefficients: Zeroizing<Vec<i64>>,
}

impl LweSecret {
    /// A uniform ternary secret of the given dimension.
    pub fn generate(dimension: usize, rng: &mut impl CryptoRng) -> Self {
        Self {
            coefficients: sample::ternary(dimension, rng),
        }
    }

    /// The secret with the given coefficients.
    pub fn from_coefficients(coefficients: impl Into<Zeroizing<Vec<i64>>>) -> Self {
        Self {
            coefficients: coefficients.into(),
        }
    }

    /// The coefficients.
    pub fn coefficients(&self) -> &[i64] {
        &self.coefficients
    }

    /// The coefficients of `z(X^(N/n))` in the ring of degree `n`. The dimension must divide `n`.
    pub fn in_ring(&self, n: usize) -> Zeroizing<Vec<i64>> {
        let gap = n / self.coefficients.len();
        let mut spread = Zeroizing::new(vec![0; n]);
        for (j, &z) in self.coefficients.iter().enumerate() {
            spread[j * gap] = z;
        }
        spread
    }
}

/// The coefficients of a ring ciphertext under an LWE secret, modulo `t`: `N` LWE samples that
/// share their masks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LweBatch {
    t: u64,
    dimension: usize,
    /// Distance in coefficients from one entry of a mask to the next.
    gap: usize,
    body: Vec<u64>,
    mask: Vec<u64>,
}

impl LweBatch {
    /// Switches `ct`, at level 0, to the LWE secret and rounds to the modulus `t`.
    ///
    /// The phase keeps its high bits: a phase `q/t m + e` becomes `m + e t/q + e_ms`, with `e_ms`
    /// of variance `(1 + |z|^2) / 12`. The noise of the switch is part of `e`.
    ///
    /// # Errors
    /// [`Error::LevelMismatch`] if `ct` is not at level 0, [`Error::Components`] for a degree
    /// other than 1.
    ///
    /// # Panics
    /// If `ct` is over another modulus than the key.
    pub fn switch(ct: &Ciphertext, key: &DimensionKey, t: u64) -> Result<Self> {
        let (c0, c1) = ct.pair()?;
        if ct.level() != 0 {
            return Err(Error::LevelMismatch {
                left: ct.level(),
                right: 0,
            });
        }
        let q = c0.basis().modulus(0).value();
        let [body, mask] = key.switch(c0, c1).map(|part| round_to(part.limb(0), q, t));
        Ok(Self {
            t,
            dimension: key.params().dimension(),
            gap: c0.n() / key.params().dimension(),
            body,
            mask,
        })
    }

    /// The samples with the given bodies and masks, in `[0, t)`, one body and one mask word per
    /// coefficient.
    ///
    /// # Panics
    /// If bodies and masks differ in number, or `dimension` does not divide it.
    pub fn from_words(t: u64, dimension: usize, body: Vec<u64>, mask: Vec<u64>) -> Self {
        assert!(
            body.len() == mask.len() && body.len().is_multiple_of(dimension),
            "{} bodies and {} masks of dimension {dimension}",
            body.len(),
            mask.len()
        );
        Self {
            t,
            dimension,
            gap: body.len() / dimension,
            body,
            mask,
        }
    }

    /// Bodies and masks, by coefficient.
    pub fn words(&self) -> [&[u64]; 2] {
        [&self.body, &self.mask]
    }

    /// Modulus `t`.
    pub fn modulus(&self) -> u64 {
        self.t
    }

    /// LWE dimension `n`.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Body `b` of the sample of coefficient `k`, in `[0, t)`.
    ///
    /// # Panics
    /// If `k` is not below the ring degree.
    pub fn body(&self, k: usize) -> u64 {
        self.body[k]
    }

    /// Entry `j` of the mask of the sample of coefficient `k`, in `[0, t)`.
    ///
    /// # Panics
    /// If `k` is not below the ring degree or `j` not below the dimension.
    pub fn mask(&self, k: usize, j: usize) -> u64 {
        let back = j * self.gap;
        if back <= k {
            self.mask[k - back]
        } else {
            let a = self.mask[k + self.mask.len() - back];
            if a == 0 { 0 } else { self.t - a }
        }
    }

    /// Phase of coefficient `k`, in `[0, t)`. For tests and for measuring noise.
    pub fn phase(&self, k: usize, secret: &LweSecret) -> u64 {
        let sum: i64 = (0..self.dimension)
            .map(|j| self.mask(k, j) as i64 * secret.coefficients[j])
            .sum();
        (self.body[k] as i64 + sum).rem_euclid(self.t as i64) as u64
    }
}

/// `round(c t / q) mod t` for each residue `c`.
fn round_to(residues: &[u64], q: u64, t: u64) -> Vec<u64> {
    if u128::from(q) * u128::from(t) + u128::from(q) >= 1 << 53 {
        let wide = |&c: &u64| {
            let rounded = (u128::from(c) * u128::from(t) + u128::from(q / 2)) / u128::from(q);
            rounded as u64 % t
        };
        return residues.iter().map(wide).collect();
    }
    // Below 2^53 the floating-point quotient is right or off by one, which the remainder shows.
    let inverse = 1.0 / q as f64;
    let narrow = |&c: &u64| {
        let scaled = (c * t + q / 2) as i64;
        let guess = (scaled as f64 * inverse) as i64;
        let rest = scaled - guess * q as i64;
        let rounded = guess + i64::from(rest >= q as i64) - i64::from(rest < 0);
        if rounded == t as i64 {
            0
        } else {
            rounded as u64
        }
    };
    residues.iter().map(narrow).collect()
}
