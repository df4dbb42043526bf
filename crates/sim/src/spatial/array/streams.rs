//! Tiles that send streams on: one to two places, two to one, and sums of several.

use super::moved;
use crate::spatial::machine::Machine;
use crate::spatial::network::{BOTH, FIRST, Kernel, Network, Object, Phase, Port, SECOND, port};

/// Sends the first `first` words to output 0 and the next `rest` to output 1: keys of a row to its
/// multipliers, or the words of a channel to one of two parts of a design.
pub(super) struct Split {
    pub(super) machine: Machine,
    pub(super) first: usize,
    pub(super) rest: usize,
    pub(super) turns: usize,
}

impl Kernel for Split {
    fn turns(&self) -> usize {
        self.turns
    }

    fn turn(&self, _turn: usize) -> Vec<Phase> {
        vec![
            moved(&self.machine, self.first, FIRST, FIRST),
            moved(&self.machine, self.rest, FIRST, SECOND),
        ]
    }

    fn step(&mut self, _phase: usize, _i: usize, words: [u32; 2]) -> [u32; 2] {
        [words[0]; 2]
    }

    fn object(&self) -> Option<Object> {
        Some(Object {
            class: "Split",
            arguments: vec![self.first as u32, self.rest as u32],
        })
    }
}

/// Passes on the `first` words of input 0, then the `rest` of input 1.
pub(super) struct Merge {
    pub(super) machine: Machine,
    pub(super) first: usize,
    pub(super) rest: usize,
    pub(super) turns: usize,
}

impl Kernel for Merge {
    fn turns(&self) -> usize {
        self.turns
    }

    fn turn(&self, _turn: usize) -> Vec<Phase> {
        vec![
            moved(&self.machine, self.first, FIRST, FIRST),
            moved(&self.machine, self.rest, SECOND, FIRST),
        ]
    }

    fn step(&mut self, phase: usize, _i: usize, words: [u32; 2]) -> [u32; 2] {
        [words[phase], 0]
    }

    fn object(&self) -> Option<Object> {
        Some(Object {
            class: "Merge",
            arguments: vec![self.first as u32, self.rest as u32],
        })
    }
}

/// Adds the words of both inputs.
pub(super) struct Compose {
    pub(super) machine: Machine,
    pub(super) words: usize,
    pub(super) turns: usize,
}

impl Kernel for Compose {
    fn turns(&self) -> usize {
        self.turns
    }

    fn turn(&self, _turn: usize) -> Vec<Phase> {
        vec![moved(&self.machine, self.words, BOTH, FIRST)]
    }

    fn step(&mut self, _phase: usize, _i: usize, words: [u32; 2]) -> [u32; 2] {
        [words[0].wrapping_add(words[1]), 0]
    }

    fn object(&self) -> Option<Object> {
        Some(Object {
            class: "Composition",
            arguments: vec![self.words as u32],
        })
    }
}

/// Adds tiles that sum all streams of `words` words in each of `turns` turns, by pairs. Returns the
/// stream of sums.
pub(super) fn add_sums(
    network: &mut Network,
    machine: &Machine,
    (name, words, turns): (&str, usize, usize),
    mut waiting: Vec<Port>,
) -> Port {
    let stream = (machine.fifo(), machine.hop());
    let mut count = 0;
    while waiting.len() > 1 {
        let mut sums = Vec::new();
        for pair in waiting.chunks(2) {
            let [left, right] = *pair else {
                sums.push(pair[0]);
                continue;
            };
            let tile = Compose {
                machine: machine.clone(),
                words,
                turns,
            };
            let tile = network.add("composition", format!("{name}.{count}"), Box::new(tile));
            count += 1;
            network.connect(left, &[port(tile, 0)], stream);
            network.connect(right, &[port(tile, 1)], stream);
            sums.push(port(tile, 0));
        }
        waiting = sums;
    }
    waiting[0]
}
