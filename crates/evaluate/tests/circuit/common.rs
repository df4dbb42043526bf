//! Parameters, inputs, and the comparison of an encrypted run with the clear run and with its
//! prediction.

use ckks::{Ciphertext, Complex64, Params, ParamsSpec, decrypt, encrypt};
use client::circuit_keys;
use exchange::circuit::Keys;
use palladion_evaluate::circuit::{
    Argument, Runner, Scheme, Slots, arithmetic, needs, predict, run_clear,
};
use program::circuit::{Circuit, CircuitBuilder, Type};
use program::recording::Recording;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::ntt_primes;
use ring::sample::Masks;
use rlwe::SecretKey;
use std::collections::BTreeMap;
use trace::Trace;

pub(crate) const BITS: u32 = 36;

/// Parameters with `count` levels of one limb above a first modulus of 49 bits.
pub(crate) fn insecure_params(log_n: u32, count: usize) -> Params {
    let n = 1 << log_n;
    let first = ntt_primes(49, n, 3).unwrap();
    let mut levels = vec![vec![first[0]]];
    levels.extend(
        ntt_primes(BITS, n, count)
            .unwrap()
            .into_iter()
            .map(|q| vec![q]),
    );
    Params::new_insecure(&ParamsSpec {
        n,
        levels,
        special: first[1..].to_vec(),
        digit_limbs: 2,
        log_scale: f64::from(BITS),
    })
    .unwrap()
}

pub(crate) fn builder(params: &Params) -> CircuitBuilder {
    CircuitBuilder::new("test", arithmetic(params), params.slots()).unwrap()
}

/// The type of a fresh ciphertext at the top.
pub(crate) fn fresh(params: &Params) -> Type {
    Type {
        encrypted: true,
        level: params.max_level(),
        scale: params.scale(),
    }
}

/// Complex numbers with parts uniform in [-1, 1].
pub(crate) fn message(slots: usize, rng: &mut impl Rng) -> Vec<Complex64> {
    let mut part = || rng.random_range(-1.0..1.0);
    (0..slots).map(|_| Complex64::new(part(), part())).collect()
}

/// A message for every input.
pub(crate) fn messages(circuit: &Circuit, rng: &mut impl Rng) -> Slots {
    let names = circuit.inputs().map(|(name, _)| name.to_owned());
    names
        .map(|name| (name, message(circuit.slots, rng)))
        .collect()
}

/// A client with its secret.
pub(crate) struct Setup {
    pub(crate) params: Params,
    pub(crate) secret: SecretKey,
    pub(crate) rng: ChaCha20Rng,
    masks: Masks,
}

