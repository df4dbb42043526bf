//! Checks of each operation's operands, and of the type of its result.

use super::super::ir::{Op, Plain, Secret, ValueId};
use super::Verifier;
use super::operands::{Rule, components, level_of};
use super::plain::residual;
use crate::terms::PACK_ALL;
use trace::reading::{Checked, Problem, check};
use trace::{ConstantId, check_name};

impl Verifier<'_> {
    /// The plaintext modulus of the samples that a step makes or gives away.
    pub(super) fn of_samples(&self, index: usize, op: &Op) -> Checked<u64> {
        match op {
            Op::ToSamples { value } => self.to_samples(index, *value),
            Op::Output { name, value } => {
                check_name("the name", name)?;
                let known = self.samples.get(*value).copied().flatten();
                let (found, expected) = (format!("%{value}"), "earlier samples");
                known.ok_or_else(|| Problem::new("the operand", found, expected))
            }
            _ => Err(Problem::new("the type", "samples", "a ciphertext")),
        }
    }

    fn to_samples(&self, index: usize, value: ValueId) -> Checked<u64> {
        let own = self.pair(index, value)?;
        let what = format_args!("the level of %{value}");
        check(own.level == 0, what, own.level, || "0")?;
        if self.recording.parameters.samples.is_none() {
            let expected = "those of samples";
            return Err(Problem::new("the parameters", "without samples", expected));
        }
        residual(own)
    }
}

impl Rule<'_, '_> {
    pub(super) fn operation(&self, op: &Op) -> Checked<()> {
        let keys = &self.verifier.recording.keys;
        match op {
            Op::Input { .. } => self.result(2, false),
            Op::Given { name } => {
                check_name("the name", name)?;
                self.result(2, false)
            }
            Op::PackingKey { values, .. } => {
                self.result(2, false)?;
                self.t()?;
                if *values != PACK_ALL {
                    self.verifier.width(*values)?;
                }
                let level = level_of(&keys.packing, *values);
                self.key(
                    &format!("packings of {values} values"),
                    level,
                    self.ty.level,
                )?;
                let found = level.unwrap_or(0);
                let what = "the level of the packing key";
                check(found == self.ty.level, what, found, || {
                    format!("{}, that of the result", self.ty.level)
                })
            }
            Op::Trivial { plain } => {
                self.result(2, false)?;
                self.plain(*plain)
            }
            Op::Tensor { terms } => self.tensor(terms),
            Op::Combine {
                low,
                middle,
                list,
                rows,
                columns,
                ..
            } => self.combine([low, middle], *list, [rows, columns]),
            Op::Relinearize { value } => {
                self.result(2, false)?;
                let own = self.operand_of(*value, 3)?;
                self.below(own.level, false)?;
                self.key("relinearization", keys.relinearization, own.level)?;
                self.factor_alike(*value, own)
            }
            Op::MulPlain { terms } => self.mul_plain(terms),
            Op::MulMasks {
                packing,
                giant,
                secret,
                units,
            } => self.mul_masks((*packing, *giant), secret, units),
            Op::AddBodies { value, packing } => {
                self.result(2, false)?;
                self.verifier.packing(*packing, self.t()?)?;
                self.kept(*value)
            }
            Op::Add { left, right } | Op::Sub { left, right } => self.sum([*left, *right]),
            Op::AddPlain { value, plain } => {
                self.plain(*plain)?;
                self.kept(*value)
            }
            Op::Scale { value, by } => {
                self.verifier.scalar(*by)?;
                let own = self.operand_of(*value, self.ty.components)?;
                self.same_level(*value, own)
            }
            Op::Extend { value } => {
                self.result(2, true)?;
                self.verifier.pair(self.index, *value)?;
                let own = self.operand(*value)?;
                self.same_level(*value, own)?;
                self.held_alike(*value, own)
            }
            Op::Automorphism { value, element } => self.automorphism(*value, *element),
            Op::SwitchSecret { value, to } => {
                self.result(2, false)?;
                // The key to the sparse secret is made for the level of its operand. The key back
                // is made for all levels.
                let level = match to {
                    Secret::Sparse => self.ty.level,
                    Secret::Dense => self.verifier.recording.parameters.q.len() - 1,
                };
                self.key("the other secret", Some(level), self.ty.level)?;
                self.kept(*value)
            }
            Op::ExternalProduct { value, by } => {
                check_name("the name", &by.name)?;
                let levels = self.verifier.recording.parameters.q.len();
                check(
                    by.level < levels,
                    "the level of the RGSW ciphertext",
                    by.level,
                    || format!("a level below {levels}, the length of the chain"),
                )?;
                self.result(2, false)?;
                self.key("the external product", Some(by.level), self.ty.level)?;
                self.kept(*value)
            }
            Op::Raise { value } => {
                self.result(2, false)?;
                let own = self.operand_of(*value, 2)?;
                let (found, from) = (self.ty.level, own.level);
                let expected = || format!("above {from}, that of the operand");
                check(found > from, "the level", found, expected)
            }
            Op::Switch { value } => {
                self.result(2, false)?;
                let own = self.operand(*value)?;
                components(*value, own, 2)?;
                self.below(own.level, !own.extended)?;
                self.factor_alike(*value, own)
            }
            Op::Drop { value } => {
                let own = self.operand_of(*value, self.ty.components)?;
                self.below(own.level, true)?;
                match self.at_level(own) {
                    Some(factor) => self.result_factor(Some(factor)),
                    None => self.held_alike(*value, own),
                }
            }
            Op::Output { name, value } => {
                check_name("the name", name)?;
                self.result(2, false)?;
                self.kept(*value)
            }
            Op::ToSamples { .. } => Err(Problem::new("the type", "a ciphertext", "samples")),
        }
    }

