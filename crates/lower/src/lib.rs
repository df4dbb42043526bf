//! From a recording, the operations on ciphertexts, to a trace, the instructions on limbs.
//!
//! *Concept.* Each kind of operation has a rule in a file of its own. The rule says what the
//! operation does limb by limb. Every operation is therefore written twice in this repository: here
//! as a definition, and in `rlwe`, `exact` and `circuits` as the fast path that runs on the CPU.
//! `runtime` replays traces, and its tests check that both give the same words.
//!
//! [`torus`] does the same for circuits on samples: TFHE.
//!
//! An operation at one level is a sub-trace. It is written once and called.
//!
//! *May use* `program`, and `rlwe` for its parameters. This crate handles no keys and no
//! ciphertexts.

#![forbid(unsafe_code)]

mod chain;
mod check;
mod divide;
mod error;
mod external;
mod key_switch;
pub mod names;
mod packing;
mod plaintext;
mod products;
mod raise;
mod samples;
pub mod torus;
mod walk;

pub use check::check;
pub use error::{Error, Result};
pub use walk::{lower, lower_named};
