//! What the groups of whole schemes share: operations on fresh ciphertexts with all slots in use, by name.

use crate::Row;
use serde_json::{Value, json};
use std::hint::black_box;

/// An operation by the name that `bench/README.md` explains.
pub struct Operation<'a> {
    pub name: &'static str,
    /// Operations that a call makes: its time is divided by this.
    pub calls: usize,
    /// Makes the result.
    pub run: Box<dyn Fn() -> Box<dyn Result + 'a> + 'a>,
}

/// What an operation gives.
pub trait Result {
    /// Slots, decrypted and decoded, as the judges read them; `None` for keys.
    fn slots(&self) -> Option<Value>;
}

/// A library with its keys, and its inputs.
pub trait Scheme {
    /// What was really chosen: `log_q`, `log_p`, `key_switching`, ...
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
