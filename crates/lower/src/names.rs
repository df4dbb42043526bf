//! The names by which a trace asks for its inputs and gives its results.
//!
//! A ciphertext and a key have bodies, which are loaded, and masks, which expand from a seed: the mask of body `j` is stream
//! `j` of the seed.

/// Seed of the query's masks.
pub const QUERY: &str = "query";
/// Seed of the relinearization key's masks.
pub const RELINEARIZATION: &str = "keys/relinearization";
/// Seed of the dimension key's masks.
pub const DIMENSION: &str = "keys/dimension";

/// Seed of the masks of the Galois key of an element.
pub fn galois(element: usize) -> String {
    format!("keys/galois/{element}")
}

/// Seed of the masks of the packing key for a number of values.
pub fn packing(values: usize) -> String {
    format!("keys/packing/{values}")
}

/// Body `index` of what the seed of this name belongs to.
pub fn body(seed: &str, index: usize) -> String {
    format!("{seed}/{index}")
}

/// A component of a result.
pub fn answer(index: usize, component: usize) -> String {
    format!("answer/{index}/{component}")
}
