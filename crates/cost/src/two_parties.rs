//! Prices of the mode of two parties.
//!
//! Measured on one core of an AMD EPYC with AVX-512 (Turin), from the layers of ResNet-20. [`CORE`]
//! converts them to the reference machine.

/// Seconds of the measured core for a second of the reference machine.
///
/// The reference machine took 0.33 s for an image of ResNet-20 over loopback, which these prices
/// predict to take 0.21 s.
pub const CORE: f64 = 0.64;

/// Seconds of both parties for a ciphertext of a query, per coefficient of the ring.
pub const QUERY: f64 = 1.0e-7;

/// Seconds of both parties for a ciphertext of an answer, per coefficient of the ring.
pub const ANSWER: f64 = 1.0e-7;

/// Seconds of both parties for a ciphertext of products, per coefficient of the ring.
pub const PRODUCT: f64 = 3.0e-7;

/// Seconds of both parties for a byte that a protocol on shares sends, online.
pub const BYTE: f64 = 4.0e-9;

/// Seconds of both parties for a random oblivious transfer, offline.
pub const TRANSFER: f64 = 1.5e-7;
