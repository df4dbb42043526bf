//! The key switch of samples on the array. The design is ours: the paper has the key switch on the
//! processor.
//!
//! A key switch subtracts digits times rows of the key from a sample: `k N l` rows of `n + 1`
//! words, each of which is used once. The channels therefore set its time, and the design has one
//! tile for each channel. A tile first receives its share of the mask. Then it receives its rows,
//! and subtracts each row from its sum on arrival, so it needs room for one sum and no row. Sums
//! are added by pairs. The last tile adds the body.
//!
//! The words are the same as those of `tfhe::Switch`. The digits of a mask word leave a rest, and
//! half of the sum of all rests is subtracted from the body. Tiles send the halves and the odd bits
//! of their rests separately, because the half of a sum is not the sum of the halves.
//!
//! The key switch uses the channels of the blind rotation. A tile behind each channel sends its
//! words to one of the two, and so does a tile before the channel of results.

mod tile;

use super::ends::Sink;
use super::floorplan::{Kind, Parameters};
use super::memory::{Channels, Load, Supply};
use super::processor::Times;
use super::product::fits;
use super::streams::{Split, add_sums};
use crate::error::Result;
use crate::spatial::machine::Machine;
use crate::spatial::network::{Network, port};
use ring::torus::Decomposition;
use tile::{Close, RESTS, SwitchTile};

/// A key switch from dimension `k N` to dimension `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Dimension `k N` of the input.
    pub(super) from: usize,
    /// Dimension `n` of the result.
    pub(super) to: usize,
    pub(super) digits: Decomposition,
}

impl Sizes {
    pub(super) fn new(parameters: &Parameters, digits: Decomposition) -> Self {
        Self {
            from: parameters.rank * parameters.n,
            to: parameters.lwe_dimension,
            digits,
        }
    }

    /// Words of key for a word of the mask.
    pub(super) fn row_words(&self) -> usize {
        self.digits.levels() as usize * (self.to + 1)
    }

    /// Words of the whole key.
    pub(super) fn key_words(&self) -> usize {
        self.from * self.row_words()
    }

    /// The rest that the digits leave of a word.
    pub(super) fn rest(&self, word: u32) -> i32 {
        let dropped = u32::BITS - self.digits.bits();
        let half = 1u32 << (dropped - 1);
        (word.wrapping_add(half) & (half + (half - 1))) as i32 - half as i32
    }
}

/// A key switch on the array, through `width` channels.
#[derive(Clone, Debug)]
pub(super) struct Switch {
    machine: Machine,
    sizes: Sizes,
    width: usize,
    /// Channels that a blind rotation shares.
    shared: usize,
}

/// Largest number of channels to try.
const WIDEST: usize = 64;

impl Switch {
    /// The fastest key switch beside a blind rotation that takes `tiles` tiles and `inputs`
    /// channels into the array.
    ///
    /// # Errors
    /// [`crate::Error::TooSmall`] if there are too few tiles, or too little memory in each.
    pub(super) fn new(
        machine: &Machine,
        sizes: Sizes,
        (tiles, inputs): (usize, usize),
    ) -> Result<Self> {
        let with = |width: usize| Self {
            machine: machine.clone(),
            sizes,
            width,
            shared: inputs.min(width),
        };
        let fitting = |width: &usize| tiles + with(*width).tiles() <= machine.tiles();
        let channels = machine.channels().saturating_sub(1);
        let most = channels.min(sizes.from).clamp(1, WIDEST);
        let widest = (1..=most).rev().find(fitting).unwrap_or(1);
        fits(
            machine,
            "tiles",
            tiles + with(widest).tiles(),
            machine.tiles(),
        )?;
        // The design with the most channels has the smallest memory per tile.
        let what = "bytes of memory of a tile";
        fits(machine, what, with(widest).memory(), machine.data_memory())?;
        let mut best = with(widest);
        let mut least = best.cost()?;
        for width in 1..widest {
            let other = with(width);
            if other.memory() > machine.data_memory() {
                continue;
            }
            let cost = other.cost()?;
            if cost < least {
                (best, least) = (other, cost);
            }
        }
        Ok(best)
    }

    /// Microseconds to start the channels, and of the key switch.
    fn cost(&self) -> Result<f64> {
        Ok(self.starts() + self.simulate()?)
    }

    /// Microseconds in which the processor starts the channels of keys and results.
    pub(super) fn starts(&self) -> f64 {
        Times(&self.machine).starts(self.width + 1)
    }

    /// Number of channels that bring the key.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Number of these channels that the blind rotation shares.
    pub(super) fn shared(&self) -> usize {
        self.shared
    }