    /// Checks that the result is at most at level `from`, or below it if `strictly` is true.
    fn below(&self, from: usize, strictly: bool) -> Checked<()> {
        let found = self.ty.level;
        let fits = found < from || found == from && !strictly;
        check(fits, "the level", found, || match strictly {
            true => format!("below {from}, that of the operand"),
            false => format!("at most {from}, that of the operand"),
        })
    }

    fn plain(&self, plain: Plain) -> Checked<()> {
        self.verifier.plain(self.index, plain, self.ty)
    }

    fn tensor(&self, terms: &[[ValueId; 2]]) -> Checked<()> {
        self.result(3, false)?;
        let found = terms.len();
        check(found > 0, "the number of terms", found, || "at least 1")?;
        let mut lowest = usize::MAX;
        for &[left, right] in terms {
            lowest = lowest.min(self.product([left, right], [1, 1])?);
        }
        let found = self.ty.level;
        check(found == lowest, "the level", found, || {
            format!("{lowest}, the lowest of the operands")
        })
    }

    /// Checks a product of two values that are multiplied by units first. Returns the lower level
    /// of the two.
    fn product(&self, values: [ValueId; 2], units: [u64; 2]) -> Checked<usize> {
        let (left, right) = (self.factor_of(values[0])?, self.factor_of(values[1])?);
        if let (Some(a), Some(b)) = (self.at_level(left), self.at_level(right)) {
            let (t, residues) = (self.t()?, &self.verifier.residues);
            let times = |factor, unit| trace::modular::mul(factor, unit, t);
            let factors = [times(a, units[0]), times(b, units[1])];
            self.result_factor(Some(residues.product(t, self.ty.level, factors)))?;
        }
        Ok(left.level.min(right.level))
    }

    fn combine(
        &self,
        [low, middle]: [&[ValueId]; 2],
        list: ConstantId,
        [rows, columns]: [&[u64]; 2],
    ) -> Checked<()> {
        self.result(3, false)?;
        let t = self.t()?;
        self.verifier.list(list)?;
        for (what, values, units) in [("rows", middle, rows), ("columns", low, columns)] {
            let (found, expected) = (units.len(), values.len());
            let what = format_args!("the number of factors of {what}");
            check(found == expected && found > 0, what, found, || {
                format!("{expected}, one for each value, and at least 1")
            })?;
            let mut units = units.iter();
            units.try_for_each(|&unit| self.verifier.unit(unit, t))?;
        }
        // Factors are units. If the products with one value of the other side have equal factors,
        // then all products have equal factors.
        for (&low, &column) in low.iter().zip(columns) {
            self.product([low, middle[0]], [column, rows[0]])?;
        }
        for (&middle, &row) in middle.iter().zip(rows) {
            self.product([low[0], middle], [columns[0], row])?;
        }
        Ok(())
    }

    fn mul_plain(&self, terms: &[(ValueId, Plain, u64)]) -> Checked<()> {
        self.result(2, self.ty.extended)?;
        let found = terms.len();
        check(found > 0, "the number of terms", found, || "at least 1")?;
        for &(value, plain, unit) in terms {
            let own = self.factor_of(value)?;
            self.plain(plain)?;
            match plain {
                Plain::Integers(..) => {
                    check(unit == 1, "the unit of integers", unit, || "1")?;
                }
                _ => self.times_unit(self.at_level(own), unit)?,
            }
        }
        Ok(())
    }

    /// Checks that a factor times a unit is the factor of the result.
    fn times_unit(&self, factor: Option<u64>, unit: u64) -> Checked<()> {
        let t = self.t()?;
        self.verifier.unit(unit, t)?;
        self.result_factor(factor.map(|factor| trace::modular::mul(factor, unit, t)))
    }

    fn mul_masks(
        &self,
        (packing, giant): (usize, usize),
        secret: &[ValueId],
        units: &[u64],
    ) -> Checked<()> {
        self.result(2, false)?;
        let packing = self.verifier.packing(packing, self.t()?)?;
        let baby = packing.baby_steps;
        for (what, found) in [("values", secret.len()), ("units", units.len())] {
            let what = format_args!("the number of {what}");
            check(found == baby, what, found, || {
                format!("{baby}, the baby steps of the packing")
            })?;
        }
        let giants = self.verifier.width(packing.values)?.div_ceil(baby);
        check(giant < giants, "the giant step", giant, || {
            format!("a number below {giants}")
        })?;
        for (&value, &unit) in secret.iter().zip(units) {
            let own = self.factor_of(value)?;
            self.times_unit(self.at_level(own), unit)?;
        }
        Ok(())
    }

    fn sum(&self, values: [ValueId; 2]) -> Checked<()> {
        let mut most = 0;
        for value in values {
            let own = self.operand(value)?;
            self.extended_alike(value, own)?;
            self.same_level(value, own)?;
            self.held_alike(value, own)?;
            most = most.max(own.components);
        }
        self.result(most, self.ty.extended)
    }

    fn automorphism(&self, value: ValueId, element: usize) -> Checked<()> {
        let own = self.operand(value)?;
        self.result(2, own.extended || self.ty.extended)?;
        components(value, own, 2)?;
        let bound = 2 * self.verifier.recording.parameters.n;
        let fits = element % 2 == 1 && element < bound;
        check(fits, "the Galois element", element, || {
            format!("an odd number below {bound}")
        })?;
        self.same_level(value, own)?;
        let galois = &self.verifier.recording.keys.galois;
        let level = level_of(galois, element);
        self.key(&format!("the element {element}"), level, own.level)?;
        self.held_alike(value, own)
    }
}
