//! The memory behind the logic, and the channels that bring its words to the array.
//!
//! The memory is a tile. It reads one burst at a time, each for one of its readers, in an order
//! that is fixed before the run. Each reader is a channel with a buffer: as many words as it has
//! asked for and not yet sent to the array. A word takes the memory's latency to arrive. A channel
//! therefore waits if the memory is busy with others, or if its buffer is too small for the
//! latency. The memory waits if the next reader in order has no room.

use super::moved_by;
use crate::spatial::machine::Machine;
use crate::spatial::network::{FIRST, Kernel, NONE, Network, Phase, Port, port};

/// The source of the words of the channels into the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Supply {
    /// Every word is available when a channel sends it.
    Ready,
    /// The words come from the memory behind the logic.
    Memory,
}

/// The words that a channel brings: `turns` times `words` words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) turns: usize,
    pub(super) words: usize,
    /// True if the memory reads all words of a turn before it begins the words of other channels.
    pub(super) ahead: bool,
}

/// The channels into the array, in the order in which they were added.
pub(super) struct Channels<'a> {
    machine: &'a Machine,
    supply: Supply,
    added: Vec<(usize, Load, Vec<u32>)>,
}

impl<'a> Channels<'a> {
    pub(super) fn new(machine: &'a Machine, supply: Supply) -> Self {
        Self {
            machine,
            supply,
            added: Vec::new(),
        }
    }

    /// Adds a channel that brings `words`, which may be empty if only times are wanted. Returns its
    /// end at the array.
    pub(super) fn add(
        &mut self,
        network: &mut Network,
        name: String,
        load: Load,
        words: Vec<u32>,
    ) -> Port {
        let (from, own, kept) = match self.supply {
            Supply::Ready => (NONE, words, Vec::new()),
            Supply::Memory => (FIRST, Vec::new(), words),
        };
        let channel = Channel {
            ticks: self.machine.logic_cycle(),
            load,
            from,
            words: own.into_iter(),
        };
        let tile = network.add("channel", name, Box::new(channel));
        self.added.push((tile, load, kept));
        port(tile, 0)
    }

    /// Connects the channels to the memory, if it supplies their words.
    pub(super) fn finish(self, network: &mut Network) {
        if self.supply == Supply::Ready {
            return;
        }
        let machine = self.machine;
        let (tiles, rest): (Vec<_>, Vec<_>) = self
            .added
            .into_iter()
            .map(|(tile, load, words)| (tile, (load, words)))
            .unzip();
        let (loads, words) = rest.into_iter().unzip();
        let memory = Memory::new(machine, loads, words);
        let memory = network.add("memory", "memory".into(), Box::new(memory));
        let buffer = (machine.memory().buffer_words, machine.memory_latency());
        for (output, tile) in tiles.into_iter().enumerate() {
            network.connect(port(memory, output), &[port(tile, 0)], buffer);
        }
    }
}

/// A channel of the logic into the array: a word in each cycle of the logic.
struct Channel {
    ticks: u64,
    load: Load,
    from: [bool; 2],
    /// The words, if they do not come from the memory.
    words: std::vec::IntoIter<u32>,
}

impl Kernel for Channel {
    fn turns(&self) -> usize {
        self.load.turns
    }

    fn turn(&self, _turn: usize) -> Vec<Phase> {
        vec![moved_by(self.ticks, self.load.words, self.from, FIRST)]
    }

    fn step(&mut self, _phase: usize, _i: usize, words: [u32; 2]) -> [u32; 2] {
        match self.from {
            NONE => [self.words.next().unwrap_or_default(), 0],
            _ => words,
        }
    }
}

/// Reads bursts for its readers.
struct Memory {
    loads: Vec<Load>,
    burst: usize,
    ticks: u64,
    /// The words in the order in which they are read.
    words: std::vec::IntoIter<u32>,
}

impl Memory {
    fn new(machine: &Machine, loads: Vec<Load>, words: Vec<Vec<u32>>) -> Self {
        let mut memory = Self {
            loads,
            burst: machine.memory().burst_words,
            ticks: machine.burst(),
            words: Vec::new().into_iter(),
        };
        if words.iter().any(|words| !words.is_empty()) {
            let mut rest: Vec<&[u32]> = words.iter().map(Vec::as_slice).collect();
            let mut ordered = Vec::with_capacity(rest.iter().map(|words| words.len()).sum());
            for (reader, count) in (0..memory.turns()).flat_map(|turn| memory.reads(turn)) {
                let (now, later) = rest[reader].split_at(count);
                ordered.extend_from_slice(now);
                rest[reader] = later;
            }
            memory.words = ordered.into_iter();
        }
        memory
    }

    /// The reads of a turn: pairs of a reader and a number of words. The readers that go ahead come
    /// first, one after the other. Then each of the other readers gets a burst in turn.
    fn reads(&self, turn: usize) -> Vec<(usize, usize)> {
        let mut left: Vec<usize> = self
            .loads
            .iter()
            .map(|load| if turn < load.turns { load.words } else { 0 })
            .collect();
        let mut reads = Vec::new();
        let read = |reads: &mut Vec<_>, reader: usize, left: &mut usize| {
            let count = self.burst.min(*left);
            *left -= count;
            if count > 0 {
                reads.push((reader, count));
            }
        };
        for (reader, left) in left.iter_mut().enumerate() {
            while self.loads[reader].ahead && *left > 0 {
                read(&mut reads, reader, left);
            }
        }
        while left.iter().any(|&left| left > 0) {
            for (reader, left) in left.iter_mut().enumerate() {
                read(&mut reads, reader, left);
            }
        }
        reads
    }
}

impl Kernel for Memory {
    fn turns(&self) -> usize {
        self.loads.iter().map(|load| load.turns).max().unwrap_or(0)
    }

    fn turn(&self, turn: usize) -> Vec<Phase> {
        let phases = |(port, words)| {
            [
                Phase::Compute { ticks: self.ticks },
                Phase::Send { words, port },
            ]
        };
        self.reads(turn).into_iter().flat_map(phases).collect()
    }

    fn step(&mut self, _phase: usize, _i: usize, _words: [u32; 2]) -> [u32; 2] {
        [self.words.next().unwrap_or_default(), 0]
    }
}

#[cfg(test)]
mod tests;
