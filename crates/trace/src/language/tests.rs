//! A small language with an operand of each kind.

use super::*;

crate::operations! {
    /// An operation of the test.
    #[derive(Clone, Debug, PartialEq)]
    enum Op: names, parser, builder(Writer);

    /// Number of values and, for a dot, the pairs.
    fn weight(&self, unit: usize) -> usize;

    {
        /// No text of its own but the name.
        Hidden = "hidden" {
            /// Stated by the context.
            stated: usize as Stated,
        } => 0,
        Add = "add" fn add (left: usize as Value, "and" right: usize as Value) => 2 * unit,
        Join = "join" (values: Vec<usize> as Values) => values.len() * unit,
        /// Every kind with a word of its own.
        All = "all" fn all {
            /// A name.
            name: String as Name("the name"),
            /// A number.
            number: i64 as Number("the number"),
            /// A constant.
            "at" constant: usize as ConstantNumber,
            /// A number with its name.
            bits: u32 as Named("bits"),
            /// Numbers.
            "by" factors: Vec<u64> as Numbers("a factor"),
        } => unit,
        /// Two operands that share a text.
        Dot = "dot" {
            /// Left.
            left: Vec<usize> |
            /// Right.
            right: Vec<usize> as Products,
            /// After the pairs.
            "plus" last: usize as Value,
        } => left.len() * right.len() * unit + last,
        /// Bears the name of its gate.
        Gate = "gate" [gate] {
            /// The gate.
            gate: &'static str as Silent,
            /// A value.
            value: usize as Value,
        } => unit,
    }
}

impl Language for Op {
    type Writing<'a> = ();
}

impl ReadLanguage for Op {
    type Reading<'a> = usize;
}

/// An operand that the context states.
struct Stated;

impl Operand<Op, usize> for Stated {
    fn write(&self, _: &mut Formatter<'_>, _: &usize, _: ()) -> Result {
        Ok(())
    }
}

impl ReadOperand<Op, usize> for Stated {
    fn read(&self, _: &mut Words<'_>, stated: usize) -> Checked<usize> {
        Ok(stated)
    }
}

/// A word that is the name of the operation.
struct Silent;

impl Operand<Op, &'static str> for Silent {
    fn write(&self, _: &mut Formatter<'_>, _: &&'static str, _: ()) -> Result {
        Ok(())
    }
}

impl ReadOperand<Op, &'static str> for Silent {
    fn read(&self, _: &mut Words<'_>, _: usize) -> Checked<&'static str> {
        Ok("and")
    }
}

/// Products of values: `%1 %2`, as often as there are any.
struct Products;

impl OperandPair<Op, Vec<usize>, Vec<usize>> for Products {
    fn write(
        &self,
        f: &mut Formatter<'_>,
        (left, right): (&Vec<usize>, &Vec<usize>),
        _: (),
    ) -> Result {
        let mut pairs = left.iter().zip(right);
        pairs.try_for_each(|(left, right)| write!(f, " %{left} %{right}"))
    }

    fn visit(&self, (left, right): (&Vec<usize>, &Vec<usize>), visit: &mut impl FnMut(usize)) {
        left.iter().chain(right).copied().for_each(visit);
    }

    fn visit_mut(
        &self,
        (left, right): (&mut Vec<usize>, &mut Vec<usize>),
        visit: &mut impl FnMut(&mut usize),
    ) {
        left.iter_mut().chain(right).for_each(visit);
    }
}

impl ReadOperandPair<Op, Vec<usize>, Vec<usize>> for Products {
    fn read(&self, words: &mut Words<'_>, _: usize) -> Checked<(Vec<usize>, Vec<usize>)> {
        let values = words.values()?;
        Ok(values.chunks(2).map(|pair| (pair[0], pair[1])).unzip())
    }
}

impl std::fmt::Display for Op {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.write(f, ())
    }
}

/// A builder of a list of operations.
struct Writer<'a>(&'a mut Vec<Op>);

impl Writer<'_> {
    fn one(&mut self, op: Op) -> usize {
        self.0.push(op);
        self.0.len() - 1
    }
}

