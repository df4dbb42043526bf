//! Encryption of shares modulo `2^l`, and of slots, under small rings: keys, ciphertexts with a
//! seeded mask, and the decoding of answers.
//!
//! A message `m` modulo `2^l` is encrypted as `round(q m / 2^l)`. A message may therefore have any
//! number of bits, and sums wrap as shares do (Fan and Vercauteren, <https://ia.cr/2012/144>, with
//! the message in the high bits). Messages modulo a prime `t` are encrypted likewise: they serve
//! for products of random numbers.

use std::fmt;

use rand::CryptoRng;
use ring::sample::{self, Masks, Seed};
use ring::{Basis, Coeff, Eval, Modulus, Poly};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::bits::{mask, pack, packed_len, unpack};
use crate::error::{Error, Result};
use crate::geometry::Coefficient;

/// Degree and moduli of a ring. Secrets are uniform ternary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RingSpec {
    /// Ring degree `N`.
    pub n: usize,
    /// Moduli, with the product `q`.
    pub moduli: Vec<u64>,
}

impl RingSpec {
    /// The rings among which the planner chooses, cheapest first. All have 128 bits of security.
    /// Moduli of 50 bits are the largest fast ones; 36 + 35 + 35 bits are the most that security
    /// allows at `N = 2^12`.
    pub fn candidates() -> Result<Vec<Self>> {
        const SIZES: [(usize, &[u32]); 6] = [
            (1 << 12, &[50, 50]),
            (1 << 12, &[36, 35, 35]),
            (1 << 13, &[38, 36, 36]),
            (1 << 13, &[40, 40, 40]),
            (1 << 13, &[46, 46, 46]),
            (1 << 13, &[42, 42, 42, 42]),
        ];
        let ring = |(n, sizes): (usize, &[u32])| {
            let moduli = ring::ntt_primes_of_sizes(sizes, n)?;
            Ok(Self { n, moduli })
        };
        SIZES.into_iter().map(ring).collect()
    }

    /// log2 of the modulus `q`.
    pub fn log_q(&self) -> f64 {
        self.moduli.iter().map(|&q| (q as f64).log2()).sum()
    }

    /// Estimated security of a uniform ternary secret.
    pub fn security(&self) -> rlwe::security::Security {
        rlwe::security::uniform(self.n, self.log_q())
    }

    /// Length in bytes of the body of a fresh ciphertext or public key.
    pub fn body_len(&self) -> usize {
        let bits = self.moduli.iter().map(|q| 64 - q.leading_zeros());
        bits.map(|bits| packed_len(self.n, bits)).sum()
    }

    /// Checks a ring of a program from outside.
    pub(crate) fn check(&self) -> Result<()> {
        let total = 64 * self.moduli.len();
        if !(1 << 10..=1 << 14).contains(&self.n) || !self.n.is_power_of_two() || total > 64 * 8 {
            return Err(Error::program(
                "a ring",
                format!("of degree {} with {} moduli", self.n, self.moduli.len()),
                "degree 2^10 to 2^14 with at most 8 moduli",
            ));
        }
        if !self.security().is_enough() {
            return Err(Error::program(
                format!("the security of a ring of degree {}", self.n),
                self.security(),
                "128 bits",
            ));
        }
        Ok(())
    }
}

/// The ring of messages: integers modulo a power of two or a prime.
#[derive(Clone, Debug)]
pub(crate) enum Space {
    /// `2^bits`, with 1 to 62 bits: shares.
    Power(u32),
    /// A prime `t`, whose polynomials have slots.
    Prime(Modulus),
}

impl Space {
    /// The fewest bits that hold every message.
    pub(crate) fn bits(&self) -> u32 {
        match self {
            Self::Power(bits) => *bits,
            Self::Prime(t) => t.bits(),
        }
    }

    /// The residue of `x y` of least absolute value.
    fn centred_product(&self, x: u64, y: u64) -> i64 {
        match self {
            Self::Power(bits) => {
                let shift = 64 - bits;
                (x.wrapping_mul(y) << shift) as i64 >> shift
            }
            Self::Prime(t) => t.center(t.mul(x, y)),
        }
    }

