//! The server, which computes without secrets.

use crate::blind::{Bootstrapper, Scratch};
use crate::error::Result;
use crate::evaluation::EvaluationKeys;
use crate::lwe::Lwe;
use crate::params::Params;
use crate::table::TestPolynomial;
use ring::torus::{Multiplier, Torus};
use rlwe::KeyId;
use std::sync::{Mutex, PoisonError};

/// Keys ready for use: gates, tables, sums. Threads may share them.
pub struct ServerKey<T: Torus, M: Multiplier<T>> {
    params: Params,
    key: KeyId,
    bootstrapper: Bootstrapper<T, M>,
    /// Scratch memory that no thread uses at the moment.
    free: Mutex<Vec<Scratch<T, M>>>,
}

impl<T: Torus, M: Multiplier<T>> ServerKey<T, M> {
    /// Prepares keys for a multiplier, on all threads of the pool.
    ///
    /// # Errors
    /// [`Error::Multiplier`](crate::Error::Multiplier) if it is made for another ring degree.
    pub fn new(keys: &EvaluationKeys<T>, multiplier: M) -> Result<Self> {
        let params = keys.params().clone();
        params.check_multiplier(&multiplier)?;
        let bootstrapper = Bootstrapper::new(&params, keys.bootstrap(), keys.switch(), multiplier);
        Ok(Self {
            params,
            key: keys.key(),
            bootstrapper,
            free: Mutex::new(Vec::new()),
        })
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Identity of the secret of its keys.
    pub fn key(&self) -> KeyId {
        self.key
    }

    /// Checks that a sample belongs to the secret of the keys.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`](crate::Error::KeyMismatch).
    pub fn check_key(&self, sample: &Lwe<T>) -> Result<()> {
        self.key.join("ciphertext", sample.key())?;
        Ok(())
    }

    /// The bootstrapper, whose methods are the steps of a bootstrapping.
    pub fn bootstrapper(&self) -> &Bootstrapper<T, M> {
        &self.bootstrapper
    }

    /// Looks up samples in tables, each in its own, on the threads of the pool.
    pub fn bootstrap_all(&self, jobs: &[(Lwe<T>, &TestPolynomial<T>)]) -> Vec<Vec<Lwe<T>>> {
        ring::par_map(jobs.len(), |i| self.bootstrap(&jobs[i].0, jobs[i].1))
    }

    /// Looks up a sample in tables.
    pub fn bootstrap(&self, input: &Lwe<T>, test: &TestPolynomial<T>) -> Vec<Lwe<T>> {
        let out = self.with_scratch(|scratch| self.bootstrapper.bootstrap(input, test, scratch));
        // Old keys do not state an identity.
        let key = self.key.join("ciphertext", input.key()).unwrap_or(self.key);
        out.into_iter().map(|lwe| lwe.of_key(key)).collect()
    }

    /// Calls `work` with scratch memory that is free at the moment.
    pub fn with_scratch<R>(&self, work: impl FnOnce(&mut Scratch<T, M>) -> R) -> R {
        let free = || self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let found = free().pop();
        let mut scratch =
            found.unwrap_or_else(|| Scratch::new(&self.params, self.bootstrapper.multiplier()));
        let done = work(&mut scratch);
        free().push(scratch);
        done
    }
}
