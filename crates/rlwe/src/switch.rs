//! Hybrid key switching: digits of several limbs, special moduli, one division at the end.
//!
//! A polynomial `d` over `q_0 .. q_l` is cut into [digits](Params::digits) of some limbs each.
//! Digit `j` is raised to the basis `Q_l P` (mod up) and multiplied by key `j`, which encrypts
//! `P s'` on the limbs of the digit and 0 elsewhere. The sum is divided by `P` (mod down). The
//! gadget is the indicator of the digit's limbs, so one key serves every level.
//!
//! Source: Han, Ki, "Better Bootstrapping for Approximate Homomorphic Encryption", CT-RSA 2020,
//! section 3 (hybrid key switching); Halevi, Shoup, "Faster Homomorphic Linear Transformations in
//! HElib", CRYPTO 2018 (hoisting: one decomposition for many automorphisms).

use crate::ciphertext::Ciphertext;
use crate::error::{Error, Result};
use crate::keys::{GaloisKeys, SwitchKey};
use crate::params::Params;
use ring::{Carry, Coeff, Eval, Gadget, Poly, dot_pairs};
use std::ops::Range;

/// Tables of key switching at one level.
pub(crate) struct SwitchTables {
    gadget: Gadget,
    /// `P mod q_i`.
    pub(crate) special_product: Vec<u64>,
}

impl SwitchTables {
    pub(crate) fn new(params: &Params, level: usize) -> Self {
        let (basis, special) = (params.basis(level), params.special());
        Self {
            gadget: Gadget::new(basis, special, params.digits(level)),
            special_product: basis.moduli().map(|q| special.product_mod(q)).collect(),
        }
    }

    /// `sum_j d_j key_j` over `Q_l P`, both components. `own` is `d` transformed, if the caller has
    /// it. `P` times the polynomials `carry` is added.
    pub(crate) fn product(
        &self,
        d: Poly<Coeff>,
        (own, carry): (Option<&Poly<Eval>>, Carry<'_>),
        key: &SwitchKey,
    ) -> [Poly<Eval>; 2] {
        let limbs = self.special_product.len();
        let skipped = key.level() + 1 - limbs;
        self.gadget.product(d, (own, carry), |j, part, i| {
            let i = if i < limbs { i } else { i + skipped };
            key.digit(j, part).limb(i)
        })
    }
}

/// Checks that `key` serves a polynomial at `level`, and that a limb is left after dropping
/// `dropped`.
pub(crate) fn check(key: &SwitchKey, level: usize, dropped: usize) -> Result<()> {
    if key.level() < level {
        return Err(Error::KeyLevel {
            need: level,
            have: key.level(),
        });
    }
    if dropped > level {
        return Err(Error::LevelTooLow {
            need: dropped,
            have: level,
        });
    }
    Ok(())
}

/// Switches `d` to the key's target, as [`Decomposed::switch`] does, but for a single key: the
/// digits are not kept.
///
/// # Errors
/// As [`Decomposed::switch`].
///
/// # Panics
/// If `d` is over other moduli than those of the key's parameters.
pub fn switch_poly(
    d: &Poly<Eval>,
    key: &SwitchKey,
    carry: Carry<'_>,
    dropped: usize,
) -> Result<Ciphertext> {
    let level = d.limbs() - 1;
    check(key, level, dropped)?;
    let params = key.params();
    assert_eq!(
        d.basis(),
        params.basis(level),
        "operand over the moduli of the key"
    );
    let tables = params.switch_tables(level);
    let sums = tables.product(d.to_coeff(), (Some(d), carry), key);
    let divider = params.special_divider(level, dropped);
    let parts = sums.into_iter().map(|sum| divider.divide(sum));
    Ok(Ciphertext::new(parts.collect()))
}

/// Switches `d` to the key's target at the same level and adds `x`. `minus_px` gives the two
/// components of `x`, times `-P`.
///
/// # Errors
/// [`Error::KeyLevel`] if the key was made for lower levels.
///
/// # Panics
/// If `d` is over other moduli than those of the key's parameters.
pub fn switch_coeff(
    d: Poly<Coeff>,
    key: &SwitchKey,
    minus_px: [&Poly<Coeff>; 2],
) -> Result<Ciphertext> {
    let level = d.limbs() - 1;
    check(key, level, 0)?;
    let params = key.params();
    assert_eq!(
        d.basis(),
        params.basis(level),
        "operand over the moduli of the key"
    );
    let tables = params.switch_tables(level);
    let sums = tables.product(d, (None, [None; 2]), key);
    let divider = params.special_divider(level, 0);
    let parts = sums
        .into_iter()
        .zip(minus_px)
        .map(|(sum, minus_px)| divider.divide_plus(sum, minus_px))
        .collect();
    Ok(Ciphertext::new(parts))
}

impl Ciphertext {
    /// Reduces a product to two components, and divides by the last `dropped` moduli.
    ///
    /// # Errors
    /// [`Error::Components`] if there are not three components, and those of
    /// [`Decomposed::switch`].
    pub fn relinearize(&self, key: &SwitchKey, dropped: usize) -> Result<Self> {
        let [d0, d1, d2] = self.components() else {
            return Err(Error::Components {
                found: self.components().len(),
                expected: 3,
            });
        };
        let id = key.check_key(self)?;
        Ok(switch_poly(d2, key, [Some(d0), Some(d1)], dropped)?.of_key(id))
    }