fn all() -> Op {
    Op::All {
        name: "x/1".into(),
        number: -7,
        constant: 3,
        bits: 5,
        factors: vec![1, 2],
    }
}

fn dot() -> Op {
    Op::Dot {
        left: vec![1, 3],
        right: vec![2, 4],
        last: 9,
    }
}

/// Each operation, its text and the values that it reads.
fn every() -> [(Op, &'static str, Vec<usize>); 6] {
    let gate = Op::Gate {
        gate: "and",
        value: 8,
    };
    [
        (Op::Hidden { stated: 11 }, "hidden", vec![]),
        (Op::Add(4, 4), "add %4 and %4", vec![4, 4]),
        (Op::Join(vec![5, 6, 7]), "join %5 %6 %7", vec![5, 6, 7]),
        (all(), "all x/1 -7 at @3 bits 5 by 1 2", vec![]),
        (dot(), "dot %1 %2 %3 %4 plus %9", vec![1, 3, 2, 4, 9]),
        (gate, "and %8", vec![8]),
    ]
}

#[test]
fn operations_are_written_and_read() {
    for (kind, (op, text, operands)) in every().into_iter().enumerate() {
        assert_eq!(op.to_string(), text);
        assert_eq!(op.operands(), operands, "{text}");
        assert_eq!(op.kind(), kind);
        let named = text.replace("and %8", "gate %8");
        let mut words = Words::new(&named);
        assert_eq!(Op::read(&mut words, 11).unwrap(), op);
        words.end().unwrap();
        let mut moved = op.clone();
        moved.for_each_operand_mut(|value| *value += 100);
        let expected: Vec<usize> = operands.iter().map(|value| value + 100).collect();
        assert_eq!(moved.operands(), expected, "{text}");
    }
}

#[test]
fn names_are_those_of_the_table() {
    assert_eq!(Op::NAMES, ["hidden", "add", "join", "all", "dot", "gate"]);
    let names = every().map(|(op, ..)| op.name());
    assert_eq!(names, ["hidden", "add", "join", "all", "dot", "and"]);
}

#[test]
fn values_beside_operations_see_operands_and_arguments() {
    let weights = every().map(|(op, ..)| op.weight(10));
    assert_eq!(weights, [0, 20, 30, 10, 49, 10]);
}

#[test]
fn methods_append_what_the_table_says() {
    let mut ops = Vec::new();
    let mut writer = Writer(&mut ops);
    assert_eq!(writer.add(0, 1), 0);
    assert_eq!(writer.all("x/1", -7i64, 3, 5, [1, 2]), 1);
    assert_eq!(ops, [Op::Add(0, 1), all()]);
}

#[test]
fn wrong_lines_name_the_operand() {
    let refused = |text: &str| {
        let read = Op::read(&mut Words::new(text), 0);
        read.unwrap_err().into_parts().join("; ")
    };
    let cases = [
        ("", "the operation; the end of the line; a word"),
        (
            "subtract %1",
            "the operation; `subtract`; an operation: hidden, add, join, all, dot, gate",
        ),
        ("add 4 and %4", "an operand; `4`; a number as %5"),
        ("add %4 %4", "the next word; `%4`; `and`"),
        ("add %4", "the next word; `the end of the line`; `and`"),
        ("all", "the name; the end of the line; a word"),
        (
            "all x y",
            "the number; `y`; an integer in decimal digits, of at most 64 bits",
        ),
        ("all x 1 @3", "the next word; `@3`; `at`"),
        ("all x 1 at 3", "the constant; `3`; a number as @5"),
        ("all x 1 at @3 by", "the next word; `by`; `bits`"),
        (
            "all x 1 at @3 bits -1",
            "bits; `-1`; an integer in decimal digits, of at most 32 bits",
        ),
        (
            "all x 1 at @3 bits 1 by 1 -2",
            "a factor; `-2`; an integer in decimal digits, of at most 64 bits",
        ),
        ("dot %1 %2", "the next word; `the end of the line`; `plus`"),
    ];
    for (text, expected) in cases {
        assert_eq!(refused(text), expected, "{text}");
    }
}
