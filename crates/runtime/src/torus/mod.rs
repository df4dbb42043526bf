//! TFHE as data: gates and tables as circuits on samples, run by the server's own code or replayed limb by limb.
//!
//! *Concept.* [`gate`] and [`table`] describe what a server does to samples as a [`Circuit`](program::torus::Circuit).
//! [`run`] does its operations with a server's keys. [`lower::torus::lower`] makes a trace of it, which [`replay`]
//! executes. With a multiplier that is exact the two give the same words.
//!
//! *May use* `tfhe`, `program` and `lower`.

mod describe;
mod replay;
mod run;

pub use describe::{gate, parameters, table};
pub use replay::replay;
pub use run::run;
