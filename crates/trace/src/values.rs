//! Checks of operands.

use super::ir::{Domain, ModulusId, Op, Type, ValueId};
use super::limbs::Limbs;
use crate::reading::{Checked, Problem, check};
use std::borrow::Borrow;

/// Types of the values of a body, by index.
pub(super) struct Values<'a, T>(pub(super) &'a [T]);

impl<T: Borrow<Type>> Values<'_, T> {
    pub(super) fn ty(&self, value: ValueId) -> &Type {
        self.0[value].borrow()
    }

    /// Refuses operands that do not exist yet.
    pub(super) fn all_made(&self, op: &Op) -> Checked<()> {
        let (made, mut late) = (self.0.len(), None);
        op.for_each_operand(|value| late = late.or((value >= made).then_some(value)));
        match late {
            None => Ok(()),
            Some(value) => {
                let expected = match made {
                    0 => "a value that is made before: there is none".into(),
                    _ => format!("a value that is made before: a number below %{made}"),
                };
                Err(Problem::new("an operand", format!("%{value}"), expected))
            }
        }
    }

    pub(super) fn coeff(&self, value: ValueId) -> Checked<&Type> {
        self.domain(value, Domain::Coeff)
    }

    pub(super) fn eval(&self, value: ValueId) -> Checked<&Type> {
        self.domain(value, Domain::Eval)
    }

    pub(super) fn domain(&self, value: ValueId, domain: Domain) -> Checked<&Type> {
        let ty = self.ty(value);
        let fits = ty.domain == domain;
        check(
            fits,
            format_args!("the domain of %{value}"),
            ty.domain,
            || domain.to_string(),
        )?;
        Ok(ty)
    }

    /// The modulus of a value that has one limb of coefficients.
    pub(super) fn one(&self, value: ValueId) -> Checked<ModulusId> {
        let limbs = &self.coeff(value)?.limbs;
        let what = "the number of limbs of the operand";
        check(limbs.len() == 1, what, limbs.len(), || "1")?;
        Ok(limbs.ranges()[0].start)
    }

    /// The common type of the given values. There must be at least one.
    pub(super) fn alike(&self, values: &[ValueId]) -> Checked<&Type> {
        let [first, others @ ..] = values else {
            return Err(Problem::new("the number of operands", 0, "at least 1"));
        };
        let ty = self.ty(*first);
        self.alike_to(ty, *first, others)?;
        Ok(ty)
    }

    pub(super) fn alike_to(&self, ty: &Type, of: ValueId, values: &[ValueId]) -> Checked<()> {
        match values.iter().find(|&&value| self.ty(value) != ty) {
            None => Ok(()),
            Some(&value) => {
                let (what, expected) = (format!("the type of %{value}"), format!("{ty}, as %{of}"));
                Err(Problem::new(what, self.ty(value), expected))
            }
        }
    }

    pub(super) fn join(&self, values: &[ValueId]) -> Checked<Type> {
        let found = values.len();
        check(found > 1, "the number of operands", found, || "at least 2")?;
        let domain = self.ty(values[0]).domain;
        let (mut ranges, mut sum) = (Vec::new(), 0);
        for &value in values {
            let limbs = &self.domain(value, domain)?.limbs;
            ranges.extend_from_slice(limbs.ranges());
            sum += limbs.len();
        }
        let limbs = Limbs::new(ranges);
        let expected = || format!("{sum}, as many as the operands have: none in common");
        let all = limbs.len();
        check(all == sum, "the number of different limbs", all, expected)?;
        Ok(Type { domain, limbs })
    }
}
