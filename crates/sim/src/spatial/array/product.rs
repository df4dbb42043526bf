//! A single multiplier between channels of the logic: tables II and IV of the paper.

use super::ends::Sink;
use super::memory::{Channels, Load, Supply};
use super::multiplier::{Multiplier, Unit};
use crate::error::{Error, Result};
use crate::spatial::machine::Machine;
use crate::spatial::network::{Network, port};
use ring::torus::Wavefront;

/// A multiplier through which products are streamed.
#[derive(Clone, Debug)]
pub struct Products {
    machine: Machine,
    n: usize,
    unit: Unit,
}

/// Time of products, one after another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// Microseconds from the first word in to the last word out, for a product that finds the array
    /// idle.
    pub latency: f64,
    /// Microseconds from one result to the next.
    pub interval: f64,
    /// Share of the time in which the busiest element computes.
    pub computing: f64,
}

impl Products {
    /// A wavefront of `elements` for polynomials of `n` coefficients.
    ///
    /// # Errors
    /// [`Error::Ring`] if blocks of the result are not whole vectors. [`Error::TooSmall`] if the
    /// machine has too little memory or too few tiles.
    pub fn new(machine: &Machine, n: usize, elements: usize) -> Result<Self> {
        let unit = Unit::new(machine, Multiplier::Direct, (n, elements), 0)?;
        Self::of(machine, n, unit)
    }

    /// A pipeline of transforms for polynomials of `n` coefficients and digits of at most `digit`
    /// in size, exact or as printed.
    ///
    /// # Errors
    /// [`Error::Ring`] if three primes do not hold the products. [`Error::TooSmall`] as
    /// [`Products::new`].
    pub fn fft(machine: &Machine, n: usize, digit: u32, exact: bool) -> Result<Self> {
        let kind = match exact {
            true => Multiplier::Fft,
            false => Multiplier::FftAsPrinted,
        };
        Self::of(machine, n, Unit::new(machine, kind, (n, 0), digit)?)
    }

    fn of(machine: &Machine, n: usize, unit: Unit) -> Result<Self> {
        fits(machine, "tiles", unit.elements(), machine.tiles())?;
        Ok(Self {
            machine: machine.clone(),
            n,
            unit,
        })
    }

    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.unit.elements()
    }

    /// Number of passes of a product: 1 for a wavefront.
    pub fn passes(&self) -> usize {
        self.unit.passes()
    }

    fn network(&self, turns: usize, operands: [Vec<u32>; 2]) -> Result<(Network, usize)> {
        let (machine, n) = (&self.machine, self.n);
        let stream = (machine.fifo(), machine.hop());
        let mut network = Network::new(!operands[0].is_empty());
        let tables = self.unit.tables()?;
        let (inputs, results) =
            self.unit
                .add(&mut network, machine, &tables, ("element", turns))?;
        let mut channels = Channels::new(machine, Supply::Ready);
        for (input, words) in operands.into_iter().enumerate() {
            let load = Load {
                turns,
                words: n,
                ahead: false,
            };
            let channel = channels.add(&mut network, format!("in{input}"), load, words);
            network.connect(channel, &[inputs[input]], stream);
        }
        channels.finish(&mut network);
        let sink = Sink::new(machine, (turns, n));
        let sink = network.add("channel", "out".into(), Box::new(sink));
        network.connect(results, &[port(sink, 0)], stream);
        Ok((network, sink))
    }

    /// Time of many products.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if streams are too short.
    pub fn simulate(&self) -> Result<Timing> {
        // The first products leave at the rate of the slowest element: all before it are faster.
        const COUNT: usize = 8;
        let (mut network, sink) = self.network(COUNT, [Vec::new(), Vec::new()])?;
        let usage = network.run()?;
        let ends = &usage[sink].ends;
        let interval = ends[COUNT - 1] - ends[COUNT - 2];
        let computing = usage.iter().map(|tile| tile.computing).max().unwrap_or(0);
        Ok(Timing {
            latency: self.machine.microseconds(ends[0]),
            interval: self.machine.microseconds(interval),
            computing: computing as f64 / COUNT as f64 / interval as f64,
        })
    }

    /// Computes the products of polynomials, one after another, as the array does.
    ///
    /// # Errors
    /// [`Error::Words`] unless both arguments have the same number of whole polynomials, and
    /// [`Error::Inexact`] for a pipeline as printed.
    pub fn emulate(&self, digits: &[i32], words: &[u32]) -> Result<Vec<u32>> {
        exact(&self.unit)?;
        let whole = words.len().next_multiple_of(self.n);
        expect("the second polynomials", words.len(), whole)?;
        expect("the first polynomials", digits.len(), words.len())?;
        let digits = digits.iter().map(|&digit| digit as u32).collect();
        let turns = words.len() / self.n;
        let (mut network, sink) = self.network(turns, [digits, words.to_vec()])?;
        network.run()?;
        Ok(network.take(sink))
    }
}

/// Refuses to compute words that are wrong.
pub(super) fn exact(unit: &Unit) -> Result<()> {
    match unit.exact() {
        true => Ok(()),
        false => Err(Error::Inexact {
            found: unit.passes(),
        }),
    }
}

/// Checks that the elements of a multiplier exist and have enough memory. Comes before any element
/// is built.
pub(super) fn chain_fits(machine: &Machine, n: usize, elements: usize) -> Result<()> {
    let memory = Wavefront::new(n, elements)?.element_memory();
    fits(
        machine,
        "bytes of memory of a tile",
        memory,
        machine.data_memory(),
    )
}

pub(in crate::spatial) fn fits(
    machine: &Machine,
    what: &'static str,
    needed: usize,
    available: usize,
) -> Result<()> {
    if needed <= available {
        return Ok(());
    }
    Err(Error::TooSmall {
        machine: machine.name().to_owned(),
        what,
        needed,
        available,
    })
}

pub(super) fn expect(what: &'static str, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Words {
        what,
        found,
        expected,
    })
}

#[cfg(test)]
mod tests;
