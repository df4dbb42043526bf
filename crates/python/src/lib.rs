//! The Python module `palladion._native`: conversions and errors only.
//!
//! Every function converts its arguments, releases the interpreter, calls Rust on the threads that
//! `set_threads` chose, and converts the result. No panic crosses into Python: see [`guard`].

mod error;
mod guard;
mod info;
mod network;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    guard::quieten_panics();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(guard::set_threads, module)?)?;
    module.add_function(wrap_pyfunction!(info::info, module)?)?;
    module.add_function(wrap_pyfunction!(network::evaluate, module)?)
}
