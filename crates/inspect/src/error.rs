//! Errors of the `inspect` layer.

use thiserror::Error;

/// Result of the `inspect` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong when a run is looked into.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The client's part of the run.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// The server's part of the run.
    #[error(transparent)]
    Runtime(#[from] runtime::Error),
    /// A value of the run does not decrypt with this client's secret.
    #[error(transparent)]
    Bfv(#[from] bfv::Error),
    /// A value of the run has no layout.
    #[error(transparent)]
    Circuits(#[from] circuits::Error),
    /// The exact network or its images are not those of the program.
    #[error(
        "{what} is of another shape, expected that of the network the program was compiled from"
    )]
    Misfit {
        /// What does not fit.
        what: &'static str,
    },
}

/// The error for `what`, which is not the program's.
pub(crate) fn misfit(what: &'static str) -> Error {
    Error::Misfit { what }
}
