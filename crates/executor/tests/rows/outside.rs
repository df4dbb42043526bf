//! Values from outside for tests: residues that depend on the name alone.

use palladion_executor::Result;
use palladion_executor::{Limb, Outside};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::sample::Seed;
use std::collections::BTreeMap;
use std::sync::Arc;
use trace::{Trace, Type};

/// Values that were stored, by name.
pub(crate) struct Values {
    /// The largest residue of each modulus.
    greatest: Vec<u64>,
    /// A number for each query, which makes its values differ from the values of other queries.
    salt: u64,
    /// Names of the values that were loaded.
    pub(crate) asked: Vec<String>,
    pub(crate) stored: BTreeMap<String, Vec<Vec<u64>>>,
}

/// Random residues, the smallest and the largest.
fn limb(name: &str, greatest: u64) -> Vec<u64> {
    let seed = name.bytes().fold(greatest, |sum, byte| {
        sum.wrapping_mul(257).wrapping_add(byte.into())
    });
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut words: Vec<u64> = (0..super::N)
        .map(|_| rng.random_range(0..=greatest))
        .collect();
    words[..4].copy_from_slice(&[0, greatest, greatest / 2, greatest / 2 + 1]);
    words
}

impl Values {
    /// No values yet. Those that the trace loads are residues of its moduli.
    pub(crate) fn of(trace: &Trace) -> Self {
        let primes = trace.moduli.iter().map(|q| q - 1);
        let powers = trace.powers.iter().map(|bits| u64::MAX >> (64 - bits));
        Self {
            greatest: primes.chain(powers).collect(),
            salt: 0,
            asked: Vec::new(),
            stored: BTreeMap::new(),
        }
    }

    /// As [`Values::of`], with other values whose names begin with `query/`.
    pub(crate) fn of_query(trace: &Trace, salt: u64) -> Self {
        let values = Self::of(trace);
        Self { salt, ..values }
    }
}

impl Outside for Values {
    fn load(&mut self, name: &str, ty: &Type) -> Result<Vec<Limb>> {
        self.asked.push(name.into());
        let salted = match name.starts_with("query/") {
            true => format!("{name} {}", self.salt),
            false => name.into(),
        };
        let limbs = ty.limbs.iter().map(|id| limb(&salted, self.greatest[id]));
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
