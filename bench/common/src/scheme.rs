//! The parts that the groups of whole schemes share: named operations on fresh ciphertexts with all
//! slots in use.

use crate::Row;
use serde_json::{Value, json};
use std::hint::black_box;

/// An operation with the name that `bench/README.md` explains.
pub struct Operation<'a> {
    pub name: &'static str,
    /// Number of operations in a call. Its time is divided by this.
    pub calls: usize,
    /// Computes the result.
    pub run: Box<dyn Fn() -> Box<dyn Result + 'a> + 'a>,
}

/// The result of an operation.
pub trait Result {
    /// Slots, decrypted and decoded, for the judges. `None` for keys.
    fn slots(&self) -> Option<Value>;
}

/// A library with its keys, and its inputs.
pub trait Scheme {
    /// The parameters actually used: `log_q`, `log_p`, `key_switching`, ...
    fn parameters(&self) -> Value;
    /// The operations that the library has.
    fn operations(&self) -> Vec<Operation<'_>>;
}

pub fn time(scheme: &impl Scheme, samples: usize) -> Vec<Row> {
    let parameters = scheme.parameters();
    let operations = scheme.operations().into_iter();
    let rows = operations.map(|Operation { name, calls, run }| {
        let mut row = Row::measure(name, &parameters, samples, || {
            black_box(run());
        });
        row.seconds /= calls as f64;
        row.min /= calls as f64;
        row
    });
    rows.collect()
}

/// The decrypted result of every operation that has one.
pub fn values(scheme: &impl Scheme) -> Vec<Value> {
    let parameters = scheme.parameters();
    let operations = scheme.operations().into_iter();
    let values = operations.filter_map(|operation| {
        let slots = (operation.run)().slots()?;
        Some(json!({ "name": operation.name, "parameters": parameters, "slots": slots }))
    });
    values.collect()
}
