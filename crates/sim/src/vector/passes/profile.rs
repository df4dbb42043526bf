//! Model machines, on which orders are searched.
//!
//! An order from the machine itself may get worse when the machine gets better (Graham's
//! anomalies). A model machine has the clusters and units of the real machine, and none of its
//! lanes, latencies, ports and bandwidth.

use crate::vector::machine::{Machine, Operation};
use crate::vector::work::MAX_TERMS;

/// Ticks of a pass of a stream.
const PASS: u64 = 16;
/// Largest number of ticks that an instruction occupies its units, whatever the machine's file
/// says.
const LONGEST: u64 = 1 << 15;

/// The costs of a model machine, in ticks. A pass over words that stream through a unit takes 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Profile {
    /// Ticks of a transfer between memory and scratchpad.
    pub(super) transfer: u64,
    /// Ticks from the last word in to the last word out of a transform or a permutation. Other
    /// operations take an eighth.
    pub(super) latency: u64,
    /// Ticks of a limb over the ports of a cluster of one unit. In a cluster of `u` units they are
    /// divided by `u`.
    pub(super) ports: u64,
    /// Capacity of the register file of a cluster, in limbs.
    pub(super) file: usize,
}

/// The model machines of every schedule. Their ports take three quarters of the ticks of all limbs
/// of an instruction at `f1`'s ratio: register files save the rest. The second model is for
/// machines with wide units, and the third for those whose units are so wide that a pass is short
/// beside their latency.
pub(super) const PROFILES: [Profile; 3] = [
    Profile {
        transfer: 8,
        latency: 32,
        ports: 24,
        file: 8,
    },
    Profile {
        transfer: 128,
        latency: 32,
        ports: 24,
        file: 8,
    },
    Profile {
        transfer: 128,
        latency: 512,
        ports: 24,
        file: 8,
    },
];

/// The cost of an event: ticks in which it occupies resources, and further ticks until its result
/// is available.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ticks {
    pub(super) busy: u64,
    pub(super) latency: u64,
}

impl Profile {
    /// The cost of an operation of `terms` terms on limbs of `n` words.
    pub(super) fn operation(
        &self,
        machine: &Machine,
        n: usize,
        operation: Operation,
        terms: usize,
    ) -> Ticks {
        let uses = machine.uses(operation).iter();
        let busy = uses
            .map(|&unit| machine.units()[unit].weight(n) * machine.units()[unit].passes(terms))
            .max()
            .unwrap_or(terms as u64)
            * PASS;
        let latency = match operation {
            Operation::Ntt | Operation::Intt | Operation::Permute => self.latency,
            _ => self.latency / 8,
        };
        Ticks {
            busy: busy.min(LONGEST),
            latency,
        }
    }

    /// Largest number of ticks from the beginning of an event to its result.
    pub(super) fn longest(&self, machine: &Machine, n: usize) -> u64 {
        let passes = Operation::ALL.map(|one| self.operation(machine, n, one, MAX_TERMS).busy);
        let ports = self.ports(2 * MAX_TERMS as u64 + 2, 1);
        let busy = passes.into_iter().fold(ports, u64::max);
        (busy + self.latency).max(2 * self.transfer).max(2 * PASS)
    }

    /// The cost of a transfer.
    pub(super) fn transfer(&self) -> Ticks {
        Ticks {
            busy: self.transfer,
            latency: self.transfer,
        }
    }

    /// The cost of a limb expanded from a seed.
    pub(super) fn generation(&self) -> Ticks {
        Ticks {
            busy: PASS,
            latency: PASS,
        }
    }

    /// Ticks of `limbs` limbs over the ports of a cluster with `units` units.
    pub(super) fn ports(&self, limbs: u64, units: u64) -> u64 {
        (limbs * self.ports / units).max(1)
    }
}
