//! What the trace of a circuit on samples loads and stores: keys and samples in, samples out.

use crate::error::{Error, Result};
use crate::replay::{Limb, Outside, Progress};
use lower::torus::names;
use program::trace::{Counts, Trace, Type};
use ring::sample::Seed;
use ring::torus::Torus;
use std::collections::BTreeMap;
use std::sync::Arc;
use tfhe::{EvaluationKeys, Lwe, SwitchKey};

/// Replays the trace of a circuit on samples: what it gives, in order, and what was executed.
///
/// # Errors
/// As [`crate::replay::replay`]; [`Error::Replay`] for keys and samples that are missing, and for results of which a part
/// is.
pub fn replay<T: Torus>(
    keys: &EvaluationKeys<T>,
    trace: &Trace,
    inputs: &[Lwe<T>],
    observe: impl FnMut(Progress) -> bool,
) -> Result<(Vec<Lwe<T>>, Counts)> {
    let mut outside = Samples {
        keys,
        inputs,
        n: trace.n,
        row: None,
        samples: Vec::new(),
        answer: BTreeMap::new(),
    };
    let counts = crate::replay::replay(trace, &mut outside, observe)?;
    let rank = keys.params().rank();
    let results = outside.answer.len() / (rank + 1);
    let outputs = (0..results).map(|index| outside.output(index, rank));
    Ok((outputs.collect::<Result<_>>()?, counts))
}

struct Samples<'a, T> {
    keys: &'a EvaluationKeys<T>,
    inputs: &'a [Lwe<T>],
    n: usize,
    /// The row of a key that was read last: its polynomials come one after another.
    row: Option<(String, usize, Vec<T>)>,
    /// The rows of a key switching key by samples, one after another, if they were asked for.
    samples: Vec<T>,
    answer: BTreeMap<(usize, usize), Limb>,
}

impl<T: Torus> Samples<'_, T> {
    /// The words of a sample or of a row.
    fn words(&mut self, of: &str, index: usize) -> Option<Vec<T>> {
        let (bootstrap, switch) = (self.keys.bootstrap(), self.keys.switch());
        match (of, switch) {
            (names::QUERY, _) => Some(self.inputs.get(index)?.words().to_vec()),
            (names::BOOTSTRAP, _) if index < bootstrap.len() => {
                Some(bootstrap.expand(index..index + 1))
            }
            (names::SWITCH, SwitchKey::Ring(list)) if index < list.len() => {
                Some(list.expand(index..index + 1))
            }
            (names::SWITCH, SwitchKey::Lwe(list)) => {
                if self.samples.is_empty() {
                    self.samples = list.expand(0..list.len());
                }
                self.column(index)
            }
            _ => None,
        }
    }

    /// A column of the key switching key by samples: first of the first `N` words of a mask those of the first digit.
    fn column(&self, index: usize) -> Option<Vec<T>> {
        let params = self.keys.params();
        let digits = params.spec().key_switch.decomposition().levels() as usize;
        let size = params.lwe_dimension() + 1;
        let rows = self.samples.len() / size;
        let word = |at: usize| {
            let (poly, level, i) = (at / self.n / digits, at / self.n % digits, at % self.n);
            self.samples[((poly * self.n + i) * digits + level) * size + index]
        };
        (index < size).then(|| (0..rows).map(word).collect())
    }

    /// Polynomial `component` of what a name is of. The body of a sample is filled up with words that are 0.
    fn part(&mut self, name: &str) -> Option<Vec<u64>> {
        let (of, index, component) = names::place(name)?;
        let known = self.row.as_ref();
        if known.is_none_or(|(own, at, _)| own != of || *at != index) {
            let words = self.words(of, index)?;
            self.row = Some((of.into(), index, words));
        }
        let (_, _, words) = self.row.as_ref()?;
        let words = words.chunks(self.n).nth(component)?;
        let mut words: Vec<u64> = words.iter().map(|word| word.to_u64()).collect();
        words.resize(self.n, 0);
        Some(words)
    }

    fn output(&self, index: usize, rank: usize) -> Result<Lwe<T>> {
        let mut words = Vec::with_capacity(rank * self.n + 1);
        for component in 0..=rank {
            let limb = self.answer.get(&(index, component));
            let limb = limb.ok_or_else(|| {
                let what = format!("the result {}", names::answer(index, component));
                refused(what, "missing", format!("{} of each sample", rank + 1))
            })?;
            let count = if component < rank { self.n } else { 1 };
            words.extend(limb[..count].iter().map(|&word| T::from_low_bits(word)));
        }
        Ok(Lwe::from_words(words))
    }
}

impl<T: Torus> Outside for Samples<'_, T> {
    fn load(&mut self, name: &str, _: &Type) -> Result<Vec<Limb>> {
        let words = self.part(name).ok_or_else(|| {
            let expected = "a polynomial of a sample or of a key".into();
            refused(format!("the value {name}"), "missing", expected)
        })?;
        Ok(vec![Arc::new(words)])
    }

    fn seed(&mut self, name: &str) -> Result<Seed> {
        let expected = "none: keys are loaded with their masks".into();
        Err(refused("a seed".into(), name, expected))
    }

    fn store(&mut self, name: &str, _: &Type, limbs: Vec<Limb>) -> Result<()> {
        let place = lower::names::place_of_answer(name);
        let (Some(place), [limb]) = (place, limbs.as_slice()) else {
            let expected = format!("{}, of one limb", names::answer(0, 0));
            return Err(refused("a result".into(), name, expected));
        };
        self.answer.insert(place, limb.clone());
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