impl Setup {
    pub(crate) fn new(params: Params, seed: u64) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let secret = SecretKey::generate(params.rlwe(), &mut rng);
        Self {
            params,
            secret,
            masks: Masks::random(&mut rng),
            rng,
        }
    }

    pub(crate) fn keys(&mut self, circuit: &Circuit) -> Keys {
        let needs = needs(&self.params, &circuit.keys());
        circuit_keys(&self.secret, &needs, &mut self.rng).unwrap()
    }

    /// Encrypts the inputs.
    pub(crate) fn encrypt(
        &mut self,
        runner: &Runner,
        circuit: &Circuit,
        inputs: &Slots,
    ) -> BTreeMap<String, Ciphertext> {
        let mut out = BTreeMap::new();
        for (name, _) in circuit.inputs().filter(|(_, ty)| ty.encrypted) {
            let message = runner.encode(name, &inputs[name]).unwrap();
            let masks = &mut self.masks;
            let ct = encrypt(&self.secret, &message, masks, &mut self.rng).unwrap();
            out.insert(name.to_owned(), ct);
        }
        out
    }

    /// Runs the circuit encrypted.
    pub(crate) fn run(&mut self, circuit: &Circuit, inputs: &Slots) -> Slots {
        let runner = Runner::new(&self.params, circuit).unwrap();
        let encrypted = self.encrypt(&runner, circuit, inputs);
        let keys = self.keys(circuit);
        let given = arguments(circuit, &encrypted, inputs);
        let outputs = runner.run(&given, &keys).unwrap();
        replays(&runner, circuit, (&given, &keys), &outputs);
        // Errors count in all slots of a ciphertext, even if a circuit has fewer.
        let decode = |ct: &Ciphertext| {
            let message = decrypt(&self.secret, ct).unwrap();
            let mut slots = message.decode(&self.params, self.params.slots()).unwrap();
            slots.truncate(circuit.slots);
            slots
        };
        let types: BTreeMap<_, _> = circuit.outputs().collect();
        for (name, ct) in &outputs {
            let ty = types[name.as_str()];
            assert_eq!(self.params.level_of(ct.rlwe()).unwrap(), ty.level);
            assert!((ct.scale() / ty.scale - 1.0).abs() < 1e-12);
        }
        outputs
            .iter()
            .map(|(name, ct)| (name.clone(), decode(ct)))
            .collect()
    }

    /// Compares an encrypted run with the clear run, and the difference with its prediction, from
    /// both sides, in bits.
    ///
    /// The tolerance may depend on the effective number of slots: for errors of mean squares `v`,
    /// this is `(sum v)^2 / sum v^2`.
    pub(crate) fn check(&mut self, what: &str, circuit: &Circuit, tolerance: impl Fn(f64) -> f64) {
        let inputs = messages(circuit, &mut self.rng);
        let clear = run_clear(circuit, &inputs).unwrap();
        let predicted = predict(&self.params, circuit, &inputs).unwrap();
        for (name, found) in self.run(circuit, &inputs) {
            let errors = found
                .iter()
                .zip(&clear[&name])
                .map(|(a, b)| (a - b).norm_sqr());
            let measured = -(errors.sum::<f64>() / found.len() as f64).log2() / 2.0;
            assert_eq!(predicted[&name].slots, clear[&name]);
            let expected = &predicted[&name].errors;
            let squares: f64 = expected.iter().map(|v| v * v).sum();
            let tolerance = tolerance(expected.iter().sum::<f64>().powi(2) / squares);
            let predicted = predicted[&name].noise(circuit.slots).precision();
            println!("{what}, {name}: {measured:.2} bits, predicted {predicted:.2}");
            assert!(
                (measured - predicted).abs() < tolerance,
                "{what}, {name}: {measured:.2} bits, predicted {predicted:.2}\n{circuit}"
            );
        }
    }
}

/// Ciphertexts, and slots for inputs that are not encrypted.
pub(crate) fn arguments<'a>(
    circuit: &'a Circuit,
    encrypted: &'a BTreeMap<String, Ciphertext>,
    inputs: &'a Slots,
) -> BTreeMap<&'a str, Argument<'a>> {
    let argument = |name: &'a str| match encrypted.get(name) {
        Some(ct) => (name, Argument::Ciphertext(ct)),
        None => (name, Argument::Plain(&inputs[name])),
    };
    circuit.inputs().map(|(name, _)| argument(name)).collect()
}

/// Checks that a circuit's recording and its trace are read back as they were written, and that the
/// trace gives exactly the ciphertexts of a run.
pub(crate) fn replays<S: Scheme>(
    runner: &Runner<S>,
    circuit: &Circuit,
    (given, keys): (&BTreeMap<&str, Argument<S>>, &Keys),
    outputs: &BTreeMap<String, S::Ciphertext>,
) {
    let mut plain = BTreeMap::new();
    for (&name, argument) in given {
        if let Argument::Plain(slots) = argument {
            plain.insert(name, *slots);
        }
    }
    let recording = runner.record(&plain).unwrap();
    assert_eq!(Recording::parse(&recording.to_string()).unwrap(), recording);
    let trace = runner.lower(&plain).unwrap();
    assert_eq!(Trace::parse(&trace.to_string()).unwrap(), trace);
    let (replayed, counts) = runner.replay(&trace, given, keys, |_| true).unwrap();
    assert!(&replayed == outputs, "the replay differs\n{circuit}");
    assert_eq!(counts, trace.counts());
}

/// The message of an error.
pub(crate) fn said<T>(found: palladion_evaluate::Result<T>) -> String {
    match found {
        Ok(_) => "nothing".into(),
        Err(error) => error.to_string(),
    }
}
