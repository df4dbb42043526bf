//! The plan of a run.

use crate::error::Result;
use crate::kernel::Shape;
use crate::tables::Tables;
use trace::{Instruction, Trace};

pub use crate::work::Origin;

/// A machine's schedule for a run of a trace: waves, one after the other, on a store of rows.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Words of a row.
    pub n: usize,
    /// The primes, which instructions name by index: the table of moduli of the trace.
    pub primes: Vec<u32>,
    /// Rows of the store. Before the first wave, [`Plan::ZERO`] is zero, and the others may hold
    /// anything.
    pub rows: usize,
    /// Shapes of kernels with all their instructions, in the order in which waves run them.
    pub stages: Vec<Stage>,
    /// The waves, in order.
    pub waves: Vec<Wave>,
    /// Names of the steps of the program. The first step has the instructions before the trace's
    /// first step.
    pub steps: Vec<String>,
    /// Values that are loaded, in order.
    pub loads: Vec<Move>,
    /// Values that are stored, in order.
    pub stores: Vec<Move>,
    /// The tables that instructions share.
    pub tables: Tables,
}

/// A shape and its instructions.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// The shape.
    pub shape: Shape,
    /// Rows that instructions read: `shape.reads` for each instruction.
    pub reads: Vec<u32>,
    /// Rows that instructions write: `shape.writes` for each instruction. Results that nothing
    /// reads go to [`Plan::SPARE`].
    pub writes: Vec<u32>,
    /// Words of each instruction, as [`Kernel::arguments`](crate::Kernel::arguments) names them.
    pub arguments: Vec<u32>,
}

/// A wave: instructions of one kind that do not depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wave {
    /// Kind of the wave.
    pub what: What,
    /// Index of the first instruction in the stage, in [`Plan::loads`] or in [`Plan::stores`].
    pub first: usize,
    /// Number of instructions.
    pub count: usize,
    /// Index of the step in [`Plan::steps`].
    pub step: usize,
}

/// The kind of a wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Fetches values of the caller, or constants, into rows.
    Load,
    /// Hands values to the caller.
    Store,
    /// Runs instructions of a stage.
    Run(usize),
}

/// A value that crosses the border of the store of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The instruction of the trace that loads or stores the value.
    pub origin: Origin,
    /// Rows of the value's limbs, in the order of its type.
    pub rows: Vec<u32>,
}

impl Plan {
    /// The row of zeros.
    pub const ZERO: u32 = 0;
    /// The row for results that nothing reads.
    pub const SPARE: u32 = 1;
    /// The first row for limbs.
    pub(crate) const FIRST: u32 = 2;
    /// A window that suits most programs.
    pub const WINDOW: usize = 1024;

    /// Plans a trace. A larger `window`, in instructions on limbs, gives fewer waves and more rows.
    ///
    /// # Errors
    /// The errors of [`Trace::verify`]; [`Error::Wide`](crate::Error::Wide),
    /// [`Error::Power`](crate::Error::Power) and [`Error::NotPrime`](crate::Error::NotPrime) for
    /// moduli that rows cannot hold; and [`Error::TooLong`](crate::Error::TooLong).
    pub fn new(trace: &Trace, window: usize) -> Result<Self> {
        crate::build::build(trace, window)
    }
}

impl Origin {
    /// The instruction of a trace.
    ///
    /// # Panics
    /// If the trace has no such instruction, because the plan belongs to another trace.
    pub fn of(self, trace: &Trace) -> &Instruction {
        let body = trace.subs.get(self.body).unwrap_or(&trace.main);
        &body.instructions[self.instruction]
    }
}
