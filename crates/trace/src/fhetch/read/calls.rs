//! Calls of the text's functions.
//!
//! A function with polynomials as arguments becomes a sub-trace, one for each kind of arguments. If
//! it reads or writes values, or has no such argument, its instructions are put in the caller
//! instead.

use super::builtins::{reads, writes};
use super::eval::{Reader, Scope};
use super::limbs::Made;
use super::syntax::{Expr, ExprKind, Function};
use super::value::{Act, Cell, Poly, Value};
use super::{at, place};
use crate::Builder;
use crate::error::Result;
use crate::ir::{Op, SubId, Type, ValueId};
use crate::reading::Problem;
use std::collections::{HashMap, HashSet};

/// Largest depth of calls.
const MAX_CALLS: usize = 16;

/// A function with the kind of its arguments: their shapes, and the types of the values in them.
type Signature<'a> = (&'a str, Vec<Value>, Vec<Type>);

/// Sub-traces by function and kind of arguments, with their results.
pub(super) type Subs<'a> = HashMap<Signature<'a>, (SubId, Value)>;

impl<'a> Reader<'a> {
    pub(super) fn call(
        &mut self,
        scope: &mut Scope<'_, '_, 'a>,
        function: &'a Function<'a>,
        arguments: Vec<Value>,
        line: usize,
    ) -> Result<Value> {
        let refused = |what: String, found: String, expected: &str| {
            Err(place((line, Problem::new(what, found, expected))))
        };
        if self.calls.contains(&function.name) {
            let found = self.calls.join(" calls ");
            return refused(
                format!("the call of {}", function.name),
                found,
                "no recursion",
            );
        }
        if self.calls.len() >= MAX_CALLS {
            let expected = format!("at most {MAX_CALLS}");
            let found = self.calls.len().to_string();
            return refused(
                "the number of calls within calls".into(),
                found + " and one",
                &expected,
            );
        }
        let mut limbs = 0;
        arguments
            .iter()
            .for_each(|argument| argument.for_each_limb(&mut |_| limbs += 1));
        if limbs == 0 || self.outside.contains(function.name) {
            return self.inline(scope.b, scope.made, function, arguments, line);
        }
        let mut operands = Vec::new();
        let shapes = arguments.into_iter().map(|argument| {
            packed(argument, &mut |cells| {
                operands.push(scope.made.whole(scope.b, cells, line)?);
                Ok(operands.len() - 1)
            })
        });
        let shapes = shapes.collect::<Result<Vec<Value>>>()?;
        let types: Vec<Type> = operands.iter().map(|&v| scope.b.ty(v).clone()).collect();
        let (sub, result) = self.sub(scope.b, function, (shapes, types), line)?;
        let op = Op::Call {
            sub,
            arguments: operands,
        };
        let results = scope.b.push(op).map_err(|error| at(line, error))?;
        Ok(unpacked(&result, &|index| results.start + index))
    }

    /// Returns the sub-trace of a function for this kind of arguments, and its result. Polynomials
    /// in the result are numbers of the sub-trace's results.
    fn sub(
        &mut self,
        b: &mut Builder,
        function: &'a Function<'a>,
        (shapes, types): (Vec<Value>, Vec<Type>),
        line: usize,
    ) -> Result<(SubId, Value)> {
        let key = (function.name, shapes, types);
        if let Some(known) = self.subs.get(&key) {
            return Ok(known.clone());
        }
        let (_, shapes, types) = &key;
        let others = self.subs.keys().filter(|key| key.0 == function.name);
        let name = match others.count() {
            0 => function.name.to_owned(),
            others => format!("{}.{}", function.name, others + 1),
        };
        let mut result = Ok(Value::Nothing);
        let sub = b.sub_trace(&name, types, |b| {
            let arguments = shapes.iter().map(|shape| unpacked(shape, &|index| index));
            let made = &mut Made::default();
            let mut results = Vec::new();
            result = self
                .inline(b, made, function, arguments.collect(), line)
                .and_then(|value| {
                    packed(value, &mut |cells| {
                        results.push(made.whole(b, cells, line)?);
                        Ok(results.len() - 1)
                    })
                });
            results
        });
        let known = (sub, result?);
        self.subs.insert(key, known.clone());
        Ok(known)
    }
}

/// Returns the value with every polynomial and vector replaced by the number that `pack` gives it.
fn packed(value: Value, pack: &mut impl FnMut(&Poly) -> Result<ValueId>) -> Result<Value> {
    let number = |cell: &Cell, value| Cell {
        value,
        act: Act::Nothing,
        ..*cell
    };
    Ok(match value {
        Value::Poly(poly) if poly.is_empty() => Value::Poly(poly),
        Value::Poly(poly) => {
            let index = pack(&poly)?;
            let cells = poly.iter().map(|(&q, cell)| {
                let limb = q;
                (q, number(&Cell { limb, ..*cell }, index))
            });
            Value::Poly(cells.collect())
        }
        Value::Limb(cell) => {
            let index = pack(&Poly::from([(cell.limb, cell)]))?;
            Value::Limb(number(&cell, index))
        }
        Value::List(items) => {
            let items = items.into_iter().map(|item| packed(item, pack));
            Value::List(items.collect::<Result<_>>()?)
        }
        other => other,
    })
}

/// Returns the value with its numbers replaced by these values.
fn unpacked(value: &Value, of: &impl Fn(usize) -> ValueId) -> Value {
    let cell = |cell: &Cell| Cell {
        value: of(cell.value),
        ..*cell
    };
    match value {
        Value::Poly(poly) => Value::Poly(poly.iter().map(|(&q, own)| (q, cell(own))).collect()),
        Value::Limb(own) => Value::Limb(cell(own)),
        Value::List(items) => Value::List(items.iter().map(|item| unpacked(item, of)).collect()),
        other => other.clone(),
    }
}

/// Returns the functions that read or write values, or call a function that does.
pub(super) fn outside<'a>(functions: &HashMap<&'a str, &'a Function<'a>>) -> HashSet<&'a str> {
    let mut outside = HashSet::new();
    loop {
        let before = outside.len();
        for (&name, function) in functions {
            let reaches = |called: &str| {
                let builtin = reads(called) || writes(called);
                outside.contains(called) || (builtin && !functions.contains_key(called))
            };
            if function.body.iter().any(|s| calls(&s.value, &reaches)) {
                outside.insert(name);
            }
        }
        if outside.len() == before {
            return outside;
        }
    }
}

/// Returns true if an expression calls a function of the given kind.
fn calls(expr: &Expr, kind: &impl Fn(&str) -> bool) -> bool {
    match &expr.kind {
        ExprKind::Call(name, arguments) => {
            kind(name) || arguments.iter().any(|argument| calls(argument, kind))
        }
        ExprKind::List(items) | ExprKind::Chain(items, _) => {
            items.iter().any(|item| calls(item, kind))
        }
        ExprKind::Negative(inner) => calls(inner, kind),
        ExprKind::Name(_) | ExprKind::Number(_) | ExprKind::Text(_) => false,
    }
}
