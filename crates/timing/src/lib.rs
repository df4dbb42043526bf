//! Times of what the product does, on the machine and the threads it runs on.
//!
//! *Concept.* Each function measures one part, from [transforms](ntt) to [functional
//! bootstrapping](lut), and gives each [`Row`] as it comes. The figures are ours alone, for users
//! and for records; `bench/` holds them against other libraries'. [`machine_factor`] says how fast
//! this machine is beside the one that predictions were measured on.
//!
//! *May use* the schemes, the circuits and, for their keys, `client`. *Invariant*: a wrong result
//! gives no figure.

#![forbid(unsafe_code)]

mod bfv;
mod bgv;
mod ckks;
mod error;
mod lut;
mod machine;
mod meter;
mod ntt;
mod tfhe;

pub use self::bfv::bfv;
pub use self::bgv::bgv;
pub use self::ckks::{bootstrap, ckks};
pub use self::lut::lut;
pub use self::ntt::ntt;
pub use self::tfhe::tfhe;
pub use error::{Error, Result};
pub use machine::machine_factor;
pub use meter::{GoOn, Hear, Row};
