//! Kernels over one limb: `N` residues modulo one odd `q < 2^60`.
//!
//! The bottom layer: it knows words, one modulus at a time, and nothing of rings or ciphertexts.
//! Every operation of the layers above ends here, so this is the one crate with `unsafe` code and
//! with code for a particular CPU.
//!
//! - [`Modulus`] and [`is_prime`]: arithmetic of single words.
//! - [`NttTable`]: the roots of the negacyclic number-theoretic transform.
//! - [`Kernels`]: the operations on limbs. [`Scalar`] is the specification; every other backend
//!   gives the same words, for inputs in the ranges the trait states.
//! - [`Store`]: whether a sum's words go into the caches or past them.
//! - [`AlignedWords`]: memory aligned to cache lines, on which kernels are fastest.
//! - [`Combinations`]: the operands of a table's inner loop.
//! - [`PackedWords`]: words in as few bytes as they need, for keys.
//! - [`kernels`] is the backend in use, chosen once: `PALLADION_KERNELS=scalar` forces one by name.
//!
//! Narrow moduli stay below 2^50 because the multiplier of AVX-512 IFMA takes 52-bit words. Two
//! bits are left for values that are not fully reduced, and four with moduli of 48 bits. Wide
//! moduli, of 51 to 60 bits, take 64-bit arithmetic, which is separate code. A backend chooses once
//! per call.
//!
//! ```
//! use palladion_kernels::{Modulus, NttTable, kernels};
//!
//! let q = Modulus::new(65537).expect("odd and below 2^60");
//! let table = NttTable::new(q, 1024).expect("65537 is a prime, 1 modulo 2048");
//! let mut x = vec![0; 1024];
//! x[1] = 1; // the polynomial X
//! kernels().ntt(&table, &mut x);
//! let mut square = vec![0; 1024];
//! kernels().mul_into(&q, &mut square, &x, &x);
//! kernels().intt(&table, &mut square);
//! assert_eq!(square.iter().position(|&c| c == 1), Some(2)); // X^2
//! ```
#![deny(unsafe_op_in_unsafe_fn)]

mod aligned;
mod array;
mod automorphism;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod backend;
mod combine;
mod counted;
mod float;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod four;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod lanes;
mod memory;
mod modulus;
#[doc(hidden)]
pub mod naive;
mod ntt;
mod packed;
mod prime;
mod quotient;
mod scalar;
mod torus;
mod wide;

pub use aligned::AlignedWords;
pub use automorphism::eval_automorphism_index;
pub use backend::{Kernels, Store, available, kernels};
pub use combine::Combinations;
pub use counted::Counted;
pub use float::Float;
pub use memory::return_freed;
pub use modulus::Modulus;
pub use ntt::NttTable;
pub use packed::PackedWords;
pub use prime::is_prime;
pub use quotient::Reciprocal;
pub use scalar::Scalar;
pub use torus::{Digits, FftTable, Product, TorusKernels, torus_available, torus_kernels};
