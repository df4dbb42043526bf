//! The passes that turn work into a schedule. Each can be switched off.
//!
//! 1. [`order`] brings operations together that share a key-switch hint.
//! 2. [`walk`] completes one limb of results after the other. [`layers`] brings operations together
//!    that stay within their limbs.
//! 3. [`spread`] brings instructions together that can run at the same time.
//! 4. [`movement`] plans the contents of the scratchpad over time, with full knowledge of the
//!    future.
//! 5. [`list`] orders events by list scheduling on model machines. Instructions wait there in
//!    queues of clusters, their [`homes`].
//! 6. [`registers`] decides which limbs stay in the register files of their clusters.
//! 7. [`placement`] gives each event its cycle and each instruction its units.
//!
//! The first five passes fix an order of events, which does not depend on lanes, latencies, ports,
//! register files or bandwidth. A larger register file keeps all limbs of a smaller one and more,
//! and the last pass serves every unit, port and channel in the fixed order. More of any of these
//! resources therefore never slows a schedule (docs/adr/0024).

mod assign;
mod attempts;
mod graph;
mod homes;
#[cfg(test)]
mod kinds_tests;
mod layers;
mod list;
mod model;
mod movement;
mod operations;
mod order;
mod placement;
mod profile;
mod registers;
mod schedule;
mod search;
mod spread;
#[cfg(test)]
mod tests;
mod walk;

use super::machine::Machine;
use super::words::check_words;
use super::work::Work;
use crate::error::{Error, Result};

#[cfg(test)]
pub(in crate::vector) use schedule::INSIDE;
pub use schedule::{Assignment, Event, Schedule, Stall};

/// The order of the trace's operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The order of the trace.
    Program,
    /// Operations that share a key-switch hint come together.
    Hints,
}

/// The rule that chooses the limb to leave a full scratchpad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// The limb whose next use is farthest away, or that has none.
    Belady,
    /// The limb whose last use is the longest ago.
    Lru,
}

/// The rule that brings instructions together which can run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// The first instructions that can begin, within a window of the input order.
    Window,
    /// The instructions with the longest chains after them, of the whole program, until most of the
    /// scratchpad is taken. This is a list scheduler that looks at the pressure on registers, after
    /// Goodman and Hsu. It is for comparison.
    Pressure,
}

/// Settings of the passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The order of the trace's operations.
    pub order: Order,
    /// Number of instructions of a region that is executed limb by limb. 0 keeps the order of the
    /// instructions, and 1 makes each operation a region. `None` tries 0, 1 and 4,096.
    pub region: Option<usize>,
    /// Number of places by which an instruction may begin ahead of the first instruction that has
    /// not begun. 1 keeps the order. `None` tries 64, 192, 256 and 1,024.
    pub window: Option<usize>,
    /// The rule that brings instructions together which can run at the same time.
    pub spread: Spread,
    /// The rule that chooses the limb to leave a full scratchpad.
    pub eviction: Eviction,
    /// True if gaps are filled: list scheduling on model machines then orders the events. Otherwise
    /// the events stay in the planned order.
    pub listed: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            order: Order::Hints,
            region: None,
            window: None,
            spread: Spread::Window,
            eviction: Eviction::Belady,
            listed: true,
        }
    }
}

/// Schedules work on a machine. Calls `go_on(done, all)` with the thousandths of attempts that are
/// done, and the number of all. If it returns false, the search stops.
///
/// # Errors
/// [`Error::Unfit`] for a ring degree, a modulus or an instruction that is too large for the
/// machine, and for work without instructions; [`Error::Stopped`] if `go_on` returns false.
pub fn schedule(
    machine: &Machine,
    work: &Work,
    options: Options,
    go_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Schedule> {
    let needed = fits(machine, work)?;
    search::search(machine, work, options, needed, go_on)
}

/// Refuses work that the machine cannot run. Returns the number of limbs that the largest
/// instruction needs.
fn fits(machine: &Machine, work: &Work) -> Result<usize> {
    let unfit = |what: String, found: String, expected: String| Error::Unfit {
        machine: machine.name().to_owned(),
        what,
        found,
        expected,
    };
    if work.n() as u64 > machine.max_n() {
        let expected = format!("at most max_n = {}", machine.max_n());
        return Err(unfit(
            "the ring degree".into(),
            work.n().to_string(),
            expected,
        ));
    }
    check_words(machine, work)?;
    if work.instructions() == 0 {
        return Err(unfit(
            "its length".into(),
            "no instruction on limbs".into(),
            "at least one".into(),
        ));
    }
    let capacity = machine.scratchpad_limbs(work.n());
    let most = (0..work.instructions())
        .max_by_key(|&i| work.operands(i).count())
        .expect("there is one");
    let needed = work.operands(most).count() + 1;
    if needed > capacity {
        let bytes = needed as u64 * machine.limb_bytes(work.n());
        return Err(unfit(
            "scratchpad.bytes".into(),
            format!("enough for {capacity} limbs of {} words", work.n()),
            format!(
                "{needed} limbs ({bytes} bytes) for one {}",
                work.kind(most).name()
            ),
        ));
    }
    Ok(needed)
}
