//! Tiles and streams: the value of every word, and the tick in which it is written.
//!
//! *Concept.* Each tile is a sequential process that repeats a [turn](Kernel::turn). A turn has
//! phases that compute, and phases that move words, one word of each port in each step. A step
//! begins when the tile is free, its inputs have arrived and its outputs have room. A stream has
//! room for a number of words, and delivers each some ticks after it was written. Nothing else
//! affects time. The order in which tiles are processed therefore does not matter (a Kahn network):
//! every word carries its time, and a tile continues until it lacks a word or room.
//!
//! *Source.* Kahn, "The semantics of a simple language for parallel programming", IFIP 1974.

mod stream;
mod tile;

use crate::error::{Error, Result};
use std::collections::VecDeque;
use stream::Stream;
use tile::Running;

/// Two ports in each direction, as a tile has. The entries say which of them a phase uses.
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
    /// `words` steps of `ticks` ticks each: one word from each port of `from`, one word to each
    /// port of `to`.
    Move {
        words: usize,
        from: Ports,
        to: Ports,
        ticks: u64,
    },
    /// `words` words to the output `port`, at once when there is room. A memory has more outputs
    /// than a tile, one for each of its readers.
    Send { words: usize, port: usize },
    /// `ticks` ticks without any stream.
    Compute { ticks: u64 },
}

/// The work of a tile.
pub(crate) trait Kernel: Send {
    /// Number of turns of the tile.
    fn turns(&self) -> usize;
    /// The phases of a turn.
    fn turn(&self, turn: usize) -> Vec<Phase>;
    /// Step `i` of a phase that moves words. Takes the words read from the ports, returns the words
    /// for the ports. A phase that sends words to one port returns the word first.
    fn step(&mut self, phase: usize, i: usize, words: [u32; 2]) -> [u32; 2];
    /// Runs a phase that computes.
    fn compute(&mut self, _phase: usize) {}
    /// Bytes of local memory that the kernel uses.
    fn memory(&self) -> usize {
        0
    }
    /// The class of the tile in emitted C++, and the arguments of its constructor. `None` if it has
    /// none.
    fn object(&self) -> Option<Object> {
        None
    }
    /// Takes the words that a sink has received. Other kernels have none.
    fn take(&mut self) -> Vec<u32> {
        Vec::new()
    }
}

/// A tile's program in emitted C++.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) class: &'static str,
    pub(crate) arguments: Vec<u32>,
}

/// An output of a tile, the inputs that read it, and the words that it carried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wire {
    pub(crate) from: Port,
    pub(crate) to: Vec<Port>,
    /// Number of words.
    pub(crate) words: u64,
    /// Hash of all words in order, FNV-1a by words.
    pub(crate) hash: u64,
}

/// A port of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Port {
    pub(crate) tile: usize,
    pub(crate) port: usize,
}

/// Port `port` of tile `tile`.
pub(crate) fn port(tile: usize, port: usize) -> Port {
    Port { tile, port }
}

/// The times of a tile in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Name of the tile.
    pub(crate) name: String,
    /// The kind of tile.
    pub(crate) kind: &'static str,
    /// Ticks of steps and computation. The rest is waiting.
    pub(crate) busy: u64,
    /// Ticks of computation.
    pub(crate) computing: u64,
    /// The tick in which each turn ended.
    pub(crate) ends: Vec<u64>,
}

/// Tiles with their streams.
#[derive(Default)]
pub(crate) struct Network {
    tiles: Vec<Running>,
    streams: Vec<Stream>,
    /// True if words are computed, false if only their times are.
    words: bool,
}

impl Network {
    /// A network without tiles. Kernels compute words only if `words`.
    pub(crate) fn new(words: bool) -> Self {
        Self {
            words,
            ..Self::default()
        }
    }

    /// Adds a tile of the kind `kind`.
    pub(crate) fn add(
        &mut self,
        kind: &'static str,
        name: String,
        kernel: Box<dyn Kernel>,
    ) -> usize {
        self.tiles.push(Running::new(kind, name, kernel));
        self.tiles.len() - 1
    }

    /// Connects an output with inputs by a stream of `room` words and `latency` ticks. Each input
    /// gets every word.
    pub(crate) fn connect(&mut self, from: Port, to: &[Port], (room, latency): (usize, u64)) {
        let id = self.streams.len();
        self.streams.push(Stream::new(
            from.tile,
            to.iter().map(|p| p.tile),
            (room, latency),
        ));
        let outputs = &mut self.tiles[from.tile].outputs;
        outputs.resize(outputs.len().max(from.port + 1), None);
        let output = &mut outputs[from.port];
        assert!(output.replace(id).is_none(), "one stream for each output");
        for (reader, to) in to.iter().enumerate() {
            let input = &mut self.tiles[to.tile].inputs[to.port];
            assert!(
                input.replace((id, reader)).is_none(),
                "one stream for each input"
            );
        }
    }

    /// Names, kinds and programs of all tiles, in the order in which they were added.
    pub(crate) fn tiles(&self) -> impl Iterator<Item = (&str, &'static str, Option<Object>)> {
        self.tiles.iter().map(|tile| {
            let Usage { name, kind, .. } = &tile.usage;
            (name.as_str(), *kind, tile.kernel.object())
        })
    }

    /// All streams, by the tile and the output that write them.
    pub(crate) fn wires(&self) -> Vec<Wire> {
        let mut to = vec![Vec::new(); self.streams.len()];
        for (tile, running) in self.tiles.iter().enumerate() {
            for (input, read) in running.inputs.iter().enumerate() {
                if let Some((stream, _)) = *read {
                    to[stream].push(port(tile, input));
                }
            }
        }
        let outputs = self.tiles.iter().enumerate().flat_map(|(tile, running)| {
            let outputs = running.outputs.iter().enumerate();
            outputs.filter_map(move |(output, id)| id.map(|id| (port(tile, output), id)))
        });
        let wire = |(from, id): (Port, usize)| Wire {
            from,
            to: std::mem::take(&mut to[id]),
            words: self.streams[id].written(),
            hash: self.streams[id].hash(),
        };
        outputs.map(wire).collect()
    }

    /// Gives each stream the latency of the slowest of its pairs of a writer and a reader.
    pub(crate) fn set_latencies(&mut self, of_pair: impl Fn(usize, usize) -> u64) {
        for stream in &mut self.streams {
            let pairs = stream
                .readers()
                .map(|reader| of_pair(stream.writer(), reader));
            let slowest = pairs.max().unwrap_or(0);
            stream.set_latency(slowest);
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

    /// Number of words that all streams carried between the tiles.
    pub(crate) fn moved(&self) -> u64 {
        self.streams.iter().map(Stream::written).sum()
    }

    /// The words that a sink received.
    pub(crate) fn take(&mut self, tile: usize) -> Vec<u32> {
        self.tiles[tile].kernel.take()
    }

    /// Runs until every tile has finished its last turn.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if some tile never finishes.
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
