//! One layer in a packing: encrypted, computed, decrypted, and compared with the layer on integers.

use crate::error::Result;
use client::circuit_keys;
use exchange::circuit::Keys;
use packings::{Frame, Layer, Messages, Packed};
use program::circuit::Circuit;
use rand::{CryptoRng, Rng};
use ring::sample::Masks;
use rlwe::SecretKey;
use runtime::circuit::{Argument, Bfv, Runner, Scheme, needs};
use std::collections::BTreeMap;
use std::time::Instant;

/// What an encrypted run of a layer gave and took.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The decrypted results.
    pub results: Vec<i64>,
    /// Number of results that differ from the layer on integers: modulo `t` in exact arithmetic.
    pub wrong: usize,
    /// Seconds of the run, from ciphertexts to ciphertexts, when it has run once before.
    pub seconds: f64,
    /// Seconds in which the server encodes weights. It does so once.
    pub encoding_seconds: f64,
    /// Size of the evaluation keys in the server's memory, in bytes.
    pub key_bytes: usize,
    /// Size of the encoded weights in the server's memory, in bytes.
    pub weight_bytes: usize,
}

/// Integers from `-most` to `most`, uniformly: values or weights for a trial.
pub fn random_numbers(count: usize, most: i64, rng: &mut impl Rng) -> Vec<i64> {
    (0..count).map(|_| rng.random_range(-most..=most)).collect()
}

/// Encrypts values, runs the circuit of a packed layer on them, and compares its results with the
/// layer on integers. In exact arithmetic the scheme is BFV. It uses the threads of the
/// [pool](ring::in_pool) in which it is called.
///
/// # Errors
/// [`Error::Packings`](crate::Error::Packings) for values or weights that do not fit the layer, and
/// errors of the scheme and of the run.
pub fn trial(
    packed: &Packed,
    layer: &Layer,
    (x, weights): (&[i64], &[i64]),
    rng: &mut impl CryptoRng,
) -> Result<Trial> {
    let expected = layer.apply(x, weights)?;
    let messages = packed.pack(x)?;
    let (frame, masks) = (packed.frame(), &mut Masks::random(rng));
    let (mut trial, found) = match frame {
        Frame::Exact(params) => {
            let secret = SecretKey::generate(params.rlwe(), rng);
            let scheme = Bfv(params.clone());
            let words = |slots: &[ckks::Complex64]| slots.iter().map(|v| v.re as u64).collect();
            let mut run = Run::new(&scheme, &packed.circuit, &secret, rng)?;
            for (name, ty) in packed.circuit.inputs() {
                let slots: Vec<u64> = words(&messages[name]);
                let message = run.runner.encode(name, &slots)?;
                let ct = bfv::encrypt(params, &secret, &message, ty.level, masks, rng)?;
                run.inputs.insert(name.to_owned(), ct);
            }
            let (trial, outputs) = run.measured(&BTreeMap::new())?;
            let mut found = Messages::new();
            for (name, ct) in outputs {
                let message = bfv::decrypt(params, &secret, &ct)?;
                let slots = params.encoder().slots_of(&message);
                found.insert(name, slots.iter().map(|&v| (v as f64).into()).collect());
            }
            (trial, found)
        }
        Frame::Approximate(params) => {
            let secret = SecretKey::generate(params.rlwe(), rng);
            let mut run = Run::new(params, &packed.circuit, &secret, rng)?;
            for (name, _) in packed.circuit.inputs().filter(|(_, ty)| ty.encrypted) {
                let message = run.runner.encode(name, &messages[name])?;
                let ct = ckks::encrypt(&secret, &message, masks, rng)?;
                run.inputs.insert(name.to_owned(), ct);
            }
            let (trial, outputs) = run.measured(&packed.plain)?;
            let mut found = Messages::new();
            for (name, ct) in outputs {
                let message = ckks::decrypt(&secret, &ct)?;
                found.insert(name, message.decode(params, params.slots())?);
            }
            (trial, found)
        }
    };
    trial.results = packed.unpack(&found, expected.len())?;
    let same = |(&found, &expected): (&i64, &i64)| match frame {
        Frame::Exact(params) => params.t().from_i64(found) == params.t().from_i64(expected),
        Frame::Approximate(_) => found == expected,
    };
    let right = trial
        .results
        .iter()
        .zip(&expected)
        .filter(|&pair| same(pair));
    trial.wrong = expected.len() - right.count();
    Ok(trial)
}

/// A circuit with its keys and encrypted inputs.
struct Run<'c, S: Scheme> {
    runner: Runner<'c, S>,
    keys: Keys,
    inputs: BTreeMap<String, S::Ciphertext>,
    trial: Trial,
}

impl<'c, S: Scheme> Run<'c, S> {
    fn new(
        scheme: &S,
        circuit: &'c Circuit,
        secret: &SecretKey,
        rng: &mut impl CryptoRng,
    ) -> Result<Self> {
        let keys = circuit_keys(secret, &needs(scheme, &circuit.keys()), rng)?;
        let start = Instant::now();
        let runner = Runner::new(scheme, circuit)?;
        let trial = Trial {
            results: Vec::new(),
            wrong: 0,
            seconds: 0.0,
            encoding_seconds: start.elapsed().as_secs_f64(),
            key_bytes: keys.byte_len(),
            weight_bytes: runner.byte_len(),
        };
        Ok(Self {
            runner,
            keys,
            inputs: BTreeMap::new(),
            trial,
        })
    }

    /// Runs the circuit twice and times the second run. `plain` has the inputs that are not encrypted.
    fn measured(
        self,
        plain: &BTreeMap<String, Vec<S::Slot>>,
    ) -> Result<(Trial, BTreeMap<String, S::Ciphertext>)> {
        let encrypted = self.inputs.iter();
        let encrypted = encrypted.map(|(name, ct)| (name.as_str(), Argument::Ciphertext(ct)));
        let plain = plain
            .iter()
            .map(|(name, slots)| (name.as_str(), Argument::Plain(slots)));
        let arguments = encrypted.chain(plain).collect();
        // The first run takes its memory from the operating system, which a server does once.
        drop(self.runner.run(&arguments, &self.keys)?);
        let start = Instant::now();
        let outputs = self.runner.run(&arguments, &self.keys)?;
        let seconds = start.elapsed().as_secs_f64();
        Ok((
            Trial {
                seconds,
                ..self.trial
            },
            outputs,
        ))
    }
}
