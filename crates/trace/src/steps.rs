//! Names for parts of the main body.
//!
//! Whoever lowers a program knows which of its steps an instruction is a part of, and whoever
//! reports a run wants to say so. Names mean nothing to a replay.

use super::build::Builder;
use super::verify::MAIN;
use crate::reading::{Checked, check};

/// A part of the main body with a name for people: a step of a network, an operation of a circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Name: 1 to [`MAX_NAME`](Step::MAX_NAME) bytes, without control characters, and without space
    /// at its ends. It may come again.
    pub name: String,
    /// The first instruction of the step. The last one stands before the next step, or at the end
    /// of the body.
    pub first: usize,
}

impl Step {
    /// Largest number of bytes of a name.
    pub const MAX_NAME: usize = 200;

    /// The nearest name that a step may have: control characters become `_`, and the end of a name
    /// that is too long is cut.
    pub fn nearest_name(name: &str) -> String {
        let clean = |sign: char| if sign.is_control() { '_' } else { sign };
        let mut found: String = name.trim().chars().map(clean).collect();
        while found.len() > Self::MAX_NAME {
            found.pop();
        }
        let found = found.trim_end();
        if found.is_empty() {
            return "_".into();
        }
        found.into()
    }
}

/// Refuses a name that does not survive a line of text.
pub(super) fn check_step_name(name: &str) -> Checked<()> {
    let fits = (1..=Step::MAX_NAME).contains(&name.len());
    let fine = fits && name.trim() == name && !name.chars().any(char::is_control);
    let expected = || format!("1 to {} bytes of text on a line", Step::MAX_NAME);
    check(
        fine,
        "the name of the step",
        format_args!("{name:?}"),
        expected,
    )
}

/// Refuses a step that has no instruction of its own, of a main body of `length` instructions.
pub(super) fn check_step(step: &Step, before: Option<&Step>, length: usize) -> Checked<()> {
    check_step_name(&step.name)?;
    let least = before.map_or(0, |before| before.first + 1);
    let fine = (least..length).contains(&step.first);
    check(
        fine,
        "the first instruction of the step",
        step.first,
        || format!("{least} or more, and below {length}: every step has an instruction"),
    )
}

impl Builder<'_> {
    /// The rest of the main body, up to the next step, belongs to a step of this name. A step
    /// without instructions vanishes.
    ///
    /// # Panics
    /// In a sub-trace, and for a name that [`Trace::verify`](super::Trace::verify) refuses.
    #[track_caller]
    pub fn begin_step(&mut self, name: &str) {
        let body = &self.open.body;
        assert_eq!(body.name, MAIN, "only the main body has steps");
        assert!(
            check_step_name(name).is_ok(),
            "the name of a step: {name:?}"
        );
        let (first, steps) = (body.instructions.len(), &mut self.shared.steps);
        if steps.last().is_some_and(|last| last.first == first) {
            steps.pop();
        }
        let name = name.to_owned();
        steps.push(Step { name, first });
    }
}
