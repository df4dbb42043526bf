//! The training as one circuit: a first pair of iterations, and a part that repeats. The repeated
//! part bootstraps the weights and does another pair.
//!
//! Samples and momentum differ between iterations, so they are arguments of the repeated part. Both
//! vectors go through one bootstrapping, as `w + i v`.

use super::Source;
use super::iteration::{DEPTH, Given, Iteration, too_low, value};
use crate::error::Result;
use circuits::approximate::{BootstrapSpec, Bootstrapper, Samples, arithmetic_of};
use ckks::{Complex64, Params};
use program::circuit::{Circuit, CircuitBuilder, Type, ValueId};

/// Weights are below this bound. A bootstrapping takes slots below 1.
const BOUND: f64 = 4.0;

/// The parameters of a training.
pub struct Training<'a> {
    /// Parameters with bootstrapping.
    pub params: &'a Params,
    /// The layout of samples and features in slots.
    pub layout: Samples,
    /// Ciphertexts of a batch.
    pub count: usize,
    /// Learning rate divided by the number of samples of a batch.
    pub step: f64,
    /// Momentum of each iteration. The number of iterations is even and at least two.
    pub momenta: Vec<f64>,
}

impl Training<'_> {
    /// Builds the circuit from the inputs `w` and `v` and the [`part`](super::part)s of all batches
    /// to the output `w`.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for parameters with too few levels and for a batch
    /// without ciphertexts, and those of the builder.
    pub fn circuit(&self) -> Result<Circuit> {
        let mut body = self.builder("two iterations")?;
        let top = self.top()?;
        let low = Type {
            encrypted: true,
            level: top
                .checked_sub(2 * DEPTH)
                .ok_or_else(|| too_low(top, 2 * DEPTH))?,
            scale: self.params.scale(),
        };
        let mut order = Vec::new();
        let carried = [body.input("w", low)?, body.input("v", low)?];
        let mut inputs = |b: &mut CircuitBuilder, half: usize, given: Given, ty: Type| {
            order.push((half, given));
            Ok(b.input(&format!("{given:?}.{half}"), ty)?)
        };
        let high = self.refreshed(&mut body, carried, &mut inputs)?;
        let [w, v] = self.pair(&mut body, high, &mut inputs)?;
        body.output("w", w)?;
        body.output("v", v)?;
        let body = body.finish()?;

        let mut b = self.builder("helr")?;
        let top = Type {
            level: self.top()?,
            ..low
        };
        let start = [b.input("w", top)?, b.input("v", top)?];
        let mut first = |b: &mut CircuitBuilder, half: usize, given: Given, ty: Type| {
            self.value(b, half, given, ty)
        };
        let mut state = self.pair(&mut b, start, &mut first)?.to_vec();
        let types: Vec<Type> = body.inputs().map(|(_, ty)| ty).skip(state.len()).collect();
        let mut each = Vec::new();
        for pair in 1..self.momenta.len() / 2 {
            let values = order.iter().zip(&types);
            let values =
                values.map(|(&(half, given), &ty)| self.value(&mut b, 2 * pair + half, given, ty));
            each.push(values.collect::<Result<Vec<ValueId>>>()?);
        }
        if !each.is_empty() {
            state = b.repeat(&body, &state, &each)?;
        }
        b.output("w", state[0])?;
        Ok(b.finish()?)
    }

    fn builder(&self, name: &str) -> Result<CircuitBuilder> {
        let mut b = CircuitBuilder::new(name, arithmetic_of(self.params), self.layout.slots())?;
        b.set_bootstrapping(Bootstrapper::stated(
            self.params,
            &BootstrapSpec::default(),
        )?)?;
        Ok(b)
    }

    /// The highest level at which an iteration starts.
    fn top(&self) -> Result<usize> {
        Ok(Bootstrapper::stated(self.params, &BootstrapSpec::default())?.level)
    }

    /// Adds an input of iteration `t`.
    fn value(&self, b: &mut CircuitBuilder, t: usize, given: Given, ty: Type) -> Result<ValueId> {
        value(b, (&self.layout, t, self.momenta[t]), given, ty)
    }

    /// Writes two iterations.
    fn pair(
        &self,
        b: &mut CircuitBuilder,
        mut state: [ValueId; 2],
        inputs: Source<'_>,
    ) -> Result<[ValueId; 2]> {
        for half in 0..2 {
            let iteration = Iteration {
                layout: self.layout,
                scale: self.params.scale(),
                count: self.count,
                step: self.step,
                half,
            };
            state = iteration.write(b, state, inputs)?;
        }
        Ok(state)
    }

    /// Brings both vectors to the highest level of an iteration, by a bootstrapping.
    fn refreshed(
        &self,
        b: &mut CircuitBuilder,
        [w, v]: [ValueId; 2],
        inputs: Source<'_>,
    ) -> Result<[ValueId; 2]> {
        let level = b.ty(v).level;
        let plain = |level: usize, scale: f64| Type {
            encrypted: false,
            level,
            scale,
        };
        let modulus = b.arithmetic().divisor(level);
        let i = inputs(b, 0, Given::Imaginary, plain(level, modulus))?;
        let v = b.mul(v, i)?;
        let v = b.rescale(v)?;
        let w = b.scaled_to(w, 1.0, (level - 1, b.ty(v).scale))?;
        let both = b.add(w, v)?;
        let both = b.read(both, 1.0 / BOUND)?;
        let both = b.bootstrap(both)?;
        // Sums with the conjugate are twice the real and imaginary parts.
        let both = b.read(both, BOUND / 2.0)?;
        let conjugate = b.conjugate(both)?;
        let w = b.add(conjugate, both)?;
        let v = b.sub(conjugate, both)?;
        // At scale 1, `i` is an integer, and its product takes no level.
        let i = inputs(b, 0, Given::Imaginary, plain(b.ty(v).level, 1.0))?;
        Ok([w, b.mul(v, i)?])
    }
}

/// The slots of the plaintext input [`IMAGINARY`](super::IMAGINARY).
pub fn imaginary() -> Vec<Complex64> {
    vec![Complex64::I]
}
