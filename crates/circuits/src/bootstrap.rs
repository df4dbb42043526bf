//! Bootstrapping of one BGV message per ciphertext ("unpacked"), by digit extraction.
//!
//! The message `m` is an integer modulo `p = 3`, the constant coefficient. With `T = p^d`:
//! 1. the ciphertext, at the last modulus `q_0`, is rounded to components modulo `T`. Their phase
//!    is `z = p^(d-1) m + e` with a small rounding error `e`, if read from the high end (`exact`);
//! 2. `c_0 + c_1 s` is computed under encryption. For this, `s` is encrypted with the plaintext
//!    modulus `T`;
//! 3. a sum over all automorphisms gives the constant coefficient times `N`, which is a unit modulo
//!    `T`;
//! 4. digits of `z` are extracted from the lowest up and subtracted, until `m` is left. If `x` is a
//!    digit in `{-1, 0, 1}` modulo `p^k`, then `x^3` is that digit modulo `p^(k+1)`. A difference
//!    that is divisible by `p` modulo `p^k` is divided by reading its ciphertext with the plaintext
//!    modulus `p^(k-1)`: no component changes.
//!
//! This takes `d (d-1) / 2` cubes, of which `2 (d-1)` products come one after the other. Moduli
//! `q_i = 1 mod T` keep the factor of every ciphertext at 1, so that sums need no scalars.
//!
//! Source: Alperin-Sheriff, Peikert, "Practical bootstrapping in quasilinear time", CRYPTO 2013
//! (rounding in a larger plaintext modulus, sums over automorphisms); Halevi, Shoup, "Bootstrapping
//! for HElib", EUROCRYPT 2015, section 5 (the triangle of digits). F1 (MICRO 2021) measures this
//! program with `p = 2`; the kernels' moduli are odd, and 3 is the least odd prime.

use crate::engine::{DryValue, EncryptedValue, Engine, Value, ValueOf};
use crate::error::Result;
use crate::operations::{Dry, Operations, Plain, Record, Recorder, Words, parameters};
use crate::pack::sum_copies;
use crate::passes::Encoding;
use crate::residual::Squares;
use bgv::noise::Noise;
use bgv::{Ciphertext, Params, short_ratio};
use exchange::{EvaluationKeys, Layout, Needs};
use program::KeyNeeds;
use program::recording::Recording;
use rand::CryptoRng;
use ring::Basis;
use ring::sample::Masks;
use rlwe::{GaloisKeys, SecretKey};
use zeroize::Zeroizing;

/// Plaintext modulus of messages.
pub const P: u64 = 3;
/// Standard deviations of the rounding error at which a message becomes wrong: a probability of
/// `2^-49`.
const DEVIATIONS: f64 = 8.0;
const NAME: &str = "bootstrapping";

/// Parameters of a bootstrapping. They have one plaintext modulus for each digit that is still to
/// be removed.
#[derive(Clone, Debug)]
pub struct Bootstrap {
    /// Parameters with the plaintext moduli `p^d, .., p`.
    rows: Vec<Params>,
}

/// The keys that a server needs for bootstrapping.
pub struct BootstrapKeys {
    evaluation: EvaluationKeys,
    /// The secret, with plaintext modulus `p^d`.
    secret: EncryptedValue,
}

impl BootstrapKeys {
    /// Keys of products and automorphisms.
    pub fn evaluation(&self) -> &EvaluationKeys {
        &self.evaluation
    }

    /// The secret, encrypted.
    pub fn secret(&self) -> &bfv::Ciphertext {
        self.secret.ciphertext()
    }

    /// Size in memory, in bytes.
    pub fn byte_len(&self) -> usize {
        self.evaluation.byte_len() + self.secret.ciphertext().byte_len()
    }
}

impl Bootstrap {
    /// Number of digits `d` that ring degree `n` needs. The rounding error has a variance of
    /// `(1 + |s|^2) / 12`, where the secret is uniform ternary.
    pub fn digits(n: usize) -> u32 {
        let sigma = ((1.0 + 2.0 * n as f64 / 3.0) / 12.0).sqrt();
        let enough = |&d: &u32| (P as f64).powi(d as i32 - 1) / 2.0 >= DEVIATIONS * sigma;
        (2..).find(enough).expect("powers grow")
    }

    /// The `count` largest primes of `bits` bits that are 1 modulo `2N` and modulo `p^k`, for the
    /// largest `k` up to `d` with which there are as many.
    ///
    /// # Errors
    /// [`ring::Error::TooFewPrimes`] if there are not that many.
    pub fn moduli(n: usize, bits: u32, count: usize) -> Result<Vec<u64>> {
        let mut found = Vec::new();
        for k in (0..=Self::digits(n)).rev() {
            let step = 2 * n as u64 * P.pow(k);
            let highest = ((1u64 << bits) - 1) / step;
            found = (1..=highest)
                .rev()
                .map(|k| k * step + 1)
                .take_while(|q| q >> (bits - 1) == 1)
                .filter(|&q| Basis::new(n, &[q]).is_ok())
                .take(count)
                .collect();
            if found.len() == count {
                return Ok(found);
            }
        }
        let (found, wanted) = (found.len(), count);
        let few = ring::Error::TooFewPrimes {
            bits,
            n,
            found,
            wanted,
        };
        Err(rlwe::Error::from(few).into())
    }

