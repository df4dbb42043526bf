//! The key switch from the big secret to the small one.
//!
//! *Two kinds.* By samples: the digits of every word of the mask, times a sample of `n + 1` words.
//! In the ring: a sample is the constant coefficient of a ring element (`A_i[0] = a_0`,
//! `A_i[N - j] = -a_j`). A GLWE key switch takes the element to a
//! [partial secret](crate::LweSecret::partial), whose first `n` coefficients are the small secret.
//! The constant coefficient of the result is a sample of dimension `n`. For `n <= N` the expanded
//! key is shorter by a factor of about `n / 2`, and the switch takes a few products of polynomials.
//! Source: Bergerat et al., "New Secret Keys for Enhanced Performance in (T)FHE", CCS 2024,
//! <https://ia.cr/2023/979>.
//!
//! *Rounding.* Digits leave a rest `e_i` of every word, uniform in `q / 2B^l` to both sides. Rests
//! are known and are multiplied by bits of mean 1/2, so half of their sum is subtracted from the
//! body: the variance is `k N / 48B^2l` instead of `k N / 24B^2l`.

use crate::glwe::{GlweCipher, GlweList};
use crate::lwe::LweList;
use crate::params::{KeySwitch, Params};
use crate::poly::insert_into;
use crate::secret::{GlweSecret, LweSecret};
use rand::CryptoRng;
use ring::torus::{Decomposition, Multiplier, Torus};

/// A key switching key. Its masks are stored as seeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SwitchKey<T> {
    /// Sample `i l + j` encrypts bit `i` of the big secret times `q / B^(j + 1)`.
    Lwe(LweList<T>),
    /// Ciphertext `i l + j` encrypts `-S_i q / B^(j + 1)` under the partial secret.
    Ring(GlweList<T>),
}

impl<T: Torus> SwitchKey<T> {
    /// Generates a key from `big` to `small`.
    pub fn generate<M: Multiplier<T>>(
        params: &Params,
        secrets: (&GlweSecret, &LweSecret),
        multiplier: &M,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let (big, small) = secrets;
        let sigma = params.spec().lwe_sigma;
        match params.spec().key_switch {
            KeySwitch::Lwe(digits) => {
                let bits = big.bits().iter();
                let levels = 1..=digits.levels();
                let messages = bits.flat_map(|&s| {
                    levels
                        .clone()
                        .map(move |j| digits.weight::<T>(j).times(s.into()))
                });
                // Products with the secret. They are overwritten below.
                let mut messages: Vec<T> = messages.collect();
                let list = LweList::encrypt(small, sigma, &messages, rng);
                messages.fill(T::default());
                std::hint::black_box(&messages);
                Self::Lwe(list)
            }
            KeySwitch::Ring(digits) => {
                let partial = small.partial(big.n());
                let cipher = GlweCipher::new(&partial, multiplier, sigma);
                let levels = digits.levels() as usize;
                Self::Ring(GlweList::encrypt(
                    &cipher,
                    big.rank() * levels,
                    rng,
                    |row, body| {
                        let weight = digits.weight::<T>((row % levels) as u32 + 1);
                        let bits = &big.bits()[row / levels * big.n()..];
                        body.iter_mut()
                            .zip(bits)
                            .for_each(|(b, &s)| *b = b.minus(weight.times(s.into())));
                    },
                ))
            }
        }
    }
}

/// A key switching key, ready for use.
pub struct Switch<T: Torus, M: Multiplier<T>> {
    digits: Decomposition,
    n: usize,
    dimension: usize,
    key: Key<T, M>,
}

enum Key<T: Torus, M: Multiplier<T>> {
    Lwe(Vec<T>),
    Ring(Vec<M::Word>),
}

/// Memory that key switches reuse.
pub(crate) struct SwitchScratch<T: Torus, M: Multiplier<T>> {
    digits: Vec<i32>,
    mask: Vec<T>,
    out: Vec<T>,
    product: M::Scratch,
}

impl<T: Torus, M: Multiplier<T>> Switch<T, M> {
    /// Expands a key made for these parameters.
    pub fn new(params: &Params, key: &SwitchKey<T>, multiplier: &M) -> Self {
        let key = match key {
            SwitchKey::Lwe(list) => Key::Lwe(expand(list)),
            SwitchKey::Ring(list) => Key::Ring(list.prepare(multiplier)),
        };
        let digits = params.spec().key_switch.decomposition();
        Self {
            digits,
            n: params.n(),
            dimension: params.lwe_dimension(),
            key,
        }
    }

