//! The parts of a text.

/// An expression and the line on which it begins.
#[derive(Clone, Debug)]
pub(super) struct Expr<'a> {
    pub(super) line: usize,
    pub(super) kind: ExprKind<'a>,
}

#[derive(Clone, Debug)]
pub(super) enum ExprKind<'a> {
    Name(&'a str),
    Number(i128),
    Text(&'a str),
    List(Vec<Expr<'a>>),
    Call(&'a str, Vec<Expr<'a>>),
    Negative(Box<Expr<'a>>),
    /// Operands and the operators between them. All operators have the same precedence.
    Chain(Vec<Expr<'a>>, Vec<&'static str>),
}

/// `var name = value (mod modulus);`, `return value;`, or a call.
#[derive(Clone, Debug)]
pub(super) struct Statement<'a> {
    pub(super) line: usize,
    pub(super) target: Target<'a>,
    pub(super) value: Expr<'a>,
    pub(super) modulus: Option<Expr<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target<'a> {
    Variable(&'a str),
    Return,
    Nothing,
}

#[derive(Clone, Debug)]
pub(super) struct Function<'a> {
    pub(super) name: &'a str,
    pub(super) line: usize,
    pub(super) parameters: Vec<&'a str>,
    pub(super) body: Vec<Statement<'a>>,
}

/// `prime`, `primes` or `const`, with the length of its type if it is a vector.
#[derive(Clone, Debug)]
pub(super) struct Global<'a> {
    pub(super) name: &'a str,
    pub(super) line: usize,
    /// True if its numbers are moduli.
    pub(super) primes: bool,
    pub(super) value: Expr<'a>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Source<'a> {
    pub(super) globals: Vec<Global<'a>>,
    pub(super) functions: Vec<Function<'a>>,
    /// Lengths of polynomials in types, with their lines.
    pub(super) lengths: Vec<(usize, i128)>,
}
