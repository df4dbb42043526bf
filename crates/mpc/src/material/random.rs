//! Random words of the operating system, which leave no generator behind.

use rand::TryRngCore;
use rand::rngs::OsRng;
use zeroize::Zeroizing;

/// Draws uniform words, which are overwritten when dropped.
///
/// # Panics
/// If the operating system has no randomness.
pub(super) fn words(count: usize) -> Zeroizing<Vec<u64>> {
    let mut bytes = Zeroizing::new(vec![0; 8 * count]);
    OsRng
        .try_fill_bytes(&mut bytes)
        .expect("the operating system has randomness");
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    Zeroizing::new(bytes.chunks_exact(8).map(word).collect())
}
