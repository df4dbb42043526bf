//! Errors of the `compiler` layer.

use crate::MAX_FLOODED_ANSWERS;
use program::MAX_LOG2_FAILURE;
use thiserror::Error;

/// Result of the `compiler` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a network does not compile.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The network is wrong.
    #[error(transparent)]
    Network(#[from] network::Error),
    /// A dry run failed.
    #[error(transparent)]
    Circuits(#[from] circuits::Error),
    /// The verifier refused the program that was made. This is a mistake of the compiler.
    #[error(transparent)]
    Program(#[from] program::Error),
    /// A layer cannot be compiled.
    #[error("layer {layer}: {what} is {found}, expected {expected}")]
    Layer {
        /// Name of the layer.
        layer: String,
        /// The property of the layer that is wrong, such as "the bound of its accumulators".
        what: &'static str,
        /// The value of the property, as text.
        found: String,
        /// The values with which the layer can be compiled, as text.
        expected: String,
    },
    /// The batch has no image.
    #[error("a batch of 0 images, expected at least 1")]
    EmptyBatch,
    /// The batch is larger than programs allow.
    #[error("a batch of {batch} images, expected at most {most}")]
    Batch {
        /// Images asked for.
        batch: usize,
        /// Largest batch.
        most: usize,
    },
    /// The probability asked for is larger than allowed.
    #[error(
        "a probability of 2^{found} that a run is wrong, expected at most 2^{MAX_LOG2_FAILURE}"
    )]
    Target {
        /// log2 of the probability asked for.
        found: f64,
    },
    /// The number of answers whose noise is to be hidden is out of range.
    #[error("floods for {found} answers, expected 1 to {MAX_FLOODED_ANSWERS}")]
    Answers {
        /// Answers asked for.
        found: u64,
    },
    /// The network compiles, but not with floods over its outputs.
    #[error(
        "no parameters of 128-bit security hold this network and the floods that hide the noise of its outputs over \
         {answers} answers: {reason}: hide fewer answers, quantise with a lower --limit, or compile it without \
         --hide-model"
    )]
    Flood {
        /// Answers asked for.
        answers: u64,
        /// Error of the last attempt.
        reason: Box<Error>,
    },
    /// A run would be wrong with a larger probability than asked for.
    #[error(
        "a run would be wrong with a probability of 2^{found:.1}, expected at most 2^{expected}; \
         of its steps, {operation} of layer {layer} is wrong most often, with \
         2^{worst:.1}: quantise with a lower --limit, which leaves more room for noise"
    )]
    Failure {
        /// log2 of the probability.
        found: f64,
        /// log2 of the largest probability allowed.
        expected: f64,
        /// Name of the layer of the worst step.
        layer: String,
        /// Operation of the worst step.
        operation: &'static str,
        /// log2 of the probability of the worst step.
        worst: f64,
    },
    /// The network needs moduli that do not fit words of 32 bits.
    #[error(
        "moduli of {bits}-bit words do not hold this network: {reason}: compile it without --words {bits}, or quantise with \
         a lower --limit, which makes tables smaller"
    )]
    Words {
        /// Bits of a word.
        bits: u32,
        /// Error of the last attempt.
        reason: Box<Error>,
    },
    /// The network cannot be compiled for keys that exist.
    #[error(
        "the key profile does not hold this network: {what} is {found}, expected {expected}; without --profile the network gets parameters of its own, and clients make new keys"
    )]
    Profile {
        /// Name of what does not fit.
        what: &'static str,
        /// The value of the profile.
        found: String,
        /// The value that the network needs.
        expected: String,
    },
    /// No parameters of 128-bit security can evaluate the network.
    #[error(
        "no parameters of 128-bit security hold this network: {reason}: quantise with a lower --limit, which makes \
         tables smaller"
    )]
    NoParameters {
        /// The error of the attempt that came closest.
        reason: Box<Error>,
    },
}

impl From<bfv::Error> for Error {
    fn from(error: bfv::Error) -> Self {
        Self::Circuits(error.into())
    }
}

impl From<rlwe::Error> for Error {
    fn from(error: rlwe::Error) -> Self {
        Self::Circuits(error.into())
    }
}

impl From<ring::Error> for Error {
    fn from(error: ring::Error) -> Self {
        Self::Circuits(rlwe::Error::from(error).into())
    }
}

impl From<exchange::Error> for Error {
    fn from(error: exchange::Error) -> Self {
        Self::Circuits(error.into())
    }
}
