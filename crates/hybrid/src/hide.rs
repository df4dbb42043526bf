//! The hiding of an answer: the server's last step, after which a ciphertext tells the client its
//! messages alone.
//!
//! The server adds its random messages, a flood over the noise (`noise.rs`) and an encryption of
//! zero, and switches to a small power of two.

use rand::RngCore;
use ring::sample::{self, SecretRng};
use ring::{Eval, Poly};
use zeroize::Zeroizing;

use crate::bits::{pack, packed_len};
use crate::cipher::{PublicKey, Scaled, ToPower};

/// The parameters and keys that hide an answer.
pub(crate) struct Hiding<'a> {
    pub(crate) scaled: &'a Scaled,
    pub(crate) to: &'a ToPower,
    pub(crate) key: &'a PublicKey,
    /// `f`: the flood is uniform in `[-2^f, 2^f)`.
    pub(crate) flood_bits: u32,
    /// Bits of the words of an answer.
    pub(crate) answer_bits: u32,
}

impl Hiding<'_> {
    /// The message to the client: the mask of `sum`, and the body of `sum` at the coefficients of
    /// `messages`, with the messages added.
    pub(crate) fn answer(
        &self,
        [mut body, mut mask]: [Poly<Eval>; 2],
        messages: &[(usize, u64)],
        rng: &mut SecretRng,
    ) -> Vec<u8> {
        let Scaled { basis, .. } = self.scaled;
        let n = basis.n();
        let zero = self.key.times_ternary(rng);
        body.add_assign(&zero[0]);
        mask.add_assign(&zero[1]);
        let [body, mut mask] = [body, mask].map(|part| Zeroizing::new(part.into_coeff()));
        let error = Poly::from_signed(basis, &sample::gaussian(n, rng));
        mask.add_assign(&Zeroizing::new(error));
        let switched = (0..n).map(|k| self.to.apply(|i| mask.limb(i)[k], self.answer_bits));
        let mut words: Vec<u64> = switched.collect();
        let errors = sample::gaussian(messages.len(), rng);
        let mut residues = vec![0; basis.len()];
        for (&(coefficient, message), &error) in messages.iter().zip(errors.iter()) {
            let flood = u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
            let flood = flood >> (127 - self.flood_bits);
            for (i, m) in basis.moduli().enumerate() {
                let below = m.reduce_u128(1 << self.flood_bits);
                let body = body.limb(i)[coefficient];
                let body = m.sub(m.add(body, m.from_i64(error)), below);
                residues[i] = self.scaled.add_to(i, body, message, flood);
            }
            words.push(self.to.apply(|i| residues[i], self.answer_bits));
        }
        let mut bytes = Vec::with_capacity(packed_len(words.len(), self.answer_bits));
        pack(&mut bytes, words, self.answer_bits);
        bytes
    }
}
