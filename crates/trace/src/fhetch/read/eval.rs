//! Executes statements and expressions, which gives instructions.

use super::calls::{Subs, outside};
use super::limbs::Made;
use super::place;
use super::syntax::{Expr, ExprKind, Function, Target};
use super::value::{Value, operate};
use crate::Builder;
use crate::error::Result;
use crate::ir::Op;
use crate::reading::{Problem, check};
use std::collections::{HashMap, HashSet};

/// Largest number of statements that are executed while a text is read.
const MAX_STATEMENTS: usize = 1 << 20;

pub(super) struct Reader<'a> {
    globals: HashMap<&'a str, Value>,
    pub(super) functions: HashMap<&'a str, &'a Function<'a>>,
    /// Functions that read or write values, or call a function that does.
    pub(super) outside: HashSet<&'a str>,
    pub(super) subs: Subs<'a>,
    /// Calls that are being executed.
    pub(super) calls: Vec<&'a str>,
    statements: usize,
}

/// The body to which a function's instructions go, and the function's variables.
pub(super) struct Scope<'s, 'b, 'a> {
    pub(super) b: &'s mut Builder<'b>,
    pub(super) made: &'s mut Made,
    variables: HashMap<&'a str, Value>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        globals: HashMap<&'a str, Value>,
        functions: HashMap<&'a str, &'a Function<'a>>,
    ) -> Self {
        let outside = outside(&functions);
        Self {
            globals,
            functions,
            outside,
            subs: HashMap::new(),
            calls: Vec::new(),
            statements: 0,
        }
    }

    /// Executes the function `main`.
    pub(super) fn main(&mut self, b: &mut Builder, last: usize) -> Result<()> {
        let Some(&main) = self.functions.get("main") else {
            let problem = Problem::new("the function `main`", "missing", "one without parameters");
            return Err(place((last, problem)));
        };
        let made = &mut Made::default();
        self.inline(b, made, main, Vec::new(), main.line)?;
        Ok(())
    }

    /// Executes a function's statements in the caller's body.
    pub(super) fn inline(
        &mut self,
        b: &mut Builder,
        made: &mut Made,
        function: &'a Function<'a>,
        arguments: Vec<Value>,
        line: usize,
    ) -> Result<Value> {
        let (found, parameters) = (arguments.len(), function.parameters.len());
        let what = format!("the number of arguments of {}", function.name);
        check(found == parameters, what, found, || parameters.to_string())
            .map_err(|problem| place((line, problem)))?;
        self.calls.push(function.name);
        let mut scope = Scope {
            b,
            made,
            variables: function.parameters.iter().copied().zip(arguments).collect(),
        };
        let mut result = Value::Nothing;
        for statement in &function.body {
            self.statements += 1;
            check(
                self.statements <= MAX_STATEMENTS,
                "the number of statements executed",
                self.statements,
                || format!("at most {MAX_STATEMENTS}"),
            )
            .map_err(|problem| place((statement.line, problem)))?;
            let modulus = match &statement.modulus {
                Some(modulus) => Some(self.expr(&mut scope, modulus, None)?),
                None => None,
            };
            let value = self.expr(&mut scope, &statement.value, modulus.as_ref())?;
            match statement.target {
                Target::Variable(name) => {
                    scope.variables.insert(name, value);
                }
                Target::Return => result = value,
                Target::Nothing => {}
            }
        }
        self.calls.pop();
        Ok(result)
    }

    pub(super) fn expr(
        &mut self,
        scope: &mut Scope<'_, '_, 'a>,
        expr: &'a Expr<'a>,
        modulus: Option<&Value>,
    ) -> Result<Value> {
        let refused = |problem| place((expr.line, problem));
        match &expr.kind {
            ExprKind::Number(number) => Ok(Value::Number(*number)),
            ExprKind::Text(text) => Ok(Value::Text((*text).into())),
            ExprKind::Name(name) => {
                let found = scope.variables.get(name).or_else(|| self.globals.get(name));
                found.cloned().ok_or_else(|| {
                    let expected = "the name of a parameter, a variable or a constant";
                    refused(Problem::new("a name", format!("`{name}`"), expected))
                })
            }
            ExprKind::List(items) => {
                let items = items.iter().map(|item| self.expr(scope, item, modulus));
                Value::list(items.collect::<Result<_>>()?).map_err(refused)
            }
            ExprKind::Negative(inner) => {
                let inner = self.expr(scope, inner, modulus)?;
                operate(&Value::Number(0), "-", &inner).map_err(refused)
            }
            ExprKind::Call(name, arguments) => {
                let arguments = arguments.iter().map(|e| self.expr(scope, e, None));
                let arguments = arguments.collect::<Result<Vec<_>>>()?;
                match self.functions.get(name) {
                    Some(&function) => self.call(scope, function, arguments, expr.line),
                    None => scope.builtin(name, arguments, expr.line),
                }
            }
            ExprKind::Chain(operands, between) => match scalar_product(operands, between) {
                true => self.sum_of_products(scope, operands, modulus, expr.line),
                false => {
                    let mut result = self.expr(scope, &operands[0], modulus)?;
                    for (operator, operand) in between.iter().zip(&operands[1..]) {
                        let operand = self.expr(scope, operand, modulus)?;
                        let line = expr.line;
                        result = scope.operate(&result, operator, &operand, (modulus, line))?;
                    }
                    Ok(result)
                }
            },
        }
    }

    /// A sum that contains at least two products. The sum of these products is one inner product.
    fn sum_of_products(
        &mut self,
        scope: &mut Scope<'_, '_, 'a>,
        terms: &'a [Expr<'a>],
        modulus: Option<&Value>,
        line: usize,
    ) -> Result<Value> {
        let (mut left, mut right, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for term in terms {
            let Some([a, b]) = factors(term) else {
                others.push(self.expr(scope, term, modulus)?);
                continue;
            };
            let (a, b) = (self.expr(scope, a, modulus)?, self.expr(scope, b, modulus)?);
            match (&a, &b) {
                (Value::Poly(a), Value::Poly(b)) => {
                    left.push(scope.made.whole(scope.b, a, line)?);
                    right.push(scope.made.whole(scope.b, b, line)?);
                }
                _ => others.push(scope.operate(&a, "*", &b, (modulus, line))?),
            }
        }
        let op = match (&left[..], &right[..]) {
            ([], _) => None,
            ([a], [b]) => Some(Op::Mul(*a, *b)),
            _ => Some(Op::Dot { left, right }),
        };
        let mut sum = None;
        if let Some(op) = op {
            sum = Some(Value::Poly(scope.push_poly(op, line)?));
        }
        for other in others {
            sum = Some(match sum {
                None => other,
                Some(sum) => scope.operate(&sum, "+", &other, (modulus, line))?,
            });
        }
        Ok(sum.unwrap_or(Value::Nothing))
    }
}

/// Returns true for a sum without differences in which at least two terms are products of two
/// factors.
fn scalar_product(operands: &[Expr], between: &[&str]) -> bool {
    let products = operands.iter().filter(|term| factors(term).is_some());
    between.iter().all(|&operator| operator == "+") && products.count() > 1
}

/// The factors of a product of two factors.
fn factors<'e, 'a>(term: &'e Expr<'a>) -> Option<[&'e Expr<'a>; 2]> {
    match &term.kind {
        ExprKind::Chain(operands, between) if between[..] == ["*"] => {
            Some([&operands[0], &operands[1]])
        }
        _ => None,
    }
}
