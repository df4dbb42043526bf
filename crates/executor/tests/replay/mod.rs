//! Compares replayed traces with definitions.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod arithmetic;
mod conversion;
mod exchange;
mod fused;
mod outside;
mod places;
mod powers;
#[path = "../../../trace/tests/random.rs"]
mod random;
#[path = "../../../trace/tests/fhetch/subset.rs"]
mod subset;
mod whole;

use palladion_executor::{Error, Result};
use palladion_executor::{Limb, Outside, replay};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::sample::Seed;
use ring::{Modulus, NttTable};
use std::collections::HashMap;
use std::sync::Arc;
use trace::{Counts, Limbs, Trace, Type};

const N: usize = random::N;
const MODULI: [u64; 8] = random::MODULI;

/// Values by name.
#[derive(Default)]
struct Names {
    values: HashMap<String, Vec<Limb>>,
    stored: HashMap<String, Vec<Limb>>,
}

impl Outside for Names {
    fn load(&mut self, name: &str, _: &Type) -> Result<Vec<Limb>> {
        self.values.get(name).cloned().ok_or(Error::Replay {
            what: "the name".into(),
            found: name.into(),
            expected: "one of a value".into(),
        })
    }

    fn seed(&mut self, name: &str) -> Result<Seed> {
        Ok(Seed([name.len() as u8; 32]))
    }

    fn store(&mut self, name: &str, ty: &Type, limbs: Vec<Limb>) -> Result<()> {
        assert_eq!(limbs.len(), ty.limbs.len(), "{name}");
        self.stored.insert(name.into(), limbs);
        Ok(())
    }
}

impl Names {
    fn with(mut self, name: &str, limbs: &[Vec<u64>]) -> Self {
        let limbs = limbs.iter().cloned().map(Arc::new).collect();
        self.values.insert(name.into(), limbs);
        self
    }

    fn run(&mut self, trace: &Trace) -> Result<Counts> {
        replay(trace, self, |_| true)
    }

    fn stored(&self, name: &str) -> Vec<Vec<u64>> {
        let limbs = self.stored[name].iter();
        limbs.map(|limb| limb.to_vec()).collect()
    }
}

/// Runs the lines of a main body with the values `x` and `w`, and returns what is stored as `y`.
fn run(lines: &str, x: &[Vec<u64>], w: &[Vec<u64>]) -> Vec<Vec<u64>> {
    run_with("", lines, x, w)
}

/// As [`run`], with additional lines of constants.
fn run_with(constants: &str, lines: &str, x: &[Vec<u64>], w: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let moduli = MODULI.map(|q| q.to_string());
    let powers = random::POWERS.map(|bits| format!("2^{bits}"));
    let moduli = [moduli.join(" "), powers.join(" ")].join(" ");
    let text =
        format!("palladion-trace/1\nring {N}\nmoduli {moduli}\n{constants}\nmain:\n{lines}\nend\n");
    let trace = Trace::parse(&text).unwrap();
    let mut names = Names::default().with("x", x).with("w", w);
    let counts = names.run(&trace).unwrap();
    assert_eq!(counts, trace.counts());
    names.stored("y")
}

fn modulus(id: usize) -> Modulus {
    Modulus::new(MODULI[id]).unwrap()
}

fn table(id: usize) -> NttTable {
    NttTable::new(modulus(id), N).unwrap()
}

/// Residues of limbs: random ones, the smallest and the largest.
fn residues(limbs: impl Into<Limbs>, seed: u64) -> Vec<Vec<u64>> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let limb = |id: usize| {
        let greatest = random::TABLE.greatest(id);
        let mut words: Vec<u64> = (0..N).map(|_| rng.random_range(0..=greatest)).collect();
        words[..4].copy_from_slice(&[0, greatest, greatest / 2, greatest / 2 + 1]);
        words
    };
    limbs.into().iter().map(limb).collect()
}
