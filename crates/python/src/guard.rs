//! The one way from Python into the crates beneath: threads, the interpreter lock, panics.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{InternalError, ToPython, UsageError};

static POOL: Mutex<Option<Arc<ThreadPool>>> = Mutex::new(None);
/// Place and words of the last panic.
static FAULT: Mutex<Option<String>> = Mutex::new(None);

/// Keeps panics off standard error: [`guard`] makes exceptions of them, with the same words.
pub(crate) fn quieten_panics() {
    std::panic::set_hook(Box::new(|panic| {
        *FAULT.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic.to_string());
    }));
}

/// Uses `count` threads from now on.
#[pyfunction]
pub(crate) fn set_threads(count: usize) -> PyResult<()> {
    if count == 0 {
        return Err(UsageError::new_err("0 threads, expected at least 1"));
    }
    let pool = build(count)?;
    *POOL.lock().unwrap_or_else(PoisonError::into_inner) = Some(pool);
    Ok(())
}

/// Runs `work` without the interpreter lock, on the chosen threads.
///
/// A panic is a fault of ours; it ends in an `InternalError` and not in the interpreter's abort.
pub(crate) fn guard<T, E>(py: Python<'_>, work: impl FnOnce() -> Result<T, E> + Send) -> PyResult<T>
where
    T: Send,
    E: ToPython + Send,
{
    check_kernels()?;
    let pool = pool()?;
    let done = py.detach(|| {
        // What `work` touched is dropped or, if shared, immutable: nothing half-done is seen.
        catch_unwind(AssertUnwindSafe(|| pool.install(work)))
    });
    match done {
        Ok(result) => result.map_err(ToPython::to_python),
        Err(_) => {
            let words = FAULT.lock().unwrap_or_else(PoisonError::into_inner).take();
            let words = words.unwrap_or_else(|| "no message".to_owned());
            Err(InternalError::new_err(format!(
                "a fault in palladion itself, please report it: {words}"
            )))
        }
    }
}

/// `PALLADION_KERNELS` names kernels that this machine has, if it names any.
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

/// The chosen threads; all cores unless [`set_threads`] was called.
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
