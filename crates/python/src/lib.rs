//! The Python module `palladion._native`: conversions and errors only.
//!
//! Every function converts its arguments, releases the interpreter, calls Rust on the threads that
//! `set_threads` chose, and converts the result. No panic crosses into Python: see `guard`.

mod applications;
mod bench;
mod border;
mod choices;
mod circuit;
mod error;
mod guard;
mod hybrid;
mod info;
mod inspect;
mod keys;
mod messages;
mod network;
mod packings;
mod program;
mod public_key;
mod room;
mod schemes;
mod secret;
mod security;
mod simulate;
mod streams;
mod terms;
mod tfhe;
mod traces;
mod vector;
mod waves;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    guard::quieten_panics();
    schemes::register(module)?;
    circuit::register(module)?;
    tfhe::register(module)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("__commit__", env!("PALLADION_BUILT_OF"))?;
    module.add_class::<program::Program>()?;
    module.add_class::<terms::Terms>()?;
    module.add_class::<traces::Trace>()?;
    module.add_class::<waves::Waves>()?;
    module.add_class::<waves::WavesOutside>()?;
    module.add_function(wrap_pyfunction!(border::file_places, module)?)?;
    module.add_function(wrap_pyfunction!(border::waves_moves, module)?)?;
    module.add_function(wrap_pyfunction!(border::waves_constant, module)?)?;
    module.add_class::<secret::ClientSecret>()?;
    module.add_class::<keys::SecretKey>()?;
    module.add_class::<keys::EvaluationKeys>()?;
    module.add_class::<public_key::PublicKey>()?;
    module.add_class::<messages::Query>()?;
    module.add_class::<messages::Answer>()?;
    module.add_class::<inspect::Inspector>()?;
    module.add_class::<network::IntNetwork>()?;
    module.add_class::<hybrid::HybridProgram>()?;
    module.add_class::<hybrid::HybridClient>()?;
    module.add_function(wrap_pyfunction!(hybrid::hybrid_compile, module)?)?;
    module.add_function(wrap_pyfunction!(hybrid::hybrid_certificate_hash, module)?)?;
    module.add_function(wrap_pyfunction!(hybrid::hybrid_identity, module)?)?;
    module.add("HYBRID_CORE", cost::two_parties::CORE)?;
    module.add("EFFICIENCY", cost::EFFICIENCY)?;
    module.add("READING", cost::READING)?;
    module.add_function(wrap_pyfunction!(guard::set_threads, module)?)?;
    module.add_function(wrap_pyfunction!(keys::set_key_memory, module)?)?;
    module.add_function(wrap_pyfunction!(keys::key_memory, module)?)?;
    module.add_function(wrap_pyfunction!(info::info, module)?)?;
    module.add_function(wrap_pyfunction!(info::machine_factors, module)?)?;
    module.add_function(wrap_pyfunction!(program::compile, module)?)?;
    module.add_function(wrap_pyfunction!(program::compile_with_choices, module)?)?;
    module.add_function(wrap_pyfunction!(program::preparations, module)?)?;
    module.add_function(wrap_pyfunction!(keys::keygen, module)?)?;
    module.add_function(wrap_pyfunction!(applications::benchmark_names, module)?)?;
    module.add_function(wrap_pyfunction!(applications::benchmark_trace, module)?)?;
    module.add_function(wrap_pyfunction!(applications::benchmark_circuit, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::machine_names, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::machine_file, module)?)?;
    module.add_function(wrap_pyfunction!(vector::machine_parts, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::simulate_products, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::simulate_fft_products, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::simulate_pbs, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::emit_pbs, module)?)?;
    module.add_class::<vector::Workload>()?;
    module.add_class::<vector::Simulation>()?;
    module.add_class::<streams::Streams>()?;
    module.add_function(wrap_pyfunction!(vector::machine_summary, module)?)?;
    module.add_function(wrap_pyfunction!(vector::machine_varied, module)?)?;
    module.add_function(wrap_pyfunction!(vector::machine_scaling, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::algorithm_2, module)?)?;
    module.add_function(wrap_pyfunction!(packings::packing_names, module)?)?;
    module.add_function(wrap_pyfunction!(packings::packing_layers, module)?)?;
    module.add_function(wrap_pyfunction!(packings::packing_choice, module)?)?;
    module.add_function(wrap_pyfunction!(packings::packing_trial, module)?)?;
    module.add_function(wrap_pyfunction!(packings::packing_workload, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench, module)?)
}
