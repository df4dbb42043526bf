//! Key switching, with keys that are loaded when first needed.

use super::Walk;
use crate::chain::{Chain, eval};
use crate::divide::divide;
use crate::error::Result;
use crate::external::external_product;
use crate::key_switch::{
    Automorphism, First, Key, automorphism, automorphism_extended, decompose, switch, with_key,
};
use crate::names;
use program::recording::{Ciphertext, Rgsw, Secret, ValueId};
use trace::{self, Builder, Limbs};

impl Walk<'_> {
    pub(super) fn automorphism(
        &mut self,
        b: &mut Builder,
        index: usize,
        (value, element): (ValueId, usize),
        ty: Ciphertext,
    ) -> Result<Vec<trace::ValueId>> {
        let (chain, level) = (self.chain, ty.level);
        let from = self.ty(index, value)?;
        let pair = self.parts(index, value, 2)?;
        let (body, mut mask) = (pair[0], pair[1]);
        let digits = match self.digits.get(&value) {
            Some(digits) => digits.clone(),
            None => {
                if from.extended {
                    let sub = divide(chain, b, &chain.extended(level), &chain.level(level));
                    mask = b.call(sub, &[mask])[0];
                }
                let sub = decompose(chain, b, level);
                let digits = b.call(sub, &[mask]);
                self.digits.insert(value, digits.clone());
                digits
            }
        };
        let own = |&(of, level): &(usize, usize)| (of == element).then_some(level);
        let key_level = self.recording.keys.galois.iter().find_map(own);
        let key_level = key_level.ok_or_else(|| {
            let found = format!("without the element {element}");
            self.wrong(index, "the list of Galois keys", &found, "one with it")
        })?;
        let key = self.key(b, &names::galois(element), key_level, level);
        let mut arguments = vec![body];
        arguments.extend(digits);
        let at = Automorphism { level, element };
        let sub = match (from.extended, ty.extended) {
            (false, false) => automorphism(chain, b, at),
            (false, true) => automorphism_extended(chain, b, at, First::Narrow),
            (true, true) => automorphism_extended(chain, b, at, First::Extended),
            (true, false) => {
                let expected = "extended, as the operand is";
                return Err(self.wrong(index, "its type", "not extended", expected));
            }
        };
        Ok(b.call(sub, &with_key(arguments, &key)))
    }

    pub(super) fn switch_secret(
        &mut self,
        b: &mut Builder,
        pair: [trace::ValueId; 2],
        to: Secret,
        level: usize,
    ) -> Result<Vec<trace::ValueId>> {
        let parameters = &self.recording.parameters;
        let sparse;
        let (chain, seed, key_level) = match to {
            Secret::Sparse => {
                sparse = Chain::sparse(parameters, level)?;
                (&sparse, names::TO_SPARSE, level)
            }
            Secret::Dense => (self.chain, names::TO_DENSE, parameters.q.len() - 1),
        };
        let key = self.key_of(chain, b, seed, (key_level, level));
        let sub = switch(chain, b, level);
        Ok(b.call(sub, &with_key(pair.to_vec(), &key)))
    }

    pub(super) fn external_product(
        &mut self,
        b: &mut Builder,
        pair: [trace::ValueId; 2],
        by: &Rgsw,
        level: usize,
    ) -> Vec<trace::ValueId> {
        let keys = [0, 1].map(|component| {
            let seed = names::rgsw(&by.name, component);
            self.key(b, &seed, by.level, level)
        });
        let sub = external_product(self.chain, b, level);
        let arguments = with_key(pair.to_vec(), &keys[0]);
        b.call(sub, &with_key(arguments, &keys[1]))
    }

    pub(super) fn relinearization_level(&self) -> usize {
        self.recording.keys.relinearization.unwrap_or(0)
    }

    /// A key made for level `key_level`, at level `level`.
    pub(super) fn key(
        &mut self,
        b: &mut Builder,
        seed: &str,
        key_level: usize,
        level: usize,
    ) -> Key {
        self.key_of(self.chain, b, seed, (key_level, level))
    }

    /// A key of another chain's key switching, at level `level`.
    pub(super) fn key_of(
        &mut self,
        chain: &Chain,
        b: &mut Builder,
        seed: &str,
        (key_level, level): (usize, usize),
    ) -> Key {
        let count = chain.digits(key_level).len();
        let (whole, own) = (chain.extended(key_level), chain.extended(level));
        let mut key = self.key_over(b, seed, count, &whole, &own);
        let digits = chain.digits(level).len();
        key.bodies.truncate(digits);
        key.masks.truncate(digits);
        key
    }

    /// A key of `count` pairs over the limbs `whole`, restricted to the limbs `own`. It is loaded
    /// once.
    pub(super) fn key_over(
        &mut self,
        b: &mut Builder,
        seed: &str,
        count: usize,
        whole: &Limbs,
        own: &Limbs,
    ) -> Key {
        let key = self.keys.entry(seed.into()).or_insert_with(|| Key {
            bodies: (0..count)
                .map(|j| b.load(names::body(seed, j), eval(whole.clone())))
                .collect(),
            masks: (0..count)
                .map(|j| b.sample(seed, j as u32, whole.clone()))
                .collect(),
        });
        let mut select = |part: &[trace::ValueId]| -> Vec<trace::ValueId> {
            part.iter().map(|&v| b.select(v, own.clone())).collect()
        };
        Key {
            bodies: select(&key.bodies),
            masks: select(&key.masks),
        }
    }
}
