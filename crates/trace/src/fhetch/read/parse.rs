//! The parser of constants, functions and statements.

use super::lex::{Kind, Token};
use super::syntax::{Function, Global, Source, Statement, Target};
use crate::reading::Problem;

pub(super) type Parsed<T> = Result<T, (usize, Problem)>;

/// Parses a text, given its words.
pub(super) fn source<'a>(tokens: &[Token<'a>]) -> Parsed<Source<'a>> {
    let mut parser = Parser {
        tokens,
        at: 0,
        depth: 0,
        source: Source::default(),
    };
    while parser.peek() != Kind::End {
        parser.item()?;
    }
    Ok(parser.source)
}

pub(super) struct Parser<'t, 'a> {
    pub(super) tokens: &'t [Token<'a>],
    pub(super) at: usize,
    pub(super) depth: usize,
    source: Source<'a>,
}

impl<'a> Parser<'_, 'a> {
    pub(super) fn peek(&self) -> Kind<'a> {
        self.tokens[self.at].kind
    }

    pub(super) fn line(&self) -> usize {
        self.tokens[self.at].line
    }

    pub(super) fn refused<T>(&self, what: &str, expected: &str) -> Parsed<T> {
        let problem = Problem::new(what, self.peek().shown(), expected);
        Err((self.line(), problem))
    }

    /// Goes on to the next word. The last word stays.
    pub(super) fn step(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    pub(super) fn eat(&mut self, mark: &str) -> bool {
        let found = matches!(self.peek(), Kind::Mark(own) if own == mark);
        if found {
            self.step();
        }
        found
    }

    pub(super) fn expect(&mut self, mark: &str) -> Parsed<()> {
        match self.eat(mark) {
            true => Ok(()),
            false => self.refused("the next word", &format!("`{mark}`")),
        }
    }

    fn name(&mut self, what: &str) -> Parsed<&'a str> {
        let Kind::Name(name) = self.peek() else {
            return self.refused(what, "a name");
        };
        self.step();
        Ok(name)
    }

    fn item(&mut self) -> Parsed<()> {
        let line = self.line();
        match self.peek() {
            Kind::Name("def") => {
                self.step();
                let function = self.function(line)?;
                self.source.functions.push(function);
            }
            Kind::Name(word @ ("prime" | "primes" | "const")) => {
                self.step();
                let name = self.name("the name of a constant")?;
                if word == "const" {
                    self.expect(":")?;
                    self.ty()?;
                }
                self.expect("=")?;
                let (value, primes) = (self.expr()?, word != "const");
                self.expect(";")?;
                self.source.globals.push(Global {
                    name,
                    line,
                    primes,
                    value,
                });
            }
            _ => return self.refused("the next word", "`prime`, `primes`, `const` or `def`"),
        }
        Ok(())
    }

    fn function(&mut self, line: usize) -> Parsed<Function<'a>> {
        let name = self.name("the name of a function")?;
        let mut parameters = Vec::new();
        self.expect("(")?;
        while !self.eat(")") {
            if !parameters.is_empty() {
                self.expect(",")?;
            }
            parameters.push(self.name("a parameter")?);
            if self.eat(":") {
                self.ty()?;
            }
        }
        self.expect("{")?;
        let mut body: Vec<Statement> = Vec::new();
        while !self.eat("}") {
            if body
                .last()
                .is_some_and(|last| last.target == Target::Return)
            {
                return self.refused("the next word", "`}` after `return`");
            }
            body.push(self.statement()?);
        }
        Ok(Function {
            name,
            line,
            parameters,
            body,
        })
    }

    fn statement(&mut self) -> Parsed<Statement<'a>> {
        let line = self.line();
        let target = match self.peek() {
            Kind::Name("var") => {
                self.step();
                let name = self.name("the name of a variable")?;
                if self.eat(":") {
                    self.ty()?;
                }
                self.expect("=")?;
                Target::Variable(name)
            }
            Kind::Name("return") => {
                self.step();
                Target::Return
            }
            Kind::Name(_) => Target::Nothing,
            _ => return self.refused("the next word", "`var`, `return`, a call or `}`"),
        };
        let value = self.expr()?;
        let mut modulus = None;
        if matches!(target, Target::Variable(_)) && self.eat("(") {
            match self.peek() {
                Kind::Name("mod") => self.step(),
                _ => return self.refused("the next word", "`mod`"),
            }
            modulus = Some(self.operand()?);
            self.expect(")")?;
        }
        self.expect(";")?;
        Ok(Statement {
            line,
            target,
            value,
            modulus,
        })
    }

    /// Reads a type. The length of polynomials is kept.
    fn ty(&mut self) -> Parsed<()> {
        let expected = "u32, u64, i32, i64, Vector<..> or MRP<..>";
        let line = self.line();
        match self.peek() {
            Kind::Name("u32" | "u64" | "i32" | "i64") => self.step(),
            Kind::Name(word @ ("Vector" | "MRP")) => {
                self.step();
                self.expect("<")?;
                self.deeper(Self::ty)?;
                self.expect(",")?;
                let Kind::Number(length) = self.peek() else {
                    return self.refused("the length", "a number");
                };
                self.step();
                if word == "MRP" {
                    self.source.lengths.push((line, length));
                    self.expect(",")?;
                    self.expr()?;
                }
                self.expect(">")?;
            }
            _ => return self.refused("the type", expected),
        }
        Ok(())
    }
}
