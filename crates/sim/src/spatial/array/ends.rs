//! The end of a channel in the logic that takes words from the array.

use crate::spatial::machine::Machine;
use crate::spatial::network::{FIRST, Kernel, NONE, Phase};

/// Takes `per_turn` words in each turn, one per cycle of the logic.
pub(super) struct Sink {
    turns: usize,
    per_turn: usize,
    ticks: u64,
    words: Vec<u32>,
}

impl Sink {
    pub(super) fn new(machine: &Machine, (turns, per_turn): (usize, usize)) -> Self {
        Self {
            turns,
            per_turn,
            ticks: machine.logic_cycle(),
            words: Vec::new(),
        }
    }
}

impl Kernel for Sink {
    fn turns(&self) -> usize {
        self.turns
    }

    fn turn(&self, _turn: usize) -> Vec<Phase> {
        vec![Phase::Move {
            words: self.per_turn,
            from: FIRST,
            to: NONE,
            ticks: self.ticks,
        }]
    }

    fn step(&mut self, _phase: usize, _i: usize, words: [u32; 2]) -> [u32; 2] {
        self.words.push(words[0]);
        [0; 2]
    }

    fn take(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.words)
    }
}