    /// The message of a phase modulo `2^phase_bits`: `round(t phase / 2^phase_bits)` modulo `t`.
    fn decode(&self, phase: u64, phase_bits: u32) -> u64 {
        match self {
            Self::Power(bits) => {
                let round = 1u64 << (phase_bits - bits - 1);
                (phase.wrapping_add(round) & mask(phase_bits)) >> (phase_bits - bits)
            }
            Self::Prime(t) => {
                let phase = u128::from(phase & mask(phase_bits));
                let scaled = phase * u128::from(t.value()) + (1 << (phase_bits - 1));
                let message = (scaled >> phase_bits) as u64;
                if message == t.value() { 0 } else { message }
            }
        }
    }
}

/// A ring with its tables, for messages of one space.
#[derive(Clone)]
pub(crate) struct Scaled {
    pub(crate) basis: Basis,
    pub(crate) space: Space,
    /// `q` modulo the messages' modulus `t`.
    q: u64,
    /// `-1 / t` modulo each modulus.
    inverses: Vec<u64>,
}

impl Scaled {
    pub(crate) fn new(basis: &Basis, space: Space) -> Self {
        let q = match &space {
            Space::Power(bits) => {
                basis.moduli().fold(1u64, |q, m| q.wrapping_mul(m.value())) & mask(*bits)
            }
            Space::Prime(t) => basis.product_mod(t),
        };
        let inverse = |m: &Modulus| {
            let t = match &space {
                Space::Power(bits) => m.pow(2, u64::from(*bits)),
                Space::Prime(t) => m.reduce(t.value()),
            };
            m.neg(m.inv(t).expect("the messages' modulus is prime to q"))
        };
        let inverses = basis.moduli().map(inverse).collect();
        Self {
            basis: basis.clone(),
            space,
            q,
            inverses,
        }
    }

    /// Scales a message to modulus `i`: `round(q m / t)` modulo `q_i`. As `q m = t r + c` with `c`
    /// centred, this is `r = -c / t` modulo a divisor of `q`.
    fn residue(&self, i: usize, message: u64) -> u64 {
        let centred = self.space.centred_product(self.q, message);
        let modulus = self.basis.modulus(i);
        modulus.mul(modulus.from_i64(centred), self.inverses[i])
    }

    /// The polynomial with scaled messages at some coefficients, and 0 at the others. Each message
    /// has the index of its coefficient.
    pub(crate) fn encode(&self, messages: impl Iterator<Item = (usize, u64)>) -> Poly<Coeff> {
        let mut out = Poly::zero(&self.basis);
        let n = self.basis.n();
        let mut limbs: Vec<&mut [u64]> = out.limbs_mut().collect();
        for (place, message) in messages {
            debug_assert!(place < n);
            for (i, limb) in limbs.iter_mut().enumerate() {
                limb[place] = self.residue(i, message);
            }
        }
        out
    }

    /// Adds `round(q m / t) + noise` to residues of one coefficient.
    pub(crate) fn add_to(&self, i: usize, residue: u64, message: u64, noise: u128) -> u64 {
        let modulus = self.basis.modulus(i);
        let sum = modulus.add(residue, self.residue(i, message));
        modulus.add(sum, modulus.reduce_u128(noise))
    }
}

/// A modulus switch to a power of two: `round(x 2^k / q) mod 2^k` of coefficients in RNS form.
///
/// `x / q` modulo 1 is the sum of `(x_i (q/q_i)^-1 mod q_i) / q_i`. Each summand is computed with
/// 64 bits after the point, at most one unit too small.
pub(crate) struct ToPower {
    /// `(q / q_i)^-1` modulo each modulus.
    factors: Vec<u64>,
    /// `floor(2^(64 + bits_i) / q_i)`.
    reciprocals: Vec<u128>,
    basis: Basis,
}

impl ToPower {
    pub(crate) fn new(basis: &Basis) -> Self {
        let factor = |(i, m): (usize, &Modulus)| {
            let others = basis.moduli().enumerate().filter(|&(j, _)| j != i);
            let product = others.fold(1, |p, (_, o)| m.mul(p, m.reduce(o.value())));
            m.inv(product).expect("moduli are different primes")
        };
        let reciprocal = |m: &Modulus| (1u128 << (64 + m.bits())) / u128::from(m.value());
        Self {
            factors: basis.moduli().enumerate().map(factor).collect(),
            reciprocals: basis.moduli().map(reciprocal).collect(),
            basis: basis.clone(),
        }
    }

