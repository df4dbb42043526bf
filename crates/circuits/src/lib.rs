//! Athena's loop: from coefficients through LWE samples and slots, a table on every slot, and back.
//!
//! *Concept.* A circuit is written once, over [`Value`]s, and run by an [`Engine`] in one of three
//! modes of [`operations`]: on ciphertexts; *dry*, where a value is only its level and predicted
//! noise; or *recorded*. A dry run gives a program's levels, keys and noise before anything is
//! encrypted, so plan and run cannot disagree.
//!
//! The steps, in the order of the loop:
//! 1. [`coefficients`]: linear layers as one product of polynomials;
//! 2. [`rlwe::lwe`]: dimension switch, rounding to `t`, extraction of any coefficients;
//! 3. [`pack`]: LWE samples into slots, each value in as many copies as slots are idle; or
//!    [`pack_all`]: all samples of a ciphertext;
//! 4. [`lut`]: functional bootstrapping, any table on any interval;
//! 5. [`transform`]: slots to coefficients; or [`dense`]: a dense layer taken from slots to
//!    coefficients in one product.
//!
//! [`steps`] runs the steps of programs, which consist of these circuits.
//!
//! Not part of the loop: [`bootstrap`], BGV bootstrapping for one message per ciphertext, and
//! [`select`](mod@select), the choice of one of many ciphertexts by encrypted bits.
//!
//! *May use* the schemes, and the parameters and the evaluation keys of `exchange`. *Source*:
//! Athena (MICRO 2025), section 3; Liu, Wang, "Amortized Functional Bootstrapping in less than 7
//! ms", ASIACRYPT 2023 (LUT in slots, packing by the encrypted secret).

#![forbid(unsafe_code)]

pub mod approximate;
pub mod bootstrap;
pub mod coefficients;
mod counts;
pub mod dense;
mod engine;
mod engines;
mod error;
pub mod lut;
pub mod merge;
pub mod operations;
pub mod pack;
pub mod pack_all;
mod passes;
mod public_inputs;
mod residual;
pub mod select;
pub mod steps;
pub mod transform;

pub use counts::Counts;
pub use engine::{
    DryValue, EncryptedValue, Engine, Known, LEAST_LOG2_FAILURE, Product, Value, ValueOf,
    total_failure,
};
pub use engines::{dry_engine, engine, engine_of, engine_stopped_by};
pub use error::{Error, Result};
pub use operations::Stop;
pub use passes::Encoding;
pub use public_inputs::{PublicRun, Refusal, log2_flood_distance};
pub use residual::Squares;
