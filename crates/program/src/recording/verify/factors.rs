//! Factors of messages, modulo the plaintext moduli.

use super::super::ir::Parameters;
use std::collections::HashMap;
use trace::modular::mul;

/// The moduli of the chain as residues modulo each plaintext modulus.
pub(super) struct Residues(HashMap<u64, Chain>);

struct Chain {
    /// `q_i`.
    moduli: Vec<u64>,
    /// `q_0 .. q_i`.
    products: Vec<u64>,
}

impl Residues {
    pub(super) fn new(p: &Parameters) -> Self {
        let chain = |t: u64| {
            let moduli: Vec<u64> = p.q.iter().map(|&q| q % t).collect();
            let products = moduli.iter().scan(1, |product, &q| {
                *product = mul(*product, q, t);
                Some(*product)
            });
            let products = products.collect();
            Chain { moduli, products }
        };
        Self(p.t.iter().map(|&t| (t, chain(t))).collect())
    }

    /// Returns true if `t` is one of the plaintext moduli.
    pub(super) fn known(&self, t: u64) -> bool {
        self.0.contains_key(&t)
    }

    /// Factor after a level drop: the old factor times the moduli that are left out.
    pub(super) fn dropped(&self, t: u64, factor: u64, (from, to): (usize, usize)) -> u64 {
        let dropped = &self.0[&t].moduli[to + 1..=from];
        dropped.iter().fold(factor, |mu, &q| mul(mu, q, t))
    }

    /// Factor of a product at a level, for two messages with these factors there: `-Q mu mu'`.
    pub(super) fn product(&self, t: u64, level: usize, [left, right]: [u64; 2]) -> u64 {
        let product = mul(self.0[&t].products[level], mul(left, right, t), t);
        (t - product) % t
    }
}

/// Returns true if two numbers have no common divisor.
pub(super) fn coprime(mut a: u64, mut b: u64) -> bool {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a == 1
}
