//! Looks into an encrypted run with the client's secret, and compares it with exact integers.
//!
//! Nothing of this belongs to a server: an [`Inspector`] holds a [`Client`]. It observes a run step by
//! step, decrypts the accumulators that enter each table and the slots that leave it, and keeps, per layer,
//!
//! - the *noise* of each accumulator: what entered the table minus what the layer makes, exactly, of
//!   the activations that the layer before really gave;
//! - *wrong* slots: those that differ from the table's value for the accumulator that entered it;
//! - *changed* activations: those that differ from the exact network's on the same image, by how much.
//!
//! Noise and wrong slots are a layer's own; changes come through all layers before it.

use crate::client::{Client, Decrypted};
use crate::error::{Error, Result};
use crate::server::{Event, Held};
use crate::verified::Verified;
use circuits::steps::layout_of;
use program::{Op, Packed, Type, ValueId};
use std::collections::BTreeMap;

/// An exact network, to compare with. What it gives is `None` where a layer does not exist or takes another
/// number of integers.
pub trait Exact {
    /// Number of layers.
    fn layers(&self) -> usize;

    /// What the linear group of `layer` makes of an image and of the outputs of the layers before it.
    fn accumulate(&self, layer: usize, image: &[i64], outputs: &[Vec<i64>]) -> Option<Vec<i64>>;

    /// What the table of `layer` makes of an accumulator; the last layer leaves it as it is.
    fn activate(&self, layer: usize, accumulator: i64) -> Option<i64>;

    /// Largest accumulator that the table of `layer` was made for.
    fn bound(&self, layer: usize) -> i64;
}

/// Sums over integers from which mean and deviation follow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// Numbers added.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// Sum of their squares.
    pub squares: f64,
    /// Largest absolute value.
    pub largest: i64,
}

impl Moments {
    fn add(&mut self, x: i64) {
        self.count += 1;
        self.sum += x as f64;
        self.squares += (x as f64).powi(2);
        self.largest = self.largest.max(x.abs());
    }

    /// Mean; 0 of nothing.
    pub fn mean(&self) -> f64 {
        self.sum / (self.count.max(1)) as f64
    }

    /// Root mean square.
    pub fn sigma(&self) -> f64 {
        (self.squares / (self.count.max(1)) as f64).sqrt()
    }
}

/// What was found in one layer, over all images so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerFindings {
    /// Name of the layer.
    pub name: String,
    /// Noise of the accumulators; the last layer's have none of their own.
    pub noise: Moments,
    /// Accumulators beyond the bound that the table was made for.
    pub beyond_bound: u64,
    /// Slots looked at, copies included; in the last layer, logits.
    pub slots: u64,
    /// Slots that do not hold what the layer makes, exactly, of what entered it.
    pub wrong: u64,
    /// Activations compared with the exact network's.
    pub values: u64,
    /// How many differ from it by how much (activation minus exact); those that agree are not in it.
    pub changes: BTreeMap<i64, u64>,
}

impl LayerFindings {
    fn compare(&mut self, real: i64, exact: i64) {
        self.values += 1;
        if real != exact {
            *self.changes.entry(real - exact).or_default() += 1;
        }
    }
}

/// Noise of one step's ciphertext.
#[derive(Clone, Debug, PartialEq)]
pub struct StepNoise {
    /// Layer and operation.
    pub name: String,
    /// log2 of the predicted root mean square of the residual.
    pub predicted_bits: f64,
    /// log2 of the measured one.
    pub measured_bits: f64,
    /// Bits between the largest measured residual and what decryption bears.
    pub margin_bits: f64,
}

/// Compares runs of one program with an exact network.
pub struct Inspector<E> {
    client: Client,
    exact: E,
    /// Names of the layers in order.
    names: Vec<String>,
    layers: Vec<LayerFindings>,
    noise: Vec<StepNoise>,
    images: Vec<Image>,
    /// Phases of the samples of each step of the run at work.
    phases: BTreeMap<ValueId, BTreeMap<usize, i64>>,
}

/// The integers of one image.
struct Image {
    pixels: Vec<i64>,
    /// Outputs of every layer of the exact network.
    exact: Vec<Vec<i64>>,
    /// Outputs that the encrypted layers really gave, so far.
    real: Vec<Vec<i64>>,
    /// What the layer at work makes, exactly, of those; what entered its table, and what has left it.
    expected: Vec<i64>,
    entered: Vec<Option<i64>>,
    left: Vec<bool>,
}