    /// The same message under the secret that `key` switches to.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] if the key switches from another secret, [`Error::KeyLevel`], and
    /// [`Error::Components`] for a degree other than 1.
    pub fn switch_key(&self, key: &SwitchKey) -> Result<Self> {
        let (c0, c1) = self.pair()?;
        let id = key.check_key(self)?;
        Ok(switch_poly(c1, key, [Some(c0), None], 0)?.of_key(id))
    }

    /// The automorphism `X -> X^element`, under the same secret. [`galois`](crate::galois) computes
    /// the elements.
    ///
    /// # Errors
    /// [`Error::MissingGaloisKey`], [`Error::KeyLevel`], and [`Error::Components`] for a degree
    /// other than 1.
    pub fn automorphism(&self, element: usize, keys: &GaloisKeys) -> Result<Self> {
        if element == 1 {
            return Ok(self.clone());
        }
        let (key, index) = keys.get(element)?;
        let id = key.check_key(self)?;
        let (c0, c1) = self.pair()?;
        let switched = switch_poly(c1, key, [Some(c0), None], 0)?;
        Ok(switched.permuted(index).of_key(id))
    }

    /// As [`Ciphertext::automorphism`]. The decomposition of the second component is shared between
    /// calls.
    ///
    /// # Errors
    /// As [`Ciphertext::automorphism`].
    pub fn automorphism_hoisted(
        &self,
        decomposed: &Decomposed,
        element: usize,
        keys: &GaloisKeys,
    ) -> Result<Self> {
        if element == 1 {
            return Ok(self.clone());
        }
        let (key, index) = keys.get(element)?;
        let id = key.check_key(self)?;
        let mut switched = decomposed.switch(key, None, 0)?;
        switched.components_mut()[0].add_assign(self.pair()?.0);
        Ok(switched.permuted(index).of_key(id))
    }

    /// Every component with its words in another order: the last step of an automorphism.
    fn permuted(&self, index: &[u32]) -> Self {
        let parts = self.components().iter();
        Self::new(parts.map(|c| c.permuted(index)).collect())
    }
}

/// The digits of one polynomial, raised to `Q_l P`. Every key switch of the polynomial shares them.
pub struct Decomposed {
    params: Params,
    level: usize,
    /// The polynomial itself. On its own limbs, a digit equals it.
    own: Poly<Eval>,
    digits: Vec<Range<usize>>,
    /// The limbs of each digit that are not its own.
    raised: Vec<Poly<Eval>>,
}

impl Decomposed {
    /// Cuts `d` into digits and raises them.
    ///
    /// # Shape
    /// `d` is over the basis of one of the levels of `params`. Cost: one inverse NTT per limb of
    /// `d`, and per digit an NTT for each limb of `Q_l P` that is not its own.
    pub fn new(params: &Params, d: &Poly<Eval>) -> Self {
        Self::build(params, &d.to_coeff(), d.clone())
    }

    /// As [`Decomposed::new`], from the coefficient domain: one NTT per limb instead of one inverse
    /// NTT.
    pub fn from_coeff(params: &Params, d: Poly<Coeff>) -> Self {
        Self::build(params, &d.clone(), d.into_eval())
    }

    fn build(params: &Params, coeff: &Poly<Coeff>, own: Poly<Eval>) -> Self {
        let level = own.limbs() - 1;
        let raised = params.switch_tables(level).gadget.raise(coeff);
        Self {
            params: params.clone(),
            level,
            own,
            digits: params.digits(level).collect(),
            raised: raised.into_iter().map(Poly::into_eval).collect(),
        }
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Level of the decomposed polynomial.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Limb `i` (of `Q_l P`) of digit `j`.
    fn limb(&self, j: usize, i: usize) -> &[u64] {
        let Range { start, end } = self.digits[j];
        if i < start {
            self.raised[j].limb(i)
        } else if i < end {
            self.own.limb(i)
        } else {
            self.raised[j].limb(i - (end - start))
        }
    }

    /// Switches to the key's target: a pair with the phase `d s'`, divided by the last `dropped`
    /// moduli of `Q_l` and given modulo the others.
    ///
    /// `carry` is added to the pair before the division, so that one division both relinearises a
    /// product and switches it down.
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
        check(key, self.level, dropped)?;
        let divider = self.params.special_divider(self.level, dropped);
        let tables = self.params.switch_tables(self.level);
        let mut sums = self.inner_products(key);
        if let Some((c0, c1)) = carry {
            for (sum, c) in sums.iter_mut().zip([c0, c1]) {
                sum.add_scaled_prefix(c, |i| tables.special_product[i]);
            }
        }
        Ok(Ciphertext::new(
            sums.into_iter().map(|sum| divider.divide(sum)).collect(),
        ))
    }

    /// `sum_j digit_j key_j` over `Q_l P`, both components.
    pub(crate) fn inner_products(&self, key: &SwitchKey) -> [Poly<Eval>; 2] {
        let skipped = key.level() - self.level;
        let digits = self.raised.len();
        dot_pairs(&self.params.extended(self.level), |i| {
            let key_limb = if i <= self.level { i } else { i + skipped };
            let left = (0..digits).map(|j| self.limb(j, i)).collect();
            let right = [0, 1].map(|part| {
                (0..digits)
                    .map(|j| key.digit(j, part).limb(key_limb))
                    .collect()
            });
            (left, right)
        })
    }
}
