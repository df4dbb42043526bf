//! The outside of a trace: the source and the sink of its values.

use crate::error::{Error, Result};
use ring::sample::Seed;
use std::collections::BTreeMap;
use std::sync::Arc;
use trace::{Trace, Type};

/// The `N` residues of a limb.
pub type Limb = Arc<Vec<u64>>;

/// The place from which values are loaded and to which they are stored: keys, a query and its
/// answer, or values by name.
pub trait Outside {
    /// Returns the limbs of a value, in the order of its type: `N` residues each.
    ///
    /// # Errors
    /// If there is no such value.
    fn load(&mut self, name: &str, ty: &Type) -> Result<Vec<Limb>>;

    /// Returns the seed with this name.
    ///
    /// # Errors
    /// If there is no seed of this name.
    fn seed(&mut self, name: &str) -> Result<Seed>;

    /// Stores the limbs of a value.
    ///
    /// # Errors
    /// If the limbs cannot be stored.
    fn store(&mut self, name: &str, ty: &Type, limbs: Vec<Limb>) -> Result<()>;

    /// Is told that all instructions of a step have run and that their values are stored. The
    /// values of a checkpoint can be taken here. Does nothing by default.
    ///
    /// # Errors
    /// If the stored values cannot be used.
    fn end_step(&mut self) -> Result<()> {
        Ok(())
    }
}

impl<T: Outside + ?Sized> Outside for &mut T {
    fn load(&mut self, name: &str, ty: &Type) -> Result<Vec<Limb>> {
        (**self).load(name, ty)
    }

    fn seed(&mut self, name: &str) -> Result<Seed> {
        (**self).seed(name)
    }

    fn store(&mut self, name: &str, ty: &Type, limbs: Vec<Limb>) -> Result<()> {
        (**self).store(name, ty, limbs)
    }

    fn end_step(&mut self) -> Result<()> {
        (**self).end_step()
    }
}

/// Values and seeds by name, and the values that a run stores.
#[derive(Debug, Default)]
pub struct Values {
    /// Values to load.
    pub values: BTreeMap<String, Vec<Limb>>,
    /// Seeds to load.
    pub seeds: BTreeMap<String, Seed>,
    /// Values that were stored.
    pub stored: BTreeMap<String, Vec<Limb>>,
}

impl Outside for Values {
    fn load(&mut self, name: &str, _: &Type) -> Result<Vec<Limb>> {
        let limbs = self.values.get(name).cloned();
        limbs.ok_or_else(|| missing("value", name))
    }

    fn seed(&mut self, name: &str) -> Result<Seed> {
        let seed = self.seeds.get(name).copied();
        seed.ok_or_else(|| missing("seed", name))
    }

    fn store(&mut self, name: &str, _: &Type, limbs: Vec<Limb>) -> Result<()> {
        self.stored.insert(name.to_owned(), limbs);
        Ok(())
    }
}

fn missing(kind: &str, name: &str) -> Error {
    Error::Replay {
        what: format!("the {kind} {name}"),
        found: "missing".into(),
        expected: "one of the names given".into(),
    }
}

/// The type of a value of the main body.
///
/// # Panics
/// If the main body has no such value.
pub fn type_of(trace: &Trace, value: usize) -> &Type {
    let mut types = trace.main.instructions.iter().flat_map(|i| &i.types);
    types.nth(value).expect("the trace is verified")
}
