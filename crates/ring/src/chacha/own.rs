//! ChaCha20 in plain words.

use rand::RngCore;

/// Words of a block.
const BLOCK: usize = 16;

/// The generator of public masks: the words of `rand_chacha::ChaCha20Rng` for a seed and a stream.
/// Its state is not overwritten when dropped.
pub(crate) struct MaskRng {
    key: [u32; 8],
    stream: u64,
    /// Number of the next block.
    counter: u64,
    words: [u32; BLOCK],
    /// Words that are used up.
    next: usize,
}

impl MaskRng {
    pub(crate) fn new(seed: &[u8; 32], stream: u64) -> Self {
        let mut key = [0; 8];
        for (word, bytes) in key.iter_mut().zip(seed.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        Self {
            key,
            stream,
            counter: 0,
            words: [0; BLOCK],
            next: BLOCK,
        }
    }

    /// Computes the next block.
    ///
    /// # Source
    /// Bernstein, "ChaCha, a variant of Salsa20", 2008, with a counter and a nonce of 64 bits.
    fn refill(&mut self) {
        let [k0, k1, k2, k3, k4, k5, k6, k7] = self.key;
        let [low, high] = halves(self.counter);
        let [n0, n1] = halves(self.stream);
        let [a, b, c, d] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];
        let start = [
            a, b, c, d, k0, k1, k2, k3, k4, k5, k6, k7, low, high, n0, n1,
        ];
        let mut x = start;
        for _ in 0..10 {
            quarter::<0, 4, 8, 12>(&mut x);
            quarter::<1, 5, 9, 13>(&mut x);
            quarter::<2, 6, 10, 14>(&mut x);
            quarter::<3, 7, 11, 15>(&mut x);
            quarter::<0, 5, 10, 15>(&mut x);
            quarter::<1, 6, 11, 12>(&mut x);
            quarter::<2, 7, 8, 13>(&mut x);
            quarter::<3, 4, 9, 14>(&mut x);
        }
        self.words = std::array::from_fn(|i| x[i].wrapping_add(start[i]));
        self.counter = self.counter.wrapping_add(1);
        self.next = 0;
    }
}

fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

/// The places are constants, so that the words stay in registers.
#[inline(always)]
fn quarter<const A: usize, const B: usize, const C: usize, const D: usize>(x: &mut [u32; BLOCK]) {
    x[A] = x[A].wrapping_add(x[B]);
    x[D] = (x[D] ^ x[A]).rotate_left(16);
    x[C] = x[C].wrapping_add(x[D]);
    x[B] = (x[B] ^ x[C]).rotate_left(12);
    x[A] = x[A].wrapping_add(x[B]);
    x[D] = (x[D] ^ x[A]).rotate_left(8);
    x[C] = x[C].wrapping_add(x[D]);
    x[B] = (x[B] ^ x[C]).rotate_left(7);
}

impl RngCore for MaskRng {
    #[inline]
    fn next_u32(&mut self) -> u32 {
        if self.next == self.words.len() {
            self.refill();
        }
        let word = self.words[self.next];
        self.next += 1;
        word
    }

    #[inline]
    fn next_u64(&mut self) -> u64 {
        let low = u64::from(self.next_u32());
        u64::from(self.next_u32()) << 32 | low
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        for bytes in bytes.chunks_mut(4) {
            bytes.copy_from_slice(&self.next_u32().to_le_bytes()[..bytes.len()]);
        }
    }
}
