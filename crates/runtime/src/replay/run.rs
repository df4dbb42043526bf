//! What a program's trace loads and stores: keys and query in, the answer out.

use super::{Limb, Outside, replay};
use crate::client::Input;
use crate::error::{Error, Result};
use crate::replay::Progress;
use crate::server::Output;
use crate::verified::Exchange;
use circuits::EvaluationKeys;
use lower::names;
use program::trace::{Counts, Trace, Type};
use ring::sample::Seed;
use ring::{Basis, Eval, Poly};
use rlwe::SwitchKey;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Keys and query of a run, and the results as they come.
struct RunOutside<'a> {
    keys: &'a EvaluationKeys,
    input: &'a Input,
    answer: BTreeMap<(usize, usize), Vec<Limb>>,
}

/// Replays the trace of a program on a query: its answer, bit for bit that of [`Server::run`](crate::Server::run), and
/// what was executed.
///
/// # Errors
/// As [`replay`](super::replay); [`Error::Bytes`] for a query of another program; [`Error::Replay`] for results that the
/// program does not give.
pub fn replay_run(
    exchange: &Exchange,
    trace: &Trace,
    (keys, input): (&EvaluationKeys, &Input),
    observe: impl FnMut(Progress) -> bool,
) -> Result<(Output, Counts)> {
    input.check_program(exchange)?;
    let mut outside = RunOutside {
        keys,
        input,
        answer: BTreeMap::new(),
    };
    let counts = replay(trace, &mut outside, observe)?;
    let mut ciphertexts = Vec::new();
    let rlwe = exchange.params().bfv().rlwe();
    for (index, &level) in exchange.output_levels().iter().enumerate() {
        let basis = rlwe.basis(level);
        let component = |component: usize| {
            let limbs = outside.answer.get(&(index, component));
            let words = limbs.map(|limbs| limbs.iter().flat_map(|limb| limb.iter().copied()));
            let poly = words.and_then(|words| poly(basis, words.collect()));
            poly.ok_or_else(|| Error::Replay {
                what: format!("the result {}", names::answer(index, component)),
                found: limbs.map_or("not stored".into(), |limbs| {
                    format!("{} limbs", limbs.len())
                }),
                expected: format!("{} limbs over the chain of the program", basis.len()),
            })
        };
        let parts = vec![component(0)?, component(1)?];
        ciphertexts.push(bfv::Ciphertext::new(rlwe::Ciphertext::new(parts), 1));
    }
    let output = Output {
        query: input.hash(),
        images: input.images,
        ciphertexts,
    };
    Ok((output, counts))
}

fn poly(basis: &Basis, words: Vec<u64>) -> Option<Poly<Eval>> {
    Poly::from_words(basis, words).ok()
}

impl RunOutside<'_> {
    /// The body of a key or ciphertext by its name.
    fn body(&self, name: &str) -> Option<&Poly<Eval>> {
        let (seed, index) = name.rsplit_once('/')?;
        let index: usize = index.parse().ok()?;
        if seed == names::QUERY {
            return self
                .input
                .ciphertexts
                .get(index)?
                .rlwe()
                .components()
                .first();
        }
        if seed == names::DIMENSION {
            return self.keys.switch().ok()?.bodies().nth(index);
        }
        if let Some(values) = seed.strip_prefix(names::PACKINGS) {
            let key = self.keys.packing(values.parse().ok()?).ok()?;
            return key.ciphertexts().get(index)?.rlwe().components().first();
        }
        let key = self.switch_key(seed)?;
        (index < key.digits()).then(|| key.digit(index, 0))
    }

    fn switch_key(&self, seed: &str) -> Option<&SwitchKey> {
        if seed == names::RELINEARIZATION {
            return self.keys.relinearization().ok();
        }
        let element = seed.strip_prefix(names::GALOIS)?.parse().ok()?;
        let (key, _) = self.keys.galois().get(element).ok()?;
        Some(key)
    }

    fn seed_of(&self, name: &str) -> Option<Seed> {
        if name == names::QUERY {
            return Some(self.input.seed);
        }
        if name == names::DIMENSION {
            return self.keys.switch().ok().map(|key| *key.seed());
        }
        if let Some(values) = name.strip_prefix(names::PACKINGS) {
            return Some(*self.keys.packing(values.parse().ok()?).ok()?.seed());
        }
        self.switch_key(name).map(|key| *key.seed())
    }
}

impl Outside for RunOutside<'_> {
    fn load(&mut self, name: &str, ty: &Type) -> Result<Vec<Limb>> {
        let missing = |found: String| Error::Replay {
            what: format!("the value {name}"),
            found,
            expected: format!("{} limbs among the keys and the query", ty.limbs.len()),
        };
        let body = self.body(name).ok_or_else(|| missing("missing".into()))?;
        if body.limbs() != ty.limbs.len() {
            return Err(missing(format!("of {} limbs", body.limbs())));
        }
        let limbs = (0..body.limbs()).map(|i| Arc::new(body.limb(i).to_vec()));
        Ok(limbs.collect())
    }

    fn seed(&mut self, name: &str) -> Result<Seed> {
        self.seed_of(name).ok_or_else(|| Error::Replay {
            what: format!("the seed {name}"),
            found: "missing".into(),
            expected: "a seed among the keys and the query".into(),
        })
    }

    fn store(&mut self, name: &str, _: &Type, limbs: Vec<Limb>) -> Result<()> {
        let place = names::place_of_answer(name).ok_or_else(|| Error::Replay {
            what: "the name of a result".into(),
            found: name.into(),
            expected: names::answer(0, 0),
        })?;
        self.answer.insert(place, limbs);
        Ok(())
    }
}