    /// The kinds of tiles of the key switch, without those of the blind rotation.
    pub(super) fn kinds(&self) -> Vec<Kind> {
        let kind = |name, tiles, does| Kind { name, tiles, does };
        vec![
            kind("gate", self.shared, "a channel's words to one of two parts"),
            kind("switch", self.width, "digits times rows of a channel's key"),
            kind("composition", self.width - 1, "sums of products"),
            kind("join", 1, "results of either part; the body"),
        ]
    }

    fn tiles(&self) -> usize {
        self.kinds().iter().map(|kind| kind.tiles).sum()
    }

    /// Words of the mask for each tile.
    fn shares(&self) -> Vec<usize> {
        let (each, more) = (self.sizes.from / self.width, self.sizes.from % self.width);
        (0..self.width)
            .map(|i| each + usize::from(i < more))
            .collect()
    }

    /// Largest local memory of a tile: the share of the mask, and a sum.
    fn memory(&self) -> usize {
        4 * (self.sizes.from.div_ceil(self.width) + self.sizes.to + 1)
    }

    /// Microseconds of the key switch.
    ///
    /// All words of the mask take equally long. The simulation therefore runs a few words and
    /// extrapolates the rest.
    pub(super) fn simulate(&self) -> Result<f64> {
        const FEW: usize = 2;
        let run = |words: usize| -> Result<u64> {
            let (mut network, sink) = self.network(&vec![words; self.width], None);
            Ok(network.run()?[sink].ends[0])
        };
        let share = self.sizes.from.div_ceil(self.width);
        if share <= 2 * FEW {
            return Ok(self.machine.microseconds(run(share)?));
        }
        let (few, more) = (run(FEW)?, run(2 * FEW)?);
        let each = self.machine.microseconds(more - few) / FEW as f64;
        Ok(self.machine.microseconds(more) + (share - 2 * FEW) as f64 * each)
    }

    /// Computes every word as the array does. Returns the sample and the microseconds.
    pub(super) fn emulate(&self, sample: &[u32], key: &[u32]) -> Result<(Vec<u32>, f64)> {
        let (mut network, sink) = self.network(&self.shares(), Some((sample, key)));
        let ticks = network.run()?[sink].ends[0];
        Ok((network.take(sink), self.machine.microseconds(ticks)))
    }

    /// The network for shares of the mask. Without words, only times are computed.
    fn network(&self, shares: &[usize], job: Option<(&[u32], &[u32])>) -> (Network, usize) {
        let (machine, sizes) = (&self.machine, self.sizes);
        let stream = (machine.fifo(), machine.hop());
        let mut network = Network::new(job.is_some());
        let mut channels = Channels::new(machine, Supply::Memory);
        let (mut sums, mut done) = (Vec::new(), 0);
        for (index, &share) in shares.iter().enumerate() {
            let count = share + 1 + share * sizes.row_words();
            let words = job.map_or_else(Vec::new, |(sample, key)| {
                let body = if index == 0 { sample[sizes.from] } else { 0 };
                let rows = &key[done * sizes.row_words()..][..share * sizes.row_words()];
                [&sample[done..done + share], &[body], rows].concat()
            });
            done += share;
            let load = Load {
                turns: 1,
                words: count,
                ahead: false,
            };
            let mut from = channels.add(&mut network, format!("key{index}"), load, words);
            if index < self.shared {
                let gate = Split {
                    machine: machine.clone(),
                    first: 0,
                    rest: count,
                    turns: 1,
                };
                let gate = network.add("gate", format!("gate{index}"), Box::new(gate));
                network.connect(from, &[port(gate, 0)], stream);
                from = port(gate, 1);
            }
            let tile = SwitchTile::new(machine, sizes, share);
            let tile = network.add("switch", format!("switch{index}"), Box::new(tile));
            network.connect(from, &[port(tile, 0)], stream);
            sums.push(port(tile, 0));
        }
        channels.finish(&mut network);
        let name = ("composition.switch", sizes.to + 1 + RESTS, 1);
        let sum = add_sums(&mut network, machine, name, sums);
        let close = Close::new(machine, sizes.to);
        let close = network.add("join", "join".into(), Box::new(close));
        network.connect(sum, &[port(close, 1)], stream);
        let sink = Sink::new(machine, (1, sizes.to + 1));
        let sink = network.add("channel", "out0".into(), Box::new(sink));
        network.connect(port(close, 0), &[port(sink, 0)], stream);
        (network, sink)
    }
}

#[cfg(test)]
mod tests;
