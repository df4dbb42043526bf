//! The plan of a run.

use crate::error::Result;
use crate::kernel::Shape;
use crate::tables::Tables;
use trace::{Instruction, Trace};

pub use crate::work::Origin;

/// What a machine does to run a trace: waves, one after the other, on a store of rows.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Words of a row.
    pub n: usize,
    /// The primes that instructions name by index: the table of moduli of the trace.
    pub primes: Vec<u32>,
    /// Rows of the store. Before the first wave, [`Plan::ZERO`] is zero, and the others may hold
    /// anything.
    pub rows: usize,
    /// Shapes of kernels with all their instructions, in the order in which waves run them.
    pub stages: Vec<Stage>,
    /// The waves, in order.
    pub waves: Vec<Wave>,
    /// Names of the steps of the program. The first one has what stands before the first step of
    /// the trace.
    pub steps: Vec<String>,
    /// Values that are loaded, in order.
    pub loads: Vec<Move>,
    /// Values that are stored, in order.
    pub stores: Vec<Move>,
    /// What instructions share.
    pub tables: Tables,
}

/// A shape and its instructions.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// The shape.
    pub shape: Shape,
    /// The rows that instructions read: `shape.reads` for each.
    pub reads: Vec<u32>,
    /// The rows that they write: `shape.writes` for each. What is not needed goes to
    /// [`Plan::SPARE`].
    pub writes: Vec<u32>,
    /// Words of each instruction, as [`Kernel::arguments`](crate::Kernel::arguments) names them.
    pub arguments: Vec<u32>,
}

/// Instructions that do not depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wave {
    /// What it does.
    pub what: What,
    /// Its first instruction: an index in the stage, in [`Plan::loads`] or in [`Plan::stores`].
    pub first: usize,
    /// Number of its instructions.
    pub count: usize,
    /// Index of its step in [`Plan::steps`].
    pub step: usize,
}

/// What a wave does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Gets values from outside or from constants.
    Load,
    /// Gives values to the outside.
    Store,
    /// Runs instructions of a stage.
    Run(usize),
}

/// A value that crosses the border of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The instruction of the trace that moves it.
    pub origin: Origin,
    /// Rows of its limbs, in the order of its type.
    pub rows: Vec<u32>,
}

impl Plan {
    /// The row of zeros.
    pub const ZERO: u32 = 0;
    /// The row to which results go that nothing reads.
    pub const SPARE: u32 = 1;
    /// The first row for limbs.
    pub(crate) const FIRST: u32 = 2;
    /// A window that suits most programs.
    pub const WINDOW: usize = 1024;

    /// Plans a trace. A larger `window`, in instructions on limbs, gives fewer waves and more rows.
    ///
    /// # Errors
    /// Those of [`Trace::verify`], [`Error::Wide`](crate::Error::Wide),
    /// [`Error::Power`](crate::Error::Power) and [`Error::NotPrime`](crate::Error::NotPrime) for
    /// moduli that rows cannot hold, and [`Error::TooLong`](crate::Error::TooLong).
    pub fn new(trace: &Trace, window: usize) -> Result<Self> {
        crate::build::build(trace, window)
    }
}

impl Origin {
    /// The instruction of a trace.
    ///
    /// # Panics
    /// If the trace has no such instruction: it is another one than that of the plan.
    pub fn of(self, trace: &Trace) -> &Instruction {
        let body = trace.subs.get(self.body).unwrap_or(&trace.main);
        &body.instructions[self.instruction]
    }
}