impl<E: Exact> Inspector<E> {
    /// An inspector of `client`'s runs.
    pub fn new(client: &Client, exact: E) -> Self {
        let mut names: Vec<String> = Vec::new();
        for step in &client.verified().program().steps {
            if !names.contains(&step.layer) {
                names.push(step.layer.clone());
            }
        }
        let named = |name: &String| LayerFindings {
            name: name.clone(),
            ..LayerFindings::default()
        };
        Self {
            client: client.clone(),
            exact,
            layers: names.iter().map(named).collect(),
            names,
            noise: Vec::new(),
            images: Vec::new(),
            phases: BTreeMap::new(),
        }
    }

    /// What was found in each layer.
    pub fn layers(&self) -> &[LayerFindings] {
        &self.layers
    }

    /// Noise of every ciphertext of the first run.
    pub fn noise(&self) -> &[StepNoise] {
        &self.noise
    }

    /// Begins a run on the given images.
    ///
    /// # Errors
    /// [`Error::Image`] if an image does not fit the exact network, or that has other layers.
    pub fn begin(&mut self, images: &[Vec<i64>]) -> Result<()> {
        if self.names.len() != self.exact.layers() {
            return Err(misfit("the number of layers"));
        }
        self.images = images
            .iter()
            .map(|pixels| {
                Ok(Image {
                    pixels: pixels.clone(),
                    exact: self.exact_outputs(pixels)?,
                    real: Vec::new(),
                    expected: Vec::new(),
                    entered: Vec::new(),
                    left: Vec::new(),
                })
            })
            .collect::<Result<_>>()?;
        self.phases.clear();
        Ok(())
    }

    /// Hears of the run's events.
    ///
    /// # Errors
    /// [`Error::Image`] if the program's layers are not the exact network's.
    pub fn observe(&mut self, event: &Event<'_>) -> Result<()> {
        let &Event::End { step, value } = event else {
            return Ok(());
        };
        let verified = self.client.verified().clone();
        match (&verified.program().steps[step].op, value) {
            (Op::ToSamples { .. }, Held::Samples(batch)) => {
                let lwe = self.client.keys().lwe();
                let taken = self.coefficients_taken(step).into_iter();
                let phases = taken.map(|k| (k, batch.phase(k, lwe) as i64)).collect();
                self.phases.insert(step, phases);
            }
            (
                Op::Pack {
                    sources, values, ..
                },
                _,
            ) => self.accumulators(step, sources, values)?,
            (Op::Table { value: packed, .. }, Held::Ciphertext(value)) => {
                if let Op::Pack { values, .. } = &verified.program().steps[*packed].op {
                    self.activations(step, values, value.ciphertext())?;
                }
            }
            _ => {}
        }
        self.measure(step, value)?;
        Ok(())
    }

    /// Ends a run with what the client decrypted of its result.
    ///
    /// # Errors
    /// [`Error::Image`] if the exact network has other layers.
    pub fn end(&mut self, decrypted: &Decrypted) -> Result<()> {
        let layer = self.names.len() - 1;
        self.enter(layer)?;
        let findings = &mut self.layers[layer];
        for (image, logits) in self.images.iter().zip(&decrypted.logits) {
            findings.slots += logits.len() as u64;
            let differ = logits.iter().zip(&image.expected);
            findings.wrong += differ.filter(|(a, b)| a != b).count() as u64;
            for (&a, &b) in logits.iter().zip(&image.exact[layer]) {
                findings.compare(a, b);
            }
        }
        Ok(())
    }

    fn layer_of(&self, step: usize) -> usize {
        let name = &self.client.verified().program().steps[step].layer;
        let found = self.names.iter().position(|known| known == name);
        found.expect("every step's layer is known")
    }

    /// The layer begins, if it has not yet: all layers before it have given their outputs.
    fn enter(&mut self, layer: usize) -> Result<()> {
        for image in &mut self.images {
            if image.real.len() > layer {
                continue;
            }
            let expected = self
                .exact
                .accumulate(layer, &image.pixels, &image.real)
                .ok_or_else(|| misfit("a layer"))?;
            image.entered = vec![None; expected.len()];
            image.left = vec![false; expected.len()];
            image.real.push(vec![0; expected.len()]);
            image.expected = expected;
        }
        Ok(())
    }

    /// Coefficients of a batch of samples that the program packs.
    fn coefficients_taken(&self, samples: ValueId) -> Vec<usize> {
        let steps = self.client.verified().program().steps.iter();
        steps
            .filter_map(|step| match &step.op {
                Op::Pack {
                    sources, values, ..
                } => Some((sources, values)),
                _ => None,
            })
            .flat_map(|(sources, values)| {
                let taken = values.iter().flat_map(|v| &v.3);
                taken.map(|&[source, at]| (sources[source], at))
            })
            .filter(|(source, _)| *source == samples)
            .map(|(_, at)| at)
            .collect()
    }

