//! A verified program.

use crate::error::Result;
use crate::terms::Exchange;
use program::{Op, Program};
use rlwe::bytes::{Fingerprint, fingerprint};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

/// A verified program with its parameters, whose security was checked. It has the weights of the
/// network, so it is the server's; a client needs its [terms](Exchange) alone. Cheap to clone.
///
/// The steps are not simulated here: the server rehearses them before it runs them.
#[derive(Clone)]
pub struct Verified {
    program: Arc<Program>,
    exchange: Exchange,
}

impl Verified {
    /// Verifies a program and builds its parameters.
    ///
    /// # Errors
    /// If the program breaks a rule, or the parameters are not secure or name no ring.
    pub fn new(program: Program) -> Result<Self> {
        let identity = fingerprint(program.identity().as_bytes());
        Self::of_fingerprint(program, identity)
    }

    /// Makes a program whose files carry a fingerprint other than that of its identity.
    pub(crate) fn of_fingerprint(program: Program, fingerprint: Fingerprint) -> Result<Self> {
        program.verify()?;
        let exchange = Exchange::of(program.terms(), fingerprint)?;
        let program = Arc::new(program);
        Ok(Self { program, exchange })
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Standard deviation of the rounding noise of each layer's accumulators, for the layers that
    /// have a table, in order. Each sample that is added up brings noise of its own.
    pub fn sigmas(&self) -> Vec<(String, f64)> {
        // A factor of a product may be packed more than once. It is then the same sum.
        type Sums = BTreeMap<(usize, usize), usize>;
        let mut layers: Vec<(&str, Sums)> = Vec::new();
        for step in &self.program().steps {
            if !matches!(step.op, Op::Pack { .. } | Op::PackAll { .. }) {
                continue;
            }
            if layers.last().is_none_or(|(name, _)| *name != step.layer) {
                layers.push((&step.layer, BTreeMap::new()));
            }
            let Some((_, samples)) = layers.last_mut() else {
                continue;
            };
            match &step.op {
                Op::Pack { values, .. } => {
                    samples.extend(values.iter().map(|p| ((p.1, p.2), p.3.len())));
                }
                Op::PackAll { outputs, .. } => {
                    samples.extend(outputs.iter().map(|&output| ((0, output), 1)));
                }
                _ => {}
            }
        }
        let sigma = self.params().rounding_sigma();
        let layers = layers.into_iter().map(|(name, samples)| {
            let mean = samples.values().sum::<usize>() as f64 / samples.len().max(1) as f64;
            (name.to_owned(), sigma * mean.sqrt())
        });
        layers.collect()
    }

    /// The terms on which files are exchanged.
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }
}

impl Deref for Verified {
    type Target = Exchange;

    fn deref(&self) -> &Exchange {
        &self.exchange
    }
}
