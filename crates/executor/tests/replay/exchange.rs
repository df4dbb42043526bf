//! Traces that were converted to another format and back compute the same words.

use crate::replay::{Names, subset};
use palladion_executor::{Limb, Outside, replay};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::sample::Seed;
use std::collections::HashMap;
use std::sync::Arc;
use trace::{Trace, Type};

const KEY_SWITCH: &str = include_str!("../../../trace/tests/fhetch/key_switch.trace");

/// Loads residues that depend on a value's name and moduli, and keeps what is stored.
struct Residues {
    n: usize,
    moduli: Vec<u64>,
    kept: Names,
}

impl Outside for Residues {
    fn load(&mut self, name: &str, ty: &Type) -> palladion_executor::Result<Vec<Limb>> {
        let hash = |sum: u64, c: u8| sum.wrapping_mul(257).wrapping_add(c.into());
        let seed = name.bytes().fold(0, hash);
        let limbs = ty.limbs.iter().map(|id| {
            let mut rng = ChaCha20Rng::seed_from_u64(seed ^ id as u64);
            let words = (0..self.n).map(|_| rng.random_range(0..self.moduli[id]));
            Arc::new(words.collect())
        });
        Ok(limbs.collect())
    }

    fn seed(&mut self, name: &str) -> palladion_executor::Result<Seed> {
        self.kept.seed(name)
    }

    fn store(&mut self, name: &str, ty: &Type, limbs: Vec<Limb>) -> palladion_executor::Result<()> {
        self.kept.store(name, ty, limbs)
    }
}

/// Returns what a trace stores.
fn stored(trace: &Trace) -> HashMap<String, Vec<Limb>> {
    let mut outside = Residues {
        n: trace.n,
        moduli: trace.moduli.clone(),
        kept: Names::default(),
    };
    replay(trace, &mut outside, |_| true).unwrap();
    outside.kept.stored
}

#[test]
fn a_key_switch_written_as_fhetch_computes_the_same_words() {
    let trace = Trace::parse(KEY_SWITCH).unwrap();
    let read = Trace::from_fhetch(&trace.to_fhetch().unwrap()).unwrap();
    let words = stored(&trace);
    assert_eq!(words.len(), 5);
    assert_eq!(stored(&read), words);
}

proptest! {
    #[test]
    fn traces_written_as_fhetch_compute_the_same_words(
        numbers in prop::collection::vec(any::<u32>(), 0..150),
    ) {
        let trace = subset::trace(&numbers);
        let text = trace.to_fhetch().unwrap();
        let read = Trace::from_fhetch(&text).unwrap();
        prop_assert_eq!(stored(&read), stored(&trace), "{}", text);
    }
}