    /// The accumulators that a packing takes in, against those expected.
    fn accumulators(&mut self, step: usize, sources: &[ValueId], values: &[Packed]) -> Result<()> {
        let layer = self.layer_of(step);
        self.enter(layer)?;
        let (bound, t) = (
            self.exact.bound(layer),
            self.client.verified().params().bfv().t(),
        );
        for Packed(_, image, output, samples) in values {
            let Some(image) = self.images.get_mut(*image) else {
                continue; // a batch that is not full
            };
            let taken = samples
                .iter()
                .map(|&[source, at]| self.phases[&sources[source]][&at]);
            let entered = t.center(t.from_i64(taken.sum()));
            let wanted = *image
                .expected
                .get(*output)
                .ok_or_else(|| misfit("a layer"))?;
            // A factor of a product may be packed more than once: it is the same sum.
            if image.entered[*output].replace(entered).is_none() {
                self.layers[layer].noise.add(entered - wanted);
                self.layers[layer].beyond_bound += u64::from(entered.abs() > bound);
            }
        }
        Ok(())
    }

    /// The slots that a table left, against the table's values for what entered it.
    fn activations(&mut self, step: usize, values: &[Packed], ct: &bfv::Ciphertext) -> Result<()> {
        let (layer, verified) = (self.layer_of(step), self.client.verified());
        let params = verified.params();
        let bfv = params.bfv();
        let layout = layout_of(params, verified.program().ty(step))?;
        let message = bfv::decrypt(bfv, self.client.keys().secret(), ct)?;
        let slots = bfv.encoder().slots_of(&message);
        let slots: Vec<i64> = slots.into_iter().map(|x| bfv.t().center(x)).collect();
        let findings = &mut self.layers[layer];
        for &Packed(slot, image, output, _) in values {
            let Some(image) = self.images.get_mut(image) else {
                continue;
            };
            let entered = image.entered[output].expect("a table follows a packing");
            let wanted = self.exact.activate(layer, entered);
            let wanted = wanted.ok_or_else(|| misfit("a layer"))?;
            let copies = slots.iter().skip(slot).step_by(layout.values());
            findings.slots += layout.copies() as u64;
            findings.wrong += copies.filter(|&&found| found != wanted).count() as u64;
            image.real[layer][output] = slots[slot];
            if !std::mem::replace(&mut image.left[output], true) {
                findings.compare(slots[slot], image.exact[layer][output]);
            }
        }
        Ok(())
    }

    /// The exact outputs of every layer for one image.
    fn exact_outputs(&self, image: &[i64]) -> Result<Vec<Vec<i64>>> {
        let mut outputs: Vec<Vec<i64>> = Vec::new();
        for layer in 0..self.exact.layers() {
            let made = self.exact.accumulate(layer, image, &outputs);
            let made = made.and_then(|accumulators| {
                let activate = |&a: &i64| self.exact.activate(layer, a);
                accumulators
                    .iter()
                    .map(activate)
                    .collect::<Option<Vec<i64>>>()
            });
            outputs.push(made.ok_or_else(|| misfit("a layer"))?);
        }
        Ok(outputs)
    }

    /// Measures the noise of a ciphertext, in the first run only: it takes long.
    fn measure(&mut self, step: usize, value: &Held) -> Result<()> {
        let verified = self.client.verified();
        let Held::Ciphertext(value) = value else {
            return Ok(());
        };
        let described = &verified.program().steps[step];
        let name = format!("{step} {}: {}", described.layer, described.op.name());
        let (Type::Ciphertext { noise_bits, .. }, ct) = (described.ty, value.ciphertext()) else {
            return Ok(());
        };
        if self.noise.iter().any(|known| known.name == name) || is_constant(verified, step) {
            return Ok(());
        }
        let (size, margin_bits) =
            bfv::measure(verified.params().bfv(), self.client.keys().secret(), ct)?;
        self.noise.push(StepNoise {
            name,
            predicted_bits: noise_bits,
            measured_bits: size.log2_rms,
            margin_bits,
        });
        Ok(())
    }
}

/// Whether a step makes a constant, which has no noise: a product with a kernel of zeros, which stands for a
/// channel that was pruned, and the bias added to it.
fn is_constant(verified: &Verified, step: usize) -> bool {
    let program = verified.program();
    match &program.steps[step].op {
        Op::MulCoefficients { terms } => terms
            .iter()
            .flat_map(|term| &program.constants[term.weights].values)
            .all(|&weight| weight == 0),
        Op::AddCoefficients { value, .. } => is_constant(verified, *value),
        _ => false,
    }
}

fn misfit(what: &'static str) -> Error {
    Error::Image {
        what,
        found: "of another shape".into(),
        expected: "that of the network the program was compiled from".into(),
    }
}
