//! Squares and products of random numbers, computed under BFV in the offline phase.
//!
//! Server and client draw numbers `s` and `c` modulo `2^l`. The client encrypts `c` in slots modulo
//! a prime `t`. The server multiplies with `s`, adds a random number `r`, and sends the result. The
//! parties do this for several primes, whose product exceeds every possible `s c + r`. The client
//! thus learns the integer `s c + r`, and both parties have shares of `s c` modulo `2^l`. `r` has
//! `mask_bits` bits and is much longer than `s c`, so that it hides the product: the statistical
//! distance is at most `|s c| / 2^mask_bits`. A flood hides the noise of the ciphertext, as in the
//! answers of linear layers.
//!
//! The shares follow from `(s + c)^2 = s^2 + c^2 + 2 s c`, and likewise for products of two numbers
//! (Beaver, CRYPTO 1991). Products in slots for triples: Damgård, Pastro, Smart, Zakarias, CRYPTO
//! 2012 (<https://ia.cr/2011/535>), here with both parties semi-honest.

use mpc::{Channel, Material, Needs, Squares, Triples};
use rand::RngCore;
use ring::sample::{self, Masks, SecretRng};
use ring::{Basis, Coeff, Eval, Modulus, Poly};
use zeroize::Zeroizing;

use crate::bits::{mask, packed_len, unpack};
use crate::cipher::{
    PublicKey, Scaled, SecretKey, Space, ToPower, read_body, split_seed, write_body,
};
use crate::error::Result;
use crate::geometry::Coefficient;
use crate::hide::Hiding;
use crate::linear::SEED;
use crate::product_plan::{ProductKind, ProductPlan};

/// Batches of ciphertexts in one message. A message is a round, and its batches bound the memory of
/// both parties.
const BATCHES: usize = 16;

/// The tables for one kind of products.
pub(crate) struct Products {
    plan: ProductPlan,
    basis: Basis,
    to: ToPower,
    primes: Vec<Prime>,
    /// For prime `i`: the inverse of the product of the primes before it.
    inverses: Vec<u64>,
}

struct Prime {
    t: Modulus,
    /// The ring of the plaintexts: its evaluations are the slots.
    slots: Basis,
    scaled: Scaled,
}

/// One party's random numbers: one vector for squares, two for triples.
type Factors = Vec<Zeroizing<Vec<u64>>>;

impl Products {
    /// Builds the tables for a checked plan and its ring.
    ///
    /// # Errors
    /// [`Error::Ring`](crate::Error::Ring) for numbers that are no primes with slots.
    pub(crate) fn new(plan: &ProductPlan, basis: &Basis) -> Result<Self> {
        let prime = |&value: &u64| {
            let slots = Basis::new(basis.n(), &[value])?;
            let t = *slots.modulus(0);
            let scaled = Scaled::new(basis, Space::Prime(t));
            Ok(Prime { t, slots, scaled })
        };
        let primes = plan.primes.iter().map(prime).collect::<Result<Vec<_>>>()?;
        let inverse = |i: usize| {
            let t = &primes[i].t;
            let before = primes[..i].iter();
            let product = before.fold(1, |p, other| t.mul(p, t.reduce(other.t.value())));
            t.inv(product).expect("the primes are different")
        };
        Ok(Self {
            inverses: (0..primes.len()).map(inverse).collect(),
            plan: plan.clone(),
            basis: basis.clone(),
            to: ToPower::new(basis),
            primes,
        })
    }

    /// The plan of the products.
    pub(crate) fn plan(&self) -> &ProductPlan {
        &self.plan
    }

    /// Number of rounds, and bytes to the server and to the client, for `count` products.
    pub(crate) fn cost(&self, count: usize) -> (u64, [u64; 2]) {
        let batches = count.div_ceil(self.basis.n());
        let ciphertexts = (batches * self.primes.len()) as u64;
        let bytes = [self.query_len() as u64, self.answer_len() as u64];
        let rounds = batches.div_ceil(BATCHES) as u64;
        (rounds, bytes.map(|bytes| ciphertexts * bytes))
    }

