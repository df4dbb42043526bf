//! Places in a recording.

use super::ir::Recording;
use crate::error::Error;
use trace::reading::Problem;
use trace::{Location, Part};

/// A problem and its place.
pub(super) struct Fault {
    pub(super) site: Site,
    pub(super) problem: Problem,
}

/// The error of a problem at a location in a recording.
pub(super) fn recorded(problem: Problem, line: Option<usize>, part: Part) -> Error {
    let [what, found, expected] = problem.into_parts();
    Error::Recorded {
        location: Box::new(Location { line, part }),
        what,
        found,
        expected,
    }
}

/// A place, given by indices. The parser knows its line.
#[derive(Clone, Copy, Debug)]
pub(super) enum Site {
    Head(Head),
    Constant(usize),
    Packing(usize),
    Step(usize),
}

/// Lines before the constants, in order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Head {
    Ring,
    Moduli,
    Special,
    Digits,
    Plain,
    Samples,
    Relinearization,
    Galois,
    PackingKeys,
}

impl Head {
    pub(super) const ALL: [&'static str; 9] = [
        "ring",
        "moduli",
        "special",
        "digits",
        "plain",
        "samples",
        "relinearization",
        "galois",
        "packing_keys",
    ];

    /// First word of the line.
    pub(super) fn name(self) -> &'static str {
        Self::ALL[self as usize]
    }
}

impl Recording {
    pub(super) fn part(&self, site: Site) -> Part {
        match site {
            Site::Head(Head::Ring | Head::Moduli | Head::Special) => Part::Ring,
            Site::Head(Head::Digits | Head::Plain | Head::Samples) => Part::Parameters,
            Site::Head(Head::Relinearization | Head::Galois | Head::PackingKeys) => Part::Keys,
            Site::Constant(id) => Part::Constant(id),
            Site::Packing(id) => Part::Packing(id),
            Site::Step(index) => {
                let op = self.steps[index].op.name();
                Part::Step { index, op }
            }
        }
    }
}
