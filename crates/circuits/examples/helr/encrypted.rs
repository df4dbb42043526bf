//! The same iteration on ciphertexts: 4 levels, then a bootstrapping after every second one.
//!
//! `w` and `v` stand in all slots of their feature. A batch is several ciphertexts `Z`, labels multiplied in. With
//! `x = Z v`, summed over features, the gradient is `sum x Z (A1 + A3 x^2) + Z / 2`: levels for `Z v`, for `x^2` and
//! `x Z`, for their product, and for the mask of the sum over samples. Factors that a level would be spent on go into
//! scales. Both vectors go through one bootstrapping as `w + i v`.

use crate::common::Result;
use crate::plain::{A1, A3};
use circuits::approximate::{
    BootstrapKeys, BootstrapSpec, Bootstrapper, Samples, dot, sum_rotations, sum_strided,
};
use ckks::{Ciphertext, Evaluator, Params, Plaintext};
use rand::CryptoRng;
use rlwe::{GaloisKeys, SecretKey, SwitchKey};

/// Levels of an iteration.
pub(crate) const DEPTH: usize = 4;
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
    relin: SwitchKey,
    galois: GaloisKeys,
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
        let ring_level = params.ring_level(bootstrapper.output_level());
        let sums = [
            layout.over_features(),
            layout.over_samples(),
            layout.to_samples(),
        ];
        let mut galois = GaloisKeys::new();
        for k in sums
            .iter()
            .flat_map(|&(stride, count)| sum_rotations(stride, count))
        {
            let element = params.encoder().rotation_element(k);
            galois.insert(element, secret.galois_key(element, ring_level, rng));
        }
        Ok(Self {
            evaluator: Evaluator::new(params),
            layout,
            bootstrapper,
            bootstrap_keys,
            relin: secret.relinearization_key(ring_level, rng),
            galois,
        })
    }

    /// The highest level of an iteration, that of batches.
    pub(crate) fn top(&self) -> usize {
        self.bootstrapper.output_level()
    }

    pub(crate) fn key_bytes(&self) -> usize {
        self.bootstrap_keys.byte_len() + self.galois.byte_len() + self.relin.byte_len()
    }

    pub(crate) fn level(&self, state: &State) -> Result<usize> {
        Ok(self.evaluator.level(&state.v)?)
    }

    /// One iteration: `step` is the learning rate over the samples of the batch. Takes [`DEPTH`] levels.
    pub(crate) fn step(
        &self,
        state: &State,
        batch: &[Ciphertext],
        step: f64,
        gamma: f64,
    ) -> Result<State> {
        let e = &self.evaluator;
        let target = self.level(state)? - DEPTH;
        let scale = e.params().scale();
        let mut w = self.gradient(&state.v, batch)?;
        // The mask is 1, the step is in the scale: what is `g` at a scale is `step g` at the scale over `step`.
        w.set_scale(w.scale() / step);
        let mask = scale * e.params().level_modulus(target + 1) / w.scale();
        let ones = &self.layout.first(1.0)[..self.layout.samples()];
        let mask = Plaintext::encode_real(e.params(), ones, target + 1, mask)?;
        e.mul_plain_assign(&mut w, &mask)?;
        e.rescale(&mut w)?;
        let mut w = sum_strided(e, &w, self.layout.to_samples(), &self.galois)?;
        w.set_scale(scale);
        e.add_assign(&mut w, &self.scaled(&state.v, 1.0, target, scale)?)?;
        // v = (1 - gamma) w' + gamma w: the first factor into the scale again.
        let mut v = w.clone();
        v.set_scale(scale / (1.0 - gamma));
        let momentum = self.scaled(&state.w, gamma, target, v.scale())?;
        e.add_assign(&mut v, &momentum)?;
        Ok(State { w, v })
    }

    /// `sum_s sigma(-z_s v) z_s`, in the first slot of each feature, three levels below `v`.
    fn gradient(&self, v: &Ciphertext, batch: &[Ciphertext]) -> Result<Ciphertext> {
        let e = &self.evaluator;
        let level = e.level(v)?;
        let (mut outer, mut inner, mut total) = (Vec::new(), Vec::new(), None);
        for z in batch {
            let mut z = z.clone();
            e.drop_to(&mut z, level)?;
            let x = e.mul_and_rescale(&z, v, &self.relin)?;
            let mut x = sum_strided(e, &x, self.layout.over_features(), &self.galois)?;
            e.drop_to(&mut z, level - 1)?;
            outer.push(e.mul_and_rescale(&x, &z, &self.relin)?);
            x.set_scale(x.scale() / A3.sqrt());
            let mut square = e.mul_and_rescale(&x, &x, &self.relin)?;
            e.add_const_assign(&mut square, A1.into())?;
            inner.push(square);
            e.drop_to(&mut z, level - 2)?;
            match &mut total {
                None => total = Some(z),
                Some(total) => e.add_assign(total, &z)?,
            }
        }
        let mut sum = e.relinearize(&dot(e, &outer, &inner)?, &self.relin)?;
        let total = total.ok_or("a batch without ciphertexts")?;
        e.add_scaled_assign(&mut sum, &total, 0.5)?;
        e.rescale(&mut sum)?;
        Ok(sum_strided(
            e,
            &sum,
            self.layout.over_samples(),
            &self.galois,
        )?)
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
