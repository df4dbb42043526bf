//! Blind rotation on the array: the words it computes, and its time.

mod graph;

use super::floorplan::{Floorplan, Parameters};
use super::multiplier::Multiplier;
use super::product::{exact, expect, fits};
use crate::error::Result;
use crate::spatial::machine::{Machine, Power};
use crate::spatial::network::Usage;
use crate::spatial::placement::Placement;
pub(super) use graph::{Around, Graph, Job};
use std::collections::BTreeMap;

/// The graph of figure 9: `ACC <- ACC + BK_i [x] (X^(a_i) ACC - ACC)` for each exponent `a_i`.
#[derive(Clone, Debug)]
pub struct BlindRotation {
    floorplan: Floorplan,
}

/// The result of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// Number of external products.
    pub iterations: usize,
    /// Microseconds from one iteration to the next.
    pub iteration: f64,
    /// Milliseconds from the first word in to the last word out.
    pub milliseconds: f64,
    /// Average share of the time in which tiles of each kind work.
    pub busy: BTreeMap<&'static str, f64>,
    /// Gigabits of keys per second.
    pub key_gigabits: f64,
    /// Power by component.
    pub power: Power,
}

impl Simulated {
    /// Millijoules of all iterations.
    pub fn millijoules(&self) -> f64 {
        self.milliseconds * self.power.watts()
    }
}

/// The result of an emulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Emulated {
    /// The accumulator, component by component, with the body last.
    pub accumulator: Vec<u32>,
    /// Milliseconds from the first word in to the last word out.
    pub milliseconds: f64,
    /// Words that streams carried. A word counts once, however many tiles read it.
    pub moved: u64,
}

impl BlindRotation {
    /// Lays out a blind rotation.
    ///
    /// # Errors
    /// The errors of [`Floorplan::new`].
    pub fn new(machine: &Machine, parameters: Parameters) -> Result<Self> {
        Self::of(machine, parameters, Multiplier::Direct)
    }

    /// Lays out a blind rotation with multipliers of the kind `multiplier`.
    ///
    /// # Errors
    /// The errors of [`Floorplan::new`].
    pub fn of(machine: &Machine, parameters: Parameters, multiplier: Multiplier) -> Result<Self> {
        let floorplan = Floorplan::of(machine, parameters, multiplier)?;
        let rotation = Self { floorplan };
        let graph = Graph::new(&rotation.floorplan, Around::NOTHING, 1, Job::default())?;
        let memory = graph.network.memory();
        fits(
            machine,
            "bytes of memory of a tile",
            memory,
            machine.data_memory(),
        )?;
        debug_assert!(
            rotation
                .floorplan
                .kinds()
                .iter()
                .all(|k| k.tiles == graph.network.count(k.name))
        );
        Ok(rotation)
    }

    /// The tiles and channels.
    pub fn floorplan(&self) -> &Floorplan {
        &self.floorplan
    }

    /// The places of its tiles and channels.
    ///
    /// # Errors
    /// [`crate::Error::TooSmall`] if there are too few shim tiles.
    pub fn placement(&self) -> Result<Placement> {
        let graph = Graph::new(&self.floorplan, Around::NOTHING, 1, Job::default())?;
        Placement::new(&self.floorplan.machine, &graph.network)
    }

    /// Time, power and use of all iterations.
    ///
    /// Time does not depend on data. Iterations overlap only in their keys, and after the first few
    /// all of them take the same time. The simulation therefore runs some iterations and
    /// extrapolates the rest.
    ///
    /// # Errors
    /// [`crate::Error::Deadlock`] if streams are too short.
    pub fn simulate(&self) -> Result<Simulated> {
        self.simulate_in(Around::NOTHING)
    }

    /// Like [`BlindRotation::simulate`], with streams as long as the places of their tiles ask for.
    /// Otherwise all are as long as those of neighbours. The placement is that of this rotation.
    ///
    /// # Errors
    /// [`crate::Error::Deadlock`] if streams are too short.
    pub fn simulate_placed(&self, placement: &Placement) -> Result<Simulated> {
        self.simulate_at(Around::NOTHING, Some(placement))
    }

    /// Like [`BlindRotation::simulate`], with the supply and the shared channels of `around`.
    pub(super) fn simulate_in(&self, around: Around) -> Result<Simulated> {
        self.simulate_at(around, None)
    }

