//! The operations of the language, as instructions.
//!
//! `BaseExtend` and `Rescale` use the centred representative of the value that they convert, as
//! [`Op::Convert`] does.

use super::convert::is_zero;
use super::eval::Scope;
use super::limbs::limbs_of;
use super::value::{Act, Cell, Poly, Value, operate};
use super::{at, place};
use crate::error::Result;
use crate::fhetch::FILE_END;
use crate::ir::{Domain, Op, Type, ValueId};
use crate::limbs::Limbs;
use crate::modular::pow;
use crate::reading::{Checked, Problem, check};

/// The functions that a text may call.
const KNOWN: &str = "a function of the text, BaseExtend, Rescale, Rotate, sr_NTT, sr_iNTT, sr_addp, sr_subp, sr_mulp, \
    sr_set_rou, get, get_mrp_limb, set_mrp_limb, empty_mrp, read_mrp_u32_Q or write_mrp_u32";
/// Returns true if the function of this name reads a value.
pub(super) fn reads(name: &str) -> bool {
    name.starts_with("read_mrp_u32")
}

/// Returns true if the function of this name writes a value.
pub(super) fn writes(name: &str) -> bool {
    name.starts_with("write_mrp_u32")
}

/// A modulus that a text names, and the line where it does.
type Modulo<'v> = (Option<&'v Value>, usize);

