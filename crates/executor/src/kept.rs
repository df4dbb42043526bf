//! Values that stay between runs.

use crate::error::Result;
use crate::outside::{Limb, Outside};
use ring::sample::Seed;
use std::collections::HashMap;
use trace::{Op, Trace, Type};

/// Values that runs of a trace load again and again, by name. Limbs are shared, not copied.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    values: HashMap<String, Vec<Limb>>,
}

impl Kept {
    /// Loads the values of a trace for which `lasting` is true.
    pub(crate) fn of(
        trace: &Trace,
        outside: &mut dyn Outside,
        lasting: &dyn Fn(&str) -> bool,
    ) -> Result<Self> {
        let mut values = HashMap::new();
        let bodies = trace.subs.iter().chain([&trace.main]);
        for instruction in bodies.flat_map(|body| &body.instructions) {
            if let Op::Load { name, ty } = &instruction.op
                && lasting(name)
                && !values.contains_key(name)
            {
                values.insert(name.clone(), outside.load(name, ty)?);
            }
        }
        Ok(Self { values })
    }

    /// Bytes of the words.
    pub(crate) fn bytes(&self) -> u64 {
        let limbs = self.values.values().flatten();
        limbs.map(|limb| 8 * limb.len() as u64).sum()
    }

    /// An outside that gives the kept values itself, and asks another one for the rest.
    pub(crate) fn before<'a>(&'a self, rest: &'a mut dyn Outside) -> Before<'a> {
        Before { kept: self, rest }
    }
}

/// Kept values before an outside.
pub(crate) struct Before<'a> {
    kept: &'a Kept,
    rest: &'a mut dyn Outside,
}

impl Outside for Before<'_> {
    fn load(&mut self, name: &str, ty: &Type) -> Result<Vec<Limb>> {
        match self.kept.values.get(name) {
            // A name may stand for values of several types, of which one was kept.
            Some(limbs) if limbs.len() == ty.limbs.len() => Ok(limbs.clone()),
            _ => self.rest.load(name, ty),
        }
    }

    fn seed(&mut self, name: &str) -> Result<Seed> {
        self.rest.seed(name)
    }

    fn store(&mut self, name: &str, ty: &Type, limbs: Vec<Limb>) -> Result<()> {
        self.rest.store(name, ty, limbs)
    }

    fn end_step(&mut self) -> Result<()> {
        self.rest.end_step()
    }
}
