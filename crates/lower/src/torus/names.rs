//! The names of the inputs of a trace of a circuit on samples.
//!
//! A sample has a value for each `N` words of its mask and one for its body, of which only word 0
//! counts. Rows of keys have bodies, which are loaded, and masks, which are expanded: polynomial
//! `i` of the mask of row `r` begins at word `i N` of stream `r` of the key's seed.

pub use crate::names::body;

/// The client's samples.
pub const QUERY: &str = "query";
/// The resulting samples.
pub const ANSWER: &str = "answer";
/// The bootstrapping key, by rows: all rows of the first GGSW ciphertext, then those of the next.
pub const BOOTSTRAP: &str = "keys/bootstrap";
/// The key switching key. A key in the ring has rows. A key by samples has columns, which are
/// loaded whole. There is a column for each word of a small sample: it has this word of all rows. A
/// column has a value for each polynomial of the mask and each digit. The value of polynomial `p`
/// and digit `j` has `N` words: word `i` is that of row `(p N + i) count + j - 1`, where `count` is
/// the number of digits.
pub const SWITCH: &str = "keys/switch";

/// Name of a polynomial of a sample or of a column.
pub fn part(of: &str, index: usize, component: usize) -> String {
    format!("{of}/{index}/{component}")
}

/// Parses the name of a [`part`]: the name of its list of samples or columns, the number of the
/// sample or column, and the number of the polynomial. `None` if it has another form.
pub fn place(name: &str) -> Option<(&str, usize, usize)> {
    let (rest, component) = name.rsplit_once('/')?;
    let (of, index) = rest.rsplit_once('/')?;
    Some((of, index.parse().ok()?, component.parse().ok()?))
}

/// Parses the name of a row's [`body`]: the key, and the number of the row. `None` if it has
/// another form.
pub fn row(name: &str) -> Option<(&str, usize)> {
    let (of, index) = name.rsplit_once('/')?;
    Some((of, index.parse().ok()?))
}
