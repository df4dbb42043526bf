//! A mode of the operations that predicts errors. It holds slots as plain numbers, and one sample
//! of their errors.
//!
//! Every operation adds a sample of the noise that it adds to a ciphertext. It also carries on the
//! errors of its operands: the error of a product is `x e' + e x' + e e'`. Errors that occur in
//! several operands are thus combined with their signs, which sums of mean squares cannot do. The
//! circuit is the one that runs encrypted. Noise is that of [`ckks::noise`]. Samples come from a
//! fixed seed, so a prediction is always the same.

mod operations;

use super::Diagonal;
use crate::error::Result;
use ckks::{Complex64, Params};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::{Eval, Poly};
use rlwe::galois;
use rlwe::noise::switch_variance;
use rlwe::security::SPARSE_WEIGHT;
use std::cell::RefCell;
use std::f64::consts::TAU;

/// Bits of the moduli from which the coefficients of a plaintext are computed. Coefficients have at
/// most 63 bits.
const PLAINTEXT_BITS: f64 = 66.0;

/// All slots of a ciphertext times its scale, and the errors of these.
#[derive(Clone, Debug)]
pub(super) struct Sampled {
    level: usize,
    components: usize,
    pub(super) values: Vec<Complex64>,
    pub(super) errors: Vec<Complex64>,
}

impl Sampled {
    /// Makes slots without an error, at a level of the ring.
    pub(super) fn exact(level: usize, values: Vec<Complex64>) -> Self {
        let errors = vec![Complex64::ZERO; values.len()];
        Self {
            level,
            components: 2,
            values,
            errors,
        }
    }

    fn map(&mut self, f: impl Fn(Complex64) -> Complex64) {
        let all = self.values.iter_mut().chain(&mut self.errors);
        all.for_each(|x| *x = f(*x));
    }

    /// `self += sign other`.
    fn add(&mut self, other: &Self, sign: f64) {
        let add = |own: &mut [Complex64], other: &[Complex64]| {
            own.iter_mut().zip(other).for_each(|(x, y)| *x += sign * y);
        };
        add(&mut self.values, &other.values);
        add(&mut self.errors, &other.errors);
        self.components = self.components.max(other.components);
    }
}

/// The mode that predicts errors.
pub(super) struct SampledRing {
    params: Params,
    /// Parameters of the sparse secret.
    sparse: rlwe::Params,
    /// Slot of each odd power of the root. Powers that belong to a conjugate have the number of
    /// slots added.
    slot_of: Vec<usize>,
    rng: RefCell<ChaCha20Rng>,
}

impl SampledRing {
    pub(super) fn new(params: &Params, sparse: &rlwe::Params) -> Self {
        let (n, slots) = (params.n(), params.slots());
        let mut slot_of = vec![0; 2 * n];
        for (j, &power) in galois::slot_exponents(n).iter().take(slots).enumerate() {
            slot_of[power] = j;
            slot_of[2 * n - power] = slots + j;
        }
        Self {
            params: params.clone(),
            sparse: sparse.clone(),
            slot_of,
            rng: RefCell::new(ChaCha20Rng::seed_from_u64(0)),
        }
    }

    /// Adds the slots of a polynomial whose coefficients are independent and have the given
    /// variance.
    fn add_noise(&self, a: &mut Sampled, variance: f64) {
        let deviation = (self.params.n() as f64 * variance).sqrt();
        let mut rng = self.rng.borrow_mut();
        for error in &mut a.errors {
            let [u, v]: [f64; 2] = [rng.random(), rng.random()];
            let radius = (-(1.0 - u).ln()).sqrt();
            *error += deviation * Complex64::from_polar(radius, TAU * v);
        }
    }

    /// Variance of rounding both components, under a secret of the given weight.
    fn rounding(&self, weight: f64) -> f64 {
        (1.0 + weight) / 12.0
    }

    fn dense(&self) -> f64 {
        self.params.n() as f64 * 2.0 / 3.0
    }

    fn switched(&self, mut a: Sampled, level: usize) -> Sampled {
        if level == a.level {
            return a;
        }
        let moduli = &self.params.rlwe().spec().q[level + 1..=a.level];
        let divisor: f64 = moduli.iter().map(|&q| q as f64).product();
        a.map(|x| x / divisor);
        a.level = level;
        self.add_noise(&mut a, self.rounding(self.dense()));
        a
    }

    /// Computes the slots of a short polynomial.
    fn slots(&self, poly: &Poly<Eval>) -> Result<Vec<Complex64>> {
        let basis = poly.basis();
        let (mut bits, mut limbs) = (0.0, 0);
        while limbs < basis.len() && bits < PLAINTEXT_BITS {
            bits += (basis.modulus(limbs).value() as f64).log2();
            limbs += 1;
        }
        let low = poly.prefix(limbs).into_coeff();
        let coefficients = rlwe::noise::centred(&low);
        let encoder = self.params.encoder();
        Ok(encoder.slots_of(&coefficients, self.params.slots())?)
    }

    fn factor(&self, diagonal: &Diagonal) -> Result<Vec<Complex64>> {
        let rlwe = self.params.rlwe();
        let limbs = 3.min(rlwe.max_level() + 1);
        self.slots(&diagonal.prefix(rlwe.basis(limbs - 1)))
    }

    fn products<'s>(
        &self,
        terms: impl Iterator<Item = (&'s Sampled, Result<Vec<Complex64>>)>,
    ) -> Result<Sampled> {
        let mut sum: Option<Sampled> = None;
        for (value, factor) in terms {
            let (mut term, factor) = (value.clone(), factor?);
            let times = |x: &mut [Complex64]| x.iter_mut().zip(&factor).for_each(|(x, f)| *x *= f);
            times(&mut term.values);
            times(&mut term.errors);
            match &mut sum {
                Some(sum) => sum.add(&term, 1.0),
                None => sum = Some(term),
            }
        }
        Ok(sum.expect("a sum has a term"))
    }

    fn turned(&self, a: &Sampled, element: usize) -> Sampled {
        let (n, slots) = (self.params.n(), self.params.slots());
        let exponents = galois::slot_exponents(n);
        let mut out = a.clone();
        for (j, power) in exponents.iter().take(slots).enumerate() {
            let from = self.slot_of[power * element % (2 * n)];
            let take = |x: &[Complex64]| match from < slots {
                true => x[from],
                false => x[from - slots].conj(),
            };
            (out.values[j], out.errors[j]) = (take(&a.values), take(&a.errors));
        }
        out
    }

    /// An automorphism with its key switching. `rounds` is true if the key switching ends with the
    /// division by the special moduli, which rounds.
    fn automorphed(&self, a: &Sampled, element: usize, rounds: bool) -> Sampled {
        if element == 1 {
            return a.clone();
        }
        let mut out = self.turned(a, element);
        let rounding = if rounds {
            self.rounding(self.dense())
        } else {
            0.0
        };
        self.add_noise(
            &mut out,
            switch_variance(self.params.rlwe(), a.level) + rounding,
        );
        out
    }

    /// Samples the multiple of `q_0` in the phase of a uniform ciphertext under the sparse secret.
    fn overflow(&self) -> f64 {
        let mut rng = self.rng.borrow_mut();
        let terms = (0..=SPARSE_WEIGHT).map(|_| rng.random_range(-0.5..0.5));
        terms.sum::<f64>().round()
    }
}
