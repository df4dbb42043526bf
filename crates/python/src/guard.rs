//! The only way from Python into the other crates. It handles threads, the interpreter lock, panics
//! and Ctrl-C.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{InternalError, ToPython, UsageError};

/// The longest time before work is asked to stop after a Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(50);

static POOL: Mutex<Option<Arc<ThreadPool>>> = Mutex::new(None);
/// The location and message of the last panic.
static FAULT: Mutex<Option<String>> = Mutex::new(None);

/// Keeps panics off standard error. [`guard`] turns them into exceptions with the same message.
pub(crate) fn quieten_panics() {
    std::panic::set_hook(Box::new(|panic| {
        *FAULT.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic.to_string());
    }));
}

/// Sets the number of threads to use from now on.
#[pyfunction]
pub(crate) fn set_threads(count: usize) -> PyResult<()> {
    if count == 0 {
        return Err(UsageError::new_err("0 threads, expected at least 1"));
    }
    let pool = build(count)?;
    *POOL.lock().unwrap_or_else(PoisonError::into_inner) = Some(pool);
    Ok(())
}

/// The connection of running work to its caller.
pub(crate) struct Line<'a, M> {
    stop: &'a AtomicBool,
    sender: Sender<News<M, ()>>,
}

impl<M> Line<'_, M> {
    /// Sends a message to the caller. Returns `false` if the caller wants the work to stop.
    pub(crate) fn tell(&self, news: M) -> bool {
        // The receiver exists until the work has ended.
        let heard = self.sender.send(News::Word(news)).is_ok();
        heard && self.go_on()
    }

    /// Returns `false` if the caller wants the work to stop.
    pub(crate) fn go_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }
}

enum News<M, R> {
    Word(M),
    Done(R),
}

/// Runs `work` without the interpreter lock, on the chosen threads.
///
/// A panic is a fault of Palladion. It becomes an `InternalError` and does not abort the
/// interpreter. Ctrl-C is noticed, but only work that asks its [`Line`] stops early: see
/// [`guard_with`].
pub(crate) fn guard<T, E>(py: Python<'_>, work: impl FnOnce() -> Result<T, E> + Send) -> PyResult<T>
where
    T: Send,
    E: ToPython + Send,
{
    guard_with(py, |_, ()| Ok(()), |_| work())
}

/// As [`guard`], for work that returns bytes.
pub(crate) fn guard_bytes<'py, B, E>(
    py: Python<'py>,
    work: impl FnOnce() -> Result<B, E> + Send,
) -> PyResult<Bound<'py, PyBytes>>
where
    B: AsRef<[u8]> + Send,
    E: ToPython + Send,
{
    let bytes = guard(py, work)?;
    Ok(PyBytes::new(py, bytes.as_ref()))
}

/// As [`guard`]. `work` sends messages to `hear`, which runs on the calling thread with the
/// interpreter lock. If `hear` or a signal raises an exception, the work is asked to stop, and the
/// exception is returned in the end.
pub(crate) fn guard_with<T, E, M>(
    py: Python<'_>,
    mut hear: impl FnMut(Python<'_>, M) -> PyResult<()> + Send,
    work: impl FnOnce(&Line<'_, M>) -> Result<T, E> + Send,
) -> PyResult<T>
where
    T: Send,
    E: ToPython + Send,
    M: Send,
{
    check_kernels()?;
    let pool = pool()?;
    let stop = AtomicBool::new(false);
    let mut raised: Option<PyErr> = None;
    let mut result = None;
    py.detach(|| {
        let (sender, news) = channel();
        let (stop, result) = (&stop, &mut result);
        pool.in_place_scope(|scope| {
            scope.spawn(move |_| {
                let line = Line {
                    stop,
                    sender: sender.clone(),
                };
                // After a panic, the data that `work` has changed is dropped, and shared data is
                // immutable. So no half-finished state is visible.
                *result = Some(catch_unwind(AssertUnwindSafe(|| work(&line))));
                // The caller waits for this message.
                let _ = sender.send(News::Done(()));
            });
            loop {
                let outcome = match news.recv_timeout(PATIENCE) {
                    Ok(News::Done(())) | Err(RecvTimeoutError::Disconnected) => break,
                    Ok(News::Word(_)) if raised.is_some() => continue,
                    Ok(News::Word(word)) => Python::attach(|py| {
                        hear(py, word)?;
                        py.check_signals()
                    }),
                    Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals()),
                };
                if let Err(error) = outcome {
                    stop.store(true, Ordering::Relaxed);
                    raised.get_or_insert(error);
                }
            }
        });
    });
    match (raised, result) {
        (Some(error), _) => Err(error),
        (None, Some(Ok(result))) => result.map_err(ToPython::to_python),
        (None, _) => {
            let words = FAULT.lock().unwrap_or_else(PoisonError::into_inner).take();
            let words = words.unwrap_or_else(|| "no message".to_owned());
            Err(InternalError::new_err(format!(
                "a fault in palladion itself, please report it: {words}"
            )))
        }
    }
}

/// Checks that this machine has the kernels that `PALLADION_KERNELS` names, if it is set.
fn check_kernels() -> PyResult<()> {
    let Ok(wanted) = std::env::var("PALLADION_KERNELS") else {
        return Ok(());
    };
    let available: Vec<_> = kernels::available().iter().map(|k| k.name()).collect();
    if available.contains(&wanted.as_str()) {
        return Ok(());
    }
    Err(UsageError::new_err(format!(
        "PALLADION_KERNELS is {wanted:?}, this machine has {}",
        available.join(", ")
    )))
}

/// The pool with the chosen threads: all cores unless [`set_threads`] was called.
fn pool() -> PyResult<Arc<ThreadPool>> {
    let mut chosen = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    match &*chosen {
        Some(pool) => Ok(pool.clone()),
        None => Ok(chosen.insert(build(0)?).clone()),
    }
}

fn build(count: usize) -> PyResult<Arc<ThreadPool>> {
    ThreadPoolBuilder::new()
        .num_threads(count)
        .build()
        .map(Arc::new)
        .map_err(|e| UsageError::new_err(format!("cannot start {count} threads: {e}")))
}
