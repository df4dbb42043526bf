//! Errors of the `applications` layer.

use std::path::PathBuf;
use thiserror::Error;

/// Result of the `applications` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// An error in an application's parameters or in its model.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The name of a benchmark is unknown.
    #[error("the benchmark is {found:?}, expected one of {expected}")]
    Benchmark {
        /// The unknown name.
        found: String,
        /// Names of all benchmarks.
        expected: String,
    },
    /// An error of the circuits.
    #[error(transparent)]
    Circuits(#[from] circuits::Error),
    /// An error of the scheme of approximate numbers.
    #[error(transparent)]
    Ckks(#[from] ckks::Error),
    /// An error of the scheme of exact numbers.
    #[error(transparent)]
    Exact(#[from] bgv::Error),
    /// A file does not hold the model.
    #[error("{path}: {what} is {found}, expected {expected}")]
    Model {
        /// The file.
        path: PathBuf,
        /// The part of the file that is wrong.
        what: String,
        /// The value in the file.
        found: String,
        /// The value that the application needs.
        expected: String,
    },
    /// An error of the circuit's builder.
    #[error(transparent)]
    Program(#[from] program::Error),
    /// A value has a shape that the application does not take.
    #[error("{what} is {found}, expected {expected}")]
    Shape {
        /// The value.
        what: &'static str,
        /// Shape found.
        found: String,
        /// Shape expected.
        expected: String,
    },
}
