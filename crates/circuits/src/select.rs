//! Selection: one of several ciphertexts, by encrypted bits.
//!
//! A tree of multiplexers. A multiplexer is `no + bit (yes - no)`, by an external product with an
//! RGSW ciphertext of the bit. For `2^k` ciphertexts there are `2^k - 1` products, `k` of them one
//! after another. The noise is that of the chosen ciphertext plus that of `k` products.
//!
//! Source: Chillotti, Gama, Georgieva, Izabachène, "TFHE: Fast Fully Homomorphic Encryption over
//! the Torus", Journal of Cryptology 33, 2020, section 5.1.

use crate::error::{Error, Result};
use crate::operations::{Rgsw, RingOperations};

/// Returns ciphertext number `sum_i bits_i 2^i`. All ciphertexts must have the same factor or
/// scale.
///
/// # Errors
/// [`Error::Shape`] unless there are `2^k` ciphertexts for `k` bits, an error if levels differ, and
/// those of [`RingOperations::external_product`].
pub fn select<R: RingOperations>(
    ring: &R,
    leaves: Vec<R::Ciphertext>,
    bits: &[Rgsw],
) -> Result<R::Ciphertext> {
    let expected = u32::try_from(bits.len())
        .ok()
        .and_then(|count| 1usize.checked_shl(count));
    if expected != Some(leaves.len()) {
        return Err(Error::Shape {
            what: "the number of ciphertexts to choose from",
            found: leaves.len().to_string(),
            expected: format!("2^{}, for so many bits", bits.len()),
        });
    }
    let mut row = leaves;
    for bit in bits {
        let pairs = row.chunks_exact(2).map(|pair| {
            let mut chosen = pair[1].clone();
            ring.sub_assign(&mut chosen, &pair[0])?;
            let mut chosen = ring.external_product(&chosen, bit)?;
            ring.add_assign(&mut chosen, &pair[0])?;
            Ok(chosen)
        });
        row = pairs.collect::<Result<_>>()?;
    }
    Ok(row.remove(0))
}
