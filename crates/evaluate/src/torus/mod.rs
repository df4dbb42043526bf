//! TFHE as data: circuits on samples, run by the server's own code or replayed limb by limb.
//!
//! *Concept.* [`gate`] and [`table`] describe what a server does to samples as a
//! [`Circuit`](program::torus::Circuit). [`describe`] describes a whole [circuit on
//! messages](program::message), and [`log2_failure`] bounds how often that is wrong. [`run`]
//! executes the operations with a server's keys. [`lower::torus::lower`] makes a trace of them,
//! which [`replay`] executes. With an exact multiplier both give the same words.
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