    pub(crate) fn scratch(params: &Params, multiplier: &M) -> SwitchScratch<T, M> {
        let (big, n, rank) = (params.big_dimension(), params.n(), params.partial_rank());
        let levels = params.spec().key_switch.decomposition().levels() as usize;
        SwitchScratch {
            digits: vec![0; big * levels],
            mask: vec![T::default(); big],
            out: vec![T::default(); (rank + 1) * n],
            product: multiplier.scratch(params.rank() * levels, rank + 1),
        }
    }

    /// Switches the words `a, b` to the small secret. Writes `n + 1` words to `out`.
    pub(crate) fn switch_into(
        &self,
        multiplier: &M,
        out: &mut [T],
        words: &[T],
        s: &mut SwitchScratch<T, M>,
    ) {
        let (mask, body) = words.split_at(words.len() - 1);
        match &self.key {
            Key::Lwe(key) => {
                let size = self.dimension + 1;
                debug_assert_eq!(out.len(), size);
                out.fill(T::default());
                out[self.dimension] = body[0].minus(self.half_of_rests(mask));
                // Level by level: the digits of level j of all words, then those of the next level.
                self.digits.digits_into(&mut s.digits, mask);
                let levels = self.digits.levels() as usize;
                for (i, rows) in key.chunks_exact(levels * size).enumerate() {
                    for (j, row) in rows.chunks_exact(size).enumerate() {
                        let digit = i64::from(s.digits[j * mask.len() + i]);
                        for (o, &k) in out.iter_mut().zip(row) {
                            *o = o.minus(k.times(digit));
                        }
                    }
                }
            }
            Key::Ring(key) => {
                insert_into(&mut s.mask, mask, self.n);
                // In the constant coefficient of sum A_i S_i, A_i[0] is positive and the other
                // coefficients negative.
                let mut sum = T::default().minus(self.half_of_rests(&s.mask));
                for poly in s.mask.chunks_exact(self.n) {
                    let constant = self.half_of_rests(&poly[..1]);
                    sum = sum.plus(constant).plus(constant);
                }
                crate::ggsw::digits_into(&mut s.digits, &s.mask, self.n, self.digits);
                s.out.fill(T::default());
                multiplier.dot_add(&mut s.out, &s.digits, key, &mut s.product);
                let masks = s.out.len() - self.n;
                let constant = s.out[masks].plus(body[0]).minus(sum);
                extract_partial(out, &s.out[..masks], self.n, constant);
            }
        }
    }

    /// Half of the sum of the rests that the digits leave of `words`.
    fn half_of_rests(&self, words: &[T]) -> T {
        let dropped = T::BITS - self.digits.bits();
        let half = 1u64 << (dropped - 1);
        let low = (1u64 << dropped) - 1;
        let rest = |w: &T| (w.to_u64().wrapping_add(half) & low) as i128 - i128::from(half);
        let sum: i128 = words.iter().map(rest).sum();
        T::from_low_bits((sum >> 1) as u64)
    }
}

/// The sample of the constant coefficient under a partial secret of `out.len() - 1` bits.
fn extract_partial<T: Torus>(out: &mut [T], masks: &[T], n: usize, body: T) {
    let dimension = out.len() - 1;
    for (out, poly) in out[..dimension].chunks_mut(n).zip(masks.chunks_exact(n)) {
        out[0] = poly[0];
        for (o, &a) in out[1..].iter_mut().zip(poly[1..].iter().rev()) {
            *o = T::default().minus(a);
        }
    }
    out[dimension] = body;
}

/// All words of a list, on the threads of the pool.
fn expand<T: Torus>(list: &LweList<T>) -> Vec<T> {
    const BLOCK: usize = 4096;
    let mut out = Vec::new();
    for start in (0..list.len()).step_by(16 * BLOCK) {
        let ends = list.len().min(start + 16 * BLOCK);
        let parts = ring::par_map((ends - start).div_ceil(BLOCK), |i| {
            let from = start + i * BLOCK;
            list.expand(from..ends.min(from + BLOCK))
        });
        parts.iter().for_each(|part| out.extend_from_slice(part));
    }
    out
}
