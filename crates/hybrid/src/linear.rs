//! An encrypted term of a layer: the client's query, the server's answer, the client's share.
//!
//! The client encrypts its share of the source. The server adds its own share in plain, multiplies
//! with the kernels, and hides the results by a random share, a flood over the noise (`noise.rs`)
//! and an encryption of zero. It sends only the coefficients that are outputs, modulo a small power
//! of two. After Cheetah (Huang et al., USENIX Security 2022).

use ring::sample::{self, Masks, SecretRng};
use ring::{Basis, Coeff, Eval, Poly};

use crate::bits::{mask as low_bits, packed_len, unpack};
use crate::cipher::{
    PublicKey, Scaled, SecretKey, Space, ToPower, read_body, split_seed, write_body,
};
use crate::error::Result;
use crate::geometry::Geometry;
use crate::hide::Hiding;
use crate::program::EncryptedTerm;
use rand::RngCore;
use zeroize::Zeroizing;

/// Length of a seed in bytes.
pub(crate) const SEED: usize = 32;

/// The tables of an encrypted term that both parties need.
pub(crate) struct Tables {
    pub(crate) geometry: Geometry,
    scaled: Scaled,
    body_len: usize,
    answer_bits: u32,
    outputs: usize,
}

impl Tables {
    /// Computes the tables. `bits` is the number of bits of the shares; `basis` belongs to the
    /// term's ring.
    ///
    /// # Errors
    /// [`Error::Program`] for a term that does not fit its ring.
    pub(crate) fn new(term: &EncryptedTerm, basis: &Basis, bits: u32) -> Result<Self> {
        let (n, moduli) = (basis.n(), basis.moduli());
        let geometry = Geometry::new(&term.shape, n, term.tile_channels);
        Ok(Self {
            geometry: geometry.map_err(|misfit| misfit.into_error(n))?,
            scaled: Scaled::new(basis, Space::Power(bits)),
            body_len: moduli.map(|m| packed_len(basis.n(), m.bits())).sum(),
            answer_bits: term.answer_bits,
            outputs: term.shape.output().iter().product(),
        })
    }

    /// A bound of the bytes of the client's and the server's message, computed without placing any
    /// value.
    pub(crate) fn largest_message(&self) -> u64 {
        let answer = packed_len(2 * self.scaled.basis.n(), self.answer_bits) as u64;
        let query = self.body_len as u64;
        let queries = (self.geometry.queries() as u64).saturating_mul(query);
        queries.max((self.geometry.answers() as u64).saturating_mul(answer))
    }

    /// Size of the transformed kernels in bytes.
    pub(crate) fn kernel_bytes(&self) -> u64 {
        let basis = &self.scaled.basis;
        let (geometry, words) = (&self.geometry, basis.n() * basis.len());
        let kernels = geometry.groups() * geometry.blocks() * geometry.tiles();
        (kernels as u64).saturating_mul(8 * words as u64)
    }

    /// Length of the client's message in bytes.
    pub(crate) fn query_len(&self) -> usize {
        SEED + self.geometry.queries() * self.body_len
    }

    /// Length of the server's message in bytes.
    pub(crate) fn answer_len(&self) -> usize {
        self.geometry.answer_len(self.answer_bits)
    }

    fn encoded(&self, query: usize, share: &[u64]) -> Poly<Coeff> {
        let places = self.geometry.query_places(query);
        let messages = places.iter().map(|p| (p.coefficient, share[p.value]));
        self.scaled.encode(messages)
    }

    /// The client's message: a seed and encryptions of its share of the source.
    pub(crate) fn query(&self, secret: &SecretKey, share: &[u64]) -> Vec<u8> {
        let mut rng = SecretRng::from_os();
        let mut masks = Masks::random(&mut rng);
        let mut bytes = Vec::with_capacity(self.query_len());
        bytes.extend_from_slice(&masks.seed().0);
        for query in 0..self.geometry.queries() {
            let message = self.encoded(query, share);
            let body = secret.encrypt(message, &mut masks, &mut rng);
            write_body(&mut bytes, &body);
        }
        bytes
    }

    /// The client's shares of the outputs, decrypted from the server's message, whose length the
    /// caller checks.
    pub(crate) fn open(&self, secret: &SecretKey, mut bytes: &[u8]) -> Vec<u64> {
        let mut shares = vec![0; self.outputs];
        let (n, bits) = (self.scaled.basis.n(), self.answer_bits);
        let mut parts = Vec::with_capacity(self.geometry.answers());
        for answer in 0..self.geometry.answers() {
            let (part, rest) = bytes.split_at(self.geometry.one_answer_len(answer, bits));
            parts.push(part);
            bytes = rest;
        }
        let opened = ring::par_map(parts.len(), |answer| {
            let places = self.geometry.answer_places(answer);
            let words = unpack(parts[answer], n + places.len(), bits);
            let (mask, bodies) = words.split_at(n);
            let decrypted = secret.decrypt(mask, bodies, &places, (bits, &self.scaled.space));
            (places, decrypted)
        });
        for (places, decrypted) in opened {
            for (place, share) in places.iter().zip(decrypted) {
                shares[place.value] = share;
            }
        }
        shares
    }
}

