//! What can be wrong with an application.

use std::path::PathBuf;
use thiserror::Error;

/// Result of the `applications` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// What can be wrong with an application's parameters or its model.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A benchmark that there is not.
    #[error("the benchmark is {found:?}, expected one of {expected}")]
    Benchmark {
        /// Name that was asked for.
        found: String,
        /// Names that there are.
        expected: String,
    },
    /// From the circuits.
    #[error(transparent)]
    Circuits(#[from] circuits::Error),
    /// From the scheme of approximate numbers.
    #[error(transparent)]
    Ckks(#[from] ckks::Error),
    /// From the scheme of exact numbers.
    #[error(transparent)]
    Exact(#[from] bgv::Error),
    /// A file that is no model.
    #[error("{path}: {what} is {found}, expected {expected}")]
    Model {
        /// The file.
        path: PathBuf,
        /// What of it is wrong.
        what: String,
        /// What stands there.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// From the circuit's builder.
    #[error(transparent)]
    Program(#[from] program::Error),
    /// Something of a shape that an application does not take.
    #[error("{what} is {found}, expected {expected}")]
    Shape {
        /// What has a shape.
        what: &'static str,
        /// Shape found.
        found: String,
        /// Shape expected.
        expected: String,
    },
}
