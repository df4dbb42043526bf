#![cfg_attr(feature = "full", doc = include_str!("../../../docs/rust.md"))]
#![cfg_attr(
    not(feature = "full"),
    doc = "Neural networks and computations on encrypted data. The feature `full` has the guide."
)]
#![forbid(unsafe_code)]

pub use rand;

/// A generator of secrets, seeded by the operating system. Its state is overwritten when dropped.
///
/// # Panics
/// If the operating system gives no randomness.
pub fn rng() -> ring::sample::SecretRng {
    ring::sample::SecretRng::from_os()
}

/// The client of a compiled network: it has the secret, encrypts inputs and decrypts answers.
#[cfg(feature = "client")]
pub mod client {
    pub use client::{
        Client, ClientKeys, ClientSecret, Decrypted, Encryptor, Error, Result, Seal, StoredSecret,
    };
    pub use exchange::files;
    pub use exchange::{
        Answer, EncryptionKey, EvaluationKeys, Exchange as Terms, Label, Needs, Profile, Query,
    };
    #[cfg(feature = "seal")]
    pub use seal;
}

#[cfg(feature = "schemes")]
pub use schemes::{self, bfv, bgv, ckks};

/// TFHE: bits and small integers, with a table in every bootstrapping.
#[cfg(feature = "schemes")]
pub mod tfhe {
    pub use ring::torus::Fft;
    pub use tfhe::*;
}

/// The server of compiled networks: it has the weights and the evaluation keys, and no secret.
#[cfg(feature = "server")]
pub mod server {
    pub use exchange::files;
    pub use exchange::{
        Answer, EvaluationKeys, Exchange as Terms, Label, Needs, Profile, Query, Verified,
    };
    pub use runtime::{
        Checkpoint, Error, Event, Memory, Prepared, PublicRun, Refusal, Report, Result, Server,
        StepReport, replay_run, trace_from_text, trace_to_text,
    };
}

/// From networks of exact integers to programs.
#[cfg(feature = "compile")]
pub mod compile {
    pub use compiler::{
        Choices, Error, Moduli, Options, Result, WordSize, compile, compile_with_choices,
    };
    pub use network::{Evaluator, IntNetwork};
    pub use program::Program;
}

/// Computations on slots of CKKS, BFV and BGV, and on bits and small integers of TFHE, described
/// once: in the clear, dry, encrypted, recorded.
#[cfg(feature = "server")]
pub mod circuit {
    pub use evaluate::circuit::*;
    pub use evaluate::{Error, Result, torus};
    pub use program::circuit::*;
    pub use program::message;
}

/// Traces, the lowest description of all computations, and their executors.
#[cfg(feature = "server")]
pub mod backend {
    pub use executor::*;
    pub use lower;
    pub use trace;
    pub use waves;
}

/// Simulated accelerators.
#[cfg(feature = "sim")]
pub use sim;
#[cfg(feature = "sim")]
pub use trace;