    /// Makes the bootstrapping over a chain of [`Bootstrap::moduli`].
    ///
    /// # Errors
    /// The errors of [`Params::coefficients_only`].
    pub fn new(rlwe: &rlwe::Params) -> Result<Self> {
        let digits = Self::digits(rlwe.n());
        let rows = (1..=digits).rev();
        let rows = rows.map(|k| Params::coefficients_only(rlwe, P.pow(k)));
        Ok(Self {
            rows: rows.collect::<std::result::Result<_, _>>()?,
        })
    }

    /// Parameters of the messages, with plaintext modulus `p`.
    pub fn params(&self) -> &Params {
        self.rows.last().expect("there are digits")
    }

    /// Level and factor of a fresh ciphertext of the secret, whose BGV factor is 1.
    fn fresh(&self) -> (usize, u64) {
        let whole = &self.rows[0];
        let (top, t) = (whole.rlwe().max_level(), whole.t());
        let q = t.inv(whole.q_mod_t(top));
        (top, t.neg(q.expect("the moduli are units")))
    }

    /// Levels and keys of a run, and the noise it leaves.
    fn dry(&self) -> Result<(DryValue, Needs)> {
        let engines: Vec<Engine<Dry>> = self.rows.iter().map(Engine::dry).collect();
        let (top, own) = self.fresh();
        let secret = Value::new((), top, own, engines[0].model().fresh());
        let output = self.run(&engines, &secret, (&(), 1))?;
        let needs = engines.iter().map(Engine::needs);
        let level = needs.filter_map(|needs| needs.relinearization()).max();
        let galois = engines[0].needs();
        let galois: Vec<(usize, usize)> = galois
            .galois_elements()
            .iter()
            .map(|(&element, &level)| (element, level))
            .collect();
        Ok((output, Needs::new(level, &galois, &[])))
    }

    /// Predicts level and noise of the result of [`Bootstrap::refresh`].
    ///
    /// # Errors
    /// [`Error::OutOfLevels`](crate::Error::OutOfLevels) if the chain is too short.
    pub fn predict(&self) -> Result<(usize, Noise)> {
        let (output, _) = self.dry()?;
        Ok((output.level(), output.noise()))
    }

    /// Generates the keys of a bootstrapping. The secret is encrypted under itself.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`](crate::Error::OutOfLevels) if the chain is too short, and errors of
    /// the scheme if the secret belongs to other parameters.
    pub fn keys(&self, secret: &SecretKey, rng: &mut impl CryptoRng) -> Result<BootstrapKeys> {
        let (_, needs) = self.dry()?;
        let params = &self.rows[0];
        let level = params.rlwe().max_level();
        let message = Zeroizing::new(params.encoder().coefficients(secret.coefficients()));
        let mut masks = Masks::random(rng);
        let ct = bgv::encrypt(params, secret, &message, level, &mut masks, rng)?;
        let mut galois = GaloisKeys::new();
        for (&element, &level) in needs.galois_elements() {
            galois.insert(element, secret.galois_key(element, level, rng));
        }
        let relinearization = needs.relinearization();
        let relinearization = relinearization.map(|level| secret.relinearization_key(level, rng));
        let none = Default::default();
        Ok(BootstrapKeys {
            evaluation: EvaluationKeys::from_parts(relinearization, galois, none, None),
            secret: Value::encrypted(ct.into_exact(), Engine::dry(params).model().fresh()),
        })
    }

    /// Encrypts the constant coefficient of a message anew, as a constant polynomial at a higher
    /// level, with fresh noise.
    ///
    /// The input may be at any level. Its residual at level 0 must be small compared with
    /// `q_0 / p^d`. This holds for every ciphertext that was just switched to level 0. The result
    /// is correct with a probability of `1 - 2^-49` over its roundings.
    ///
    /// # Errors
    /// [`bgv::Error::OtherParameters`] if the ciphertext does not belong to [`Bootstrap::params`].
    pub fn refresh(&self, ct: &Ciphertext, keys: &BootstrapKeys) -> Result<Ciphertext> {
        let mut low = ct.clone();
        bgv::Evaluator::new(self.params()).switch_to(&mut low, 0)?;
        let engines = self.rows.iter();
        let engines: Vec<_> = engines
            .map(|params| Engine::new(params, &keys.evaluation))
            .collect();
        let low = low.exact();
        let output = self.run(&engines, &keys.secret, (low, low.factor()))?;
        let ct = output.into_ciphertext();
        Ok(Ciphertext::from_exact(self.params(), ct)?)
    }

