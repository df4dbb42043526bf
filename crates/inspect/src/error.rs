//! Errors of the `inspect` layer.

use thiserror::Error;

/// Result of the `inspect` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors while a run is inspected.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// An error in the client's part of the run.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// An error in the server's part of the run.
    #[error(transparent)]
    Runtime(#[from] runtime::Error),
    /// An error of a circuit of a packing.
    #[error(transparent)]
    Evaluate(#[from] evaluate::Error),
    /// A value of the run does not decrypt with this client's secret.
    #[error(transparent)]
    Bfv(#[from] bfv::Error),
    /// An error of the scheme of approximate numbers.
    #[error(transparent)]
    Ckks(#[from] ckks::Error),
    /// A layer does not fit a packing.
    #[error(transparent)]
    Packings(#[from] packings::Error),
    /// A value of the run has no layout.
    #[error(transparent)]
    Circuits(#[from] circuits::Error),
    /// The exact network or its images do not fit the program.
    #[error(
        "{what} is of another shape, expected that of the network the program was compiled from"
    )]
    Misfit {
        /// The part that does not fit.
        what: &'static str,
    },
}

/// The error for `what`, which does not fit the program.
pub(crate) fn misfit(what: &'static str) -> Error {
    Error::Misfit { what }
}
