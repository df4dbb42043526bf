//! The rules for dropping limbs. Noise comes down to the noise of a rounding, and hot values come
//! down further.
//!
//! A value is *hot* if earlier products left it much larger at single points of evaluation than on
//! average, so that further products may make it grow there
//! (`docs/adr/0015-noise-at-single-points.md`).

use super::{DryValue, Engine, Product, Value, ValueOf};
use crate::error::{Error, Result};
use crate::operations::Operations;
use crate::passes;
use crate::residual::{Residual, Squares};
use bfv::noise::{Factors, Noise, SETTLED};
use program::Flood;

/// Limbs that the product of a hot value drops in addition to those that its noise requires on
/// average.
const COOLING_LIMBS: f64 = 1.0;

/// Bits above a rounding's noise up to which a hot value is multiplied before it has come down.
/// Then the noise carried on is less than the rounding, whatever it has in common with the other
/// factor.
const CARRIED_BITS: f64 = 0.25;

impl<O: Operations> Engine<O> {
    fn bits_of(&self, limb: usize) -> f64 {
        let basis = self.params().rlwe().basis(self.params().rlwe().max_level());
        (basis.modulus(limb).value() as f64).log2()
    }

    /// Returns how many limbs to drop so that `noise` comes down to about that of one rounding.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`] if no limb would be left.
    pub(super) fn settling_drop(
        &self,
        circuit: &'static str,
        level: usize,
        noise: Noise,
    ) -> Result<usize> {
        let floor = self.model.rounding().bits() + self.slack_bits;
        let (mut dropped, mut bits) = (0, noise.bits());
        while bits > floor {
            if dropped == level {
                let need = ((bits - floor) / self.bits_of(0)).ceil() as usize;
                return Err(Error::OutOfLevels { circuit, need });
            }
            bits -= self.bits_of(level - dropped);
            dropped += 1;
        }
        Ok(dropped)
    }

    /// As [`settling_drop`](Self::settling_drop), for a product. If its factors are hot, more limbs
    /// are dropped, until noise of earlier products no longer grows from product to product: until
    /// the product is not hot itself, or the next product can still come down.
    pub(super) fn cooling_drop(
        &self,
        circuit: &'static str,
        product: &Product<O::Ciphertext>,
        residual: Residual,
    ) -> Result<usize> {
        let level = product.level;
        let mut dropped = self.settling_drop(circuit, level, residual.mean)?;
        let enough = |dropped: usize| {
            let left = self.after_drop(residual, level, dropped);
            let next = match product.last {
                true => Residual::even(self.model.rounding()),
                false => left,
            };
            !self.is_hot(left) || self.can_cool(level - dropped, left, next)
        };
        while product.hot && !enough(dropped) {
            if dropped == level {
                return Err(Error::OutOfLevels { circuit, need: 1 });
            }
            dropped += 1;
        }
        Ok(dropped)
    }

    /// Returns true if a value's product with a value of residual `next` is not hot after it drops
    /// [`COOLING_LIMBS`] limbs more than its noise requires on average.
    fn can_cool(&self, level: usize, residual: Residual, next: Residual) -> bool {
        let above = residual.mean.bits() - self.model.rounding().bits();
        if level == 0 || above > CARRIED_BITS {
            return false;
        }
        let product = Residual::tensor(&self.model, residual, next, Factors::Same);
        let limb = self.bits_of(level);
        let above = product.mean.bits() - self.model.rounding().bits() - self.slack_bits;
        let limbs = (above / limb).ceil().max(0.0) + COOLING_LIMBS;
        !self.is_hot(product.switched(&self.model, limbs * limb))
    }

    /// Returns true if a value carries so much noise of earlier products that another product must
    /// not carry it on.
    pub(crate) fn is_hot(&self, residual: Residual) -> bool {
        self.model.escapes(residual.mean)
    }

    pub(super) fn after_drop(&self, residual: Residual, level: usize, dropped: usize) -> Residual {
        if dropped == 0 {
            return residual;
        }
        let bits = (level + 1 - dropped..=level).map(|i| self.bits_of(i)).sum();
        residual.switched(&self.model, bits)
    }

