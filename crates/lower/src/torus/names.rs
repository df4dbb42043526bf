//! The names by which the trace of a circuit on samples asks for its inputs.
//!
//! A sample has a value for each `N` words of its mask and one for its body, whose other words do not count. Rows of keys
//! have bodies, which are loaded, and masks: polynomial `i` of the mask of row `r` is expanded from word `i N` of stream `r`
//! of the key's seed.

pub use crate::names::body;

/// Samples of the client.
pub const QUERY: &str = "query";
/// Samples for the client.
pub const ANSWER: &str = "answer";
/// The bootstrapping key, by rows: all of the first GGSW ciphertext, then those of the next.
pub const BOOTSTRAP: &str = "keys/bootstrap";
/// The key switching key. One in the ring has rows. One by samples has columns, which are loaded whole: for each word of a
/// small sample the words that all rows have there. A column has a value for each polynomial of the mask and each digit:
/// of `N` words, of row `i count + j - 1` for the words `i` of that polynomial.
pub const SWITCH: &str = "keys/switch";

/// A polynomial of a sample or of a column.
pub fn part(of: &str, index: usize, component: usize) -> String {
    format!("{of}/{index}/{component}")
}

/// What the name of a [`part`] is of: with the number of the sample or column, and the polynomial. `None` if it is of
/// another form.
pub fn place(name: &str) -> Option<(&str, usize, usize)> {
    let (rest, component) = name.rsplit_once('/')?;
    let (of, index) = rest.rsplit_once('/')?;
    Some((of, index.parse().ok()?, component.parse().ok()?))
}

/// What the name of a row's [`body`] is of, with the number of the row. `None` if it is of another form.
pub fn row(name: &str) -> Option<(&str, usize)> {
    let (of, index) = name.rsplit_once('/')?;
    Some((of, index.parse().ok()?))
}
