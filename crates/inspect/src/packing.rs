//! One layer in a packing: encrypted, computed, decrypted, and compared with the layer on integers.

use crate::error::Result;
use ckks::Complex64;
use client::circuit_keys;
use evaluate::circuit::{Argument, Bfv, Runner, Scheme, needs};
use exchange::Needs;
use exchange::circuit::Keys;
use packings::{Frame, Layer, Messages, Packed, Packing, Tile, tiles};
use program::circuit::Type;
use rand::{CryptoRng, Rng};
use ring::sample::Masks;
use rlwe::SecretKey;
use std::collections::BTreeMap;
use std::time::Instant;

/// The results of an encrypted run of a layer, and the time and memory that it took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trial {
    /// The decrypted results.
    pub results: Vec<i64>,
    /// Number of results that differ from the layer on integers: modulo `t` in exact arithmetic.
    pub wrong: usize,
    /// Seconds of the run, from ciphertexts to ciphertexts. A [`trial`] has run once before.
    pub seconds: f64,
    /// Seconds in which the server encodes the weights. A server encodes them once, before all
    /// runs.
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

/// Values and weights of a layer, in its order.
#[derive(Clone, Copy, Debug)]
pub struct Numbers<'a> {
    /// The values of the input.
    pub x: &'a [i64],
    /// The weights.
    pub weights: &'a [i64],
}

/// Encrypts values, runs the circuit of a packed layer on them, and compares its results with the
/// layer on integers. In exact arithmetic the scheme is BFV. The run uses the threads of the
/// [pool](ring::in_pool) in which it is called.
///
/// # Errors
/// [`Error::Packings`](crate::Error::Packings) for values or weights that do not fit the layer, and
/// errors of the scheme and of the run.
pub fn trial(
    packed: &Packed,
    layer: &Layer,
    numbers: Numbers<'_>,
    rng: &mut impl CryptoRng,
) -> Result<Trial> {
    let Numbers { x, weights } = numbers;
    let expected = layer.apply(x, weights)?;
    let count = expected.len();
    let mut trial = match packed.frame() {
        Frame::Exact(params) => {
            Client::new(Bfv(params.clone()), rng).run(packed, x, count, true, rng)?
        }
        Frame::Approximate(params) => {
            Client::new(params.clone(), rng).run(packed, x, count, true, rng)?
        }
    };
    trial.wrong = wrong(packed.frame(), &trial.results, &expected);
    Ok(trial)
}

/// As [`trial`] for a whole `layer`, in parts that are no larger than `part`: a
/// [slice](packings::slice) of it, or the layer itself. Each part runs once, so only one part needs
/// memory at a time. The seconds are summed over all parts. The sizes are those of the largest
/// part.
///
/// `hear` is called before each part with the number of parts that have run and the number of all
/// parts. If `hear` returns `false`, the trial ends, and the missing results count as wrong.
///
/// # Errors
/// The errors of [`trial`] and of [`Packing::build`].
pub fn trial_in_parts(
    packing: &dyn Packing,
    frame: &Frame,
    layer: &Layer,
    part: &Layer,
    numbers: Numbers<'_>,
    rng: &mut impl CryptoRng,
    hear: impl FnMut(usize, usize) -> bool,
) -> Result<Trial> {
    let (tiles, whole) = (tiles(layer, part), (layer, numbers));
    match frame {
        Frame::Exact(params) => {
            let client = Client::new(Bfv(params.clone()), rng);
            in_parts(client, packing, frame, &tiles, whole, rng, hear)
        }
        Frame::Approximate(params) => {
            let client = Client::new(params.clone(), rng);
            in_parts(client, packing, frame, &tiles, whole, rng, hear)
        }
    }
}