    /// Returns true if oblivious transfers are the way to `count` products: if they send less than
    /// half the bytes. This holds for few squares, since a ciphertext is as long for one product as
    /// for thousands.
    ///
    /// For 8,192 squares modulo `2^50` BFV sends 144 bytes each and transfers 173; for 320 squares
    /// BFV sends 713 kB and transfers 160 kB. For many squares, BFV takes a fifth of the time
    /// (`squares_both_ways` in the tests prints this).
    pub(crate) fn by_transfers(&self, count: usize) -> bool {
        let (_, bytes) = self.cost(count);
        let transfers = Needs::make_squares(self.plan.bits, count).cost();
        self.plan.kind == ProductKind::Squares && 2 * transfers.bytes() < bytes.iter().sum()
    }

    fn body_len(&self) -> usize {
        let moduli = self.basis.moduli();
        moduli.map(|m| packed_len(self.basis.n(), m.bits())).sum()
    }

    fn query_len(&self) -> usize {
        SEED + self.plan.kind.factors() * self.body_len()
    }

    fn answer_len(&self) -> usize {
        packed_len(2 * self.basis.n(), self.plan.answer_bits)
    }

    /// Draws fresh numbers modulo `2^bits`.
    fn draw(&self, count: usize) -> Factors {
        let mut rng = SecretRng::from_os();
        let mut numbers = |_| {
            let words = (0..count).map(|_| rng.next_u64() & mask(self.plan.bits));
            Zeroizing::new(words.collect::<Vec<u64>>())
        };
        (0..self.plan.kind.factors()).map(&mut numbers).collect()
    }

    /// The slots of a batch of numbers, as coefficients modulo a prime. Only the low bits on which
    /// the result depends count, as a signed number.
    fn encode(&self, prime: &Prime, numbers: &[u64]) -> Zeroizing<Poly<Coeff>> {
        let shift = 64 - self.plan.factor_bits();
        let signed = |x: &u64| (x << shift) as i64 >> shift;
        self.slots(prime, numbers.iter().map(|x| prime.t.from_i64(signed(x))))
    }

    fn slots(&self, prime: &Prime, values: impl Iterator<Item = u64>) -> Zeroizing<Poly<Coeff>> {
        let mut slots = Poly::<Eval>::zero(&prime.slots);
        for (slot, value) in slots.limb_mut(0).iter_mut().zip(values) {
            *slot = value;
        }
        Zeroizing::new(slots.into_coeff())
    }

    /// Batch and prime of each ciphertext in one message, in the order of sending. `first` is the
    /// message's first batch.
    fn order(&self, first: usize, batches: usize) -> Vec<(usize, &Prime)> {
        let here = first..batches.min(first + BATCHES);
        here.flat_map(|batch| self.primes.iter().map(move |prime| (batch, prime)))
            .collect()
    }

