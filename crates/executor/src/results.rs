//! Code shared by the outsides of programs and of circuits: keys, and results as they are stored.

use crate::error::{Error, Result};
use crate::outside::Limb;
use exchange::circuit::{Keys, SparseKeys};
use lower::names;
use ring::sample::Seed;
use ring::{Basis, Eval, Poly};
use rlwe::{Ciphertext, GaloisKeys, Rgsw, SwitchKey};
use std::collections::BTreeMap;
use std::sync::Arc;
use trace::Type;

/// The keys of key switching. A trace loads them by its [names](lower::names) for them.
#[derive(Clone, Copy)]
pub struct SwitchKeys<'a> {
    /// Relinearization key.
    pub relinearization: Option<&'a SwitchKey>,
    /// Galois keys.
    pub galois: &'a GaloisKeys,
    /// Key to the sparse secret, and the key back.
    pub sparse: Option<[&'a SwitchKey; 2]>,
    /// RGSW ciphertexts, by their names.
    pub rgsw: Option<&'a BTreeMap<String, Rgsw>>,
}

impl<'a> From<&'a Keys> for SwitchKeys<'a> {
    fn from(keys: &'a Keys) -> Self {
        Self {
            relinearization: keys.relinearization.as_ref(),
            galois: &keys.galois,
            sparse: keys.sparse.as_ref().map(SparseKeys::both),
            rgsw: None,
        }
    }
}

impl<'a> SwitchKeys<'a> {
    /// Body `index` of the key whose seed has this name.
    pub fn body(&self, seed: &str, index: usize) -> Option<Poly<Eval>> {
        let key = self.key(seed)?;
        (index < key.digits()).then(|| key.digit(index, 0).to_poly())
    }

    /// The seed of the key with this name.
    pub fn seed(&self, name: &str) -> Option<Seed> {
        self.key(name).map(|key| *key.seed())
    }

    fn key(&self, name: &str) -> Option<&'a SwitchKey> {
        match name {
            names::RELINEARIZATION => return self.relinearization,
            names::TO_SPARSE => return self.sparse.map(|[to, _]| to),
            names::TO_DENSE => return self.sparse.map(|[_, back]| back),
            _ => {}
        }
        if let Some((of, component)) = names::place_of_rgsw(name) {
            return self.rgsw?.get(of)?.keys().get(component);
        }
        let element = name.strip_prefix(names::GALOIS)?.parse().ok()?;
        let (key, _) = self.galois.get(element).ok()?;
        Some(key)
    }
}

/// The limbs of a value that is loaded.
///
/// # Errors
/// [`Error::Replay`] if the value is missing or has another number of limbs.
pub fn limbs_of(name: &str, body: Option<&Poly<Eval>>, ty: &Type) -> Result<Vec<Limb>> {
    let missing = |found: String| Error::Replay {
        what: format!("the value {name}"),
        found,
        expected: format!("{} limbs among the keys and the inputs", ty.limbs.len()),
    };
    let body = body.ok_or_else(|| missing("missing".into()))?;
    if body.limbs() != ty.limbs.len() {
        return Err(missing(format!("of {} limbs", body.limbs())));
    }
    let limbs = (0..body.limbs()).map(|i| Arc::new(body.limb(i).to_vec()));
    Ok(limbs.collect())
}

/// The error for a missing seed.
pub fn no_seed(name: &str) -> Error {
    Error::Replay {
        what: format!("the seed {name}"),
        found: "missing".into(),
        expected: "a seed among the keys and the inputs".into(),
    }
}

/// Components of results, by name and index.
#[derive(Debug, Default)]
pub struct Results(BTreeMap<(String, usize), Vec<Limb>>);

impl Results {
    /// Stores a component.
    ///
    /// # Errors
    /// [`Error::Replay`] for a name that is not that of a result.
    pub fn store(&mut self, name: &str, limbs: Vec<Limb>) -> Result<()> {
        let (result, component) = names::place_of_answer(name).ok_or_else(|| Error::Replay {
            what: "the name of a result".into(),
            found: name.into(),
            expected: names::answer("0", 0),
        })?;
        self.0.insert((result.into(), component), limbs);
        Ok(())
    }

    /// Returns a result of two components over a basis.
    ///
    /// # Errors
    /// [`Error::Replay`] if it was not stored or has other limbs.
    pub fn ciphertext(&self, name: &str, basis: &Basis) -> Result<Ciphertext> {
        let component = |component: usize| {
            let expected = || format!("{} limbs over the chain of the program", basis.len());
            let words = self.words((name, component), basis.len(), expected)?;
            let poly = Poly::from_words(basis, words);
            poly.map_err(|_| self.other((name, component), expected()))
        };
        Ok(Ciphertext::new(vec![component(0)?, component(1)?]))
    }

    /// Returns the bodies and the masks of a result that is samples, `n` of each.
    ///
    /// # Errors
    /// [`Error::Replay`] if it was not stored or has other limbs.
    pub fn samples(&self, name: &str, n: usize) -> Result<[Vec<u64>; 2]> {
        let part = |component| {
            let expected = || format!("one limb of {n} words");
            let words = self.words((name, component), 1, expected)?;
            match words.len() == n {
                true => Ok(words),
                false => Err(self.other((name, component), expected())),
            }
        };
        Ok([part(0)?, part(1)?])
    }

    /// Names of the results.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(|(name, _)| name.as_str())
    }

    /// Drops all results but those of these names.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.0.retain(|(name, _), _| keep(name));
    }

    /// The words of a component, limb by limb.
    fn words(
        &self,
        (name, component): (&str, usize),
        limbs: usize,
        expected: impl FnOnce() -> String,
    ) -> Result<Vec<u64>> {
        let found = self.0.get(&(name.to_owned(), component));
        let found = found.filter(|found| found.len() == limbs);
        let words = found.map(|limbs| limbs.iter().flat_map(|limb| limb.iter().copied()));
        let words = words.map(Iterator::collect);
        words.ok_or_else(|| self.other((name, component), expected()))
    }

    fn other(&self, (name, component): (&str, usize), expected: String) -> Error {
        let limbs = self.0.get(&(name.to_owned(), component));
        let found = limbs.map(|limbs| format!("{} limbs", limbs.len()));
        Error::Replay {
            what: format!("the result {}", names::answer(name, component)),
            found: found.unwrap_or_else(|| "not stored".into()),
            expected,
        }
    }
}