fn in_parts<S: Encrypts>(
    mut client: Client<S>,
    packing: &dyn Packing,
    frame: &Frame,
    tiles: &[Tile],
    (layer, Numbers { x, weights }): (&Layer, Numbers<'_>),
    rng: &mut impl CryptoRng,
    mut hear: impl FnMut(usize, usize) -> bool,
) -> Result<Trial> {
    let expected = layer.apply(x, weights)?;
    let mut all = Trial {
        results: vec![0; expected.len()],
        ..Trial::default()
    };
    for (done, tile) in tiles.iter().enumerate() {
        if !hear(done, tiles.len()) {
            break;
        }
        let own = tile.weights(layer, weights);
        let packed = packing.build(&tile.layer, &own, frame)?;
        let values = tile.values(layer, x);
        let ran = client.run(&packed, &values, tile.layer.outputs(), false, rng)?;
        tile.add_to(layer, &mut all.results, &ran.results);
        all.seconds += ran.seconds;
        all.encoding_seconds += ran.encoding_seconds;
        all.key_bytes = all.key_bytes.max(ran.key_bytes);
        all.weight_bytes = all.weight_bytes.max(ran.weight_bytes);
    }
    if let Frame::Exact(params) = frame {
        let t = params.t();
        let results = all.results.iter_mut();
        results.for_each(|sum| *sum = t.center(t.from_i64(*sum)));
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

/// A scheme that encrypts and decrypts slots.
trait Encrypts: Scheme {
    /// The slots of a message, which packings hold as complex numbers.
    fn slots_of(slots: &[Complex64]) -> Vec<Self::Slot>;

    fn encrypt(
        &self,
        secret: &SecretKey,
        message: &Self::Plaintext,
        level: usize,
        rng: &mut impl CryptoRng,
    ) -> Result<Self::Ciphertext>;

    fn decrypt(&self, secret: &SecretKey, ct: &Self::Ciphertext) -> Result<Vec<Complex64>>;
}

impl Encrypts for Bfv {
    fn slots_of(slots: &[Complex64]) -> Vec<u64> {
        slots.iter().map(|slot| slot.re as u64).collect()
    }

    fn encrypt(
        &self,
        secret: &SecretKey,
        message: &Self::Plaintext,
        level: usize,
        rng: &mut impl CryptoRng,
    ) -> Result<Self::Ciphertext> {
        let masks = &mut Masks::random(rng);
        Ok(bfv::encrypt(&self.0, secret, message, level, masks, rng)?)
    }

    fn decrypt(&self, secret: &SecretKey, ct: &Self::Ciphertext) -> Result<Vec<Complex64>> {
        let message = bfv::decrypt(&self.0, secret, ct)?;
        let slots = self.0.encoder().slots_of(&message);
        Ok(slots.iter().map(|&slot| (slot as f64).into()).collect())
    }
}

impl Encrypts for ckks::Params {
    fn slots_of(slots: &[Complex64]) -> Vec<Complex64> {
        slots.to_vec()
    }

    /// The message has its level already.
    fn encrypt(
        &self,
        secret: &SecretKey,
        message: &Self::Plaintext,
        _: usize,
        rng: &mut impl CryptoRng,
    ) -> Result<Self::Ciphertext> {
        Ok(ckks::encrypt(
            secret,
            message,
            &mut Masks::random(rng),
            rng,
        )?)
    }

    fn decrypt(&self, secret: &SecretKey, ct: &Self::Ciphertext) -> Result<Vec<Complex64>> {
        Ok(ckks::decrypt(secret, ct)?.decode(self, self.slots())?)
    }
}

/// Whoever encrypts. Parts of a layer one after the other often read the same values with the same
/// keys, so those of the last part are kept.
struct Client<S: Encrypts> {
    scheme: S,
    secret: SecretKey,
    keys: Option<(Needs, Keys)>,
    /// By name: the slots, their type, and the ciphertext.
    sent: BTreeMap<String, (Vec<Complex64>, Type, S::Ciphertext)>,
}

impl<S: Encrypts> Client<S> {
    fn new(scheme: S, rng: &mut impl CryptoRng) -> Self {
        let secret = SecretKey::generate(scheme.rlwe(), rng);
        Self {
            scheme,
            secret,
            keys: None,
            sent: BTreeMap::new(),
        }
    }

    /// Encrypts values, runs the circuit, and decrypts `count` results. If it is to be `warm`, it
    /// has run once before it is timed: the first run takes its memory from the operating system,
    /// which a server does once.
    fn run(
        &mut self,
        packed: &Packed,
        x: &[i64],
        count: usize,
        warm: bool,
        rng: &mut impl CryptoRng,
    ) -> Result<Trial> {
        let circuit = &packed.circuit;
        let needs = needs(&self.scheme, &circuit.keys());
        let keys = match self.keys.take() {
            Some((same, keys)) if same == needs => keys,
            _ => circuit_keys(&self.secret, &needs, rng)?,
        };
        let start = Instant::now();
        let runner = Runner::new(&self.scheme, circuit)?;
        let encoding_seconds = start.elapsed().as_secs_f64();
        self.send(&runner, packed, x, rng)?;
        let encrypted = self.sent.iter();
        let encrypted =
            encrypted.map(|(name, (_, _, ct))| (name.as_str(), Argument::Ciphertext(ct)));
        let plain = packed.plain.iter();
        let plain: BTreeMap<_, _> = plain
            .map(|(name, slots)| (name, S::slots_of(slots)))
            .collect();
        let given = plain.iter();
        let given = given.map(|(name, slots)| (name.as_str(), Argument::Plain(slots)));
        let arguments = encrypted.chain(given).collect();
        if warm {
            drop(runner.run(&arguments, &keys)?);
        }
        let start = Instant::now();
        let outputs = runner.run(&arguments, &keys)?;
        let seconds = start.elapsed().as_secs_f64();
        let mut found = Messages::new();
        for (name, ct) in outputs {
            found.insert(name, self.scheme.decrypt(&self.secret, &ct)?);
        }
        let trial = Trial {
            results: packed.unpack(&found, count)?,
            seconds,
            encoding_seconds,
            key_bytes: keys.byte_len(),
            weight_bytes: runner.byte_len(),
            ..Trial::default()
        };
        self.keys = Some((needs, keys));
        Ok(trial)
    }

    /// Encrypts the inputs of a circuit that are not those of the last one.
    fn send(
        &mut self,
        runner: &Runner<'_, S>,
        packed: &Packed,
        x: &[i64],
        rng: &mut impl CryptoRng,
    ) -> Result<()> {
        let mut messages = packed.pack(x)?;
        let mut last = std::mem::take(&mut self.sent);
        for (name, ty) in packed.circuit.inputs().filter(|(_, ty)| ty.encrypted) {
            let slots = messages.remove(name).expect("every input has a place");
            let ct = match last.remove(name) {
                Some((same, of, ct)) if same == slots && of == ty => ct,
                _ => {
                    let message = runner.encode(name, &S::slots_of(&slots))?;
                    self.scheme.encrypt(&self.secret, &message, ty.level, rng)?
                }
            };
            self.sent.insert(name.to_owned(), (slots, ty, ct));
        }
        Ok(())
    }
}
