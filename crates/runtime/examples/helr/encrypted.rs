//! Iterations on ciphertexts, each a [circuit](crate::iteration), and a bootstrapping after every second one: both vectors go
//! through it as `w + i v`.

use crate::common::Result;
use crate::iteration::{Iteration, part};
use circuits::approximate::{BootstrapKeys, BootstrapSpec, Bootstrapper, Samples};
use ckks::{Ciphertext, Evaluator, Params};
use exchange::circuit::Keys;
use program::circuit::{Circuit, Type};
use rand::CryptoRng;
use rlwe::SecretKey;
use runtime::circuit::{Argument, Runner, arithmetic, needs};
use std::collections::BTreeMap;

/// Weights are below this; a bootstrapping takes slots below 1.
const BOUND: f64 = 4.0;

/// Encrypted weights, at one level.
pub(crate) struct State {
    pub(crate) w: Ciphertext,
    pub(crate) v: Ciphertext,
}

/// What the server has: tables and evaluation keys.
pub(crate) struct Trainer {
    evaluator: Evaluator,
    layout: Samples,
    bootstrapper: Bootstrapper,
    bootstrap_keys: BootstrapKeys,
    keys: Keys,
}

impl Trainer {
    pub(crate) fn new(
        params: &Params,
        layout: Samples,
        secret: &SecretKey,
        rng: &mut impl CryptoRng,
    ) -> Result<Self> {
        let bootstrapper = Bootstrapper::new(params, &BootstrapSpec::default())?;
        let bootstrap_keys = bootstrapper.generate_keys(secret, rng);
        // Every iteration uses the same keys; the highest one needs the highest.
        let ty = Type {
            encrypted: true,
            level: bootstrapper.output_level(),
            scale: params.scale(),
        };
        let highest = Iteration {
            arithmetic: arithmetic(params),
            layout,
            top: ty.level,
            scale: ty.scale,
            w: ty,
            v: ty,
            count: 1,
            step: 1.0,
            gamma: 0.0,
        };
        let needs = needs(params, &highest.circuit()?.keys());
        let keys = client::circuit_keys(secret, &needs, rng)?;
        Ok(Self {
            evaluator: Evaluator::new(params),
            layout,
            bootstrapper,
            bootstrap_keys,
            keys,
        })
    }

    /// The highest level of an iteration, that of batches.
    pub(crate) fn top(&self) -> usize {
        self.bootstrapper.output_level()
    }

    pub(crate) fn key_bytes(&self) -> usize {
        self.bootstrap_keys.byte_len() + self.keys.byte_len()
    }

    pub(crate) fn level(&self, state: &State) -> Result<usize> {
        Ok(self.evaluator.level(&state.v)?)
    }

    /// The circuit of one iteration: `step` is the learning rate over the samples of the batch. Takes [`DEPTH`](crate::iteration::DEPTH) levels.
    pub(crate) fn circuit(
        &self,
        state: &State,
        count: usize,
        step: f64,
        gamma: f64,
    ) -> Result<Circuit> {
        let params = self.evaluator.params();
        let ty = |ct: &Ciphertext| {
            Ok::<_, ckks::Error>(Type {
                encrypted: true,
                level: self.evaluator.level(ct)?,
                scale: ct.scale(),
            })
        };
        let iteration = Iteration {
            arithmetic: arithmetic(params),
            layout: self.layout,
            top: self.top(),
            scale: params.scale(),
            w: ty(&state.w)?,
            v: ty(&state.v)?,
            count,
            step,
            gamma,
        };
        iteration.circuit()
    }

    /// One iteration.
    pub(crate) fn step(
        &self,
        circuit: &Circuit,
        state: &State,
        batch: &[Ciphertext],
    ) -> Result<State> {
        let names: Vec<String> = (0..batch.len()).map(part).collect();
        let mut inputs: BTreeMap<&str, Argument> = names
            .iter()
            .map(String::as_str)
            .zip(batch.iter().map(Argument::Ciphertext))
            .collect();
        inputs.insert("w", Argument::Ciphertext(&state.w));
        inputs.insert("v", Argument::Ciphertext(&state.v));
        let mut outputs =
            Runner::new(self.evaluator.params(), circuit)?.run(&inputs, &self.keys)?;
        let mut output = |name: &str| outputs.remove(name).ok_or("the circuit has both outputs");
        Ok(State {
            w: output("w")?,
            v: output("v")?,
        })
    }

    /// Both vectors at the highest level of an iteration.
    pub(crate) fn refresh(&self, state: &State) -> Result<State> {
        let e = &self.evaluator;
        let scale = e.params().scale();
        let mut both = self.scaled(&state.v, 1.0, 0, scale)?;
        e.mul_i_assign(&mut both);
        e.add_assign(&mut both, &self.scaled(&state.w, 1.0, 0, scale)?)?;
        both.set_scale(scale * BOUND);
        let mut both = self.bootstrapper.bootstrap(&both, &self.bootstrap_keys)?;
        // Sums with the conjugate are twice the parts.
        both.set_scale(both.scale() / BOUND * 2.0);
        let conjugate = e.conjugate(&both, self.bootstrap_keys.galois())?;
        let (mut w, mut v) = (both.clone(), conjugate.clone());
        e.add_assign(&mut w, &conjugate)?;
        e.sub_assign(&mut v, &both)?;
        e.mul_i_assign(&mut v);
        Ok(State { w, v })
    }

    /// `c a` at a lower level and a scale.
    fn scaled(&self, a: &Ciphertext, c: f64, level: usize, scale: f64) -> Result<Ciphertext> {
        let e = &self.evaluator;
        let mut a = a.clone();
        e.drop_to(&mut a, level + 1)?;
        let factor = scale * e.params().level_modulus(level + 1) / a.scale();
        e.mul_const_assign(&mut a, c, factor)?;
        e.rescale(&mut a)?;
        a.set_scale(scale);
        Ok(a)
    }
}
