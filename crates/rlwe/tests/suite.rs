//! Tests of ciphertexts, keys and their bytes: one program, since each links the whole crate again.

mod bytes;
mod lwe;
mod params;
mod parts;
mod rgsw;
mod store;
mod switch;
