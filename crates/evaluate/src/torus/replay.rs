//! Replays the trace of a circuit on samples: keys and samples in, samples out.

use crate::error::Result;
use executor::{Error, Limb, Outside, ReplayProgress as Progress};
use lower::torus::names;
use ring::sample::Seed;
use ring::torus::Torus;
use std::collections::BTreeMap;
use std::sync::Arc;
use tfhe::{EvaluationKeys, GlweList, Lwe, SwitchKey};
use trace::{Counts, Trace, Type};

/// Replays the trace of a circuit on samples. Returns its outputs, in order, and the counts of
/// executed instructions.
///
/// # Errors
/// The errors of [`executor::replay()`]. [`Error::Replay`] for keys and samples that are missing,
/// and for incomplete results.
pub fn replay<T: Torus>(
    keys: &EvaluationKeys<T>,
    trace: &Trace,
    inputs: &[Lwe<T>],
    observe: impl FnMut(Progress) -> bool,
) -> Result<(Vec<Lwe<T>>, Counts)> {
    let mut key = keys.key();
    for input in inputs {
        key = key
            .join("ciphertext", input.key())
            .map_err(tfhe::Error::from)?;
    }
    let mut outside = Samples {
        keys,
        inputs,
        n: trace.n,
        samples: Vec::new(),
        answer: BTreeMap::new(),
    };
    let counts = executor::replay(trace, &mut outside, observe)?;
    let rank = keys.params().rank();
    let results = outside.answer.len() / (rank + 1);
    let outputs = (0..results).map(|index| Ok(outside.output(index, rank)?.of_key(key)));
    Ok((outputs.collect::<Result<_>>()?, counts))
}

struct Samples<'a, T> {
    keys: &'a EvaluationKeys<T>,
    inputs: &'a [Lwe<T>],
    n: usize,
    /// The rows of the key switching key by samples, one after another. Empty until the first use.
    samples: Vec<T>,
    answer: BTreeMap<(usize, usize), Limb>,
}

impl<T: Torus> Samples<'_, T> {
    /// The rows of the key with this name, if the key has rows.
    fn rows(&self, key: &str) -> Option<&GlweList<T>> {
        match (key, self.keys.switch()) {
            (names::BOOTSTRAP, _) => Some(self.keys.bootstrap()),
            (names::SWITCH, SwitchKey::Ring(list)) => Some(list),
            _ => None,
        }
    }

    /// The words of the value with this name: at most `N`.
    fn words(&mut self, name: &str) -> Option<Vec<T>> {
        if let Some((of, index, component)) = names::place(name) {
            return match of {
                names::QUERY => {
                    let words = self.inputs.get(index)?.words();
                    words.chunks(self.n).nth(component).map(<[T]>::to_vec)
                }
                names::SWITCH => self.column(index, component),
                _ => None,
            };
        }
        let (key, index) = names::row(name)?;
        let bodies = self.rows(key)?.bodies();
        bodies.chunks(self.n).nth(index).map(<[T]>::to_vec)
    }

    /// A polynomial of a column of the key switching key by samples.
    fn column(&mut self, index: usize, polynomial: usize) -> Option<Vec<T>> {
        let SwitchKey::Lwe(list) = self.keys.switch() else {
            return None;
        };
        if self.samples.is_empty() {
            self.samples = list.expand(0..list.len());
        }
        let params = self.keys.params();
        let digits = params.spec().key_switch.decomposition().levels() as usize;
        let (mask, level) = (polynomial / digits, polynomial % digits);
        let size = params.lwe_dimension() + 1;
        let row = |i: usize| (mask * self.n + i) * digits + level;
        let fits = index < size && mask < params.rank();
        fits.then(|| {
            let words = (0..self.n).map(|i| self.samples[row(i) * size + index]);
            words.collect()
        })
    }

    fn output(&self, index: usize, rank: usize) -> Result<Lwe<T>> {
        let mut words = Vec::with_capacity(rank * self.n + 1);
        for component in 0..=rank {
            let limb = self.answer.get(&(index, component));
            let limb = limb.ok_or_else(|| {
                let what = format!(
                    "the result {}",
                    names::part(names::ANSWER, index, component)
                );
                refused(what, "missing", format!("{} of each sample", rank + 1))
            })?;
            let count = if component < rank { self.n } else { 1 };
            words.extend(limb[..count].iter().map(|&word| T::from_low_bits(word)));
        }
        Ok(Lwe::from_words(words))
    }
}

impl<T: Torus> Outside for Samples<'_, T> {
    fn load(&mut self, name: &str, _: &Type) -> executor::Result<Vec<Limb>> {
        let words = self.words(name).ok_or_else(|| {
            let expected = "a polynomial of a sample or of a key".into();
            refused(format!("the value {name}"), "missing", expected)
        })?;
        let mut words: Vec<u64> = words.iter().map(|word| word.to_u64()).collect();
        // The body of a sample is one word.
        words.resize(self.n, 0);
        Ok(vec![Arc::new(words)])
    }

    fn seed(&mut self, name: &str) -> executor::Result<Seed> {
        let seed = self.rows(name).map(|list| *list.seed());
        seed.ok_or_else(|| {
            let expected = "a seed among the keys".into();
            refused(format!("the seed {name}"), "missing", expected)
        })
    }

    fn store(&mut self, name: &str, _: &Type, limbs: Vec<Limb>) -> executor::Result<()> {
        let place = names::place(name).filter(|(of, ..)| *of == names::ANSWER);
        let (Some((_, index, component)), [limb]) = (place, limbs.as_slice()) else {
            let expected = format!("{}, of one limb", names::part(names::ANSWER, 0, 0));
            return Err(refused("a result".into(), name, expected));
        };
        self.answer.insert((index, component), limb.clone());
        Ok(())
    }
}

fn refused(what: String, found: &str, expected: String) -> Error {
    Error::Replay {
        what,
        found: found.into(),
        expected,
    }
}