    /// Records the operations of a bootstrapping, in order. The input `low` is a ciphertext at
    /// level 0 whose message has the factor `factor`. The input `secret` is the secret encrypted by
    /// [`Bootstrap::keys`]. The result is `high`.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`](crate::Error::OutOfLevels) if the chain is too short.
    pub fn record(&self, factor: u64) -> Result<Recording> {
        let (_, needs) = self.dry()?;
        let keys = KeyNeeds {
            relinearization: needs.relinearization(),
            galois: needs.galois_elements().clone().into_iter().collect(),
            packing: Vec::new(),
        };
        let rlwe = self.params().rlwe();
        let t = self.rows.iter().map(|row| row.t().value());
        let recorder = Recorder::new(parameters(rlwe, t.collect()));
        let engine = |params| Engine::of(params, Record::new(&recorder, params, &keys));
        let engines: Vec<_> = self.rows.iter().map(engine).collect();
        let (whole, last) = (&engines[0], &engines[engines.len() - 1]);
        let low = last.operations().given("low", (0, factor));
        let (top, own) = self.fresh();
        let secret = whole.operations().given("secret", (top, own));
        let secret = Value::new(secret, top, own, whole.model().fresh());
        let high = self.run(&engines, &secret, (&low, factor))?;
        recorder.output("high", high.ciphertext());
        drop(engines);
        Ok(recorder.finish(&keys))
    }

    /// `1 / (N mu)` modulo `p^d`. The factor `mu = -1` or `1` modulo `p` is lifted to the same
    /// number.
    fn unit(&self, mu: u64) -> u64 {
        let t = self.rows[0].t();
        let mu = t.from_i64(self.params().t().center(mu));
        let n = t.reduce(self.params().n() as u64);
        t.inv(t.mul(mu, n)).expect("N and the factor are units")
    }

    /// Steps 1 to 4. `low` is at level 0, with its factor.
    fn run<O: Operations>(
        &self,
        engines: &[Engine<O>],
        secret: &ValueOf<O>,
        (low, factor): (&O::Ciphertext, u64),
    ) -> Result<ValueOf<O>> {
        let (whole, n) = (&engines[0], self.params().n());
        let unit = self.unit(factor);
        let part = |i: usize| whole.operations().rounded(low, i, unit);
        let parts = [part(0)?, part(1)?];
        let squares = Squares::uniform(whole.model(), n as f64, n);
        let mut z =
            whole.mul_plain_sum(&[secret], squares, secret.factor(), |_| parts[1].clone())?;
        whole.add_plain_assign(&mut z, Encoding::Coefficients, || parts[0].clone());
        let z = whole.settle(NAME, z)?;
        let z = sum_copies(whole, Layout::new(n, 1)?, n, z)?;
        let z = whole.settle(NAME, z)?;

        // After round `i`, digit `j` is correct modulo `p^(i-j+1)`.
        let mut digits: Vec<ValueOf<O>> = Vec::new();
        for _ in engines {
            let mut rest = z.clone();
            for (j, digit) in digits.iter_mut().enumerate() {
                *digit = cube(&engines[j], digit)?;
                rest = without([&engines[j], &engines[j + 1]], rest, digit)?;
            }
            digits.push(rest);
        }
        Ok(digits.pop().expect("there are digits"))
    }
}

/// `(rest - digit) / p`, from one plaintext modulus to the next smaller one.
fn without<O: Operations>(
    [engine, next]: [&Engine<O>; 2],
    rest: ValueOf<O>,
    digit: &ValueOf<O>,
) -> Result<ValueOf<O>> {
    let level = rest.level().min(digit.level());
    let rest = engine.drop_to(rest, level)?;
    let digit = engine.drop_to(digit.clone(), level)?;
    let [mut rest, digit] = alike(engine, [rest, digit])?;
    engine.sub_assign(&mut rest, &digit)?;
    let noise = rest.noise().divided((P as f64).log2());
    let factor = next.params().t().reduce(rest.factor());
    let ct = next.operations().reread(rest.into_ciphertext(), factor);
    Ok(Value::new(ct, level, factor, noise))
}

/// Two values at one level with one factor.
fn alike<O: Operations>(engine: &Engine<O>, [a, b]: [ValueOf<O>; 2]) -> Result<[ValueOf<O>; 2]> {
    if a.factor() == b.factor() {
        return Ok([a, b]);
    }
    let (t, n) = (engine.params().t(), engine.params().n());
    let inverse = t.inv(a.factor()).expect("factors are units");
    // `x a = y b` modulo t, a power of `p`; a multiple of `p` would lose the message.
    let x = match short_ratio(t, t.mul(b.factor(), inverse)) {
        [x, _] if x % P as i64 == 0 => 1,
        [x, _] => x,
    };
    let factor = t.mul(t.from_i64(x), a.factor());
    let times = |value: &ValueOf<O>| {
        let inverse = t.inv(value.factor()).expect("factors are units");
        let integer = t.center(t.mul(factor, inverse));
        let squares = Squares::of([integer].into_iter(), n);
        let one = |_| Plain::Coefficients(Words::Sparse(vec![(0, 1)]));
        engine.mul_plain_sum(&[value], squares, factor, one)
    };
    Ok([times(&a)?, times(&b)?])
}

fn cube<O: Operations>(engine: &Engine<O>, x: &ValueOf<O>) -> Result<ValueOf<O>> {
    let square = engine.mul(NAME, x, x)?;
    engine.mul(NAME, &square, x)
}
