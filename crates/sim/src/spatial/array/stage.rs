//! The stages of an FFT multiplier as tiles, and pipelines of such tiles.
//!
//! A number in single precision is a word. Between stages, the real part is on the first stream and
//! the imaginary part on the second. The tile that multiplies has two operands on two streams, so
//! the last stage before it sends both parts on one stream, in turn.

use super::moved;
use crate::spatial::machine::Machine;
use crate::spatial::network::{BOTH, FIRST, Kernel, NONE, Network, Phase, Port, port};
use crate::spatial::schedule::cycles;
use ring::torus::garner::PRIMES;
use ring::torus::garner::pipeline::{Role, stages};
use ring::torus::{Garner, Multiplier};
use std::sync::Arc;

/// An element of the pipeline. It receives the values of a pass, computes, and sends its own.
struct Stage {
    machine: Machine,
    garner: Arc<Garner>,
    role: Role,
    /// Number of passes of a product, and number of products.
    passes: usize,
    turns: usize,
    pass: usize,
    values: Vec<[f32; 2]>,
    /// The second operand of a product.
    others: Vec<[f32; 2]>,
    /// The operand, or the results, of a product.
    words: Vec<u32>,
    residues: Vec<u32>,
}

/// Phases of a turn, numbered in order.
const RECEIVE: usize = 0;
const COMPUTE: usize = 1;

impl Stage {
    fn new(
        machine: &Machine,
        garner: &Arc<Garner>,
        role: Role,
        (passes, turns): (usize, usize),
    ) -> Self {
        let n = garner.n();
        let when = |here: bool, len: usize| if here { len } else { 0 };
        let gathers = role == Role::Gather;
        let starts = matches!(role, Role::Digits | Role::Words);
        Self {
            machine: machine.clone(),
            garner: Arc::clone(garner),
            role,
            passes,
            turns,
            pass: 0,
            values: vec![[0.0; 2]; n / 2],
            others: vec![[0.0; 2]; when(role == Role::Multiply, n / 2)],
            words: vec![0; when(starts || gathers, n)],
            residues: vec![0; when(gathers, PRIMES * n)],
        }
    }

    fn n(&self) -> usize {
        self.garner.n()
    }

    /// Returns true if both parts of a value go to one stream.
    fn merges(&self) -> bool {
        self.role == Role::Forward(stages(self.n()) - 1)
    }
}

/// Part `i` of values on one stream.
fn part(values: &mut [[f32; 2]], i: usize) -> &mut f32 {
    &mut values[i / 2][i % 2]
}

impl Kernel for Stage {
    fn turns(&self) -> usize {
        self.turns * self.passes
    }

    fn turn(&self, turn: usize) -> Vec<Phase> {
        let (machine, n) = (&self.machine, self.n());
        let first = turn.is_multiple_of(self.passes);
        let last = (turn + 1).is_multiple_of(self.passes);
        let receive = match self.role {
            Role::Digits | Role::Words => moved(machine, if first { n } else { 0 }, FIRST, NONE),
            Role::Multiply => moved(machine, n, BOTH, NONE),
            _ => moved(machine, n / 2, BOTH, NONE),
        };
        let send = match self.role {
            Role::Gather => moved(machine, if last { n } else { 0 }, NONE, FIRST),
            _ if self.merges() => moved(machine, n, NONE, FIRST),
            _ => moved(machine, n / 2, NONE, BOTH),
        };
        let sections = self.role.sections(n, last);
        let ticks = cycles(machine, &sections) * machine.array_cycle();
        vec![receive, Phase::Compute { ticks }, send]
    }

    fn step(&mut self, phase: usize, i: usize, words: [u32; 2]) -> [u32; 2] {
        if phase == RECEIVE {
            match self.role {
                Role::Digits | Role::Words => self.words[i] = words[0],
                Role::Multiply => {
                    *part(&mut self.values, i) = f32::from_bits(words[0]);
                    *part(&mut self.others, i) = f32::from_bits(words[1]);
                }
                _ => self.values[i] = words.map(f32::from_bits),
            }
            return [0; 2];
        }
        match self.role {
            Role::Gather => [self.words[i], 0],
            _ if self.merges() => [part(&mut self.values, i).to_bits(), 0],
            _ => self.values[i].map(f32::to_bits),
        }
    }

    fn compute(&mut self, phase: usize) {
        debug_assert_eq!(phase, COMPUTE);
        let (garner, values) = (&self.garner, &mut self.values);
        match self.role {
            Role::Digits => garner.twist_digits(self.pass, values, &self.words),
            Role::Words => garner.twist_words(self.pass, values, &self.words),
            Role::Forward(stage) => garner.forward_stage(stage, values),
            Role::Inverse(stage) => garner.inverse_stage(stage, values),
            Role::Multiply => {
                let digits = values.clone();
                Garner::multiply_values(values, &digits, &self.others);
            }
            Role::Gather => {
                garner.gather(self.pass, values, &mut self.residues);
                if self.pass + 1 == self.passes {
                    self.words = garner.combine(&self.residues);
                    self.residues.fill(0);
                }
            }
        }
        self.pass = (self.pass + 1) % self.passes;
    }

    fn memory(&self) -> usize {
        self.role.memory(self.n())
    }
}

/// Adds a pipeline to a network. Returns the inputs of digits and of words, and the output of
/// results.
pub(super) fn add_pipeline(
    network: &mut Network,
    machine: &Machine,
    name: &str,
    (garner, passes, turns): (&Arc<Garner>, usize, usize),
) -> ([Port; 2], Port) {
    let stream = (machine.fifo(), machine.hop());
    let count = stages(garner.n());
    let add = |network: &mut Network, part: String, role| {
        let stage = Stage::new(machine, garner, role, (passes, turns));
        network.add("element", format!("{name}.{part}"), Box::new(stage))
    };
    let join = |network: &mut Network, from: usize, to: usize| {
        for stream_of in [0, 1] {
            network.connect(port(from, stream_of), &[port(to, stream_of)], stream);
        }
    };
    let product = add(network, "product".into(), Role::Multiply);
    let operands = [("digits", Role::Digits), ("words", Role::Words)];
    let mut input = 0;
    let inputs = operands.map(|(operand, role)| {
        let first = add(network, operand.into(), role);
        let mut last = first;
        for stage in 0..count {
            let next = add(network, format!("{operand}{stage}"), Role::Forward(stage));
            join(network, last, next);
            last = next;
        }
        network.connect(port(last, 0), &[port(product, input)], stream);
        input += 1;
        port(first, 0)
    });
    let mut last = product;
    for stage in 0..count {
        let next = add(network, format!("inverse{stage}"), Role::Inverse(stage));
        join(network, last, next);
        last = next;
    }
    let gather = add(network, "gather".into(), Role::Gather);
    join(network, last, gather);
    (inputs, port(gather, 0))
}
