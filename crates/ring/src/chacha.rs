//! The generator of public masks: that of a library, or on WebAssembly our own in about half of
//! the time. There the library is slow: it is made for vectors.

#[cfg(any(test, target_arch = "wasm32"))]
mod own;

#[cfg(any(test, target_arch = "wasm32"))]
use own::MaskRng;

/// The generator of public masks for a seed and a stream.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn mask_rng(seed: &[u8; 32], stream: u64) -> rand_chacha::ChaCha20Rng {
    let mut rng = <rand_chacha::ChaCha20Rng as rand::SeedableRng>::from_seed(*seed);
    rng.set_stream(stream);
    rng
}

/// The generator of public masks for a seed and a stream: the same words as elsewhere.
#[cfg(target_arch = "wasm32")]
pub(crate) fn mask_rng(seed: &[u8; 32], stream: u64) -> MaskRng {
    MaskRng::new(seed, stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngCore, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    #[test]
    fn the_words_are_those_of_the_library() {
        for (seed, stream) in [([0; 32], 0), ([7; 32], 1 << 32 | 3), ([255; 32], u64::MAX)] {
            let mut library = ChaCha20Rng::from_seed(seed);
            library.set_stream(stream);
            let mut own = MaskRng::new(&seed, stream);
            for place in 0..500 {
                assert_eq!(own.next_u32(), library.next_u32(), "word {place}");
                assert_eq!(own.next_u64(), library.next_u64(), "word {place}");
            }
        }
    }
}