    /// Switches one coefficient, whose residue of modulus `i` is `residue(i)`, to `bits` bits: from
    /// 1 to 58 bits.
    pub(crate) fn apply(&self, residue: impl Fn(usize) -> u64, bits: u32) -> u64 {
        let mut fraction = 0u64;
        for (i, m) in self.basis.moduli().enumerate() {
            let scaled = m.mul(residue(i), self.factors[i]);
            // scaled < 2^bits_i, and the reciprocal is below 2^65: cut to 63 bits after the point.
            let product = u128::from(scaled) * (self.reciprocals[i] >> 2);
            fraction = fraction.wrapping_add((product >> (m.bits() - 2)) as u64);
        }
        let half = 1u64 << (63 - bits);
        fraction.wrapping_add(half) >> (64 - bits)
    }
}

/// The client's secret of one ring, overwritten when dropped.
pub(crate) struct SecretKey {
    pub(crate) basis: Basis,
    secret: Zeroizing<Poly<Eval>>,
    /// The fewest limbs that hold a product of an answer's mask and the secret.
    lift: Basis,
    lifted: Zeroizing<Poly<Eval>>,
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

/// Largest number of bits of an answer's words.
pub(crate) const ANSWER_BITS: u32 = 58;

impl SecretKey {
    /// Generates a fresh secret.
    pub(crate) fn generate(basis: &Basis, rng: &mut impl CryptoRng) -> Self {
        let n = basis.n();
        let secret = sample::ternary(n, rng);
        let needed = f64::from(ANSWER_BITS + n.ilog2() + 1);
        let limbs = (1..=basis.len()).find(|&limbs| basis.prefix(limbs).log2() > needed);
        let lift = basis.prefix(limbs.unwrap_or(basis.len()));
        let poly = |basis: &Basis| Zeroizing::new(Poly::from_signed(basis, &secret).into_eval());
        Self {
            basis: basis.clone(),
            secret: poly(basis),
            lifted: poly(&lift),
            lift,
        }
    }

    /// The secret of zeros, under which an encryption shows its noise.
    #[cfg(test)]
    pub(crate) fn zero(basis: &Basis) -> Self {
        let mut key = Self::generate(basis, &mut sample::SecretRng::from_os());
        *key.secret = Poly::zero(basis);
        *key.lifted = Poly::zero(&key.lift);
        key
    }

    /// The body of an encryption of `message` under the next mask.
    pub(crate) fn encrypt(
        &self,
        mut message: Poly<Coeff>,
        masks: &mut Masks,
        rng: &mut impl CryptoRng,
    ) -> Poly<Eval> {
        let error = Zeroizing::new(Poly::from_signed(
            &self.basis,
            &sample::gaussian(self.basis.n(), rng),
        ));
        message.add_assign(&error);
        let mut body = message.into_eval();
        let mask: Poly<Eval> = masks.draw(&self.basis);
        // The mask is public, so the product reveals the secret and must be erased.
        body.sub_assign(&Zeroizing::new(mask.mul(&self.secret)));
        body
    }

    /// Decrypts the messages of an answer. `bodies` belong to the coefficients `places`,
    /// `mask_words` to all coefficients; all words are modulo `2^bits`.
    pub(crate) fn decrypt(
        &self,
        mask_words: &[u64],
        bodies: &[u64],
        places: &[Coefficient],
        (bits, space): (u32, &Space),
    ) -> Vec<u64> {
        let shift = 64 - bits;
        let centred: Vec<i64> = mask_words
            .iter()
            .map(|&a| (a << shift) as i64 >> shift)
            .collect();
        let mut product = Poly::from_signed(&self.lift, &centred).into_eval();
        product.mul_assign(&self.lifted);
        let product = Zeroizing::new(product.into_coeff());
        let lift = Lift::new(&self.lift);
        let decode = |(place, &body): (&Coefficient, &u64)| {
            let phase = body.wrapping_add(lift.wrapped(|i| product.limb(i)[place.coefficient]));
            space.decode(phase, bits)
        };
        places.iter().zip(bodies).map(decode).collect()
    }
}

/// The lift of residues to the centred integer modulo 2^64, by Garner's mixed radix.
struct Lift {
    basis: Basis,
    /// For modulus `i`: the inverse of the product of the moduli before it.
    inverses: Vec<u64>,
    /// For modulus `i`: the product of the moduli before it. The last entry is the product of all
    /// moduli.
    products: Vec<u128>,
}

impl Lift {
    fn new(basis: &Basis) -> Self {
        let (mut products, mut inverses) = (vec![1u128], Vec::new());
        for m in basis.moduli() {
            let before = *products.last().expect("starts with 1");
            let inverse = m.inv(m.reduce_u128(before));
            inverses.push(inverse.expect("moduli are different primes"));
            products.push(before * u128::from(m.value()));
        }
        Self {
            basis: basis.clone(),
            inverses,
            products,
        }
    }

