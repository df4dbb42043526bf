//! The ring `Z_Q[X]/(X^N + 1)` in residue number system (RNS) form.
//!
//! *Concept.* A [`Basis`] is an ordered list of word-sized NTT-friendly primes. A [`Poly`] holds
//! one limb of `N` residues per prime, and its type says which [domain](Domain) they are in.
//!
//! *May use* the kernels alone. *Invariant*: every residue of limb `i` lies in `[0, q_i)`.
//!
//! *Sources.* Bajard et al., "A Full RNS Variant of FV like Somewhat Homomorphic Encryption
//! Schemes", SAC 2016; Halevi, Polyakov, Shoup, "An Improved RNS Variant of the BFV Homomorphic
//! Encryption Scheme", CT-RSA 2019 (the quotient of the exact conversion, here in integers instead
//! of floating point).

#![forbid(unsafe_code)]
#![warn(clippy::missing_panics_doc)]

mod basis;
mod cache;
mod chacha;
mod combine;
mod convert;
mod divide;
mod error;
mod gadget;
mod packed;
mod par;
mod poly;
mod pool;
mod primes;
pub mod sample;
mod scale;
mod span;
mod tensor;
pub mod torus;
mod words;

pub use basis::Basis;
pub use cache::Cache;
pub use combine::{Pair, block_combinations, tensor_combinations, tensor_sum};
pub use convert::{BasisConverter, ToModulus};
pub use divide::Divider;
pub use error::{Error, Result};
pub use gadget::{Carry, Gadget, dot_pairs, dot_pairs_filled, dot_pairs_signed};
pub use kernels::{Modulus, NttTable, PackedWords, eval_automorphism_index};
pub use packed::PackedPoly;
pub use par::{for_each_limb, in_pool, join, map as par_map, threads};
pub use poly::{Coeff, Domain, Eval, Poly};
pub use pool::{POOL_BYTES, Reuse, release_pool, return_memory};
pub use primes::{ntt_primes, ntt_primes_avoiding, ntt_primes_of_sizes, ntt_primes_up_to};
pub use scale::{Output, Scaler};
pub use span::{Span, Timer, with_span};
pub use tensor::{tensor, tensor_coeff};
