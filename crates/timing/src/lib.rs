//! Times of the product's operations, on the machine and the threads in use.
//!
//! *Concept.* Each function measures one part, from [transforms](ntt) to
//! [functional bootstrapping](lut), and reports each [`Row`] as soon as it is measured. The figures
//! are only those of this project, for users and for records. `bench/` compares them with other
//! libraries. [`machine_factors`] compares this machine's speed with that of the machine on which
//! predictions were measured.
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
pub use machine::machine_factors;
pub use meter::{GoOn, Hear, Row};
