//! The names by which the trace of a circuit on samples asks for its inputs.
//!
//! A sample has a value for each `N` words of its mask and one for its body, whose other words do not count. Rows of
//! keys have a value for each polynomial.

pub use crate::names::answer;

/// Samples of the client.
pub const QUERY: &str = "query";
/// Rows of the bootstrapping key: all of the first GGSW ciphertext, then those of the next.
pub const BOOTSTRAP: &str = "keys/bootstrap";
/// Rows of a key switching key in the ring. Of one by samples the columns: for each word of a small sample the words that
/// all rows have there. A column has a value for each polynomial of the mask and each digit: of `N` words, of row
/// `i count + j - 1` for the words `i` of that polynomial.
pub const SWITCH: &str = "keys/switch";

/// A polynomial of a sample or of a row.
pub fn part(of: &str, index: usize, component: usize) -> String {
    format!("{of}/{index}/{component}")
}

/// What a name is of, by [`QUERY`] and others, with the number of the sample or row and the polynomial; `None` if it is
/// of another form.
pub fn place(name: &str) -> Option<(&str, usize, usize)> {
    let (rest, component) = name.rsplit_once('/')?;
    let (of, index) = rest.rsplit_once('/')?;
    Some((of, index.parse().ok()?, component.parse().ok()?))
}
