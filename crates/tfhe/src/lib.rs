//! TFHE: bits and small integers, with a table in every bootstrapping.
//!
//! *Concept.* A [`ClientKey`] encrypts. A [`ServerKey`], which holds no secret, evaluates
//! [gates](Gate) on [`Bit`]s, tables and sums on [`Integer`]s, and numbers of several digits,
//! [`Radix`]. All types are generic over the word of the torus ([`Torus`](ring::torus::Torus):
//! `u32`, `u64`) and over the multiplier of polynomials ([`Multiplier`](ring::torus::Multiplier)).
//!
//! *Order.* A sample is encrypted under the big secret, of dimension `k N`. Bootstrapping is a key
//! switch to the small secret of dimension `n`, a modulus switch to `2N`, a blind rotation of the
//! table, and the extraction of a coefficient, which is under the big secret again.
//!
//! *Phase.* `b - <a, s>`, where `b` is the last word of a sample. For ciphertexts,
//! `B - sum A_i S_i`, where `B` is the last polynomial.
//!
//! *May use* `rlwe` (for the byte form) and `ring`. *Invariant*: an [`Integer`] knows the largest
//! value and the largest noise it can have. An operation whose noise or value exceeds the limits of
//! the next bootstrapping is an [error](Error::Noise).
//!
//! ```
//! use rand::SeedableRng;
//! use rand_chacha::ChaCha20Rng;
//! use ring::torus::Fft;
//! use palladion_tfhe::{ClientKey, Gate, ServerKey, sets};
//!
//! let params = sets::gates_2m128();
//! let multiplier = || Fft::new(params.n()).expect("a degree of the transform");
//! let rng = &mut ChaCha20Rng::from_os_rng();
//! let client = ClientKey::<u64>::generate(&params, rng)?;
//! let server = ServerKey::new(&client.evaluation_keys(&multiplier(), rng)?, multiplier())?;
//!
//! let (x, y) = (client.encrypt_bit(true, rng)?, client.encrypt_bit(false, rng)?);
//! let sum = server.gate(Gate::Xor, &x, &y)?;
//! assert!(client.decrypt_bit(&sum)?);
//! # Ok::<(), palladion_tfhe::Error>(())
//! ```
//!
//! *Sources.* Chillotti, Gama, Georgieva, Izabachène, "TFHE: Fast Fully Homomorphic Encryption over
//! the Torus", Journal of Cryptology 33, 2020, <https://ia.cr/2018/421>; Chillotti, Joye, Paillier,
//! "Programmable Bootstrapping Enables Efficient Homomorphic Inference of Deep Neural Networks",
//! CSCML 2021, <https://ia.cr/2021/091>.

#![forbid(unsafe_code)]
#![warn(clippy::missing_panics_doc)]

mod blind;
mod choice;
mod client;
mod error;
mod evaluation;
mod gates;
mod ggsw;
mod glwe;
mod integer;
mod lwe;
mod modulus;
pub mod noise;
mod params;
mod poly;
mod radix;
mod sample;
mod secret;
pub mod security;
mod server;
pub mod sets;
mod store;
mod switch;
mod table;

pub use blind::{Bootstrapper, Scratch};
pub use choice::fastest;
pub use client::{ClientKey, Compressed};
pub use error::{Error, Result};
pub use evaluation::EvaluationKeys;
pub use gates::{Bit, Gate};
pub use ggsw::Ggsw;
pub use glwe::{Glwe, GlweCipher, GlweList};
pub use integer::{Comparison, Integer, Table};
pub use lwe::{Lwe, LweList};
pub use modulus::modulus_switch;
pub use params::{Encoding, KeySwitch, Params, ParamsSpec};
pub use radix::Radix;
pub use secret::{GlweSecret, LweSecret};
pub use server::ServerKey;
pub use switch::{Switch, SwitchKey};
pub use table::TestPolynomial;
