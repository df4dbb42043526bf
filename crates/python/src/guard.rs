//! The only way from Python into the other crates. It handles threads, the interpreter lock, panics
//! and Ctrl-C.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{InternalError, ToPython, UsageError};
use crate::room::{LEAST, room};

/// The longest time before work is asked to stop after a Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(50);

static POOL: Mutex<Option<Own>> = Mutex::new(None);
/// Number of calls that compute now.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
/// The location and message of the last panic.
static FAULT: Mutex<Option<String>> = Mutex::new(None);

/// The threads of a process. A fork copies the pool, and none of its threads.
struct Own {
    process: u32,
    threads: Arc<ThreadPool>,
}

/// Counts one call that computes, until it is dropped.
struct Running;

impl Running {
    fn start() -> Self {
        RUNNING.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
}

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
    let mut chosen = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    leave_parent(&mut chosen)?;
    *chosen = Some(build(count)?);
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
    room("this computation", LEAST)?;
    let _running = Running::start();
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
                // immutable, so no half-finished state is visible.
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
///
/// A forked process starts as many threads as its parent had.
fn pool() -> PyResult<Arc<ThreadPool>> {
    // Held with the interpreter lock alone, as a fork from Python is, so no fork finds it locked.
    let mut chosen = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let count = leave_parent(&mut chosen)?;
    match &*chosen {
        Some(own) => Ok(own.threads.clone()),
        None => Ok(chosen.insert(build(count)?).threads.clone()),
    }
}

/// In a forked process, gives up the parent's pool. Returns the number of its threads, else 0.
///
/// # Errors
/// If the parent computed in another thread as it forked: locks that it held are never released
/// here.
fn leave_parent(chosen: &mut Option<Own>) -> PyResult<usize> {
    if chosen
        .as_ref()
        .is_none_or(|own| own.process == std::process::id())
    {
        return Ok(0);
    }
    if RUNNING.load(Ordering::SeqCst) > 0 {
        return Err(UsageError::new_err(
            "this process was forked while its parent computed in another thread, so it cannot \
             compute: start processes with multiprocessing.get_context(\"spawn\"), or fork before",
        ));
    }
    let Some(own) = chosen.take() else {
        return Ok(0);
    };
    let count = own.threads.current_num_threads();
    // To drop it would wait for threads that do not exist in this process.
    std::mem::forget(own);
    Ok(count)
}

/// The number of threads of the pool.
pub(crate) fn threads() -> PyResult<usize> {
    Ok(pool()?.current_num_threads())
}

fn build(count: usize) -> PyResult<Own> {
    let threads = ThreadPoolBuilder::new().num_threads(count).build();
    let threads = threads.map_err(|error| {
        let wanted = match count {
            0 => "a thread for each core".to_owned(),
            count => format!("{count} threads"),
        };
        UsageError::new_err(format!(
            "cannot start {wanted}: {error}: take fewer (--threads, set_threads), or raise the \
             limits of this process (ulimit -u, ulimit -v)"
        ))
    })?;
    Ok(Own {
        process: std::process::id(),
        threads: Arc::new(threads),
    })
}
