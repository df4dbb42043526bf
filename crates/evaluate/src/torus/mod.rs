//! TFHE as data: circuits on samples, run by the server's own code or replayed limb by limb.
//!
//! *Concept.* [`gate`] and [`table`] describe a server's operations on samples as a
//! [`Circuit`](program::torus::Circuit). [`describe`] translates a whole [circuit on
//! messages](program::message), and [`log2_failure`] bounds the probability that a run of it is
//! wrong. [`run`] executes the operations with a server's keys. [`lower::torus::lower`] lowers the
//! operations to a trace, which [`replay`] executes. With an exact multiplier both give the same
//! words.
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