    /// Switches down until the noise is about that of one rounding.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`] if no limb would be left.
    pub fn settle(&self, circuit: &'static str, a: ValueOf<O>) -> Result<ValueOf<O>> {
        let dropped = self.settling_drop(circuit, a.level, a.residual.mean)?;
        let level = a.level - dropped;
        self.switch_to(a, level)
    }

    /// Prepares a value for a product at `level` with a plaintext whose coefficients have the given
    /// squares. If noise of earlier products at single points could make the product wrong, limbs
    /// are divided away.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`] if the value would come below `level`.
    pub fn cool_for_product(
        &self,
        circuit: &'static str,
        a: ValueOf<O>,
        level: usize,
        squares: Squares,
    ) -> Result<ValueOf<O>> {
        let rlwe = self.params().rlwe();
        let beyond = |a: Residual| {
            let product = a.mul_plain(&self.model, squares);
            product.log2_beyond(&self.model, rlwe.n(), rlwe.log_q(level)) > SETTLED
        };
        let mut dropped = 0;
        while beyond(self.after_drop(a.residual, a.level, dropped)) {
            if dropped == a.level.saturating_sub(level) {
                return Err(Error::OutOfLevels { circuit, need: 1 });
            }
            dropped += 1;
        }
        let cool = a.level - dropped;
        self.switch_to(a, cool)
    }

    /// Modulus switch to `level`.
    ///
    /// # Errors
    /// If the value's level is lower.
    pub fn switch_to(&self, a: ValueOf<O>, level: usize) -> Result<ValueOf<O>> {
        let dropped = a.level.checked_sub(level).ok_or(rlwe::Error::LevelTooLow {
            need: level,
            have: a.level,
        })?;
        let residual = self.after_drop(a.residual, a.level, dropped);
        self.count(passes::switch(a.level, level));
        Ok(self.made(Value {
            ct: self.operations.switch_to(a.ct, level)?,
            level,
            factor: a.factor,
            residual,
        }))
    }

    /// Level drop to `level`. The noise stays and the modulus gets smaller.
    ///
    /// # Errors
    /// If the value's level is lower.
    pub fn drop_to(&self, a: ValueOf<O>, level: usize) -> Result<ValueOf<O>> {
        if level > a.level {
            return Err(rlwe::Error::LevelTooLow {
                need: level,
                have: a.level,
            }
            .into());
        }
        let factor = self.factor_at(&a, level);
        Ok(self.made(Value {
            ct: self.operations.drop_to(a.ct, level)?,
            level,
            factor,
            residual: a.residual,
        }))
    }

    /// Returns true if a value still decrypts correctly when its noise at single points grows by
    /// `bits` bits.
    pub fn bears_points<C>(&self, a: &Value<C>, bits: f64) -> bool {
        let rlwe = self.params().rlwe();
        let log_q = rlwe.log_q(a.level) - bits;
        a.residual.log2_beyond(&self.model, rlwe.n(), log_q) <= SETTLED
    }

    /// Returns the level and the predicted noise of an answer's ciphertext after a server has
    /// hidden it, which adds an encryption of zero under the public key, and a flood if there is
    /// one. Notes the probability that an output is then wrong.
    pub fn hidden<C>(&self, a: &Value<C>, flood: Option<Flood>) -> DryValue {
        let flood = flood.map_or(Noise::ZERO, |flood| {
            Noise::free((2.0 * flood.residual_bits(self.params().t().value())).exp2())
        });
        let added = self.model.fresh_public().plus(flood);
        let residual = a.residual.plus(Residual::even(added));
        self.note_residual(a.level, residual);
        Value {
            residual,
            ..a.to_dry()
        }
    }

    /// As [`hidden`](Self::hidden), for an answer that is hidden and written: counts that too.
    pub fn hide<C>(&self, a: &Value<C>, flood: Option<Flood>) -> DryValue {
        self.log().counts.hidden_limbs += a.level + 1;
        self.hidden(a, flood)
    }

    /// Bits between six deviations of the largest coefficients' predicted noise and the limit of
    /// decryption.
    pub fn margin_bits<C>(&self, a: &Value<C>) -> f64 {
        self.params().rlwe().log_q(a.level) - 1.0 - a.residual.peak.bits() - 6.0f64.log2()
    }
}