/// The server's form of a term: its transformed kernels.
pub(crate) struct Prepared {
    /// Transformed kernels, in the order of group, block and tile.
    kernels: Vec<Poly<Eval>>,
    to: ToPower,
    flood_bits: u32,
}

impl Prepared {
    /// Transforms the kernels of a term.
    pub(crate) fn new(tables: &Tables, term: &EncryptedTerm, weights: &[i64]) -> Self {
        let basis = &tables.scaled.basis;
        let geometry = &tables.geometry;
        let (tiles, blocks) = (geometry.tiles(), geometry.blocks());
        let kernels = ring::par_map(geometry.groups() * blocks * tiles, |index| {
            let (rest, tile) = (index / tiles, index % tiles);
            let kernel = geometry.kernel(weights, rest / blocks, rest % blocks, tile);
            Poly::from_signed(basis, &kernel).into_eval()
        });
        Self {
            to: ToPower::new(basis),
            flood_bits: term.flood_bits,
            kernels,
        }
    }

    /// Evaluates the term on a query, whose length the caller checks, and on the server's share of
    /// the source. The share is `None` if it is zero. Returns the message to the client and the
    /// server's shares of the outputs.
    ///
    /// # Errors
    /// [`Error::Message`] for residues out of range.
    pub(crate) fn answer(
        &self,
        tables: &Tables,
        key: &PublicKey,
        query: &[u8],
        share: Option<&[u64]>,
    ) -> Result<(Vec<u8>, Vec<u64>)> {
        let Tables {
            geometry, scaled, ..
        } = tables;
        let (seed, bodies) = split_seed(query);
        let inputs = ring::par_map(geometry.queries(), |index| {
            let bytes = &bodies[index * tables.body_len..][..tables.body_len];
            let mut body = read_body(&scaled.basis, bytes, "a query")?;
            if let Some(share) = share {
                body.add_assign(&tables.encoded(index, share).into_eval());
            }
            let mask: Poly<Eval> = sample::uniform_from_seed(&scaled.basis, &seed, index as u32);
            Ok([body, mask])
        });
        let inputs = inputs.into_iter().collect::<Result<Vec<_>>>()?;
        let results = ring::par_map(geometry.answers(), |answer| {
            self.one(tables, (key, &inputs), answer)
        });
        let mut bytes = Vec::with_capacity(tables.answer_len());
        let mut shares = vec![0; tables.outputs];
        for (answer, (part, own)) in results.into_iter().enumerate() {
            bytes.extend(part);
            for (place, share) in geometry.answer_places(answer).iter().zip(own) {
                shares[place.value] = share;
            }
        }
        Ok((bytes, shares))
    }

    /// Computes one ciphertext of the answer and the server's shares of its outputs.
    fn one(
        &self,
        tables: &Tables,
        (key, inputs): (&PublicKey, &[[Poly<Eval>; 2]]),
        answer: usize,
    ) -> (Vec<u8>, Vec<u64>) {
        let Tables {
            geometry,
            scaled,
            answer_bits,
            ..
        } = tables;
        let (tiles, blocks) = (geometry.tiles(), geometry.blocks());
        let rest = answer / blocks;
        let kernel = ((rest % geometry.groups()) * blocks + answer % blocks) * tiles;
        let kernels: Vec<&Poly<Eval>> = self.kernels[kernel..][..tiles].iter().collect();
        let inputs = &inputs[rest * tiles..][..tiles];
        let sum = [0, 1].map(|part| {
            let inputs: Vec<&Poly<Eval>> = inputs.iter().map(|input| &input[part]).collect();
            Poly::dot(&inputs, &kernels)
        });
        let mut rng = SecretRng::from_os();
        let places = geometry.answer_places(answer);
        let bits = scaled.space.bits();
        let random = places.iter().map(|_| rng.next_u64() & low_bits(bits));
        let random: Zeroizing<Vec<u64>> = Zeroizing::new(random.collect());
        let messages = places
            .iter()
            .map(|p| p.coefficient)
            .zip(random.iter().copied());
        let messages: Vec<(usize, u64)> = messages.collect();
        let hiding = Hiding {
            scaled,
            to: &self.to,
            key,
            flood_bits: self.flood_bits,
            answer_bits: *answer_bits,
        };
        let bytes = hiding.answer(sum, &messages, &mut rng);
        let shares = random
            .iter()
            .map(|r| r.wrapping_neg() & low_bits(bits))
            .collect();
        (bytes, shares)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests may panic")]
mod tests;