impl Scope<'_, '_, '_> {
    pub(super) fn push(&mut self, op: Op, line: usize) -> Result<ValueId> {
        let made = self.b.push(op).map_err(|error| at(line, error))?;
        Ok(made.start)
    }

    pub(super) fn push_poly(&mut self, op: Op, line: usize) -> Result<Poly> {
        let value = self.push(op, line)?;
        Ok(limbs_of(self.b, value))
    }

    pub(super) fn whole(&mut self, poly: &Poly, line: usize) -> Result<ValueId> {
        check(!poly.is_empty(), "the number of limbs", 0, || "at least 1")
            .map_err(|problem| place((line, problem)))?;
        self.made.whole(self.b, poly, line)
    }

    /// Applies an operator to numbers, polynomials, or vectors modulo a prime.
    pub(super) fn operate(
        &mut self,
        left: &Value,
        operator: &str,
        right: &Value,
        (modulus, line): Modulo,
    ) -> Result<Value> {
        let op = |a, b| match operator {
            "+" => Some(Op::Add(a, b)),
            "-" => Some(Op::Sub(a, b)),
            "*" => Some(Op::Mul(a, b)),
            _ => None,
        };
        match (left, right, modulus) {
            (Value::Poly(a), Value::Poly(b), _) => {
                let (a, b) = (self.whole(a, line)?, self.whole(b, line)?);
                if let Some(op) = op(a, b) {
                    return self.push_poly(op, line).map(Value::Poly);
                }
            }
            (Value::Limb(_), ..) | (_, Value::Limb(_), _) if "+-*".contains(operator) => {
                let q = modulus.ok_or_else(|| {
                    let expected =
                        "`(mod q)` at the end of the statement, or sr_addp, sr_subp, sr_mulp";
                    let found = "missing";
                    place((
                        line,
                        Problem::new("the modulus of vectors", found, expected),
                    ))
                })?;
                let name = match operator {
                    "+" => "sr_addp",
                    "-" => "sr_subp",
                    _ => "sr_mulp",
                };
                let arguments = vec![left.clone(), right.clone(), q.clone()];
                return self.builtin(name, arguments, line);
            }
            _ => {}
        }
        let result = operate(left, operator, right).map_err(|problem| place((line, problem)))?;
        Ok(match (result, modulus) {
            (Value::Number(number), Some(Value::Number(q))) if *q > 0 => {
                Value::Number(number.rem_euclid(*q))
            }
            (result, _) => result,
        })
    }

    /// Executes a function that the text does not define.
    pub(super) fn builtin(
        &mut self,
        name: &str,
        arguments: Vec<Value>,
        line: usize,
    ) -> Result<Value> {
        let refused = |problem| place((line, problem));
        let result = match (name, &arguments[..]) {
            ("sr_set_rou", [Value::Number(n), Value::Number(q), Value::Number(root)]) => {
                self.set_root(*n, *q, *root).map_err(refused)?;
                return Ok(Value::Nothing);
            }
            ("empty_mrp", []) => Poly::new(),
            ("get", [list, Value::Number(index)]) => {
                return item(list, *index).map_err(refused);
            }
            ("get_mrp_limb", [Value::Poly(poly), Value::Number(q)]) => {
                let limb = self.modulus(*q).map_err(refused)?;
                let found = poly.get(&limb).copied();
                let missing =
                    || Problem::new("the limb of a prime", q, "a prime of the polynomial");
                return found.map(Value::Limb).ok_or_else(|| refused(missing()));
            }
            ("set_mrp_limb", [Value::Poly(poly), Value::Number(q), Value::Limb(cell)]) => {
                let limb = self.modulus(*q).map_err(refused)?;
                self.check_cell(cell, Domain::Eval, limb).map_err(refused)?;
                let mut poly = poly.clone();
                poly.insert(limb, *cell);
                poly
            }
            ("sr_NTT", [vector, Value::Number(q)]) => {
                let limb = self.modulus(*q).map_err(refused)?;
                if is_zero(vector) {
                    let ty = Type::eval(Limbs::one(limb));
                    let zero = self.push(Op::Zero { ty }, line)?;
                    return Ok(Value::Limb(Cell::of(zero, limb)));
                }
                let cell = self.vector(vector, limb, line)?;
                self.check_cell(&cell, Domain::Coeff, limb)
                    .map_err(refused)?;
                return self.act(cell, Act::Ntt, line).map(Value::Limb);
            }
            ("sr_iNTT", [Value::Limb(cell), Value::Number(q)]) => {
                let limb = self.modulus(*q).map_err(refused)?;
                self.check_cell(cell, Domain::Eval, limb).map_err(refused)?;
                let values = self.made.one(self.b, *cell, line)?;
                let coefficients = self.push(Op::Intt(values), line)?;
                return Ok(Value::Limb(Cell::of(coefficients, limb)));
            }
            ("sr_mulp", [vector, Value::Number(factor), Value::Number(q)])
            | ("sr_mulp", [Value::Number(factor), vector, Value::Number(q)]) => {
                let limb = self.modulus(*q).map_err(refused)?;
                let cell = self.vector(vector, limb, line)?;
                let factor = factor.rem_euclid(*q) as u64;
                return self.act(cell, Act::Scale(factor), line).map(Value::Limb);
            }
            ("sr_addp" | "sr_subp" | "sr_mulp", [left, right, Value::Number(q)]) => {
                let limb = self.modulus(*q).map_err(refused)?;
                let (left, right) = (
                    self.vector(left, limb, line)?,
                    self.vector(right, limb, line)?,
                );
                let left = self.made.one(self.b, left, line)?;
                let right = self.made.one(self.b, right, line)?;
                let op = match name {
                    "sr_addp" => Op::Add(left, right),
                    "sr_subp" => Op::Sub(left, right),
                    _ => Op::Mul(left, right),
                };
                let value = self.push(op, line)?;
                return Ok(Value::Limb(Cell::of(value, limb)));
            }
            ("BaseExtend", [Value::Poly(poly), from, to]) => self.extend(poly, from, to, line)?,
            ("Rescale", [Value::Poly(poly), by]) => self.rescale(poly, by, line)?,
            ("Rotate", [Value::Poly(poly), Value::Number(steps)]) => {
                let value = self.whole(poly, line)?;
                // `Rotate` moves the value at a root to the root's power 5^steps: X ->
                // X^(5^-steps).
                let (n, order) = (self.b.n(), self.b.n() as i128 / 2);
                let steps = (order - steps.rem_euclid(order)) as u64;
                let element = pow(5, steps, 2 * n as u64) as usize;
                self.push_poly(Op::Automorphism { value, element }, line)?
            }
            (_, [Value::Text(file), to]) if reads(name) => {
                let limbs = self.moduli(to).map_err(refused)?;
                let name = file.strip_suffix(FILE_END).unwrap_or(file).into();
                let ty = Type::eval(limbs);
                self.push_poly(Op::Load { name, ty }, line)?
            }
            (_, [Value::Poly(poly), Value::Text(file)]) if writes(name) => {
                let value = self.whole(poly, line)?;
                let name = file.strip_suffix(FILE_END).unwrap_or(file).into();
                let stored = self.b.push(Op::Store { value, name });
                stored.map_err(|error| at(line, error))?;
                return Ok(Value::Nothing);
            }
            _ => {
                let kinds: Vec<&str> = arguments.iter().map(Value::kind).collect();
                let found = format!("{name}({})", kinds.join(", "));
                return Err(refused(Problem::new("the call", found, KNOWN)));
            }
        };
        Ok(Value::Poly(result))
    }
}

fn item(list: &Value, index: i128) -> Checked<Value> {
    let at = |len: usize| {
        let place = usize::try_from(index).ok().filter(|&place| place < len);
        place.ok_or_else(|| Problem::new("the index", index, format!("below {len}")))
    };
    match list {
        Value::List(items) => Ok(items[at(items.len())?].clone()),
        Value::Numbers(numbers) => Ok(Value::Number(numbers[at(numbers.len())?])),
        other => Err(other.wrong("what get takes from", "a list")),
    }
}
