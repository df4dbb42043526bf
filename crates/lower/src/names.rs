//! The names of a trace's inputs and results.
//!
//! A ciphertext and a key have bodies, which are loaded, and masks, which are expanded from a seed:
//! the mask of body `j` is stream `j` of the seed.

/// Seed of the query's masks.
pub const QUERY: &str = "query";
/// The beginning of the names of all keys.
pub const KEYS: &str = "keys/";
/// Seed of the relinearization key's masks.
pub const RELINEARIZATION: &str = "keys/relinearization";
/// Seed of the dimension key's masks.
pub const DIMENSION: &str = "keys/dimension";

/// Seeds of the masks of Galois keys. The Galois element follows.
pub const GALOIS: &str = "keys/galois/";
/// Seeds of the masks of packing keys. The number of values follows.
pub const PACKINGS: &str = "keys/packing/";

/// Seed of the masks of the Galois key of a Galois element.
pub fn galois(element: usize) -> String {
    format!("{GALOIS}{element}")
}

/// Seed of the masks of the key to the sparse secret.
pub const TO_SPARSE: &str = "keys/sparse";
/// Seed of the masks of the key back from the sparse secret.
pub const TO_DENSE: &str = "keys/dense";

/// Seeds of the masks of RGSW ciphertexts. The name follows, then the component that the key
/// multiplies.
pub const RGSW: &str = "keys/rgsw/";

/// Seed of the masks of the key that multiplies a component by an RGSW ciphertext.
pub fn rgsw(name: &str, component: usize) -> String {
    format!("{RGSW}{name}/{component}")
}

/// Parses the name of a seed of an RGSW ciphertext: the ciphertext's name, and the index of its
/// key. `None` if it has another form.
pub fn place_of_rgsw(name: &str) -> Option<(&str, usize)> {
    place(name, RGSW)
}

/// Seed of the masks of the packing key for a number of values.
pub fn packing(values: usize) -> String {
    format!("{PACKINGS}{values}")
}

/// Body `index` of the ciphertext or key whose masks have this seed.
pub fn body(seed: &str, index: usize) -> String {
    format!("{seed}/{index}")
}

/// A component of an input ciphertext, given by its name.
pub fn given(name: &str, component: usize) -> String {
    format!("given/{name}/{component}")
}

/// A component of a result.
pub fn answer(name: &str, component: usize) -> String {
    format!("answer/{name}/{component}")
}

/// Parses the name of a component that is given: the ciphertext's name, and the component's index.
/// `None` if it has another form.
pub fn place_of_given(name: &str) -> Option<(&str, usize)> {
    place(name, "given/")
}

/// Parses the name of a component of a result: the result's name, and the component's index. `None`
/// if it has another form.
pub fn place_of_answer(name: &str) -> Option<(&str, usize)> {
    place(name, "answer/")
}

/// A result from which a run goes on after some of its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Number of steps that are done.
    pub done: usize,
    /// The step that made the value.
    pub step: usize,
    /// Factor of the value's message: 1 for samples.
    pub factor: u64,
}

impl Held {
    /// Name of the held result.
    pub fn name(&self) -> String {
        let Self { done, step, factor } = self;
        format!("{HELD}{done}/{step}/{factor}")
    }

    /// Parses its name. `None` if it has another form.
    pub fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix(HELD)?.split('/');
        let found = Self {
            done: parts.next()?.parse().ok()?,
            step: parts.next()?.parse().ok()?,
            factor: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(found)
    }
}

const HELD: &str = "held/";

fn place<'a>(name: &'a str, of: &str) -> Option<(&'a str, usize)> {
    let (name, component) = name.strip_prefix(of)?.rsplit_once('/')?;
    Some((name, component.parse().ok()?))
}
