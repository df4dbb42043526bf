//! The lines of a text form.

use super::problem::{Checked, Problem};
use super::words::shown;
use crate::error::{Error, Result};

/// The last line of a text. A text that was cut off lacks it.
pub const END: &str = "end";

/// The lines that were not read yet. Empty lines and comments are skipped.
pub struct Lines<'a> {
    rest: std::str::Lines<'a>,
    number: usize,
}

impl<'a> Lines<'a> {
    /// Takes the lines after the first. The first line must be the given header.
    pub fn after_header(text: &'a str, expected: &str) -> Result<Self> {
        let mut rest = text.lines();
        let header = rest.next().unwrap_or("").trim_end();
        if header != expected {
            return Err(Error::Format {
                found: shown(header).to_string(),
                expected: format!("`{expected}`"),
            });
        }
        Ok(Self { rest, number: 1 })
    }

    /// Number of the last line that was read, counted from 1.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Returns the next line. It must exist.
    pub fn next_line(&mut self) -> Checked<&'a str> {
        if let Some(line) = self.find() {
            return Ok(line);
        }
        let expected = format!("a last line `{END}`");
        let found = format!("cut off after line {}", self.number);
        Err(Problem::new("the text", found, expected))
    }

    /// Refuses lines after the last one.
    pub fn end(&mut self) -> Checked<()> {
        match self.find() {
            None => Ok(()),
            Some(line) => {
                let expected = format!("none after `{END}`");
                Err(Problem::new("the line", shown(line), expected))
            }
        }
    }

    fn find(&mut self) -> Option<&'a str> {
        for line in self.rest.by_ref() {
            self.number += 1;
            let line = line.trim_ascii();
            if !line.is_empty() && !line.starts_with('#') {
                return Some(line);
            }
        }
        None
    }
}
