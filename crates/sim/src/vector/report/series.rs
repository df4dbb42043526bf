//! Utilisation of a machine over time.

use super::together::{Spans, together};
use super::unit_counts;
use crate::vector::machine::{Machine, Operation};
use crate::vector::passes::{Event, Schedule};
use crate::vector::tracks::{Part, occupancy, tracks};
use crate::vector::work::Work;

/// Utilisation in each of several equal intervals of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Cycles of one interval.
    pub cycles: f64,
    /// For each kind of unit, then `network` and `memory`: the share of each interval in which it
    /// is busy.
    pub busy: Vec<(String, Vec<f64>)>,
    /// For each kind of clusters: the share of each interval in which it works. The last row,
    /// `together`, is the share in which two kinds or more work.
    pub works: Vec<(String, Vec<f64>)>,
    /// Average number of limbs in the scratchpad, for each interval.
    pub limbs: Vec<f64>,
}

impl Series {
    /// Cuts a schedule into `parts` equal intervals, at least 1.
    pub fn new(machine: &Machine, work: &Work, schedule: &Schedule, parts: usize) -> Self {
        let parts = parts.max(1);
        let width = schedule.cycles().max(1) as f64 / parts as f64;
        let n = work.n();
        let passes: Vec<u64> = machine.units().iter().map(|unit| unit.pass(n)).collect();
        let units = passes.len();
        let (network, memory) = (units, units + 1);
        let mut cycles = vec![vec![0.0; parts]; units + 2];
        for track in tracks(machine, work, schedule) {
            for slice in &track.slices {
                let whole = (slice.end - slice.start) as f64;
                let start = slice.start as f64;
                // A unit is busy while it does passes. Waiting for operands that are on their way
                // does not count.
                let (row, length, weight) = match (track.part, slice.event) {
                    (Part::Unit { unit, .. }, Event::Issue(i)) => {
                        let cycles = machine.units()[unit].cycles(n, work.terms(i as usize));
                        (unit, cycles as f64, 1.0)
                    }
                    (Part::Generators, _) => {
                        let unit = machine.uses(Operation::Sample)[0];
                        (unit, whole, passes[unit] as f64 / whole)
                    }
                    (Part::Ports { .. }, _) => (network, whole, 1.0),
                    _ => (memory, whole, 1.0),
                };
                spread(&mut cycles[row], width, (start, start + length), weight);
            }
        }
        let mut counts = unit_counts(machine);
        counts.extend([machine.clusters().len(), 1]);
        let names = machine.units().iter().map(|unit| unit.name.clone());
        let names = names.chain(["network".to_owned(), "memory".to_owned()]);
        let busy = names.zip(cycles.into_iter().zip(counts));
        let busy = busy.map(|(name, (cycles, count))| {
            let share = |cycles: f64| cycles / (width * count.max(1) as f64);
            (name, cycles.into_iter().map(share).collect())
        });
        let mut kinds = Spans::new(machine, work, schedule).unions();
        kinds.push(together(&kinds));
        let names = machine.kinds().chain(["together"]).map(str::to_owned);
        let works = names.zip(kinds).map(|(name, spans)| {
            let mut shares = vec![0.0; parts];
            for (start, end) in spans {
                let span = (start as f64, end as f64);
                spread(&mut shares, width, span, 1.0 / width);
            }
            (name, shares)
        });
        let mut limbs = vec![0.0; parts];
        let changes = occupancy(schedule);
        let ends = changes.iter().skip(1).map(|&(cycle, _)| cycle);
        for (&(cycle, held), end) in changes.iter().zip(ends.chain([schedule.cycles()])) {
            let span = (cycle as f64, end.max(cycle) as f64);
            spread(&mut limbs, width, span, held as f64 / width);
        }
        Self {
            cycles: width,
            busy: busy.collect(),
            works: works.collect(),
            limbs,
        }
    }
}

/// Adds the cycles from `start` to `end`, times `weight`, to the intervals in which they lie.
/// Intervals have `width` cycles.
fn spread(parts: &mut [f64], width: f64, (start, end): (f64, f64), weight: f64) {
    let first = ((start / width) as usize).min(parts.len() - 1);
    for (place, part) in parts.iter_mut().enumerate().skip(first) {
        let (left, right) = (place as f64 * width, (place + 1) as f64 * width);
        if left >= end {
            break;
        }
        *part += (end.min(right) - start.max(left)).max(0.0) * weight;
    }
}
