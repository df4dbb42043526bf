//! The hybrid mode: client and server evaluate a network together.
//!
//! *Concept.* Every intermediate value is the sum of two shares modulo `2^l`, one of each party.
//! Convolutions and matrix products are computed under small encryptions of the client's share
//! ([`compile`] chooses their rings). Each party alone computes maps with public weights. The
//! protocols of `mpc` compute activations with requantisation. The client learns the logits, which
//! equal the logits of `network::Evaluator` exactly. `docs/hybrid.md` says what each party learns.
//!
//! *Sources.* Huang, Lu, Hong, Ding, "Cheetah: Lean and Fast Secure Two-Party Deep Neural Network
//! Inference", USENIX Security 2022 (convolutions in coefficients, extraction of outputs);
//! Juvekar, Vaikuntanathan, Chandrakasan, "GAZELLE", USENIX Security 2018 (the combination).

#![forbid(unsafe_code)]

mod activation;
mod bits;
mod cipher;
mod client;
mod cost;
mod error;
mod file;
mod form;
mod geometry;
mod half;
mod handshake;
mod hide;
mod hiding;
mod host;
mod linear;
mod local;
mod noise;
mod plan;
mod product_plan;
mod products;
mod program;
mod quadratic;
mod report;
mod server;
mod squared;
mod tls;

pub use cipher::RingSpec;
pub use client::{Client, ReadyClient};
pub use cost::{LayerPrediction, Predicted, Prediction, ProductPrediction};
pub use error::{Error, Result, printable};
pub use form::Form;
pub use geometry::ConvShape;
pub use handshake::hex;
pub use host::{HostEvent, Limits, Listener, host};
/// A connection between the two parties.
pub use mpc::Duplex as Connection;
pub use plan::{HIDDEN_INPUTS, STATISTICAL, compile, compile_for};
pub use product_plan::{ProductKind, ProductPlan};
pub use program::{
    Activations, EncryptedTerm, FORMAT, LayerPlan, LayerWeights, LocalTerm, MOST_BITS, ProductTerm,
    Program, PublicProgram, Step,
};
pub use quadratic::Quadratic;
pub use report::{LayerTaken, Observer, Progress, Report, Taken};
pub use server::Server;
pub use squared::Squared;
pub use tls::{HANDSHAKE, PATIENCE, accept, connect};
