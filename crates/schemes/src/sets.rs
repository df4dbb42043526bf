//! Parameter sets by name. Their sizes are in `sets.json`, with the sets that papers have
//! published.

use crate::error::{Error, Result};
use crate::scheme::Scheme;
use crate::spec::{Bits, Spec};
use serde::Deserialize;

/// The file of all sets, ours and published ones, as JSON.
pub const JSON: &str = include_str!("../sets.json");

#[derive(Deserialize)]
struct File {
    ours: Vec<Entry>,
}

/// Sizes of a set, in bits. `levels` and `special` say how many, and the moduli of one.
#[derive(Deserialize)]
struct Entry {
    name: String,
    scheme: String,
    log_n: u32,
    levels: Vec<(usize, Vec<u32>)>,
    special: Vec<(usize, u32)>,
    digit_limbs: Option<usize>,
    scale_bits: Option<u32>,
    t: Option<u64>,
}

impl Entry {
    fn is_of(&self, scheme: &str) -> bool {
        self.scheme.split(", ").any(|name| name == scheme)
    }
}

fn entries() -> Vec<Entry> {
    let file: File = serde_json::from_str(JSON).expect("the file of sets is read by a test");
    file.ours
}

/// Names of the sets of a scheme, smallest first.
pub(crate) fn names<S: Scheme>() -> Vec<String> {
    let own = entries().into_iter().filter(|entry| entry.is_of(S::NAME));
    own.map(|entry| entry.name).collect()
}

/// The spec of the set of this name.
pub(crate) fn spec<S: Scheme>(name: &str) -> Result<Spec> {
    let entries = entries();
    let Some(entry) = entries.iter().find(|entry| entry.name == name) else {
        return Err(Error::UnknownSet {
            found: name.into(),
            expected: names::<S>().join(", "),
        });
    };
    if !entry.is_of(S::NAME) {
        return Err(Error::OtherSet {
            name: name.into(),
            found: entry.scheme.clone(),
            expected: S::NAME,
        });
    }
    let levels = entry.levels.iter();
    let levels: Vec<Vec<u32>> = levels
        .flat_map(|(count, bits)| std::iter::repeat_n(bits.clone(), *count))
        .collect();
    let special = entry.special.iter();
    let special: Vec<u32> = special
        .flat_map(|&(count, bits)| std::iter::repeat_n(bits, count))
        .collect();
    let scale = || f64::from(entry.scale_bits.unwrap_or(0)).to_bits();
    let bits = Bits {
        log_n: entry.log_n,
        levels: &levels,
        special: &special,
        digit_limbs: entry.digit_limbs,
    };
    Spec::of_bits(S::NAME, entry.t.unwrap_or_else(scale), &bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bfv, Bgv, Ckks};

    #[test]
    fn every_set_has_its_schemes_and_a_spec() {
        assert_eq!(names::<Ckks>().len(), 8);
        assert_eq!(
            names::<Bfv>(),
            [names::<Bgv>(), vec!["bfv-tables".into()]].concat()
        );
        for name in names::<Ckks>() {
            assert_eq!(spec::<Ckks>(&name).unwrap().scheme, "ckks");
        }
        for name in names::<Bgv>() {
            assert!(spec::<Bgv>(&name).unwrap().number > 1 << 16, "{name}");
        }
        assert!(matches!(
            spec::<Bfv>("ckks-13"),
            Err(Error::OtherSet { .. })
        ));
        assert!(matches!(spec::<Bfv>("f1"), Err(Error::UnknownSet { .. })));
    }
}
