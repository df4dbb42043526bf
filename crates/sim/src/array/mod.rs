//! ATHENA's designs on a spatial array: a wavefront multiplier, and bootstrapping made of several
//! such multipliers.
//!
//! *Source.* Wu, Arafin, "ATHENA: Accelerating Torus Fully Homomorphic Encryption on
//! Energy-Efficient Heterogeneous Architecture", sections III-A2 and III-B, figures 8 and 9. The
//! number of tiles of each kind and the streams are those of its code (SPIRE-GMU/tfhe-aie,
//! `blindRT_aie`).

mod blind;
mod element;
mod ends;
mod floorplan;
mod product;
mod tiles;

pub use blind::{BlindRotation, Emulated, Simulated};
pub use floorplan::{Floorplan, Kind, Parameters};
pub use product::{Products, Timing};

use crate::machine::Machine;
use crate::network::{Phase, Ports};

/// A phase that moves words, one step per cycle of the array.
///
/// A tile moves one word of each stream per cycle: four words at a time in four cycles. The at most
/// 3 stores and few vector instructions for them fit between. Loops over streams carry nothing in
/// registers and are pipelined.
fn moved(machine: &Machine, words: usize, from: Ports, to: Ports) -> Phase {
    Phase::Move {
        words,
        from,
        to,
        ticks: machine.array_cycle(),
    }
}
