//! The trait of the backends of traces, and the backend of the CPU.

use crate::error::Result;
use crate::kept::Kept;
use crate::outside::Outside;
use crate::replay::replay;
use std::sync::Arc;
use trace::Trace;

/// A backend of traces: the CPU's replay, a machine with a store of rows, or several of them.
///
/// A trace is loaded once, and run as often as there are queries. A backend must give the words of
/// [`replay`](crate::replay()), which defines what a trace means.
pub trait Executor {
    /// A trace in the form in which the backend runs it: a plan, tables, compiled kernels.
    type Loaded;

    /// The name for reports and messages.
    fn name(&self) -> &str;

    /// Number of queries that a run computes at the same time.
    fn queries(&self) -> usize {
        1
    }

    /// Brings a trace into the form in which the backend runs it.
    ///
    /// # Errors
    /// For a trace that the backend cannot run, and for a backend with too little memory.
    fn load(&self, trace: Arc<Trace>) -> Result<Self::Loaded>;

    /// Bytes of the machine's memory that a run of the trace takes, kept values included.
    fn memory(&self, loaded: &Self::Loaded) -> u64;

    /// Loads the values for which `lasting` is true, such as keys, and keeps them. Runs do not ask
    /// for them again. Keeping values for other names replaces those kept before.
    ///
    /// # Errors
    /// The errors of the outside.
    fn keep(
        &self,
        loaded: &mut Self::Loaded,
        outside: &mut dyn Outside,
        lasting: &dyn Fn(&str) -> bool,
    ) -> Result<()>;

    /// Runs the trace. Values come from the outsides, one for each query, and go to them. An
    /// outside is told when a step ends, so it can take a [checkpoint](Outside::end_step) there.
    /// `observe` is called several times in each step, and stops the run by returning `false`.
    ///
    /// # Errors
    /// The errors of the outsides, [`Error::Replay`](crate::Error::Replay) for another number of
    /// outsides than [`Executor::queries`] and for words that are no residues, and
    /// [`Error::Stopped`](crate::Error::Stopped).
    fn run(
        &self,
        loaded: &mut Self::Loaded,
        outsides: &mut [&mut dyn Outside],
        observe: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<()>;
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress<'a> {
    /// Name of the current step of the program, or of the next instruction.
    pub step: &'a str,
    /// The work that is done, in the unit of `total`.
    pub done: f64,
    /// All work.
    pub total: f64,
}

/// The CPU's [replay](crate::replay()): one call of a kernel for each limb. The other backends are
/// compared with it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Replay;

/// A trace for [`Replay`], and the values that it keeps.
#[derive(Debug)]
pub struct Replayed {
    trace: Arc<Trace>,
    kept: Kept,
}

impl Executor for Replay {
    type Loaded = Replayed;

    fn name(&self) -> &str {
        "cpu"
    }

    fn load(&self, trace: Arc<Trace>) -> Result<Replayed> {
        trace.verify()?;
        let kept = Kept::default();
        Ok(Replayed { trace, kept })
    }

    fn memory(&self, loaded: &Replayed) -> u64 {
        loaded.kept.bytes()
    }

    fn keep(
        &self,
        loaded: &mut Replayed,
        outside: &mut dyn Outside,
        lasting: &dyn Fn(&str) -> bool,
    ) -> Result<()> {
        loaded.kept = Kept::of(&loaded.trace, outside, lasting)?;
        Ok(())
    }

    fn run(
        &self,
        loaded: &mut Replayed,
        outsides: &mut [&mut dyn Outside],
        observe: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<()> {
        check_queries(outsides.len(), self.queries())?;
        let mut outside = loaded.kept.before(&mut *outsides[0]);
        replay(&loaded.trace, &mut outside, |progress| {
            observe(Progress {
                step: progress.next,
                done: progress.done as f64,
                total: progress.total as f64,
            })
        })
        .map(drop)
    }
}

/// Refuses another number of outsides than a run computes.
pub(crate) fn check_queries(found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(crate::Error::Replay {
        what: "the number of queries at the same time".into(),
        found: found.to_string(),
        expected: expected.to_string(),
    })
}
