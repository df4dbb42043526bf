//! The keys that a circuit needs, and its operations by kind and level.

use super::bootstrapping::Bootstrapping;
use super::ir::{Circuit, ValueId};
use super::op::{Change, Effect, Op, Permutation};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Formatter};

/// The evaluation keys that a circuit uses, each with the highest level at which it is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyNeeds {
    /// Level of the relinearization key, if it is used.
    pub relinearization: Option<usize>,
    /// Galois keys of rotations: steps to the left, and level.
    pub rotations: BTreeMap<usize, usize>,
    /// Level of the Galois key of the conjugation, or of the swap of rows: these are the same
    /// automorphism.
    pub conjugation: Option<usize>,
    /// True if bootstrapping needs the key to its sparse secret and the key back.
    pub bootstrapping: bool,
}

/// Numbers of operations of a circuit, by level from the lowest, and by kind.
///
/// `add` counts sums and differences. `mul` counts products of ciphertexts before their
/// relinearisation, and `relinearize` their sums. `mul plain` and `add plain` count operations with
/// plaintexts. `decompose` counts values that are rotated or conjugated: all rotations of one value
/// share a decomposition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(pub BTreeMap<usize, BTreeMap<&'static str, usize>>);

impl Counts {
    /// Number of operations of a kind on all levels.
    pub fn total(&self, kind: &str) -> usize {
        self.0.values().filter_map(|kinds| kinds.get(kind)).sum()
    }
}

impl Display for Counts {
    /// Writes a line for each level, the highest first.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        for (level, kinds) in self.0.iter().rev() {
            let words: Vec<String> = kinds
                .iter()
                .map(|(kind, n)| format!("{n} {kind}"))
                .collect();
            writeln!(f, "level {level}: {}", words.join(", "))?;
        }
        Ok(())
    }
}

impl KeyNeeds {
    /// Returns the needs of two circuits that share their keys.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        self.relinearization = self.relinearization.max(other.relinearization);
        self.conjugation = self.conjugation.max(other.conjugation);
        self.bootstrapping |= other.bootstrapping;
        for (&steps, &level) in &other.rotations {
            self.rotation(steps, level);
        }
        self
    }

    fn rotation(&mut self, steps: usize, level: usize) {
        let highest = self.rotations.entry(steps).or_insert(level);
        *highest = level.max(*highest);
    }

    fn bootstrap(&mut self, bootstrapping: &Bootstrapping, top: usize) {
        self.bootstrapping = true;
        self.relinearization = Some(top);
        self.conjugation = Some(top);
        for &steps in &bootstrapping.rotations {
            self.rotation(steps, top);
        }
    }
}

impl Circuit {
    /// The keys that the circuit needs. It does not run without any of them.
    pub fn keys(&self) -> KeyNeeds {
        let mut keys = KeyNeeds::default();
        let top = self.arithmetic.levels() - 1;
        for step in &self.steps {
            let level = step.ty.level;
            match step.op.effect() {
                Some(Effect::Products { terms }) if self.multiplies_ciphertexts(terms) => {
                    keys.relinearization = keys.relinearization.max(Some(level));
                }
                Some(Effect::Unary { change, .. }) => {
                    match change.permutation().map(Permutation::rotation) {
                        Some(Some(steps)) => keys.rotation(steps, level),
                        Some(None) => keys.conjugation = keys.conjugation.max(Some(level)),
                        None => {}
                    }
                    if let (Change::Refreshed, Some(stated)) = (change, &self.bootstrapping) {
                        keys.bootstrap(stated, top);
                    }
                }
                Some(_) => {}
                None => {
                    if let Op::Repeat { body, .. } = step.op {
                        keys = keys.with(&self.bodies[body].keys());
                    }
                }
            }
        }
        keys
    }

    /// Numbers of operations, by level and kind. A rescale counts at the level where it starts, and
    /// a bootstrapping where it ends. Inputs, constants, readings and outputs are not counted. A
    /// repeated part counts once for each iteration.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        let mut decomposed = BTreeSet::new();
        let mut count = |level: usize, kind: &'static str, n: usize| {
            *counts.0.entry(level).or_default().entry(kind).or_default() += n;
        };
        let plain = |value: ValueId| !self.ty(value).encrypted;
        for step in &self.steps {
            let (level, name) = (step.ty.level, step.op.name());
            match step.op.effect() {
                Some(Effect::Input { .. } | Effect::Constant { .. }) => {}
                Some(Effect::Sum { right, .. }) if plain(right) => count(level, "add plain", 1),
                Some(Effect::Sum { .. }) => count(level, "add", 1),
                Some(Effect::Products { terms }) if self.multiplies_ciphertexts(terms) => {
                    count(level, "mul", terms.len());
                    count(level, "relinearize", 1);
                }
                Some(Effect::Products { terms }) => count(level, "mul plain", terms.len()),
                Some(Effect::Unary { .. }) if step.op.is_free() => {}
                Some(Effect::Unary { value, change }) => {
                    let start = self.ty(value).level;
                    count(
                        if change == Change::Divided {
                            start
                        } else {
                            level
                        },
                        name,
                        1,
                    );
                    if change.permutation().is_some() {
                        count(level, "decompose", usize::from(decomposed.insert(value)));
                    }
                }
                None => {
                    if let Op::Repeat { body, each, .. } = &step.op {
                        for (level, kinds) in self.bodies[*body].counts().0 {
                            for (kind, n) in kinds {
                                count(level, kind, n * each.len());
                            }
                        }
                    }
                }
            }
        }
        counts
    }
}