    fn wrapped(&self, residue: impl Fn(usize) -> u64) -> u64 {
        let mut value = 0u128;
        for (i, m) in self.basis.moduli().enumerate() {
            let digit = m.sub(residue(i), m.reduce_u128(value));
            value += self.products[i] * u128::from(m.mul(digit, self.inverses[i]));
        }
        let all = self.products[self.basis.len()];
        if value > all / 2 {
            value = value.wrapping_sub(all);
        }
        value as u64
    }
}

/// The client's public key: an encryption of zero, with which the server hides its work.
pub(crate) struct PublicKey {
    body: Poly<Eval>,
    mask: Poly<Eval>,
}

impl PublicKey {
    /// The bytes of a fresh public key of a secret: seed, then body.
    pub(crate) fn generate(secret: &SecretKey, rng: &mut impl CryptoRng) -> Vec<u8> {
        let mut masks = Masks::random(rng);
        let body = secret.encrypt(Poly::zero(&secret.basis), &mut masks, rng);
        let mut bytes = masks.seed().0.to_vec();
        write_body(&mut bytes, &body);
        bytes
    }

    /// Reads a public key, whose length the caller checks.
    pub(crate) fn read(basis: &Basis, bytes: &[u8]) -> Result<Self> {
        let (seed, body) = split_seed(bytes);
        Ok(Self {
            body: read_body(basis, body, "a public key")?,
            mask: sample::uniform_from_seed(basis, &seed, 0),
        })
    }

