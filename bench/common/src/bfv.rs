//! The BFV group: operations on two fresh ciphertexts with all slots in use.

use crate::{BfvDefinition, Definitions, Row, words};
use serde_json::{Value, json};
use std::hint::black_box;

/// A library with its keys, and the two inputs.
pub trait Bfv {
    type Ciphertext;

    /// `a` and `b` are slots: two rows of `N/2`.
    fn new(definition: &BfvDefinition, a: &[u64], b: &[u64]) -> Self;
    /// The parameters actually used: `log_q`, `log_p`, `key_switching`.
    fn parameters(&self) -> Value;
    /// The operations that the library has, with the names that `bench/README.md` explains.
    fn operations(&self) -> Vec<Operation<'_, Self::Ciphertext>>;
    fn decrypt(&self, ciphertext: &Self::Ciphertext) -> Vec<u64>;
}

/// The name of an operation, and a call of it on the inputs.
pub type Operation<'a, C> = (&'static str, Box<dyn Fn() -> C + 'a>);

pub fn time<B: Bfv>(definitions: &Definitions) -> Vec<Row> {
    let (bfv, parameters) = setup::<B>(&definitions.bfv);
    bfv.operations()
        .into_iter()
        .map(|(name, run)| {
            Row::measure(name, &parameters, definitions.bfv.samples, || {
                black_box(run());
            })
        })
        .collect()
}

/// The decrypted result of every operation.
pub fn values<B: Bfv>(definitions: &Definitions) -> Vec<Value> {
    let (bfv, parameters) = setup::<B>(&definitions.bfv);
    bfv.operations()
        .into_iter()
        .map(|(name, run)| {
            json!({ "name": name, "parameters": parameters, "slots": bfv.decrypt(&run()) })
        })
        .collect()
}

fn setup<B: Bfv>(definition: &BfvDefinition) -> (B, Value) {
    let slots = |seed| words(seed, 1 << definition.log_n, definition.t);
    let bfv = B::new(definition, &slots(1), &slots(2));
    let mut parameters = json!({ "log_n": definition.log_n, "t": definition.t });
    if let (Value::Object(all), Value::Object(own)) = (&mut parameters, bfv.parameters()) {
        all.extend(own);
    }
    (bfv, parameters)
}
