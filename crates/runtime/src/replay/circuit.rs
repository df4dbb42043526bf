//! What a circuit's trace loads and stores: keys and ciphertexts by name in, the results out.

use super::outside::{Answer, SwitchKeys, limbs_of, no_seed};
use super::{Limb, Outside, Progress, replay};
use crate::circuit::Keys;
use crate::error::Result;
use lower::names;
use program::trace::{Counts, Trace, Type};
use ring::Basis;
use ring::sample::Seed;
use rlwe::Ciphertext;
use std::collections::BTreeMap;

struct CircuitOutside<'a> {
    inputs: BTreeMap<&'a str, &'a Ciphertext>,
    keys: SwitchKeys<'a>,
    answer: Answer,
}

/// Replays the trace of a circuit on the ciphertexts of its encrypted inputs: its results by name, over their bases, and what was
/// executed.
///
/// # Errors
/// As [`replay`]; [`Error::Replay`](crate::Error::Replay) for a trace that asks for what is not there, or lacks a result.
pub(crate) fn replay_circuit<'b>(
    trace: &Trace,
    (inputs, keys): (BTreeMap<&str, &Ciphertext>, &Keys),
    results: impl Iterator<Item = (&'b str, &'b Basis)>,
    observe: impl FnMut(Progress) -> bool,
) -> Result<(BTreeMap<String, Ciphertext>, Counts)> {
    let mut outside = CircuitOutside {
        inputs,
        keys: SwitchKeys {
            relinearization: keys.relinearization.as_ref(),
            galois: &keys.galois,
        },
        answer: Answer::default(),
    };
    let counts = replay(trace, &mut outside, observe)?;
    let made =
        results.map(|(name, basis)| Ok((name.to_owned(), outside.answer.ciphertext(name, basis)?)));
    Ok((made.collect::<Result<_>>()?, counts))
}

impl Outside for CircuitOutside<'_> {
    fn load(&mut self, name: &str, ty: &Type) -> Result<Vec<Limb>> {
        let part = match names::place_of_given(name) {
            Some((input, component)) => {
                let input = self.inputs.get(input);
                input.and_then(|ct| ct.components().get(component))
            }
            None => name.rsplit_once('/').and_then(|(seed, index)| {
                let index = index.parse().ok()?;
                self.keys.body(seed, index)
            }),
        };
        limbs_of(name, part, ty)
    }

    fn seed(&mut self, name: &str) -> Result<Seed> {
        self.keys.seed(name).ok_or_else(|| no_seed(name))
    }

    fn store(&mut self, name: &str, _: &Type, limbs: Vec<Limb>) -> Result<()> {
        self.answer.store(name, limbs)
    }
}
