//! Runs programs on the CPU.
//!
//! *Concept.* The [client](Client) holds the secrets: it makes the evaluation keys a program needs,
//! encrypts images and decrypts results. The [server](Server) holds a program and evaluation keys, and no
//! type of its own could hold a secret. Between them go sealed [files]. A run reports every
//! step to an observer, which may stop it. After each layer it may be [written down](Checkpoint) and taken up later.
//!
//! *May use* the program and `circuits`, with the layers below. *Invariant*: an object read from a file
//! has the fingerprint of the program it is used with.

#![forbid(unsafe_code)]

pub mod bench;
mod calibrate;
mod checkpoint;
pub mod circuit;
mod client;
mod error;
pub mod files;
pub mod inspect;
mod memory;
mod prepared;
mod record;
mod rehearse;
pub mod replay;
mod server;
pub mod torus;
mod verified;

pub use calibrate::machine_factor;
pub use checkpoint::Checkpoint;
pub use client::{Client, Decrypted, Input, system_rng};
pub use error::{Error, Result};
pub use memory::Memory;
pub use prepared::Prepared;
pub use server::{Event, Held, Output, Report, Server, StepReport};
pub use verified::{Exchange, Verified};
