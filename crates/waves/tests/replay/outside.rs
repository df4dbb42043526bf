//! Values from outside for tests: residues that depend on the name alone.

use crate::NARROW;
use program::trace::{ModulusId, Type};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::sample::Seed;
use runtime::Result;
use runtime::replay::{Limb, Outside};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Values that were stored, by name.
#[derive(Default)]
pub(crate) struct Values {
    pub(crate) stored: BTreeMap<String, Vec<Vec<u64>>>,
}

/// Random residues, the smallest and the largest.
fn limb(name: &str, id: ModulusId) -> Vec<u64> {
    let seed = name.bytes().fold(id as u64, |sum, byte| {
        sum.wrapping_mul(257).wrapping_add(byte.into())
    });
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let greatest = NARROW.greatest(id);
    let mut words: Vec<u64> = (0..crate::N)
        .map(|_| rng.random_range(0..=greatest))
        .collect();
    words[..4].copy_from_slice(&[0, greatest, greatest / 2, greatest / 2 + 1]);
    words
}

impl Outside for Values {
    fn load(&mut self, name: &str, ty: &Type) -> Result<Vec<Limb>> {
        let limbs = ty.limbs.iter().map(|id| limb(name, id));
        Ok(limbs.map(Arc::new).collect())
    }

    fn seed(&mut self, name: &str) -> Result<Seed> {
        Ok(Seed([name.len() as u8; 32]))
    }

    fn store(&mut self, name: &str, _: &Type, limbs: Vec<Limb>) -> Result<()> {
        let limbs = limbs.iter().map(|limb| limb.to_vec()).collect();
        self.stored.insert(name.into(), limbs);
        Ok(())
    }
}
