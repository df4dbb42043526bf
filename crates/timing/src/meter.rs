//! Repeats operations and takes the median of their times.

use crate::error::{Error, Result};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Ring degree of the measurements, unless stated otherwise.
pub(crate) const N: usize = 1 << 15;
/// Short operations are repeated for at least this long.
const LEAST: Duration = Duration::from_millis(100);

/// One measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The measured operation.
    pub name: String,
    /// The sizes on which the time depends.
    pub parameters: Vec<(&'static str, u64)>,
    /// Number of threads available to it.
    pub threads: usize,
    /// Median of the samples.
    pub seconds: f64,
    /// Number of samples.
    pub samples: usize,
}

/// Called with each row. Returning `false` stops the measurement.
pub type Hear<'a> = &'a (dyn Fn(Row) -> bool + Sync);
/// Called between samples. Returning `false` stops the measurement.
pub type GoOn<'a> = &'a (dyn Fn() -> bool + Sync);

pub(crate) struct Meter<'a> {
    samples: usize,
    hear: Hear<'a>,
    go_on: GoOn<'a>,
    rows: usize,
}

impl Meter<'_> {
    fn stopped(&self) -> Error {
        Error::Stopped {
            done: self.rows,
            total: self.rows + 1,
        }
    }

    /// Times `work` on fresh inputs, after one call that fills caches and tables.
    ///
    /// # Errors
    /// [`Error::Stopped`], and any error of `work`: a failure gives no figure.
    pub(crate) fn row<I, O, E>(
        &mut self,
        name: &str,
        parameters: &[(&'static str, u64)],
        input: impl FnMut() -> I,
        work: impl FnMut(I) -> std::result::Result<O, E>,
    ) -> Result<()>
    where
        Error: From<E>,
    {
        self.row_each(name, parameters, 1, input, work)
    }

    /// As [`row`](Self::row). `work` does `count` operations at once, and the row gives the time of
    /// one.
    ///
    /// # Errors
    /// As [`row`](Self::row).
    pub(crate) fn row_each<I, O, E>(
        &mut self,
        name: &str,
        parameters: &[(&'static str, u64)],
        count: usize,
        mut input: impl FnMut() -> I,
        mut work: impl FnMut(I) -> std::result::Result<O, E>,
    ) -> Result<()>
    where
        Error: From<E>,
    {
        black_box(work(input())?);
        let (mut seconds, begin) = (Vec::new(), Instant::now());
        while seconds.len() < self.samples || begin.elapsed() < LEAST {
            if !(self.go_on)() {
                return Err(self.stopped());
            }
            let given = input();
            let start = Instant::now();
            let made = black_box(work(given)?);
            seconds.push(start.elapsed().as_secs_f64());
            drop(made);
        }
        seconds.sort_by(f64::total_cmp);
        self.rows += 1;
        let go_on = (self.hear)(Row {
            name: name.to_owned(),
            parameters: parameters.to_vec(),
            threads: ring::threads(),
            seconds: seconds[seconds.len() / 2] / count as f64,
            samples: seconds.len(),
        });
        if go_on { Ok(()) } else { Err(self.stopped()) }
    }
}

pub(crate) fn meter<'a>(samples: usize, hear: Hear<'a>, go_on: GoOn<'a>) -> Meter<'a> {
    Meter {
        samples: samples.max(1),
        hear,
        go_on,
        rows: 0,
    }
}
