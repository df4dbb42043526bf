//! One layer in a packing: encrypted, computed, decrypted, and compared with the layer on integers.

use crate::error::Result;
use client::circuit_keys;
use exchange::circuit::Keys;
use packings::{Frame, Layer, Messages, Packed, Packing, tiles};
use program::circuit::Circuit;
use rand::{CryptoRng, Rng};
use ring::sample::Masks;
use rlwe::SecretKey;
use runtime::circuit::{Argument, Bfv, Runner, Scheme, needs};
use std::collections::BTreeMap;
use std::time::Instant;

/// What an encrypted run of a layer gave and took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trial {
    /// The decrypted results.
    pub results: Vec<i64>,
    /// Number of results that differ from the layer on integers: modulo `t` in exact arithmetic.
    pub wrong: usize,
    /// Seconds of the run, from ciphertexts to ciphertexts. A [`trial`] has run once before.
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
    let mut trial = encrypted(packed, x, expected.len(), true, rng)?;
    trial.wrong = wrong(packed.frame(), &trial.results, &expected);
    Ok(trial)
}

/// As [`trial`] for a whole layer, in parts that are no larger than `part`: a
/// [slice](packings::slice) of it, or the layer itself. Each part runs once, seconds are those of all parts, and
/// sizes those of the largest. So only one part needs memory at a time.
///
/// `hear` is called before each part with the number of parts that have run and that of all. If it returns
/// `false`, the trial ends, and the results that are missing count as wrong ones.
///
/// # Errors
/// Those of [`trial`], and of [`Packing::build`].
pub fn trial_in_parts(
    packing: &dyn Packing,
    frame: &Frame,
    (layer, part): (&Layer, &Layer),
    (x, weights): (&[i64], &[i64]),
    rng: &mut impl CryptoRng,
    mut hear: impl FnMut(usize, usize) -> bool,
) -> Result<Trial> {
    let expected = layer.apply(x, weights)?;
    let mut all = Trial {
        results: vec![0; expected.len()],
        ..Trial::default()
    };
    let tiles = tiles(layer, part);
    for (done, tile) in tiles.iter().enumerate() {
        if !hear(done, tiles.len()) {
            break;
        }
        let own = tile.weights(layer, weights);
        let packed = packing.build(&tile.layer, &own, frame)?;
        let values = tile.values(layer, x);
        let ran = encrypted(&packed, &values, tile.layer.outputs(), false, rng)?;
        tile.add_to(layer, &mut all.results, &ran.results);
        all.seconds += ran.seconds;
        all.encoding_seconds += ran.encoding_seconds;
        all.key_bytes = all.key_bytes.max(ran.key_bytes);
        all.weight_bytes = all.weight_bytes.max(ran.weight_bytes);
    }
    all.wrong = wrong(frame, &all.results, &expected);
    Ok(all)
}

/// Number of results that are not as expected.
fn wrong(frame: &Frame, found: &[i64], expected: &[i64]) -> usize {
    let same = |(&found, &expected): (&i64, &i64)| match frame {
        Frame::Exact(params) => params.t().from_i64(found) == params.t().from_i64(expected),
        Frame::Approximate(_) => found == expected,
    };
    let right = found.iter().zip(expected).filter(|&pair| same(pair));
    expected.len() - right.count()
}

/// Encrypts values, runs the circuit, and decrypts `count` results. If it is to be `warm`, it has run
/// once before it is timed.
fn encrypted(
    packed: &Packed,
    x: &[i64],
    count: usize,
    warm: bool,
    rng: &mut impl CryptoRng,
) -> Result<Trial> {
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
            let (trial, outputs) = run.measured(&BTreeMap::new(), warm)?;
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
            let (trial, outputs) = run.measured(&packed.plain, warm)?;
            let mut found = Messages::new();
            for (name, ct) in outputs {
                let message = ckks::decrypt(&secret, &ct)?;
                found.insert(name, message.decode(params, params.slots())?);
            }
            (trial, found)
        }
    };
    trial.results = packed.unpack(&found, count)?;
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
            encoding_seconds: start.elapsed().as_secs_f64(),
            key_bytes: keys.byte_len(),
            weight_bytes: runner.byte_len(),
            ..Trial::default()
        };
        Ok(Self {
            runner,
            keys,
            inputs: BTreeMap::new(),
            trial,
        })
    }

    /// Runs the circuit, and times the run. If it is to be `warm`, it runs once before: the first run takes its
    /// memory from the operating system, which a server does once. `plain` has the inputs that are
    /// not encrypted.
    fn measured(
        self,
        plain: &BTreeMap<String, Vec<S::Slot>>,
        warm: bool,
    ) -> Result<(Trial, BTreeMap<String, S::Ciphertext>)> {
        let encrypted = self.inputs.iter();
        let encrypted = encrypted.map(|(name, ct)| (name.as_str(), Argument::Ciphertext(ct)));
        let plain = plain
            .iter()
            .map(|(name, slots)| (name.as_str(), Argument::Plain(slots)));
        let arguments = encrypted.chain(plain).collect();
        if warm {
            drop(self.runner.run(&arguments, &self.keys)?);
        }
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