    fn simulate_at(&self, around: Around, placement: Option<&Placement>) -> Result<Simulated> {
        const FEW: usize = 6;
        let iterations = self.floorplan.parameters.lwe_dimension;
        let simulated = iterations.min(FEW);
        let mut graph = Graph::new(&self.floorplan, around, simulated, Job::default())?;
        let machine = &self.floorplan.machine;
        if let Some(placement) = placement {
            let latency = |from, to| machine.hops(placement.length(from, to));
            graph.network.set_latencies(latency);
        }
        let usage = graph.network.run()?;
        let ends = &usage[graph.rotation].ends;
        let end = usage[graph.sink].ends[0];
        let each = match simulated {
            1 => end,
            _ => ends[simulated - 1] - ends[simulated - 2],
        };
        let total = end + (iterations - simulated) as u64 * each;
        let iteration = machine.microseconds(each);
        let key_gigabits = self.floorplan.key_bits() as f64 / iteration / 1000.0;
        Ok(Simulated {
            iterations,
            iteration,
            milliseconds: machine.microseconds(total) / 1000.0,
            busy: busy(&usage, each * simulated as u64),
            key_gigabits,
            power: machine.watts(self.floorplan.tiles(), key_gigabits),
        })
    }

    /// Computes every word as the array does.
    ///
    /// # Shape
    /// - `accumulator`: `k + 1` polynomials of `N` words, the body last.
    /// - `exponents`: in `[0, 2N)`, one for each iteration. Their number is the number of
    ///   iterations.
    /// - `rows`: a GGSW ciphertext for each iteration. Its rows are ordered by component, then by
    ///   level, each with its mask polynomials and its body.
    ///
    /// # Errors
    /// [`crate::Error::Words`] for other lengths, [`crate::Error::Parameters`] for other exponents,
    /// and [`crate::Error::Inexact`] for multipliers as printed.
    pub fn emulate(
        &self,
        accumulator: &[u32],
        exponents: &[u32],
        rows: &[u32],
    ) -> Result<Emulated> {
        self.emulate_in(Around::NOTHING, accumulator, exponents, rows)
    }

    /// Like [`BlindRotation::emulate`], with the supply and the shared channels of `around`.
    pub(super) fn emulate_in(
        &self,
        around: Around,
        accumulator: &[u32],
        exponents: &[u32],
        rows: &[u32],
    ) -> Result<Emulated> {
        exact(&self.floorplan.unit)?;
        let parameters = &self.floorplan.parameters;
        let (n, components) = (parameters.n, parameters.components());
        expect("the accumulator", accumulator.len(), components * n)?;
        expect(
            "keys",
            rows.len(),
            exponents.len() * parameters.ggsw_words(),
        )?;
        let wrong = exponents.iter().find(|&&a| a as usize >= 2 * n);
        if let Some(&found) = wrong {
            return Err(crate::Error::Parameters {
                what: "an exponent",
                found: found as usize,
                expected: format!("less than {}", 2 * n),
            });
        }
        if exponents.is_empty() {
            return Ok(Emulated {
                accumulator: accumulator.to_vec(),
                milliseconds: 0.0,
                moved: 0,
            });
        }
        let job = Job {
            accumulator: accumulator.to_vec(),
            exponents: exponents.to_vec(),
            rows: rows.to_vec(),
        };
        let mut graph = Graph::new(&self.floorplan, around, exponents.len(), job)?;
        let usage = graph.network.run()?;
        let end = usage[graph.sink].ends[0];
        Ok(Emulated {
            accumulator: graph.network.take(graph.sink),
            milliseconds: self.floorplan.machine.microseconds(end) / 1000.0,
            moved: graph.network.moved(),
        })
    }
}

/// Average share of `ticks` in which tiles of each kind are busy.
fn busy(usage: &[Usage], ticks: u64) -> BTreeMap<&'static str, f64> {
    let mut sums: BTreeMap<&'static str, (f64, f64)> = BTreeMap::new();
    for tile in usage {
        let (sum, count) = sums.entry(tile.kind).or_default();
        *sum += tile.busy as f64 / ticks as f64;
        *count += 1.0;
    }
    sums.into_iter()
        .map(|(kind, (sum, count))| (kind, sum / count))
        .collect()
}

#[cfg(test)]
mod tests;
