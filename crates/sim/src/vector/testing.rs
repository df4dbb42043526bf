//! Random traces and machines for tests.

use super::machine::Machine;
use super::work::Work;
use crate::family::built_in;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use trace::{Limbs, Trace, TraceBuilder, Type};

/// A source of random numbers, determined by a seed.
pub(super) struct Random(ChaCha8Rng);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number below `bound`, which is at least 1.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.0.next_u64() % bound as u64) as usize
    }
}

/// A trace of `length` random operations on values of four limbs. Operands are inputs, components
/// of keys, and earlier results.
pub(super) fn trace(seed: u64, length: usize) -> Trace {
    let mut random = Random::new(seed);
    let mut builder = TraceBuilder::new(16, &[97, 193, 257, 353]).expect("moduli");
    let mut main = builder.main();
    let whole = Type::eval(0..4);
    let mut values = vec![main.load("x", whole.clone()), main.load("y", whole.clone())];
    for key in 0..3 {
        values.push(main.load(format!("keys/{key}/0"), whole.clone()));
        values.push(main.sample(format!("keys/{key}"), 0, Limbs::from(0..4)));
    }
    for _ in 0..length {
        let mut one = || values[random.below(values.len())];
        let (a, b, c) = (one(), one(), one());
        let result = match random.below(6) {
            0 => main.add(a, b),
            1 => main.mul(a, b),
            2 => main.dot(vec![a, b, c], vec![b, c, a]),
            3 => main.automorphism(a, 5),
            4 => {
                let coefficients = main.intt(a);
                main.ntt(coefficients)
            }
            _ => {
                let coefficients = main.intt(a);
                let few = main.select(coefficients, 0..2);
                let raised = main.convert(few, 2..4);
                let raised = main.ntt(raised);
                let own = main.select(b, 0..2);
                main.join(vec![own, raised])
            }
        };
        values.push(result);
    }
    let last = values[values.len() - 1];
    main.store("z", last);
    builder.finish().expect("a trace")
}

pub(super) fn work(seed: u64, length: usize) -> Work {
    Work::new(&trace(seed, length)).expect("short enough")
}

/// Sizes of a random machine. Fields are named after the keys of its file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Knobs {
    /// Limbs of the scratchpad: an instruction of a random trace needs at most 7.
    pub(super) limbs: usize,
    /// Bandwidth of the memory in units of 10^9 bytes per second.
    pub(super) bandwidth: usize,
    pub(super) lanes: usize,
    pub(super) ports: usize,
    pub(super) registers: usize,
}

impl Knobs {
    pub(super) fn random(random: &mut Random) -> Self {
        Self {
            limbs: 8 + random.below(40),
            bandwidth: 1 + random.below(64),
            lanes: 1 + random.below(8),
            ports: 1 + random.below(4),
            registers: random.below(6),
        }
    }

    /// The machine `tiny` with these sizes. A limb has 16 words of 64 bits.
    pub(super) fn machine(self) -> Machine {
        Machine::from_toml(&self.file()).expect("a machine")
    }

    /// The machine `tiny` with these sizes and two kinds of clusters: inner products run on the
    /// second kind alone. `buffer` is the number of limbs in the buffer between the two kinds.
    pub(super) fn apart(self, buffer: usize) -> Machine {
        let text = self.file();
        let all = "\"ntt\", \"intt\", \"add\", \"mul\", \"scale\", \"combine\", \"permute\", \"extract\", \"quotient\", \
                   \"convert\", \"round\", \"digit\"";
        let text = text
            .replace("count = 2", "count = 1")
            .replace("operations = \"all\"", &format!("operations = [{all}]"))
            .replace(
                "buffer_bytes = 0",
                &format!("buffer_bytes = {}", buffer * 128),
            );
        let (before, units) = text.split_once("[unit.ntt]").expect("a unit");
        let cluster = &before[before.find("[[cluster]]").expect("a cluster")..];
        let second = cluster
            .replace("name = \"cluster\"", "name = \"sums\"")
            .replace("{ ntt = 1, permutation = 1, mac = 1 }", "{ mac = 1 }")
            .replace(&format!("[{all}]"), "[\"add\", \"dot\"]");
        let text = format!("{before}{second}[unit.ntt]{units}");
        Machine::from_toml(&text).expect("a machine")
    }

    fn file(self) -> String {
        let text = built_in("tiny").expect("built in");
        text.replace("bytes = 16777216", &format!("bytes = {}", self.limbs * 128))
            .replace(
                "bytes_per_second = 64_000_000_000",
                &format!("bytes_per_second = {}", self.bandwidth * 1_000_000_000),
            )
            .replace("lanes = 8", &format!("lanes = {}", self.lanes))
            .replace("{ kind = \"square\" }", "{ kind = \"stream\" }")
            .replace("ports = 3", &format!("ports = {}", self.ports))
            .replace("port_bytes = 64", "port_bytes = 16")
            .replace(
                "register_file_bytes = 65536",
                &format!("register_file_bytes = {}", self.registers * 128),
            )
    }
}