    fn batch<'a>(&self, numbers: &'a [u64], batch: usize) -> &'a [u64] {
        let n = self.basis.n();
        &numbers[batch * n..numbers.len().min((batch + 1) * n)]
    }

    /// Runs the client's part: encrypts its numbers, and adds the products to its material.
    ///
    /// # Errors
    /// [`Error::Protocol`](crate::Error::Protocol) if the connection ends.
    pub(crate) fn client(
        &self,
        channel: &mut impl Channel,
        secret: &SecretKey,
        count: usize,
        material: &mut Material,
    ) -> Result<()> {
        let factors = self.draw(count);
        let batches = count.div_ceil(self.basis.n());
        let mut crossed = Zeroizing::new(Vec::with_capacity(count));
        for first in (0..batches).step_by(BATCHES) {
            let order = self.order(first, batches);
            let queries = ring::par_map(order.len(), |at| {
                let (batch, prime) = order[at];
                self.query(secret, prime, &factors, batch)
            });
            for query in queries {
                channel.send(&query)?;
            }
            channel.flush()?;
            let mut answers = vec![0; order.len() * self.answer_len()];
            channel.receive(&mut answers)?;
            let opened = ring::par_map(order.len(), |at| {
                let answer = &answers[at * self.answer_len()..][..self.answer_len()];
                self.open(secret, order[at].1, answer)
            });
            for (at, residues) in opened.chunks(self.primes.len()).enumerate() {
                let values = self.batch(&factors[0], first + at).len();
                crossed.extend((0..values).map(|value| self.lift(|i| residues[i][value])));
            }
        }
        self.add(material, factors, &crossed)
    }

    fn query(&self, secret: &SecretKey, prime: &Prime, factors: &Factors, batch: usize) -> Vec<u8> {
        let mut rng = SecretRng::from_os();
        let mut masks = Masks::random(&mut rng);
        let mut bytes = Vec::with_capacity(self.query_len());
        bytes.extend_from_slice(&masks.seed().0);
        for numbers in factors {
            let message = self.encode(prime, self.batch(numbers, batch));
            let message = message.limb(0).iter().copied().enumerate();
            let body = secret.encrypt(prime.scaled.encode(message), &mut masks, &mut rng);
            write_body(&mut bytes, &body);
        }
        bytes
    }

    /// Decrypts an answer to its slots.
    fn open(&self, secret: &SecretKey, prime: &Prime, answer: &[u8]) -> Zeroizing<Vec<u64>> {
        let n = self.basis.n();
        let words = unpack(answer, 2 * n, self.plan.answer_bits);
        let (mask, bodies) = words.split_at(n);
        let place = |k| Coefficient {
            coefficient: k,
            value: k,
        };
        let places: Vec<Coefficient> = (0..n).map(place).collect();
        let bits = self.plan.answer_bits;
        let values = secret.decrypt(mask, bodies, &places, (bits, &prime.scaled.space));
        let slots = Poly::<Coeff>::from_words(&prime.slots, values);
        let slots = slots.expect("a decoded message is below the prime");
        let slots = Zeroizing::new(slots.into_eval());
        Zeroizing::new(slots.limb(0).to_vec())
    }

    /// Runs the server's part: multiplies with its numbers, and adds the products to its material.
    ///
    /// # Errors
    /// [`Error::Message`](crate::Error::Message) for residues out of range,
    /// [`Error::Protocol`](crate::Error::Protocol) if the connection ends.
    pub(crate) fn server(
        &self,
        channel: &mut impl Channel,
        key: &PublicKey,
        count: usize,
        material: &mut Material,
    ) -> Result<()> {
        let factors = self.draw(count);
        let hidden = self.draw_hiding(count);
        let batches = count.div_ceil(self.basis.n());
        for first in (0..batches).step_by(BATCHES) {
            let order = self.order(first, batches);
            let mut queries = vec![0; order.len() * self.query_len()];
            channel.receive(&mut queries)?;
            let answers = ring::par_map(order.len(), |at| {
                let (batch, prime) = order[at];
                let query = &queries[at * self.query_len()..][..self.query_len()];
                self.answer(key, prime, query, (&factors, &hidden), batch)
            });
            for answer in answers {
                channel.send(&answer?)?;
            }
            channel.flush()?;
        }
        let crossed = hidden.iter().map(|hidden| hidden[0].wrapping_neg());
        let crossed = Zeroizing::new(crossed.collect::<Vec<u64>>());
        self.add(material, factors, &crossed)
    }

    /// Draws numbers that hide products: uniform in an interval of length `2^mask_bits`, and so
    /// large that no sum is negative. Lowest word first.
    fn draw_hiding(&self, count: usize) -> Zeroizing<Vec<[u64; 3]>> {
        let mut rng = SecretRng::from_os();
        let number = |_| {
            let mut words = [0u64; 3];
            for (at, word) in words.iter_mut().enumerate() {
                let bits = self.plan.mask_bits.saturating_sub(64 * at as u32).min(64);
                *word = match bits {
                    0 => 0,
                    bits => rng.next_u64() & mask(bits),
                };
            }
            let mut carry = false;
            let least = self.plan.product_bits();
            for (at, word) in words.iter_mut().enumerate() {
                let part = match least / 64 == at as u32 {
                    true => 1 << (least % 64),
                    false => 0,
                };
                let (sum, first) = word.overflowing_add(part);
                let (sum, second) = sum.overflowing_add(u64::from(carry));
                (*word, carry) = (sum, first || second);
            }
            words
        };
        Zeroizing::new((0..count).map(number).collect())
    }

    fn answer(
        &self,
        key: &PublicKey,
        prime: &Prime,
        query: &[u8],
        (factors, hidden): (&Factors, &[[u64; 3]]),
        batch: usize,
    ) -> Result<Vec<u8>> {
        let (seed, bodies) = split_seed(query);
        let mut inputs = [Vec::new(), Vec::new()];
        for (index, bytes) in bodies.chunks_exact(self.body_len()).enumerate() {
            inputs[0].push(read_body(&self.basis, bytes, "a query for products")?);
            let mask = sample::uniform_from_seed::<Eval>(&self.basis, &seed, index as u32);
            inputs[1].push(mask);
        }
        // The client's first factor meets the server's last one.
        let own = factors.iter().rev().map(|numbers| {
            let message = self.encode(prime, self.batch(numbers, batch));
            let signed = message.limb(0).iter().map(|&x| prime.t.center(x));
            let signed = Zeroizing::new(signed.collect::<Vec<i64>>());
            Zeroizing::new(Poly::from_signed(&self.basis, &signed).into_eval())
        });
        let own: Vec<Zeroizing<Poly<Eval>>> = own.collect();
        let own: Vec<&Poly<Eval>> = own.iter().map(|poly| &**poly).collect();
        let sum = inputs.map(|inputs| Poly::dot(&inputs.iter().collect::<Vec<_>>(), &own));
        let n = self.basis.n();
        let here = batch * n..hidden.len().min((batch + 1) * n);
        let hidden = self.slots(
            prime,
            hidden[here].iter().map(|words| wide(&prime.t, words)),
        );
        let messages = hidden.limb(0).iter().copied().enumerate();
        let hiding = Hiding {
            scaled: &prime.scaled,
            to: &self.to,
            key,
            flood_bits: self.plan.flood_bits,
            answer_bits: self.plan.answer_bits,
        };
        let messages: Vec<(usize, u64)> = messages.collect();
        Ok(hiding.answer(sum, &messages, &mut SecretRng::from_os()))
    }

    /// The number with these residues modulo the primes, modulo `2^64`, by Garner's mixed radix.
    fn lift(&self, residue: impl Fn(usize) -> u64) -> u64 {
        let mut digits = Vec::with_capacity(self.primes.len());
        for (i, prime) in self.primes.iter().enumerate() {
            let t = &prime.t;
            let below = digits.iter().zip(&self.primes).rev();
            let below = below.fold(0, |sum, (&digit, other): (&u64, &Prime)| {
                t.add(t.mul(sum, t.reduce(other.t.value())), t.reduce(digit))
            });
            digits.push(t.mul(t.sub(residue(i), below), self.inverses[i]));
        }
        let digits = digits.iter().zip(&self.primes).rev();
        digits.fold(0, |sum, (&digit, prime)| {
            sum.wrapping_mul(prime.t.value()).wrapping_add(digit)
        })
    }

    /// Adds a party's factors and products to its material. `crossed` are its shares of the
    /// products of its own numbers with the other party's.
    fn add(&self, material: &mut Material, factors: Factors, crossed: &[u64]) -> Result<()> {
        let bits = self.plan.bits;
        let mut factors = factors.into_iter();
        let a = factors.next().unwrap_or_default();
        let own = |b: &[u64], times: u64| -> Zeroizing<Vec<u64>> {
            let all = a.iter().zip(b).zip(crossed);
            let whole = |((a, b), c): ((&u64, &u64), &u64)| {
                a.wrapping_mul(*b).wrapping_add(c.wrapping_mul(times)) & mask(bits)
            };
            Zeroizing::new(all.map(whole).collect())
        };
        match self.plan.kind {
            ProductKind::Squares => {
                let a_squared = own(&a, 2);
                material.add_squares(bits, Squares { a, a_squared })?;
            }
            ProductKind::Triples => {
                let b = factors.next().unwrap_or_default();
                let product = own(&b, 1);
                material.add_triples(bits, Triples { a, b, product })?;
            }
        }
        Ok(())
    }
}

/// Reduces a number of three words modulo a prime.
fn wide(t: &Modulus, words: &[u64; 3]) -> u64 {
    words.iter().rev().fold(0, |high, &word| {
        t.reduce_u128(u128::from(high) << 64 | u128::from(word))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests may panic")]
mod tests;
