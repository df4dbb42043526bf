//! Circuits of BGV and BFV: parameters, inputs, and the comparison of an encrypted run with the
//! clear run and with its predicted noise.

use crate::common::replays;
use bgv::{Ciphertext, Params, Plaintext};
use client::circuit_keys;
use exchange::circuit::Keys;
use palladion_evaluate::circuit::{
    Argument, Bfv, ExactScheme, Runner, Slots, arithmetic, needs, predict_noise, run_clear,
};
use program::circuit::{Circuit, CircuitBuilder, Type};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::sample::Masks;
use ring::{ntt_primes, ntt_primes_avoiding};
use rlwe::{ParamsSpec, SecretKey};
use std::collections::BTreeMap;

pub(crate) const T: u64 = bgv::T_FERMAT;

/// Parameters with `levels` levels of 45 bits above a first modulus of 50 bits.
pub(crate) fn insecure_params(log_n: u32, levels: usize) -> Params {
    let n = 1 << log_n;
    let mut q = ntt_primes(50, n, 1).unwrap();
    q.extend(ntt_primes(45, n, levels).unwrap());
    let p = ntt_primes_avoiding(49, n, 2, &q).unwrap();
    let digit_limbs = 2;
    let spec = ParamsSpec {
        n,
        q,
        p,
        digit_limbs,
    };
    Params::new_insecure(&spec, T).unwrap()
}

pub(crate) fn builder(params: &Params) -> CircuitBuilder {
    CircuitBuilder::new("test", arithmetic(params), params.n()).unwrap()
}

/// The type of a ciphertext or plaintext at a level.
pub(crate) fn of_level(level: usize, encrypted: bool) -> Type {
    let scale = 1.0;
    Type {
        encrypted,
        level,
        scale,
    }
}

/// The type of a fresh ciphertext at the top.
pub(crate) fn fresh(params: &Params) -> Type {
    of_level(params.rlwe().max_level(), true)
}

/// A scheme whose messages these tests encrypt.
pub(crate) trait Encrypts: ExactScheme {
    fn encrypt(&self, setup: &mut Setup, message: &Plaintext, level: usize) -> Self::Read;
}

impl Encrypts for Params {
    fn encrypt(&self, setup: &mut Setup, message: &Plaintext, level: usize) -> bgv::Ciphertext {
        let (masks, rng) = (&mut setup.masks, &mut setup.rng);
        bgv::encrypt(self, &setup.secret, message, level, masks, rng).unwrap()
    }
}

impl Encrypts for Bfv {
    fn encrypt(&self, setup: &mut Setup, message: &Plaintext, level: usize) -> bfv::Ciphertext {
        let (masks, rng) = (&mut setup.masks, &mut setup.rng);
        bfv::encrypt(&self.0, &setup.secret, message, level, masks, rng).unwrap()
    }
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

    /// Uniform residues for every input.
    pub(crate) fn messages(&mut self, circuit: &Circuit) -> Slots<u64> {
        let names = circuit.inputs().map(|(name, _)| name.to_owned());
        let mut slots = || {
            (0..circuit.slots)
                .map(|_| self.rng.random_range(0..T))
                .collect()
        };
        names.map(|name| (name, slots())).collect()
    }

    pub(crate) fn keys(&mut self, circuit: &Circuit) -> Keys {
        let needs = needs(&self.params, &circuit.keys());
        circuit_keys(&self.secret, &needs, &mut self.rng).unwrap()
    }

    /// Encrypts the inputs.
    fn encrypt_as<E: Encrypts>(
        &mut self,
        (scheme, runner): (&E, &Runner<E>),
        circuit: &Circuit,
        inputs: &Slots<u64>,
    ) -> BTreeMap<String, E::Read> {
        let mut out = BTreeMap::new();
        for (name, ty) in circuit.inputs().filter(|(_, ty)| ty.encrypted) {
            let message = runner.encode(name, &inputs[name]).unwrap();
            out.insert(name.to_owned(), scheme.encrypt(self, &message, ty.level));
        }
        out
    }

