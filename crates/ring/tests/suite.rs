//! Tests of residues and products: one program, since each links the whole crate again.

mod combinations;
mod residues;
mod signed_products;
