//! Model machines on which orders are found.
//!
//! An order that is found on the machine itself may get worse when the machine gets better (Graham's anomalies). These
//! ones have the clusters and units of the machine at hand, and none of its lanes, latencies, ports and bandwidth.

use crate::vector::machine::{Machine, Operation};
use crate::vector::work::MAX_TERMS;

/// Ticks of a pass of a stream.
const PASS: u64 = 16;
/// Most ticks in which an instruction occupies its units, whatever a machine's file says.
const LONGEST: u64 = 1 << 15;

/// What things take, in ticks. A pass over words that stream through a unit takes 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Profile {
    /// Of a transfer between memory and scratchpad.
    pub(super) transfer: u64,
    /// From the last word in to the last word out of a transform or a permutation. Others take an eighth of it.
    pub(super) latency: u64,
    /// For a limb over the ports of a cluster of one unit. Those of `u` units take a `u`-th of it.
    pub(super) ports: u64,
    /// Limbs in the register file of a cluster.
    pub(super) file: usize,
}

/// The model machines of every schedule. Ports take three quarters of what all limbs of an instruction do at `f1`'s ratio:
/// register files keep the rest. The second one is for machines with wide units.
pub(super) const PROFILES: [Profile; 2] = [
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
];

/// What an event of a kind takes: ticks in which it occupies resources, and ticks until its result is there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ticks {
    pub(super) busy: u64,
    pub(super) latency: u64,
}

impl Profile {
    /// What an operation of so many terms takes.
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

    /// Most ticks from the beginning of an event to its result.
    pub(super) fn longest(&self, machine: &Machine, n: usize) -> u64 {
        let passes = Operation::ALL.map(|one| self.operation(machine, n, one, MAX_TERMS).busy);
        let ports = self.ports(2 * MAX_TERMS as u64 + 2, 1);
        let busy = passes.into_iter().fold(ports, u64::max);
        (busy + self.latency).max(2 * self.transfer).max(2 * PASS)
    }

    /// What a transfer takes.
    pub(super) fn transfer(&self) -> Ticks {
        Ticks {
            busy: self.transfer,
            latency: self.transfer,
        }
    }

    /// What a limb from a seed takes.
    pub(super) fn generation(&self) -> Ticks {
        Ticks {
            busy: PASS,
            latency: PASS,
        }
    }

    /// Ticks of so many limbs over the ports of a cluster of so many units.
    pub(super) fn ports(&self, limbs: u64, units: u64) -> u64 {
        (limbs * self.ports / units).max(1)
    }
}
