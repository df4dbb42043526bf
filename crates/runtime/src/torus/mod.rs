//! TFHE as data: circuits on samples, run by the server's own code or replayed limb by limb.
//!
//! *Concept.* [`gate`] and [`table`] describe what a server does to samples as a [`Circuit`](program::torus::Circuit), and
//! [`describe`] what a whole [circuit on messages](program::message) is. [`log2_failure`] says how often that one is wrong.
//! [`run`] does the operations with a server's keys. [`lower::torus::lower`] makes a trace of them, which [`replay`]
//! executes. With a multiplier that is exact the two give the same words.
//!
//! *May use* `tfhe`, `program` and `lower`.

mod describe;
mod messages;
mod noise;
mod replay;
mod run;

pub use describe::{gate, parameters, table};
pub use messages::{check, check_tables, describe, messages};
pub use noise::{log2_failure, output_noise};
pub use replay::replay;
pub use run::run;
