//! Tests of TFHE: one program, since each links the whole crate again.

mod bytes;
mod common;
mod full_size;
mod gates;
mod index;
mod integers;
mod noise;
mod radix;
