//! The work and the span of a computation: what it would take on more threads than there are.
//!
//! The *work* `W` is what one thread takes, and the *span* `S` what unlimited threads take: of each
//! parallel loop the longest item, and all that is outside of loops. A scheduler that leaves no
//! thread idle while there is work takes at most `W/n + (1 - 1/n) S` on `n` threads, and none takes
//! less than the larger of `W/n` and `S`.
//!
//! Both are measured in one run on one thread, as He, Leiserson and Leiserson describe it ("The
//! Cilkview Scalability Analyzer", SPAA 2010). Memory that threads share is in neither.
//!
//! Source of the bound: Brent, "The Parallel Evaluation of General Arithmetic Expressions", JACM
//! 21(2), 1974.

use std::cell::Cell;
use std::sync::OnceLock;
use std::time::Instant;

/// Seconds that a computation takes on one thread and on unlimited ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Seconds on one thread.
    pub work: f64,
    /// Seconds on unlimited threads.
    pub span: f64,
}

/// State of a thread that records.
#[derive(Clone, Copy)]
struct Recorder {
    threads: usize,
    clock: fn() -> f64,
    /// Seconds that unlimited threads would have saved until now.
    saved: f64,
}

thread_local! {
    static RECORDER: Cell<Option<Recorder>> = const { Cell::new(None) };
}

/// Runs `work` on one thread, and measures its work and span. Loops that depend on the number of
/// threads run as for `threads` of them.
pub fn with_span<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> (R, Span) {
    crate::in_pool(1, || with_clock(threads, seconds, work))
}

fn with_clock<R>(threads: usize, clock: fn() -> f64, work: impl FnOnce() -> R) -> (R, Span) {
    let recorder = Recorder {
        threads,
        clock,
        saved: 0.0,
    };
    let outer = RECORDER.replace(Some(recorder));
    let timer = Timer::start();
    let result = work();
    let measured = timer.stop();
    RECORDER.set(outer);
    (result, measured)
}

/// Seconds since a first call.
fn seconds() -> f64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// Number of threads that this thread records for, if it does.
pub(crate) fn recorded_threads() -> Option<usize> {
    RECORDER.get().map(|recorder| recorder.threads)
}

/// Measures seconds, and the span in [`with_span`].
pub struct Timer {
    start: f64,
    saved: f64,
}

impl Timer {
    /// A timer that starts now.
    pub fn start() -> Self {
        Self {
            start: now(),
            saved: saved(),
        }
    }

    /// The seconds since the start, and their span. Outside of [`with_span`] both are the same.
    pub fn stop(&self) -> Span {
        let work = now() - self.start;
        let span = work - (saved() - self.saved);
        Span { work, span }
    }
}

fn now() -> f64 {
    RECORDER
        .get()
        .map_or_else(seconds, |recorder| (recorder.clock)())
}

fn saved() -> f64 {
    RECORDER.get().map_or(0.0, |recorder| recorder.saved)
}

/// A parallel loop that runs on one thread. Its items are recorded in [`with_span`].
pub(crate) struct InTurn {
    saved_before: f64,
    all: f64,
    longest: f64,
}

impl InTurn {
    /// A loop whose first item comes next.
    pub(crate) fn start() -> Self {
        Self {
            saved_before: saved(),
            all: 0.0,
            longest: 0.0,
        }
    }

    /// Runs an item.
    pub(crate) fn run<T>(&mut self, item: impl FnOnce() -> T) -> T {
        if RECORDER.get().is_none() {
            return item();
        }
        let timer = Timer::start();
        let result = item();
        let measured = timer.stop();
        self.all += measured.work;
        self.longest = self.longest.max(measured.span);
        let saved = self.saved_before + self.all - self.longest;
        RECORDER.set(
            RECORDER
                .get()
                .map(|recorder| Recorder { saved, ..recorder }),
        );
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::par;

    thread_local! {
        static CLOCK: Cell<f64> = const { Cell::new(0.0) };
    }

    fn wait(seconds: f64) {
        CLOCK.set(CLOCK.get() + seconds);
    }

    fn measure(work: impl FnOnce() + Send) -> Span {
        par::in_pool(1, || with_clock(8, || CLOCK.get(), work).1)
    }

    #[test]
    fn loops_take_as_long_as_their_longest_item() {
        let measured = measure(|| {
            wait(1.0);
            // Items of 0, 1, .. 9 and an inner loop of three times 4.
            par::map(10, |i| {
                wait(i as f64);
                if i == 2 {
                    par::for_each_item(vec![4.0; 3], |_, seconds| wait(seconds));
                }
            });
            par::join(|| wait(7.0), || par::join(|| wait(5.0), || wait(6.0)));
            par::for_each_limb(2, &mut [1.0, 0.0, 2.0, 0.0, 3.0, 0.0], |_, limb| {
                wait(limb[0])
            });
        });
        let (work, span) = (1.0 + 45.0 + 12.0 + 18.0 + 6.0, 1.0 + 9.0 + 7.0 + 3.0);
        assert_eq!(measured, Span { work, span });
    }

    #[test]
    fn a_timer_counts_what_its_part_saves() {
        measure(|| {
            par::map(2, |_| wait(5.0));
            let timer = Timer::start();
            wait(2.0);
            par::map(3, |_| wait(1.0));
            let (work, span) = (5.0, 3.0);
            assert_eq!(timer.stop(), Span { work, span });
        });
    }

    #[test]
    fn loops_see_the_threads_that_are_asked_about() {
        measure(|| assert_eq!(par::threads(), 8));
        assert_eq!(par::in_pool(1, par::threads), 1);
    }
}
