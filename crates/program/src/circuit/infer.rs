//! Infers the type of an operation's result, and refuses operations that break a rule. Builders and
//! the verifier use the same code.

use super::ir::{Arithmetic, Circuit, Constant, Type, ValueId};
use super::op::{Effect, Op};
use crate::error::Error;

/// Scales whose relative difference is below this count as equal, as in `ckks::Evaluator`.
const SAME_SCALE: f64 = 1e-12;
/// Largest number of products that one operation adds up. Builders split longer sums.
pub const MAX_TERMS: usize = 1 << 10;

/// A broken rule of a step.
pub(super) struct Problem {
    /// The value, type or number that breaks the rule, as a noun.
    pub(super) what: &'static str,
    pub(super) found: String,
    pub(super) expected: String,
}

impl Problem {
    pub(super) fn new(what: &'static str, found: String, expected: String) -> Self {
        Self {
            what,
            found,
            expected,
        }
    }
}

type Check = Result<(), Problem>;

impl Circuit {
    /// Returns the type of the result of `op` as step `index`. `stated` is its stated type. It
    /// gives the type of inputs and constants, the level of a drop, and the scale of a reading.
    pub(super) fn infer(&self, index: usize, op: &Op, stated: Type) -> Result<Type, Problem> {
        if let Some(late) = op.operands().into_iter().find(|&v| v >= index) {
            let expected = "a step before this one".into();
            return Err(Problem::new("an operand", format!("%{late}"), expected));
        }
        let is_output = |&v: &ValueId| matches!(self.steps[v].op, Op::Output { .. });
        if let Some(output) = op.operands().into_iter().find(is_output) {
            let found = format!("the output %{output}");
            return Err(Problem::new("an operand", found, "a value".into()));
        }
        let is_repeat = |&v: &ValueId| matches!(self.steps[v].op, Op::Repeat { .. });
        if let Some(repeat) = op.operands().into_iter().find(is_repeat)
            && !matches!(op, Op::Result { .. })
        {
            let expected = "one of its results".into();
            return Err(Problem::new(
                "an operand",
                format!("the repeated part %{repeat}"),
                expected,
            ));
        }
        let ty = match op.effect() {
            Some(Effect::Input { .. }) => stated,
            Some(Effect::Constant { constant }) => {
                let limit = self.constants.len();
                if constant >= limit {
                    let expected = format!("less than @{limit}");
                    return Err(Problem::new(
                        "the constant",
                        format!("@{constant}"),
                        expected,
                    ));
                }
                kind("the value", stated, false)?;
                stated
            }
            Some(Effect::Sum { left, right, .. }) => {
                let (left, right) = (self.ciphertext(left, "the left term")?, self.ty(right));
                levels_alike(left, right)?;
                scales_alike("the scale of the right term", right.scale, left.scale)?;
                left
            }
            Some(Effect::Products { terms }) => self.infer_products(terms)?,
            Some(Effect::Unary { value, .. }) => {
                let operand = self.ciphertext(value, "the operand")?;
                self.infer_unary(op, operand, stated)?
            }
            None => self.infer_repeated(op)?,
        };
        self.fits(ty)?;
        Ok(ty)
    }

    /// The type of the result of an operation with one operand, a ciphertext: that of the operand,
    /// unless the operation changes level or scale.
    fn infer_unary(&self, op: &Op, operand: Type, stated: Type) -> Result<Type, Problem> {
        match op {
            Op::Rescale { .. } => {
                if operand.level == 0 {
                    return Err(Problem::new("the level", "0".into(), "at least 1".into()));
                }
                let scale = operand.scale / self.arithmetic.factor_scale(operand.level);
                Ok(Type {
                    level: operand.level - 1,
                    scale,
                    ..operand
                })
            }
            Op::Drop { .. } => {
                if stated.level >= operand.level {
                    let expected = format!("less than the operand's {}", operand.level);
                    return Err(Problem::new(
                        "the level",
                        stated.level.to_string(),
                        expected,
                    ));
                }
                Ok(Type {
                    level: stated.level,
                    ..operand
                })
            }
            Op::Read { .. } => Ok(Type {
                scale: stated.scale,
                ..operand
            }),
            Op::Bootstrap { .. } => self.infer_bootstrap(operand),
            Op::Rotate { steps, .. } if !(1..self.row()).contains(steps) => {
                let expected = format!("1 to {}", self.row().saturating_sub(1));
                Err(Problem::new(
                    "the number of steps",
                    steps.to_string(),
                    expected,
                ))
            }
            Op::Conjugate { .. } | Op::SwapRows { .. } => self.knows(op).map(|()| operand),
            _ => Ok(operand),
        }
    }

