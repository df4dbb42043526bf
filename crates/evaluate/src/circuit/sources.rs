//! The sources of a value's noise.
//!
//! The noise of a sum of a value with itself, however it is computed, is twice the value's noise.
//! For two independent values, mean squares add up. Each value therefore keeps apart the noises
//! that make up its noise, by the step where each came into the circuit, with their factors. A
//! rotation of a noise counts as a different noise.

use bgv::noise::Noise;

/// Largest number of noises that a value keeps apart. More noises are merged into one new noise.
const MOST: usize = 64;

/// Source of a noise: the step where it came into the circuit, and the Galois element of the
/// rotations since.
type Source = (usize, usize);

/// The Galois element of an automorphism `X -> X^element`, modulo `order`.
#[derive(Clone, Copy)]
pub(super) struct Galois {
    pub(super) element: usize,
    pub(super) order: usize,
}

impl Galois {
    /// The element of this automorphism after that of `earlier`.
    pub(super) fn after(self, earlier: usize) -> usize {
        earlier * self.element % self.order
    }
}

/// A noise in a value: `factor 2^-shift` times the noise of its source.
#[derive(Clone, Copy, Debug)]
struct Part {
    source: Source,
    noise: Noise,
    factor: f64,
    shift: f64,
}

impl Part {
    fn noise(&self) -> Noise {
        self.noise
            .divided(self.shift)
            .times(self.factor * self.factor)
    }
}

/// The noises that add up to a value's noise, by source.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources(Vec<Part>);

impl Sources {
    /// A noise that a step introduces.
    pub(super) fn new(step: usize, noise: Noise) -> Self {
        Self::default().with(step, noise)
    }

    /// Adds a noise that a step introduces.
    #[must_use]
    pub(super) fn with(mut self, step: usize, noise: Noise) -> Self {
        if noise.bits() > f64::NEG_INFINITY {
            self.0.push(Part {
                source: (step, 1),
                noise,
                factor: 1.0,
                shift: 0.0,
            });
        }
        self
    }

    /// The sum of all noises.
    pub(super) fn noise(&self) -> Noise {
        let parts = self.0.iter().map(Part::noise);
        parts.fold(Noise::ZERO, Noise::plus)
    }

    /// `x self + y other`, computed by step `step`.
    #[must_use]
    pub(super) fn sum(&self, x: f64, other: &Self, y: f64, step: usize) -> Self {
        let mut sum = self.clone().scaled(x);
        for part in &other.0 {
            match sum.0.iter_mut().find(|own| own.source == part.source) {
                Some(own) => own.factor += y * part.factor * (own.shift - part.shift).exp2(),
                None => sum.0.push(Part {
                    factor: y * part.factor,
                    ..*part
                }),
            }
        }
        if sum.0.len() <= MOST {
            return sum;
        }
        Self::new(step, sum.noise())
    }

    /// All noises divided by `2^bits`.
    #[must_use]
    pub(super) fn divided(mut self, bits: f64) -> Self {
        self.0.iter_mut().for_each(|part| part.shift += bits);
        self
    }

    /// All noises, multiplied by a number.
    #[must_use]
    pub(super) fn scaled(mut self, number: f64) -> Self {
        self.0.iter_mut().for_each(|part| part.factor *= number);
        self
    }

    /// All noises after an automorphism.
    #[must_use]
    pub(super) fn automorphism(mut self, galois: Galois) -> Self {
        for part in &mut self.0 {
            part.source.1 = galois.after(part.source.1);
        }
        self
    }
}