    /// Runs the circuit encrypted.
    fn run_as<E: Encrypts>(
        &mut self,
        (scheme, runner): (&E, &Runner<E>),
        circuit: &Circuit,
        inputs: &Slots<u64>,
    ) -> BTreeMap<String, E::Read> {
        let encrypted = self.encrypt_as((scheme, runner), circuit, inputs);
        let keys = self.keys(circuit);
        let argument = |name| match encrypted.get(name) {
            Some(ct) => (name, Argument::Ciphertext(ct)),
            None => (name, Argument::Plain(&inputs[name])),
        };
        let arguments = circuit.inputs().map(|(name, _)| argument(name)).collect();
        let outputs = runner.run(&arguments, &keys).unwrap();
        replays(runner, circuit, (&arguments, &keys), &outputs);
        outputs
    }

    /// Slots of a result that has as many slots as the parameters.
    fn slots_as<E: ExactScheme>(&self, scheme: &E, ct: &E::Read) -> Vec<u64> {
        let ct = scheme.exact(ct).unwrap();
        let message = bfv::decrypt(&self.params, &self.secret, ct).unwrap();
        self.params.encoder().slots_of(&message)
    }

    /// [`Setup::encrypt_as`] for BGV.
    pub(crate) fn encrypt(
        &mut self,
        runner: &Runner<Params>,
        circuit: &Circuit,
        inputs: &Slots<u64>,
    ) -> BTreeMap<String, Ciphertext> {
        let bgv = self.params.clone();
        self.encrypt_as((&bgv, runner), circuit, inputs)
    }

    /// [`Setup::run_as`] for BGV.
    pub(crate) fn run(
        &mut self,
        runner: &Runner<Params>,
        circuit: &Circuit,
        inputs: &Slots<u64>,
    ) -> BTreeMap<String, Ciphertext> {
        let bgv = self.params.clone();
        self.run_as((&bgv, runner), circuit, inputs)
    }

    /// [`Setup::slots_as`] for BGV.
    pub(crate) fn slots(&self, ct: &Ciphertext) -> Vec<u64> {
        self.slots_as(&self.params, ct)
    }

    /// [`Setup::check_as`] for BGV.
    pub(crate) fn check(&mut self, what: &str, circuit: &Circuit, tolerance: Option<f64>) {
        let bgv = self.params.clone();
        self.check_as(&bgv, what, circuit, tolerance);
    }

    /// Checks that an encrypted run equals the clear run exactly. Compares the noise with its
    /// prediction: it must be within `tolerance` bits, or without a tolerance at most what the
    /// margin says.
    pub(crate) fn check_as<E: Encrypts>(
        &mut self,
        scheme: &E,
        what: &str,
        circuit: &Circuit,
        tolerance: Option<f64>,
    ) {
        let inputs = self.messages(circuit);
        let clear = run_clear(circuit, &inputs).unwrap();
        let budgets = predict_noise(scheme, circuit).unwrap();
        let runner = Runner::new(scheme, circuit).unwrap();
        let types: BTreeMap<_, _> = circuit.outputs().collect();
        for (name, ct) in self.run_as((scheme, &runner), circuit, &inputs) {
            let inner = scheme.exact(&ct).unwrap();
            assert_eq!(inner.level(), types[name.as_str()].level);
            let (size, left) = bfv::measure(&self.params, &self.secret, inner).unwrap();
            let predicted = budgets[&name].noise.bits();
            let measured = size.log2_rms;
            println!("{what}, {name}: {measured:.2} bits, predicted {predicted:.2}");
            assert_eq!(
                self.slots_as(scheme, &ct),
                clear[&name],
                "{what}, {name}\n{circuit}"
            );
            assert!(
                left > budgets[&name].margin_bits,
                "{what}, {name}\n{circuit}"
            );
            if let Some(tolerance) = tolerance {
                let off = (measured - predicted).abs();
                assert!(
                    off < tolerance,
                    "{what}, {name}: {off:.2} bits off\n{circuit}"
                );
            }
        }
    }
}
