//! The NTT group: in-place transforms of one limb.

use crate::{Definitions, Row, words};
use serde_json::{Value, json};

/// One limb under a library's transform.
pub trait Limb {
    /// The limb with these residues modulo the prime `q`. There are as many as the ring degree.
    fn new(q: u64, words: &[u64]) -> Self;
    fn words(&self) -> Vec<u64>;
    fn forward(&mut self);
    /// May leave out the factor `1/N`, if the library does.
    fn inverse(&mut self);
    /// `self * other / c` value by value. Both are transformed, and `c` is the factor that
    /// [`Self::inverse`] leaves.
    fn mul_assign(&mut self, other: &Self);
}

pub fn time<L: Limb>(definitions: &Definitions) -> Vec<Row> {
    let samples = definitions.ntt.samples;
    let mut rows = Vec::new();
    for (log_n, q) in cases(definitions) {
        let parameters = parameters(log_n, q);
        let mut limb = L::new(q, &words(1, 1 << log_n, q));
        let forward = || limb.forward();
        rows.push(Row::measure("ntt forward", &parameters, samples, forward));
        let inverse = || limb.inverse();
        rows.push(Row::measure("ntt inverse", &parameters, samples, inverse));
    }
    rows
}

/// The transform of a polynomial, the points at which it was evaluated, and a negacyclic product.
///
/// The points are the transform of the polynomial `X`. So they show the root of unity and the order
/// that the library uses.
pub fn values<L: Limb>(definitions: &Definitions) -> Vec<Value> {
    cases(definitions)
        .map(|(log_n, q)| {
            let n = 1 << log_n;
            let mut x = vec![0; n];
            x[1] = 1;
            let mut points = L::new(q, &x);
            points.forward();
            let mut a = L::new(q, &words(1, n, q));
            a.forward();
            let values = a.words();
            let mut b = L::new(q, &words(2, n, q));
            b.forward();
            a.mul_assign(&b);
            a.inverse();
            json!({
                "name": "ntt",
                "parameters": parameters(log_n, q),
                "points": points.words(),
                "values": values,
                "product": a.words(),
            })
        })
        .collect()
}

fn cases(definitions: &Definitions) -> impl Iterator<Item = (u32, u64)> {
    let ntt = &definitions.ntt;
    ntt.log_n
        .iter()
        .flat_map(|&log_n| ntt.q.iter().map(move |&q| (log_n, q)))
}

fn parameters(log_n: u32, q: u64) -> Value {
    json!({ "log_n": log_n, "q": q })
}
