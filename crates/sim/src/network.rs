//! Tiles and streams: what every word is, and when it is written.
//!
//! *Concept.* Each tile is a sequential process that repeats a [turn](Kernel::turn): phases that compute, and phases
//! that move words, one of each port in each step. A step begins when the tile is free, its inputs have arrived and
//! its outputs have room. A stream holds so many words, and delivers them some ticks after they were written. Nothing
//! else decides on time, so the order in which tiles are worked off does not matter (a Kahn network): every word
//! carries its time, and a tile goes on until it lacks a word or room.
//!
//! *Source.* Kahn, "The semantics of a simple language for parallel programming", IFIP 1974.

mod stream;
mod tile;

use crate::error::{Error, Result};
use std::collections::VecDeque;
use stream::Stream;
use tile::Running;

/// Two ports each way, as a tile has: which of them a phase uses.
pub(crate) type Ports = [bool; 2];
/// No port.
pub(crate) const NONE: Ports = [false, false];
/// The first port.
pub(crate) const FIRST: Ports = [true, false];
/// The second port.
pub(crate) const SECOND: Ports = [false, true];
/// Both ports.
pub(crate) const BOTH: Ports = [true, true];

/// A part of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// `words` steps of so many ticks: one word from each port of `from`, one word to each of `to`.
    Move {
        words: usize,
        from: Ports,
        to: Ports,
        ticks: u64,
    },
    /// So many ticks without any stream.
    Compute { ticks: u64 },
}

/// What a tile does.
pub(crate) trait Kernel: Send {
    /// Number of turns.
    fn turns(&self) -> usize;
    /// Phases of a turn.
    fn turn(&self, turn: usize) -> Vec<Phase>;
    /// Step `i` of a phase that moves words: words to the ports, from those of the ports.
    fn step(&mut self, phase: usize, i: usize, words: [u32; 2]) -> [u32; 2];
    /// A phase that computes.
    fn compute(&mut self, _phase: usize) {}
    /// Bytes of local memory.
    fn memory(&self) -> usize {
        0
    }
    /// Words that are left when all is done: those of a sink.
    fn take(&mut self) -> Vec<u32> {
        Vec::new()
    }
}

/// A port of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Port {
    pub(crate) tile: usize,
    pub(crate) port: usize,
}

/// Tile `tile`, port `port`.
pub(crate) fn port(tile: usize, port: usize) -> Port {
    Port { tile, port }
}

/// A tile's part in the time of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Name of the tile.
    pub(crate) name: String,
    /// What kind of tile it is.
    pub(crate) kind: &'static str,
    /// Ticks of steps and computation; the rest it waited.
    pub(crate) busy: u64,
    /// Tick in which each turn ended.
    pub(crate) ends: Vec<u64>,
}

/// Tiles with their streams.
#[derive(Default)]
pub(crate) struct Network {
    tiles: Vec<Running>,
    streams: Vec<Stream>,
    /// Whether words are computed, or only their times.
    words: bool,
}

impl Network {
    /// Without tiles. Kernels compute words if `words`.
    pub(crate) fn new(words: bool) -> Self {
        Self {
            words,
            ..Self::default()
        }
    }

    /// Adds a tile of a `kind`.
    pub(crate) fn add(
        &mut self,
        kind: &'static str,
        name: String,
        kernel: Box<dyn Kernel>,
    ) -> usize {
        self.tiles.push(Running::new(kind, name, kernel));
        self.tiles.len() - 1
    }

    /// Connects an output with inputs, each of which gets every word, by a stream of `room` words and `latency` ticks.
    pub(crate) fn connect(&mut self, from: Port, to: &[Port], (room, latency): (usize, u64)) {
        let id = self.streams.len();
        self.streams.push(Stream::new(
            from.tile,
            to.iter().map(|p| p.tile),
            (room, latency),
        ));
        let output = &mut self.tiles[from.tile].outputs[from.port];
        assert!(output.replace(id).is_none(), "one stream for each output");
        for (reader, to) in to.iter().enumerate() {
            let input = &mut self.tiles[to.tile].inputs[to.port];
            assert!(
                input.replace((id, reader)).is_none(),
                "one stream for each input"
            );
        }
    }

    /// Number of tiles of a kind.
    pub(crate) fn count(&self, kind: &str) -> usize {
        self.tiles
            .iter()
            .filter(|tile| tile.usage.kind == kind)
            .count()
    }

    /// Largest local memory of a tile.
    pub(crate) fn memory(&self) -> usize {
        self.tiles
            .iter()
            .map(|tile| tile.kernel.memory())
            .max()
            .unwrap_or(0)
    }

    /// Words that all streams carried between the tiles.
    pub(crate) fn moved(&self) -> u64 {
        self.streams.iter().map(Stream::written).sum()
    }

    /// What a sink received.
    pub(crate) fn take(&mut self, tile: usize) -> Vec<u32> {
        self.tiles[tile].kernel.take()
    }

    /// Runs until every tile has ended its last turn.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if some never do.
    pub(crate) fn run(&mut self) -> Result<Vec<Usage>> {
        let mut waiting: VecDeque<usize> = (0..self.tiles.len()).collect();
        let mut queued = vec![true; self.tiles.len()];
        while let Some(id) = waiting.pop_front() {
            queued[id] = false;
            let tile = &mut self.tiles[id];
            if !tile.advance(&mut self.streams, self.words) {
                continue;
            }
            let inputs = tile.inputs.iter().flatten();
            let writers = inputs.map(|&(stream, _)| self.streams[stream].writer());
            let outputs = tile.outputs.iter().flatten();
            let readers = outputs.flat_map(|&stream| self.streams[stream].readers());
            for neighbour in writers.chain(readers) {
                if !std::mem::replace(&mut queued[neighbour], true) {
                    waiting.push_back(neighbour);
                }
            }
        }
        match self.tiles.iter().find(|tile| !tile.done()) {
            Some(stuck) => Err(Error::Deadlock {
                tile: stuck.usage.name.clone(),
                turn: stuck.usage.ends.len(),
            }),
            None => Ok(self.tiles.iter().map(|tile| tile.usage.clone()).collect()),
        }
    }
}

#[cfg(test)]
mod tests;
