//! Client and server as separate halves: files, wrong files, wrong keys, stopped runs, and places
//! where the secret must not be.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod files;
mod floods;
mod hidden;
mod profiles;
mod public;
mod refusals;
mod runs;
mod secret;
mod stored;

use crate::common::{PIXELS, small_program};
use client::{Client, StoredSecret};
use exchange::Exchange;
use palladion_runtime::Prepared;
use program::Program;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use zeroize::Zeroizing;

pub(crate) fn client_of(prepared: &Prepared, seed: u64) -> Client {
    Client::generate_from(prepared, &mut ChaCha20Rng::seed_from_u64(seed))
}

/// The bytes of a client's secret, without a seal.
pub(crate) fn secret_bytes(client: &Client) -> Zeroizing<Vec<u8>> {
    StoredSecret::from(client.secret().clone()).to_bytes()
}

/// Reads a client's secret that has no seal.
pub(crate) fn client_from(exchange: &Exchange, bytes: &[u8]) -> client::Result<Client> {
    let stored = StoredSecret::from_bytes(bytes)?;
    Client::new(exchange, stored.secret().expect("a secret without a seal"))
}

pub(crate) fn image() -> Vec<i64> {
    (0..PIXELS as i64).map(|i| i * 8 % 128).collect()
}

/// Another program with the same parameters.
pub(crate) fn other_program() -> Program {
    let mut program = small_program();
    program.constants[3].values[0] += 1;
    program
}

/// The error of `exchange` inside an error of either half.
pub(crate) trait Exchanged {
    fn exchanged(self) -> exchange::Error;
}

impl Exchanged for exchange::Error {
    fn exchanged(self) -> exchange::Error {
        self
    }
}

impl Exchanged for client::Error {
    fn exchanged(self) -> exchange::Error {
        match self {
            Self::Exchange(error) => error,
            other => panic!("{other:?}"),
        }
    }
}

impl Exchanged for palladion_runtime::Error {
    fn exchanged(self) -> exchange::Error {
        match self {
            Self::Exchange(error) => error,
            other => panic!("{other:?}"),
        }
    }
}