    fn infer_products(&self, terms: &[[ValueId; 2]]) -> Result<Type, Problem> {
        if !(1..=MAX_TERMS).contains(&terms.len()) {
            let expected = format!("1 to {MAX_TERMS}");
            return Err(Problem::new(
                "the number of products",
                terms.len().to_string(),
                expected,
            ));
        }
        let product = |&[left, right]: &[ValueId; 2]| {
            let (left, right) = (self.ciphertext(left, "a left factor")?, self.ty(right));
            levels_alike(left, right)?;
            let scale = left.scale * right.scale;
            Ok((Type { scale, ..left }, right.encrypted))
        };
        let (ty, encrypted) = product(&terms[0])?;
        for term in &terms[1..] {
            let (other, other_encrypted) = product(term)?;
            if other_encrypted != encrypted {
                let words = |encrypted| format!("a {}", noun(encrypted));
                let expected = words(encrypted) + ", as in the first product";
                return Err(Problem::new(
                    "a right factor",
                    words(other_encrypted),
                    expected,
                ));
            }
            levels_alike(ty, other)?;
            scales_alike("the scale of a product", other.scale, ty.scale)?;
        }
        Ok(ty)
    }

    /// Checks that the arithmetic has the operation: approximate slots have a conjugate, exact rows
    /// can be swapped.
    fn knows(&self, op: &Op) -> Check {
        let (arithmetic, own) = match self.arithmetic {
            Arithmetic::Approximate { .. } => ("approximate", "conjugate"),
            Arithmetic::Exact { .. } => ("exact", "swap"),
        };
        if op.name() == own {
            return Ok(());
        }
        let expected = format!("{own}, as the arithmetic is {arithmetic}");
        Err(Problem::new("the operation", op.name().into(), expected))
    }

    pub(super) fn ciphertext(&self, value: ValueId, what: &'static str) -> Result<Type, Problem> {
        let ty = self.ty(value);
        kind(what, ty, true)?;
        Ok(ty)
    }

    /// Checks that the level exists, and that a message of size 1 fits in it.
    fn fits(&self, ty: Type) -> Check {
        let levels = self.arithmetic.levels();
        if ty.level >= levels {
            let expected = format!("less than {levels}");
            return Err(Problem::new("the level", ty.level.to_string(), expected));
        }
        if let Arithmetic::Exact { .. } = self.arithmetic {
            return match ty.scale {
                1.0 => Ok(()),
                _ => {
                    let expected = "1, as of all exact values".into();
                    Err(Problem::new("the scale", log2(ty.scale), expected))
                }
            };
        }
        let bears = self.arithmetic.log_q(ty.level) - 1.0;
        if ty.scale >= 1.0 && ty.scale.log2() <= bears {
            return Ok(());
        }
        let expected = format!("1 to 2^{bears:.1}, which level {} holds", ty.level);
        Err(Problem::new("the scale", log2(ty.scale), expected))
    }

    pub(super) fn verify_constant(&self, id: usize, constant: &Constant) -> crate::Result<()> {
        let len = constant.values.len();
        let problem = if !len.is_power_of_two() || len > self.slots {
            let expected = format!("a power of two up to {}", self.slots);
            Some(("the number of values".to_owned(), len.to_string(), expected))
        } else {
            let (fits, expected): (&dyn Fn(f64) -> bool, _) = match self.arithmetic {
                Arithmetic::Approximate { .. } => (&f64::is_finite, "a finite number".into()),
                Arithmetic::Exact { t, .. } => (
                    &move |v| v.fract() == 0.0 && v.abs() < t as f64,
                    format!("an integer from {} to {}", 1 - t as i64, t - 1),
                ),
            };
            let index = constant.values.iter().position(|&v| !fits(v));
            index.map(|i| {
                let found = constant.values[i].to_string();
                (format!("value {i}"), found, expected)
            })
        };
        problem.map_or(Ok(()), |(what, found, expected)| {
            Err(Error::CircuitConstant {
                id,
                what,
                found,
                expected,
            })
        })
    }
}

/// Checks that the type that a step states is the one it has.
pub(super) fn agrees(stated: Type, found: Type) -> Check {
    kind("the stated value", stated, found.encrypted)?;
    if stated.level != found.level {
        let (stated, found) = (stated.level.to_string(), found.level.to_string());
        return Err(Problem::new("the stated level", stated, found));
    }
    scales_alike("the stated scale", stated.scale, found.scale)
}

pub(super) fn kind(what: &'static str, ty: Type, encrypted: bool) -> Check {
    if ty.encrypted == encrypted {
        return Ok(());
    }
    let [found, expected] = [ty.encrypted, encrypted].map(|e| format!("a {}", noun(e)));
    Err(Problem::new(what, found, expected))
}

pub(super) fn noun(encrypted: bool) -> &'static str {
    if encrypted { "ciphertext" } else { "plaintext" }
}

fn levels_alike(left: Type, right: Type) -> Check {
    if left.level == right.level {
        return Ok(());
    }
    let expected = format!("{}, as of the left one", left.level);
    Err(Problem::new(
        "the level of the right operand",
        right.level.to_string(),
        expected,
    ))
}

pub(super) fn scales_alike(what: &'static str, found: f64, expected: f64) -> Check {
    if same_scale(found, expected) {
        return Ok(());
    }
    Err(Problem::new(what, log2(found), log2(expected)))
}

pub(super) fn same_scale(left: f64, right: f64) -> bool {
    (left / right - 1.0).abs() < SAME_SCALE
}

/// log2 of a scale, with enough digits to distinguish scales that are nearly equal.
fn log2(scale: f64) -> String {
    format!("2^{:.6}", scale.log2())
}
