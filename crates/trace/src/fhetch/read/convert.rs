//! Moduli, vectors and conversions for the operations of the language.

use super::eval::Scope;
use super::limbs::limbs_of;
use super::place;
use super::value::{Act, Cell, Poly, Value};
use crate::error::Result;
use crate::ir::{Constant, Domain, ModulusId, Op, Type, ValueId};
use crate::limbs::Limbs;
use crate::modular::{inverse_of_product, is_root};
use crate::reading::{Checked, Problem, check};

impl Scope<'_, '_, '_> {
    pub(super) fn set_root(&self, n: i128, q: i128, root: i128) -> Checked<()> {
        let own = self.b.n();
        check(n == own as i128, "the ring degree", n, || own.to_string())?;
        let q = self.b.moduli()[self.modulus(q)?];
        let fits = u64::try_from(root).is_ok_and(|root| root < q && is_root(root, own, q));
        let expected = || format!("a word of order {} modulo {q}", 2 * own);
        check(fits, "the root of unity", root, expected)
    }

    /// Index of a modulus in the table.
    pub(super) fn modulus(&self, q: i128) -> Checked<ModulusId> {
        let place = self.b.moduli().iter().position(|&own| i128::from(own) == q);
        let expected = "one of the primes that constants or sr_set_rou name";
        place.ok_or_else(|| Problem::new("a modulus", q, expected))
    }

    pub(super) fn moduli(&self, list: &Value) -> Checked<Limbs> {
        let Value::Numbers(numbers) = list else {
            return Err(list.wrong("the moduli", "a list of primes"));
        };
        let limbs = numbers.iter().map(|&q| self.modulus(q));
        let limbs = limbs.collect::<Checked<Vec<_>>>()?;
        Ok(Limbs::new(limbs.into_iter().map(|limb| limb..limb + 1)))
    }

    /// Returns a vector as a limb. A list of numbers becomes a constant.
    pub(super) fn vector(&mut self, vector: &Value, limb: ModulusId, line: usize) -> Result<Cell> {
        let refused = |problem| place((line, problem));
        match vector {
            Value::Limb(cell) => {
                let domain = cell.domain(self.b);
                self.check_cell(cell, domain, limb).map_err(refused)?;
                Ok(*cell)
            }
            Value::Numbers(numbers) => {
                let (n, q) = (self.b.n(), i128::from(self.b.moduli()[limb]));
                let (what, found) = ("the length of a vector", numbers.len());
                check(found == n, what, found, || n.to_string()).map_err(refused)?;
                let op = match is_zero(vector) {
                    true => Op::Zero {
                        ty: Type::coeff(Limbs::one(limb)),
                    },
                    false => {
                        let words = numbers.iter().map(|x| x.rem_euclid(q) as i64).collect();
                        let constant = self.b.define(Constant::Words(words));
                        let limbs = Limbs::one(limb);
                        Op::Constant { constant, limbs }
                    }
                };
                Ok(Cell::of(self.push(op, line)?, limb))
            }
            other => Err(refused(
                other.wrong("an operand", "a vector modulo one prime"),
            )),
        }
    }

    pub(super) fn check_cell(&self, cell: &Cell, domain: Domain, limb: ModulusId) -> Checked<()> {
        let q = |limb: ModulusId| self.b.moduli()[limb];
        let expected = || q(limb).to_string();
        check(
            cell.limb == limb,
            "the modulus of a vector",
            q(cell.limb),
            expected,
        )?;
        let found = cell.domain(self.b);
        check(found == domain, "the domain of a vector", found, || {
            domain.to_string()
        })
    }

    /// Returns a limb with a pending act.
    pub(super) fn act(&mut self, cell: Cell, act: Act, line: usize) -> Result<Cell> {
        let Cell { value, limb, .. } = match cell.act {
            Act::Nothing => cell,
            _ => Cell::of(self.made.one(self.b, cell, line)?, cell.limb),
        };
        Ok(Cell { value, limb, act })
    }

    /// `BaseExtend(poly, from, to)`: the limbs `from` of the polynomial, and the limbs `to`
    /// converted from them.
    pub(super) fn extend(
        &mut self,
        poly: &Poly,
        from: &Value,
        to: &Value,
        line: usize,
    ) -> Result<Poly> {
        let refused = |problem| place((line, problem));
        let (from, to) = (
            self.moduli(from).map_err(refused)?,
            self.moduli(to).map_err(refused)?,
        );
        let mut result = part(poly, &from).map_err(refused)?;
        let new = to.minus(&from);
        if !new.is_empty() {
            let converted = self.converted(&result, new, line)?;
            result.extend(limbs_of(self.b, converted));
        }
        Ok(result)
    }

    /// `Rescale(poly, by)`: the limbs other than `by`, divided by the moduli of `by`.
    pub(super) fn rescale(&mut self, poly: &Poly, by: &Value, line: usize) -> Result<Poly> {
        let refused = |problem| place((line, problem));
        let by = self.moduli(by).map_err(refused)?;
        let dropped = part(poly, &by).map_err(refused)?;
        let keep = Limbs::new(poly.keys().map(|&limb| limb..limb + 1)).minus(&by);
        let kept = part(poly, &keep).map_err(refused)?;
        let remainder = self.converted(&dropped, keep.clone(), line)?;
        let kept = self.whole(&kept, line)?;
        let value = self.push(Op::Sub(kept, remainder), line)?;
        let moduli = self.b.moduli();
        let dividers = || by.iter().map(|limb| moduli[limb]);
        let factors = keep
            .iter()
            .map(|limb| inverse_of_product(dividers(), moduli[limb]));
        let factors = factors.collect::<Checked<_>>().map_err(refused)?;
        self.push_poly(Op::Scale { value, factors }, line)
    }

    /// Converts a polynomial to other moduli.
    fn converted(&mut self, poly: &Poly, to: Limbs, line: usize) -> Result<ValueId> {
        let values = self.whole(poly, line)?;
        let value = self.push(Op::Intt(values), line)?;
        let converted = self.push(Op::Convert { value, to }, line)?;
        self.push(Op::Ntt(converted), line)
    }
}

/// Selects some limbs of a polynomial.
fn part(poly: &Poly, limbs: &Limbs) -> Checked<Poly> {
    let missing = |limb| {
        let expected = "one of the polynomial's";
        Problem::new(
            "the modulus",
            format!("number {limb} of the table"),
            expected,
        )
    };
    let cells = limbs.iter().map(|limb| {
        let cell = poly.get(&limb).ok_or_else(|| missing(limb))?;
        Ok((limb, *cell))
    });
    cells.collect()
}

/// Returns true if this is a vector of zeros.
pub(super) fn is_zero(vector: &Value) -> bool {
    matches!(vector, Value::Numbers(numbers) if numbers.iter().all(|&number| number == 0))
}
