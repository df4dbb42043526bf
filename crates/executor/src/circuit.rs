//! Inputs and results of the trace of a circuit or of a bootstrapping: keys and ciphertexts by
//! name.

use crate::error::Result;
use crate::outside::{Limb, Outside};
use crate::replay::{Progress, replay};
use crate::results::{Results, SwitchKeys, limbs_of, no_seed};
use lower::names;
use ring::Basis;
use ring::sample::Seed;
use rlwe::Ciphertext;
use std::borrow::Cow;
use std::collections::BTreeMap;
use trace::{Counts, Trace, Type};

/// Ciphertexts by name and keys of a circuit, and the results as they are stored.
pub struct CircuitOutside<'a> {
    inputs: BTreeMap<String, &'a Ciphertext>,
    keys: SwitchKeys<'a>,
    results: &'a mut Results,
}

impl<'a> CircuitOutside<'a> {
    /// Values are loaded from ciphertexts and keys, and stored into the results.
    pub fn new(
        inputs: BTreeMap<String, &'a Ciphertext>,
        keys: SwitchKeys<'a>,
        results: &'a mut Results,
    ) -> Self {
        Self {
            inputs,
            keys,
            results,
        }
    }
}

/// Replays the trace of a circuit or of a bootstrapping on ciphertexts that are passed by name.
/// Returns the results by name, over their bases, and the counts of the executed passes and
/// instructions.
///
/// # Errors
/// As [`replay`], and [`Error::Replay`](crate::Error::Replay) for a trace that asks for a value
/// that is not there, or lacks a result.
pub fn replay_circuit<'b>(
    trace: &Trace,
    (inputs, keys): (&BTreeMap<String, &Ciphertext>, &SwitchKeys),
    results: impl IntoIterator<Item = (String, &'b Basis)>,
    observe: impl FnMut(Progress) -> bool,
) -> Result<(BTreeMap<String, Ciphertext>, Counts)> {
    let mut stored = Results::default();
    let mut outside = CircuitOutside::new(inputs.clone(), *keys, &mut stored);
    let counts = replay(trace, &mut outside, observe)?;
    let made = results.into_iter().map(|(name, basis)| {
        let ct = stored.ciphertext(&name, basis)?;
        Ok((name, ct))
    });
    Ok((made.collect::<Result<_>>()?, counts))
}

impl Outside for CircuitOutside<'_> {
    fn load(&mut self, name: &str, ty: &Type) -> Result<Vec<Limb>> {
        let part = match names::place_of_given(name) {
            Some((input, component)) => {
                let input = self.inputs.get(input);
                input
                    .and_then(|ct| ct.components().get(component))
                    .map(Cow::Borrowed)
            }
            None => name.rsplit_once('/').and_then(|(seed, index)| {
                let index = index.parse().ok()?;
                self.keys.body(seed, index).map(Cow::Owned)
            }),
        };
        limbs_of(name, part.as_deref(), ty)
    }

    fn seed(&mut self, name: &str) -> Result<Seed> {
        self.keys.seed(name).ok_or_else(|| no_seed(name))
    }

    fn store(&mut self, name: &str, _: &Type, limbs: Vec<Limb>) -> Result<()> {
        self.results.store(name, limbs)
    }
}
