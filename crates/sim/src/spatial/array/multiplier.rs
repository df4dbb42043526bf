//! The two multipliers of the paper as parts of a network.

use super::element::add_chain;
use super::product::{chain_fits, fits};
use super::stage::add_pipeline;
use crate::error::Result;
use crate::spatial::machine::Machine;
use crate::spatial::network::{Network, Port};
use ring::torus::garner::pipeline::{self, Role};
use ring::torus::{Garner, garner};
use std::sync::Arc;

/// The kind of the multipliers of a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multiplier {
    /// A wavefront: products by definition on a chain of elements (section III-A2).
    Direct,
    /// A pipeline of transforms in single precision, in as many passes as exact words need.
    Fft,
    /// The FFT pipeline in the three passes of the paper's algorithm 2. Its words are wrong, so
    /// only its times can be simulated.
    FftAsPrinted,
}

/// A multiplier for polynomials of one degree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    kind: Multiplier,
    n: usize,
    elements: usize,
    digit: u32,
    passes: usize,
}

/// The tables that the elements of all multipliers of a network share.
pub(super) type Tables = Option<Arc<Garner>>;

impl Unit {
    /// A multiplier for digits of at most `digit` in size. `elements` is the number of elements of
    /// a wavefront.
    pub(super) fn new(
        machine: &Machine,
        kind: Multiplier,
        (n, elements): (usize, usize),
        digit: u32,
    ) -> Result<Self> {
        let unit = |elements, passes| Self {
            kind,
            n,
            elements,
            digit,
            passes,
        };
        if kind == Multiplier::Direct {
            chain_fits(machine, n, elements)?;
            return Ok(unit(elements, 1));
        }
        let exact = Garner::new(n, 1, digit)?;
        let memory = Role::Gather.memory(n);
        let what = "bytes of memory of a tile";
        fits(machine, what, memory, machine.data_memory())?;
        let passes = match kind {
            Multiplier::FftAsPrinted => garner::PRIMES,
            _ => exact.passes(),
        };
        Ok(unit(pipeline::elements(n), passes))
    }

    pub(super) fn elements(&self) -> usize {
        self.elements
    }

    pub(super) fn passes(&self) -> usize {
        self.passes
    }

    /// The work of an element.
    pub(super) fn does(&self) -> &'static str {
        match self.kind {
            Multiplier::Direct => "a block of a product",
            Multiplier::Fft | Multiplier::FftAsPrinted => "a stage of a product",
        }
    }

    /// Returns true if the words of the multiplier are the words of the ring.
    pub(super) fn exact(&self) -> bool {
        self.kind != Multiplier::FftAsPrinted
    }

    pub(super) fn tables(&self) -> Result<Tables> {
        Ok(match self.kind {
            Multiplier::Direct => None,
            _ => Some(Arc::new(Garner::new(self.n, 1, self.digit)?)),
        })
    }

    /// Adds the multiplier to a network. Returns the inputs of digits and of words, and the output
    /// of results.
    pub(super) fn add(
        &self,
        network: &mut Network,
        machine: &Machine,
        tables: &Tables,
        (name, turns): (&str, usize),
    ) -> Result<([Port; 2], Port)> {
        match tables {
            None => add_chain(network, machine, name, (self.n, self.elements, turns)),
            Some(garner) => Ok(add_pipeline(
                network,
                machine,
                name,
                (garner, self.passes, turns),
            )),
        }
    }
}
