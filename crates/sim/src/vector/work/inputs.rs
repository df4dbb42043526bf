//! Limbs that come from outside.

use super::NONE;
use super::flatten::Flattener;
use std::collections::HashMap;
use trace::{ConstantId, Limbs};

/// The origin of a limb from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// A component of a key-switch hint, loaded from memory.
    Hint,
    /// A value of the client.
    Input,
    /// A constant: a plaintext, a mask, or zero.
    Constant,
    /// A component of a key-switch hint, expanded from a seed.
    SampledHint,
    /// A component of a client's ciphertext, expanded from a seed.
    SampledInput,
}

impl Source {
    /// Returns true if the limb is expanded from a seed.
    pub fn sampled(self) -> bool {
        matches!(self, Self::SampledHint | Self::SampledInput)
    }

    /// Returns true if the limb belongs to a key-switch hint.
    pub fn of_hint(self) -> bool {
        matches!(self, Self::Hint | Self::SampledHint)
    }
}

/// A limb from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    /// Origin of the limb.
    pub source: Source,
    /// Index of the limb's modulus in the trace's table of moduli.
    pub modulus: u16,
    hint: u32,
    /// Number of the trace's first instruction that brings the limb: see
    /// [`Origin::op`](super::Origin::op).
    pub op: u32,
}

impl Input {
    /// Number of the key-switch hint to which the limb belongs, if any: see
    /// [`Work::hint`](super::Work::hint).
    pub fn hint(&self) -> Option<u32> {
        (self.hint != NONE).then_some(self.hint)
    }
}

/// The identity of a value from outside. Values with equal names have equal limbs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Name {
    Load(String),
    Constant(ConstantId),
    Zero,
    Sample(String, u32),
    Expand(String, u32, u32),
}

/// The inputs that the flattener has met, each once.
#[derive(Default)]
pub(super) struct Inputs {
    names: HashMap<Name, u32>,
    /// By value, modulus, and the place among the limbs of a sample, on which its words depend.
    limbs: HashMap<(u32, u16, u16), u32>,
    hints: HashMap<String, u32>,
}

/// Prefix of the names of keys: see `lower::names`.
const KEYS: &str = "keys/";

impl Flattener<'_> {
    pub(super) fn load(&mut self, name: &str, limbs: &Limbs) -> Vec<u32> {
        self.work.ends.loaded += limbs.len() as u64;
        // The name of a key's body ends with its number.
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

    /// Adds limbs from outside. Returns their numbers, marked with [`OUTSIDE`]: their final numbers
    /// are known only after the last instruction.
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
        let (inputs, op) = (&mut self.work.inputs, self.op);
        let limb = |(place, modulus): (usize, usize)| {
            let modulus = modulus as u16;
            let place = if source.sampled() { place as u16 } else { 0 };
            *known.entry((name, modulus, place)).or_insert_with(|| {
                inputs.push(Input {
                    source,
                    modulus,
                    hint,
                    op,
                });
                (inputs.len() - 1) as u32 | OUTSIDE
            })
        };
        limbs.iter().enumerate().map(limb).collect()
    }
}

/// Marks the number of an input until all instructions are counted.
pub(super) const OUTSIDE: u32 = 1 << 31;
