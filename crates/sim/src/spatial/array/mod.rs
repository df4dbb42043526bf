//! ATHENA's designs on a spatial array: two multipliers, blind rotations that use several of them,
//! and whole bootstrappings with the memory and the processor beside the array.
//!
//! *Source.* Wu, Arafin, "ATHENA: Accelerating Torus Fully Homomorphic Encryption on
//! Energy-Efficient Heterogeneous Architecture", sections III-A2 and III-B, figures 8 and 9. The
//! number of tiles of each kind and the streams are those of its code (SPIRE-GMU/tfhe-aie,
//! `blindRT_aie`).

mod blind;
mod bootstrapping;
mod element;
mod emit;
mod ends;
mod floorplan;
mod memory;
mod multiplier;
mod processor;
mod product;
mod stage;
mod streams;
mod switch;
mod tiles;

pub use blind::{BlindRotation, Emulated, Simulated};
pub use bootstrapping::{Bootstrapped, Bootstrapping, Device, Keys, Order, Part, SampleEmulated};
pub use emit::Emitted;
pub use floorplan::{Floorplan, Kind, Parameters};
pub use multiplier::Multiplier;
pub(super) use product::fits;
pub use product::{Products, Timing};

use crate::spatial::machine::Machine;
use crate::spatial::network::{NONE, Phase, Ports};

/// A phase that moves words, one step per cycle of the array.
///
/// A tile moves one word of each stream per cycle: four words at a time in four cycles. The at most
/// 3 stores and few vector instructions for them fit between. Loops over streams carry nothing in
/// registers and are pipelined.
fn moved(machine: &Machine, words: usize, from: Ports, to: Ports) -> Phase {
    moved_by(machine.array_cycle(), words, from, to)
}

/// A phase that moves words, one step in `ticks` ticks. No port is used if there are no words.
fn moved_by(ticks: u64, words: usize, from: Ports, to: Ports) -> Phase {
    let used = |ports| if words > 0 { ports } else { NONE };
    Phase::Move {
        words,
        from: used(from),
        to: used(to),
        ticks,
    }
}
