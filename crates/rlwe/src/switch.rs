//! Hybrid key switching: digits of several limbs, special moduli, one division at the end.
//!
//! A polynomial `d` over `q_0 .. q_l` is cut into digits of [`digit_limbs`] limbs each. Digit `j`
//! is raised to the basis `Q_l P` (mod up), multiplied by key `j`, which encrypts `P s'` on the
//! limbs of the digit and 0 elsewhere, and the sum is divided by `P` (mod down). The gadget is
//! the indicator of the digit's limbs, so one key serves every level.
//!
//! Source: Han, Ki, "Better Bootstrapping for Approximate Homomorphic Encryption", CT-RSA 2020,
//! section 3 (hybrid key switching); Halevi, Shoup, "Faster Homomorphic Linear Transformations in
//! HElib", CRYPTO 2018 (hoisting: one decomposition for many automorphisms).
//!
//! [`digit_limbs`]: crate::ParamsSpec::digit_limbs

use crate::ciphertext::Ciphertext;
use crate::error::{Error, Result};
use crate::keys::SwitchKey;
use crate::params::Params;
use ring::{BasisConverter, Eval, Poly};
use std::ops::Range;

/// Tables of key switching at one level.
pub(crate) struct SwitchTables {
    digits: Vec<DigitTables>,
    /// `P mod q_i`.
    special_product: Vec<u64>,
}

struct DigitTables {
    limbs: Range<usize>,
    /// From the digit's limbs to all others of `Q_l P`, in their order.
    mod_up: BasisConverter,
}

impl SwitchTables {
    pub(crate) fn new(params: &Params, level: usize) -> Self {
        let (basis, special) = (params.basis(level), params.special());
        let width = params.spec().digit_limbs;
        let digits = (0..=level)
            .step_by(width)
            .map(|start| {
                let end = (start + width).min(level + 1);
                let mut rest = special.clone();
                if end <= level {
                    rest = basis.slice(end..level + 1).concat(&rest);
                }
                if start > 0 {
                    rest = basis.prefix(start).concat(&rest);
                }
                DigitTables {
                    limbs: start..end,
                    mod_up: BasisConverter::new(&basis.slice(start..end), &rest),
                }
            })
            .collect();
        Self {
            digits,
            special_product: basis.moduli().map(|q| special.product_mod(q)).collect(),
        }
    }
}

/// The digits of one polynomial, raised to `Q_l P`: shared by every key switch that starts from it.
pub struct Decomposed {
    params: Params,
    level: usize,
    /// The polynomial itself: on its own limbs a digit equals it.
    own: Poly<Eval>,
    /// The other limbs of each digit.
    raised: Vec<Poly<Eval>>,
}

impl Decomposed {
    /// Cuts `d` into digits and raises them.
    ///
    /// # Shape
    /// `d` is over the basis of one of the levels of `params`. Cost: one inverse NTT per limb of
    /// `d`, and per digit an NTT for each limb of `Q_l P` that is not its own.
    pub fn new(params: &Params, d: &Poly<Eval>) -> Self {
        let level = d.limbs() - 1;
        let tables = params.switch_tables(level);
        let coeff = d.clone().into_coeff();
        let raised = tables
            .digits
            .iter()
            .map(|digit| {
                let limbs: Vec<&[u64]> = digit.limbs.clone().map(|i| coeff.limb(i)).collect();
                digit.mod_up.approx_limbs(&limbs).into_eval()
            })
            .collect();
        Self {
            params: params.clone(),
            level,
            own: d.clone(),
            raised,
        }
    }

    /// Level of the decomposed polynomial.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Limb `i` (of `Q_l P`) of digit `j`.
    fn limb(&self, j: usize, i: usize) -> &[u64] {
        let width = self.params.spec().digit_limbs;
        let (start, end) = (j * width, ((j + 1) * width).min(self.level + 1));
        if i < start {
            self.raised[j].limb(i)
        } else if i < end {
            self.own.limb(i)
        } else {
            self.raised[j].limb(i - (end - start))
        }
    }

    /// Switches to the key's target: a pair with phase `d s'`, modulo `Q_l` without its last
    /// `dropped` moduli, divided by those.
    ///
    /// `carry` is added to the pair before the division, so that a product is relinearised and
    /// switched down by one division.
    ///
    /// # Errors
    /// [`Error::KeyLevel`] if the key was made for lower levels, [`Error::LevelTooLow`] if no limb
    /// would be left.
    pub fn switch(
        &self,
        key: &SwitchKey,
        carry: Option<(&Poly<Eval>, &Poly<Eval>)>,
        dropped: usize,
    ) -> Result<Ciphertext> {
        if key.level() < self.level {
            return Err(Error::KeyLevel {
                need: self.level,
                have: key.level(),
            });
        }
        if dropped > self.level {
            return Err(Error::LevelTooLow {
                need: dropped,
                have: self.level,
            });
        }
        let carry = carry.map(|(c0, c1)| [c0, c1]);
        let divider = self.params.special_divider(self.level, dropped);
        let parts = (0..2)
            .map(|part| divider.divide(self.inner_product(key, part, carry.map(|c| c[part]))))
            .collect();
        Ok(Ciphertext::new(parts))
    }

    /// `sum_j digit_j key_j + P carry` over `Q_l P`.
    fn inner_product(
        &self,
        key: &SwitchKey,
        part: usize,
        carry: Option<&Poly<Eval>>,
    ) -> Poly<Eval> {
        let tables = self.params.switch_tables(self.level);
        let skipped = key.level() - self.level;
        let digits = self.raised.len();
        let mut sum = Poly::dot_limbs(&self.params.extended(self.level), |i| {
            let key_limb = if i <= self.level { i } else { i + skipped };
            let left = (0..digits).map(|j| self.limb(j, i)).collect();
            let right = (0..digits)
                .map(|j| key.digit(j, part).limb(key_limb))
                .collect();
            (left, right)
        });
        if let Some(carry) = carry {
            sum.add_scaled_prefix(carry, |i| tables.special_product[i]);
        }
        sum
    }
}
