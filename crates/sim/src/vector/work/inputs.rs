//! Limbs that come from outside.

use super::NONE;
use super::flatten::Flattener;
use std::collections::HashMap;
use trace::{ConstantId, Limbs};

/// What a limb from outside is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// A half of a key-switch hint that is stored.
    Hint,
    /// A limb of what the client gives.
    Input,
    /// A limb of a constant: plaintexts, masks, zeros.
    Constant,
    /// A half of a key-switch hint that a seed gives.
    SampledHint,
    /// A half of a client's ciphertext that a seed gives.
    SampledInput,
}

impl Source {
    /// Whether a seed gives the limb.
    pub fn sampled(self) -> bool {
        matches!(self, Self::SampledHint | Self::SampledInput)
    }

    /// Whether the limb is of a key-switch hint.
    pub fn of_hint(self) -> bool {
        matches!(self, Self::Hint | Self::SampledHint)
    }
}

/// A limb from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    /// What it is.
    pub source: Source,
    /// Place of its modulus in the trace's table.
    pub modulus: u16,
    hint: u32,
}

impl Input {
    /// Number of the key-switch hint that it is a part of: see [`Work::hint`](super::Work::hint).
    pub fn hint(&self) -> Option<u32> {
        (self.hint != NONE).then_some(self.hint)
    }
}

/// Names of what comes from outside, by what makes limbs equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Name {
    Load(String),
    Constant(ConstantId),
    Zero,
    Sample(String, u32),
    Expand(String, u32, u32),
}

/// Inputs that have been met, each once.
#[derive(Default)]
pub(super) struct Inputs {
    names: HashMap<Name, u32>,
    limbs: HashMap<(u32, u16), u32>,
    hints: HashMap<String, u32>,
}

/// Beginning of the names of keys: see `lower::names`.
const KEYS: &str = "keys/";

impl Flattener<'_> {
    pub(super) fn load(&mut self, name: &str, limbs: &Limbs) -> Vec<u32> {
        self.work.ends.loaded += limbs.len() as u64;
        // Bodies of a key are numbered behind its name.
        let key = name
            .strip_prefix(KEYS)
            .is_some()
            .then(|| name.rsplit_once('/').map_or(name, |(key, _)| key));
        let source = if key.is_some() {
            Source::Hint
        } else {
            Source::Input
        };
        self.outside(Name::Load(name.to_owned()), source, key, limbs)
    }

    pub(super) fn constant(&mut self, constant: Option<ConstantId>, limbs: &Limbs) -> Vec<u32> {
        self.work.ends.constants += limbs.len() as u64;
        let name = constant.map_or(Name::Zero, Name::Constant);
        self.outside(name, Source::Constant, None, limbs)
    }

    pub(super) fn sample(
        &mut self,
        seed: &str,
        stream: u32,
        skip: Option<u32>,
        limbs: &Limbs,
    ) -> Vec<u32> {
        self.work.ends.sampled += limbs.len() as u64;
        let key = seed.starts_with(KEYS).then_some(seed);
        let source = if key.is_some() {
            Source::SampledHint
        } else {
            Source::SampledInput
        };
        let name = match skip {
            None => Name::Sample(seed.to_owned(), stream),
            Some(skip) => Name::Expand(seed.to_owned(), stream, skip),
        };
        self.outside(name, source, key, limbs)
    }

    /// Limbs from outside, marked as such: their numbers are known only when all instructions are.
    fn outside(
        &mut self,
        name: Name,
        source: Source,
        key: Option<&str>,
        limbs: &Limbs,
    ) -> Vec<u32> {
        let Inputs {
            names,
            limbs: known,
            hints,
        } = &mut self.inputs;
        let next = names.len() as u32;
        let name = *names.entry(name).or_insert(next);
        let hint = key.map_or(NONE, |key| {
            let next = hints.len() as u32;
            *hints.entry(key.to_owned()).or_insert_with(|| {
                self.work.hints.push(key.to_owned());
                next
            })
        });
        let inputs = &mut self.work.inputs;
        let limb = |modulus| {
            let modulus = modulus as u16;
            *known.entry((name, modulus)).or_insert_with(|| {
                inputs.push(Input {
                    source,
                    modulus,
                    hint,
                });
                (inputs.len() - 1) as u32 | OUTSIDE
            })
        };
        limbs.iter().map(limb).collect()
    }
}

/// Marks the number of an input while instructions are still counted.
pub(super) const OUTSIDE: u32 = 1 << 31;
