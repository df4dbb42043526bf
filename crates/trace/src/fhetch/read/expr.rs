//! The parser of expressions.
//!
//! Precedence of operators, the highest first: signs, `*`, `+ -`, `<< >>`, `||`. All are
//! left-associative.

use super::lex::Kind;
use super::parse::{Parsed, Parser};
use super::syntax::{Expr, ExprKind};
use crate::reading::Problem;

/// Largest depth of brackets.
const MAX_DEPTH: usize = 32;
const LEVELS: [&[&str]; 4] = [&["||"], &["<<", ">>"], &["+", "-"], &["*"]];

impl<'a> Parser<'_, 'a> {
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let expected = format!("at most {MAX_DEPTH}");
            return self.refused("the depth of brackets at the next word", &expected);
        }
        let read = read(self)?;
        self.depth -= 1;
        Ok(read)
    }

    pub(super) fn expr(&mut self) -> Parsed<Expr<'a>> {
        self.deeper(|parser| parser.chain(0))
    }

    fn chain(&mut self, level: usize) -> Parsed<Expr<'a>> {
        let Some(operators) = LEVELS.get(level) else {
            return self.signed();
        };
        let line = self.line();
        let mut operands = vec![self.chain(level + 1)?];
        let mut between = Vec::new();
        while let Kind::Mark(mark) = self.peek() {
            if !operators.contains(&mark) {
                break;
            }
            self.step();
            between.push(mark);
            operands.push(self.chain(level + 1)?);
        }
        let kind = match between.is_empty() {
            true => operands.remove(0).kind,
            false => ExprKind::Chain(operands, between),
        };
        Ok(Expr { line, kind })
    }

    fn signed(&mut self) -> Parsed<Expr<'a>> {
        let line = self.line();
        if self.eat("+") {
            return self.deeper(Self::signed);
        }
        if self.eat("-") {
            let kind = ExprKind::Negative(Box::new(self.deeper(Self::signed)?));
            return Ok(Expr { line, kind });
        }
        self.operand()
    }

    pub(super) fn operand(&mut self) -> Parsed<Expr<'a>> {
        let (line, first) = (self.line(), self.peek());
        self.step();
        let kind = match first {
            Kind::Name(name) if !self.modulus_follows() && self.eat("(") => {
                ExprKind::Call(name, self.list(")")?)
            }
            Kind::Name(name) => ExprKind::Name(name),
            Kind::Number(number) => ExprKind::Number(number),
            Kind::Text(text) => ExprKind::Text(text),
            Kind::Mark("[") => ExprKind::List(self.list("]")?),
            Kind::Mark("(") => {
                let inner = self.expr()?;
                self.expect(")")?;
                inner.kind
            }
            _ => {
                let expected = "a name, a number, a text, `[` or `(`";
                return Err((line, Problem::new("the next word", first.shown(), expected)));
            }
        };
        Ok(Expr { line, kind })
    }

    /// Returns true if the next words are `(mod q)`, which is no argument.
    fn modulus_follows(&self) -> bool {
        let kinds: Vec<Kind> = self.tokens[self.at..]
            .iter()
            .take(3)
            .map(|t| t.kind)
            .collect();
        matches!(
            kinds[..],
            [
                Kind::Mark("("),
                Kind::Name("mod"),
                Kind::Name(_) | Kind::Number(_)
            ]
        )
    }

    /// Reads expressions up to the closing bracket.
    fn list(&mut self, end: &str) -> Parsed<Vec<Expr<'a>>> {
        let mut items = Vec::new();
        while !self.eat(end) {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(self.expr()?);
        }
        Ok(items)
    }
}