    /// The product of the key and a fresh ternary `u`: body and mask, to which the caller adds
    /// errors.
    pub(crate) fn times_ternary(&self, rng: &mut impl CryptoRng) -> [Zeroizing<Poly<Eval>>; 2] {
        let basis = self.body.basis();
        let u = Poly::from_signed(basis, &sample::ternary(basis.n(), rng)).into_eval();
        let u = Zeroizing::new(u);
        [&self.body, &self.mask].map(|part| Zeroizing::new(part.mul(&u)))
    }
}

/// Splits off the seed before the body of a key, or before the bodies of ciphertexts.
///
/// # Panics
/// If there are fewer than 32 bytes. The caller checks the length.
pub(crate) fn split_seed(bytes: &[u8]) -> (Seed, &[u8]) {
    let (seed, rest) = bytes.split_first_chunk().expect("length is checked");
    (Seed(*seed), rest)
}

/// Appends the residues of a body, packed limb by limb.
pub(crate) fn write_body(out: &mut Vec<u8>, body: &Poly<Eval>) {
    for (i, m) in body.basis().moduli().enumerate() {
        pack(out, body.limb(i).iter().copied(), m.bits());
    }
}

/// Reads a body. The caller checks the length. `what` is the body's name in errors.
pub(crate) fn read_body(basis: &Basis, bytes: &[u8], what: &'static str) -> Result<Poly<Eval>> {
    let (n, mut rest) = (basis.n(), bytes);
    let mut words = Vec::with_capacity(n * basis.len());
    for m in basis.moduli() {
        let (limb, after) = rest.split_at(packed_len(n, m.bits()));
        words.extend(unpack(limb, n, m.bits()));
        rest = after;
    }
    Poly::from_words(basis, words).map_err(|error| Error::message(what, error, "residues"))
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used, reason = "tests may panic")]
mod zeroised;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{ConvShape, Geometry};
    use crate::noise::Norms;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    #[test]
    fn candidates_are_secure_and_known() {
        for ring in RingSpec::candidates().unwrap() {
            ring.check().unwrap();
        }
        let weak = RingSpec {
            n: 1 << 11,
            moduli: RingSpec::candidates().unwrap()[0].moduli.clone(),
        };
        assert!(weak.check().is_err());
    }

    /// The modulus switch to a power of two agrees with the rational number that it rounds.
    #[test]
    fn switching_rounds_to_the_nearest() {
        let moduli = ring::ntt_primes_of_sizes(&[35, 35, 35], 4096).unwrap();
        let basis = Basis::new(4096, &moduli).unwrap();
        let (to, q) = (
            ToPower::new(&basis),
            moduli.iter().map(|&q| u128::from(q)).product::<u128>(),
        );
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        for _ in 0..2000 {
            let x = rng.random::<u128>() % q;
            let found = to.apply(|i| (x % u128::from(moduli[i])) as u64, 45);
            // x 2^45 / q as a fraction of 2^45: 22 bits at a time stay in 128 bits.
            let (high, rest) = ((x << 22) / q, (x << 22) % q);
            let low = (rest << 22) / q;
            let last = ((rest << 22) % q) << 1;
            let whole = (((high << 22) + low) << 1) + last / q;
            let rest = last % q;
            let expected = whole + u128::from(2 * rest >= q);
            assert_eq!(u128::from(found), expected % (1 << 45));
        }
    }

    #[test]
    fn fresh_ciphertexts_decrypt_through_the_switch() {
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        for ring in RingSpec::candidates().unwrap() {
            let basis = Basis::new(ring.n, &ring.moduli).unwrap();
            let secret = SecretKey::generate(&basis, &mut rng);
            let primes = ring::ntt_primes_of_sizes(&[37, 22], ring.n).unwrap();
            let primes = primes
                .iter()
                .map(|&t| Space::Prime(Modulus::new(t).unwrap()));
            for space in [2, 31, 40].map(Space::Power).into_iter().chain(primes) {
                let bits = space.bits() + 2 + ring.n.ilog2();
                let scaled = Scaled::new(&basis, space.clone());
                let t = match &space {
                    Space::Power(bits) => 1 << bits,
                    Space::Prime(t) => t.value(),
                };
                let messages: Vec<u64> = (0..ring.n).map(|_| rng.random_range(0..t)).collect();
                let mut masks = Masks::random(&mut rng);
                let message = scaled.encode(messages.iter().copied().enumerate());
                let body = secret.encrypt(message, &mut masks, &mut rng).into_coeff();
                let mask: Poly<Eval> = sample::uniform_from_seed(&basis, masks.seed(), 0);
                let (mask, to) = (mask.into_coeff(), ToPower::new(&basis));
                let switched = |poly: &Poly<Coeff>| -> Vec<u64> {
                    (0..ring.n)
                        .map(|k| to.apply(|i| poly.limb(i)[k], bits))
                        .collect()
                };
                let places: Vec<Coefficient> = (0..ring.n)
                    .map(|k| Coefficient {
                        coefficient: k,
                        value: k,
                    })
                    .collect();
                let found =
                    secret.decrypt(&switched(&mask), &switched(&body), &places, (bits, &space));
                assert_eq!(found, messages, "{space:?}");
            }
        }
    }

    #[test]
    fn noise_of_an_answer_has_the_deviation_of_its_block() {
        let mut rng = ChaCha20Rng::seed_from_u64(6);
        let ring = &RingSpec::candidates().unwrap()[0];
        let basis = Basis::new(ring.n, &ring.moduli).unwrap();
        let secret = SecretKey::generate(&basis, &mut rng);
        let shape = ConvShape::of_dense(64, 10);
        let weights: Vec<i64> = (0..640).map(|_| rng.random_range(-60..=60)).collect();
        let layout = Geometry::new(&shape, ring.n, 64).unwrap();
        let norms = Norms::of(layout.block_weights(&weights));
        let kernel = Poly::from_signed(&basis, &layout.kernel(&weights, 0, 0, 0)).into_eval();
        let mut squares = 0.0;
        let (runs, modulus) = (20, basis.moduli().next().unwrap());
        for _ in 0..runs {
            let mut masks = Masks::random(&mut rng);
            let zero = Poly::from_signed(&basis, &vec![0; ring.n]);
            let mut phase = secret.encrypt(zero, &mut masks, &mut rng);
            let mask: Poly<Eval> = sample::uniform_from_seed(&basis, masks.seed(), 0);
            phase.add_assign(&mask.mul(&secret.secret));
            let noise = phase.mul(&kernel).into_coeff();
            let centred = noise.limb(0).iter().map(|&c| modulus.center(c) as f64);
            squares += centred.map(|c| c * c).sum::<f64>();
        }
        let measured = (squares / (runs * ring.n) as f64).sqrt();
        // Without the encodings' roundings. All ten kernels count: one alone would give a third.
        let expected = norms.two * sample::SIGMA;
        assert!(
            (measured / expected - 1.0).abs() < 0.05,
            "{measured} {expected}"
        );
    }
}
