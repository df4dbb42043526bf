//! The parser of the text form.

use super::ir::{Body, Instruction, Op, SubId, Trace};
use super::kinds::Line;
use super::parse_constant::constant;
use super::steps::Step;
use super::text::HEADER;
use super::verify::{MAIN, Site};
use crate::error::Result;
use crate::location::Part;
use crate::reading::{Checked, Problem, check};
use crate::reading::{END, Lines};
use crate::reading::{Words, shown};
use std::collections::HashMap;

impl Trace {
    /// Reads the text form and verifies the trace.
    ///
    /// # Errors
    /// [`Error::Format`](crate::Error::Format) for the text of another version.
    /// [`Error::Trace`](crate::Error::Trace) with the line of text that cannot be read, or that
    /// [`Trace::verify`] refuses.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parser = Parser::new(Lines::after_header(text, HEADER)?);
        if let Err(problem) = parser.parse() {
            return Err(problem.at(Some(parser.lines.number()), Part::Text));
        }
        let Parser { trace, places, .. } = parser;
        trace.check().map_err(|fault| {
            let (line, part) = (places.line(fault.site), trace.part(fault.site));
            fault.problem.at(Some(line), part)
        })?;
        Ok(trace)
    }
}

struct Parser<'a> {
    lines: Lines<'a>,
    trace: Trace,
    subs: HashMap<&'a str, SubId>,
    places: Places,
}

/// Lines of all parts of a trace.
#[derive(Default)]
struct Places {
    ring: usize,
    moduli: usize,
    constants: Vec<usize>,
    bodies: Vec<BodyPlaces>,
    steps: Vec<usize>,
}

#[derive(Default)]
struct BodyPlaces {
    head: usize,
    instructions: Vec<usize>,
    end: usize,
}

impl Places {
    fn line(&self, site: Site) -> usize {
        match site {
            Site::Ring => self.ring,
            Site::Moduli => self.moduli,
            Site::Constant(id) => self.constants[id],
            Site::Body(body) => self.bodies[body].head,
            Site::Instruction(body, index) => self.bodies[body].instructions[index],
            Site::Results(body) => self.bodies[body].end,
            Site::Step(step) => self.steps[step],
        }
    }
}

impl<'a> Parser<'a> {
    fn new(lines: Lines<'a>) -> Self {
        Self {
            lines,
            trace: Trace {
                n: 0,
                moduli: Vec::new(),
                powers: Vec::new(),
                constants: Vec::new(),
                subs: Vec::new(),
                main: Body::default(),
                steps: Vec::new(),
            },
            subs: HashMap::new(),
            places: Places::default(),
        }
    }

    fn parse(&mut self) -> Checked<()> {
        let mut words = Words::new(self.lines.next_line()?);
        words.expect("ring")?;
        self.trace.n = words.number("the ring degree")?;
        words.end()?;
        self.places.ring = self.lines.number();
        let mut words = Words::new(self.lines.next_line()?);
        words.expect("moduli")?;
        (self.trace.moduli, self.trace.powers) = words.moduli()?;
        words.end()?;
        self.places.moduli = self.lines.number();
        let mut line = self.lines.next_line()?;
        while line.starts_with('@') {
            let constant = constant(line, self.trace.constants.len())?;
            self.trace.constants.push(constant);
            self.places.constants.push(self.lines.number());
            line = self.lines.next_line()?;
        }
        while let Some(head) = line.strip_prefix("sub ") {
            let sub = self.sub(head)?;
            self.trace.subs.push(sub);
            line = self.lines.next_line()?;
        }
        check(
            line == "main:",
            "the line",
            shown(line),
            || "a constant, a sub-trace or `main:`, in this order",
        )?;
        self.main()?;
        self.lines.end()
    }

    /// Reads a sub-trace, from the line after its head to `return`.
    fn sub(&mut self, head: &'a str) -> Checked<Body> {
        let parts = head
            .strip_suffix("):")
            .and_then(|head| head.split_once(" ("));
        let Some((name, parameters)) = parts else {
            let expected = "`sub name (%0: eval 0..3, ..):`";
            return Err(Problem::new("the line", shown(head), expected));
        };
        let mut body = Body {
            name: name.into(),
            ..Body::default()
        };
        if !parameters.is_empty() {
            let mut words = Words::new(parameters);
            body.parameters = words.types(0)?;
            words.end()?;
        }
        let head = self.lines.number();
        let (last, instructions) = self.instructions(&mut body, "return")?;
        let mut words = Words::new(last);
        words.expect("return")?;
        body.results = words.values()?;
        words.end()?;
        self.places.bodies.push(BodyPlaces {
            head,
            instructions,
            end: self.lines.number(),
        });
        self.subs.insert(name, self.subs.len());
        Ok(body)
    }

    fn main(&mut self) -> Checked<()> {
        let mut body = Body {
            name: MAIN.into(),
            ..Body::default()
        };
        let head = self.lines.number();
        let (last, instructions) = self.instructions(&mut body, END)?;
        check(last == END, "the line", shown(last), || format!("`{END}`"))?;
        self.places.bodies.push(BodyPlaces {
            head,
            instructions,
            end: self.lines.number(),
        });
        self.trace.main = body;
        Ok(())
    }

    /// The name of a step of the main body, of which `first` is the first instruction.
    fn step(&mut self, name: &str, first: usize) -> Checked<()> {
        let Some(name) = name.strip_suffix(':') else {
            return Err(Problem::new("the line", shown(name), "`step NAME:`"));
        };
        let name = name.to_owned();
        self.trace.steps.push(Step { name, first });
        self.places.steps.push(self.lines.number());
        Ok(())
    }

    /// Reads instructions up to a line that begins with `last`. Returns that line, and the lines of
    /// the instructions.
    fn instructions(&mut self, body: &mut Body, last: &str) -> Checked<(&'a str, Vec<usize>)> {
        let (mut value, mut places) = (body.parameters.len(), Vec::new());
        loop {
            let line = self.lines.next_line()?;
            let end = line.strip_prefix(last);
            if end.is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')) {
                body.instructions.shrink_to_fit();
                return Ok((line, places));
            }
            if let Some(name) = line.strip_prefix("step ").filter(|_| last == END) {
                self.step(name, body.instructions.len())?;
                continue;
            }
            let mut words = Words::new(line);
            let types = if line.starts_with('%') {
                let types = words.types(value)?;
                words.expect("=")?;
                types
            } else {
                Vec::new()
            };
            value += types.len();
            let line = Line {
                subs: &self.subs,
                types: &types,
            };
            let op = Op::read(&mut words, line)?;
            words.end()?;
            body.instructions.push(Instruction { op, types });
            places.push(self.lines.number());
        }
    }
}
