//! Circuits on approximate numbers: linear maps of slots, sums, polynomials, and bootstrapping.
//!
//! *May use* `ckks`. Each circuit tells which keys it needs before they are made.

mod arithmetic;
mod bootstrap;
mod chebyshev;
mod diagonal;
mod linear;
mod matrix;
mod sampled;
mod samples;
mod sums;

pub use arithmetic::{Arithmetic, Scaled, ScaledOf};
pub use bootstrap::{
    BootstrapKeys, BootstrapSpec, Bootstrapper, arithmetic as arithmetic_of, sparse_params,
};
pub use chebyshev::{Chebyshev, evaluate};
pub use diagonal::Diagonal;
pub use linear::LinearTransform;
pub use matrix::Matrix;
pub use samples::Samples;
pub use sums::{sum_rotations, sum_strided};
