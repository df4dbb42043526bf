//! Room for large allocations, asked for before the work that makes them.
//!
//! Rust ends the process when an allocation fails. Allocations fail where address space is limited
//! (`ulimit -v`, as batch systems set it).

use std::hint::black_box;

use pyo3::prelude::*;

use crate::error::BudgetError;
use crate::guard::threads;

/// Bytes that every call may allocate beyond the amounts for which [`room`] is called.
pub(crate) const LEAST: u64 = 256 << 20;

/// Bytes of address space that glibc reserves for the allocations of one thread.
const ARENA: usize = 64 << 20;

/// Checks that the system gives `bytes` more, by taking and returning them. The bytes are not
/// touched, so the check takes microseconds.
///
/// # Errors
/// `BudgetError` with `what`, the name of the work that needs the bytes, and the number of bytes
/// that are left.
pub(crate) fn room(what: &str, bytes: u64) -> PyResult<()> {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    let wanted = bytes.saturating_add(threads()?.saturating_mul(ARENA));
    let mut taken = Vec::<u8>::new();
    let given = taken.try_reserve_exact(wanted);
    black_box(taken.as_mut_ptr());
    if given.is_ok() {
        return Ok(());
    }
    drop(taken);
    Python::attach(|py| {
        let available = py
            .import("palladion.support.memory")?
            .getattr("available")?;
        let left: usize = available.call0()?.extract()?;
        Err(BudgetError::new_err(format!(
            "{what} needs {} MB of memory and the system gives {} MB: raise the limit of this \
             process (ulimit -v), take fewer threads (--threads, set_threads) or a smaller batch, \
             or a machine with more memory",
            wanted / 1_000_000,
            left / 1_000_000
        )))
    })
}
