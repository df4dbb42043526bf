//! The values of expressions while a text is read.

use super::syntax::{Expr, ExprKind};
use crate::ir::{ModulusId, ValueId};
use crate::reading::{Checked, Problem, check};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Largest number of items in a list: more than a polynomial has words.
const MAX_LIST: usize = 1 << 20;
/// Largest depth of lists.
const MAX_DEPTH: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Value {
    Number(i128),
    Numbers(Rc<[i128]>),
    Text(String),
    /// Limbs by their moduli, in the evaluation domain.
    Poly(Poly),
    /// A vector of words modulo one modulus.
    Limb(Cell),
    List(Vec<Value>),
    Nothing,
}

/// Limbs by their moduli. They may belong to several values of the body, which are joined when an
/// operation needs them.
pub(super) type Poly = BTreeMap<ModulusId, Cell>;

/// A limb of a value of the body, with its pending act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Cell {
    pub(super) value: ValueId,
    pub(super) limb: ModulusId,
    pub(super) act: Act,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Act {
    Nothing,
    Ntt,
    Scale(u64),
}

impl Value {
    /// The kind of value in the form in which errors show it.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Number(_) => "a number",
            Self::Numbers(_) => "a list of numbers",
            Self::Text(_) => "a text",
            Self::Poly(_) => "a multi-residue polynomial",
            Self::Limb(_) => "a vector modulo one prime",
            Self::List(_) => "a list",
            Self::Nothing => "nothing",
        }
    }

    pub(super) fn wrong(&self, what: &str, expected: &str) -> Problem {
        Problem::new(what, self.kind(), expected)
    }

    /// Number of items in nested lists.
    fn size(&self) -> usize {
        match self {
            Self::List(items) => items.iter().map(Self::size).sum(),
            _ => 1,
        }
    }

    /// Depth of nested lists.
    fn depth(&self) -> usize {
        match self {
            Self::List(items) => 1 + items.iter().map(Self::depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// Makes a list of these items. It is a list of numbers if all of them are numbers.
    pub(super) fn list(items: Vec<Self>) -> Checked<Self> {
        let size: usize = items.iter().map(Self::size).sum();
        let expected = || format!("at most {MAX_LIST}");
        check(size <= MAX_LIST, "the number of items", size, expected)?;
        let depth = 1 + items.iter().map(Self::depth).max().unwrap_or(0);
        let expected = || format!("at most {MAX_DEPTH}");
        check(
            depth <= MAX_DEPTH,
            "the number of lists within each other",
            depth,
            expected,
        )?;
        let numbers = items.iter().map(|item| match item {
            Self::Number(number) => Some(*number),
            _ => None,
        });
        Ok(match numbers.collect::<Option<Vec<i128>>>() {
            Some(numbers) => Self::Numbers(numbers.into()),
            None => Self::List(items),
        })
    }

    /// Calls `visit` with every polynomial and vector in the value.
    pub(super) fn for_each_limb(&self, visit: &mut impl FnMut(&Cell)) {
        match self {
            Self::Poly(poly) => poly.values().for_each(visit),
            Self::Limb(cell) => visit(cell),
            Self::List(items) => items.iter().for_each(|item| item.for_each_limb(visit)),
            Self::Number(_) | Self::Numbers(_) | Self::Text(_) | Self::Nothing => {}
        }
    }
}

/// Applies an operator to numbers and lists of numbers.
pub(super) fn operate(left: &Value, operator: &str, right: &Value) -> Checked<Value> {
    use Value::{List, Number, Numbers};
    let number = |result: Option<i128>| {
        let expected = "an integer of at most 127 bits";
        result
            .map(Number)
            .ok_or_else(|| Problem::new(format!("the result of {operator}"), "beyond", expected))
    };
    match (left, operator, right) {
        (Number(a), "+", Number(b)) => number(a.checked_add(*b)),
        (Number(a), "-", Number(b)) => number(a.checked_sub(*b)),
        (Number(a), "*", Number(b)) => number(a.checked_mul(*b)),
        (Number(a), "<<", Number(b)) => {
            let bits = u32::try_from(*b).ok().filter(|&bits| bits < 127);
            number(bits.and_then(|bits| a.checked_mul(1 << bits)))
        }
        (Number(a), ">>", Number(b)) => {
            number(u32::try_from(*b).ok().and_then(|bits| a.checked_shr(bits)))
        }
        (Numbers(a), "||", Numbers(b)) if a.len() + b.len() <= MAX_LIST => {
            Ok(Numbers(a.iter().chain(b.iter()).copied().collect()))
        }
        (List(a), "||", List(b)) => Value::list(a.iter().chain(b).cloned().collect()),
        _ => Err(Problem::new(
            format!("the operands of {operator}"),
            format!("{} and {}", left.kind(), right.kind()),
            "numbers, lists for ||, or polynomials for + - *",
        )),
    }
}

/// Evaluates an expression of numbers, lists, and names of these.
pub(super) fn constant(
    expr: &Expr,
    globals: &HashMap<&str, Value>,
) -> Result<Value, (usize, Problem)> {
    let at = |problem| (expr.line, problem);
    match &expr.kind {
        ExprKind::Number(number) => Ok(Value::Number(*number)),
        ExprKind::Name(name) => globals.get(name).cloned().ok_or_else(|| {
            let expected = "the name of a constant that stands before";
            at(Problem::new("a name", format!("`{name}`"), expected))
        }),
        ExprKind::Negative(inner) => {
            let inner = constant(inner, globals)?;
            operate(&Value::Number(0), "-", &inner).map_err(at)
        }
        ExprKind::List(items) => {
            let items = items.iter().map(|item| constant(item, globals));
            Value::list(items.collect::<Result<_, _>>()?).map_err(at)
        }
        ExprKind::Chain(operands, between) => {
            let mut result = constant(&operands[0], globals)?;
            for (operator, operand) in between.iter().zip(&operands[1..]) {
                let operand = constant(operand, globals)?;
                result = operate(&result, operator, &operand).map_err(at)?;
            }
            Ok(result)
        }
        ExprKind::Text(_) | ExprKind::Call(..) => {
            let expected = "numbers, lists and names of constants";
            Err(at(Problem::new("a constant", "a text or a call", expected)))
        }
    }
}
