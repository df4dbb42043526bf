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
use crate::prepared::layout_of;
use crate::server::{Event, Held};
use program::{Op, Type, ValueId};
use std::collections::BTreeMap;

/// An exact network, to compare with. What it gives is `None` where a layer does not exist or takes another
/// number of integers.
pub trait Exact {
    /// Number of layers.
    fn layers(&self) -> usize;

    /// What the linear group of `layer` makes of its inputs.
    fn accumulate(&self, layer: usize, inputs: &[i64]) -> Option<Vec<i64>>;

    /// What the table of `layer` makes of its accumulators; the last layer leaves them as they are.
    fn activate(&self, layer: usize, accumulators: &[i64]) -> Option<Vec<i64>>;

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
    layers: Vec<LayerFindings>,
    noise: Vec<StepNoise>,
    /// Of each image at work, the exact outputs of every layer.
    images: Vec<Vec<Vec<i64>>>,
    /// Phases of the samples of each step of the run at work.
    phases: BTreeMap<ValueId, BTreeMap<usize, i64>>,
    /// Of each image, what should enter the next layer, from what the last one really gave.
    expected: Vec<Vec<i64>>,
    /// Of each image, what entered the layer at work.
    entered: Vec<Vec<i64>>,
    layer: usize,
}

impl<E: Exact> Inspector<E> {
    /// An inspector of `client`'s runs.
    pub fn new(client: &Client, exact: E) -> Self {
        Self {
            client: client.clone(),
            exact,
            layers: Vec::new(),
            noise: Vec::new(),
            images: Vec::new(),
            phases: BTreeMap::new(),
            expected: Vec::new(),
            entered: Vec::new(),
            layer: 0,
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
    /// [`Error::Image`] if an image does not fit the exact network.
    pub fn begin(&mut self, images: &[Vec<i64>]) -> Result<()> {
        self.images = images
            .iter()
            .map(|image| self.exact_outputs(image))
            .collect::<Result<_>>()?;
        self.expected = images
            .iter()
            .map(|image| self.accumulate(0, image))
            .collect::<Result<_>>()?;
        self.phases.clear();
        self.entered.clear();
        self.layer = 0;
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
        match (&self.client.prepared().program().steps[step].op, value) {
            (Op::ToSamples { .. }, Held::Samples(batch)) => {
                let lwe = self.client.keys().lwe();
                let t = *self.client.prepared().params().bfv().t();
                let phases = self.coefficients_taken(step).into_iter();
                let phases = phases.map(|k| (k, t.center(batch.phase(k, lwe)))).collect();
                self.phases.insert(step, phases);
            }
            (
                Op::Pack {
                    sources, samples, ..
                },
                _,
            ) => {
                let taken = samples
                    .iter()
                    .map(|&[source, at]| self.phases[&sources[source]][&at]);
                let phases: Vec<i64> = taken.collect();
                self.accumulators(step, &phases)?;
            }
            (Op::Table { .. }, Held::Ciphertext(value)) => {
                if let Some(ct) = value.ciphertext() {
                    self.activations(step, ct)?;
                }
            }
            _ => {}
        }
        self.measure(step, value);
        Ok(())
    }

    /// Ends a run with what the client decrypted of its result.
    ///
    /// # Errors
    /// [`Error::Image`] if the exact network has other layers.
    pub fn end(&mut self, decrypted: &Decrypted) -> Result<()> {
        let layer = self.layer;
        let mut findings = self.take_findings(layer, &self.last_layer());
        for (image, logits) in decrypted.logits.iter().enumerate() {
            let expected = &self.expected[image];
            findings.slots += logits.len() as u64;
            findings.wrong += logits.iter().zip(expected).filter(|(a, b)| a != b).count() as u64;
            compare(&mut findings, logits, self.exact_layer(image, layer)?);
        }
        self.layers[layer] = findings;
        Ok(())
    }

    /// Name of the layer that gives the results.
    fn last_layer(&self) -> String {
        let last = self.client.prepared().program().steps.last();
        last.map(|step| step.layer.clone()).unwrap_or_default()
    }

    /// Coefficients of a batch of samples that the program packs.
    fn coefficients_taken(&self, samples: ValueId) -> Vec<usize> {
        let steps = self.client.prepared().program().steps.iter();
        steps
            .filter_map(|step| match &step.op {
                Op::Pack {
                    sources,
                    samples: taken,
                    ..
                } => Some((sources, taken)),
                _ => None,
            })
            .flat_map(|(sources, taken)| taken.iter().map(|&[source, at]| (sources[source], at)))
            .filter(|(source, _)| *source == samples)
            .map(|(_, at)| at)
            .collect()
    }

    /// The accumulators that a packing takes in, against those expected.
    fn accumulators(&mut self, step: usize, phases: &[i64]) -> Result<()> {
        let name = self.client.prepared().program().steps[step].layer.clone();
        let mut findings = self.take_findings(self.layer, &name);
        let bound = self.exact.bound(self.layer);
        let per_image = self.expected.first().map_or(1, Vec::len).max(1);
        self.entered = phases.chunks(per_image).map(<[i64]>::to_vec).collect();
        self.entered.truncate(self.images.len());
        for (entered, expected) in self.entered.iter().zip(&self.expected) {
            if entered.len() != expected.len() {
                return Err(misfit("a layer"));
            }
            for (&a, &b) in entered.iter().zip(expected) {
                findings.noise.add(a - b);
                findings.beyond_bound += u64::from(a.abs() > bound);
            }
        }
        self.layers[self.layer] = findings;
        Ok(())
    }

    /// The slots that a table left, against the table's values for what entered it.
    fn activations(&mut self, step: usize, ct: &bfv::Ciphertext) -> Result<()> {
        let (layer, prepared) = (self.layer, self.client.prepared());
        let params = prepared.params();
        let bfv = params.bfv();
        let layout = layout_of(prepared.program(), params, step)?;
        let message = bfv::decrypt(bfv, self.client.keys().secret(), ct);
        let slots = bfv.encoder().slots_of(&message);
        let slots: Vec<i64> = slots.into_iter().map(|x| bfv.t().center(x)).collect();
        let mut findings = self.take_findings(layer, "");
        for (image, entered) in self.entered.iter().enumerate() {
            let (from, count) = (image * entered.len(), entered.len());
            let outputs = self.exact.activate(layer, entered);
            let outputs = outputs.ok_or_else(|| misfit("a layer"))?;
            for (slot, &found) in slots.iter().enumerate() {
                let Some(&wanted) = layout
                    .value_of(slot)
                    .checked_sub(from)
                    .and_then(|value| outputs.get(value))
                else {
                    continue;
                };
                findings.slots += 1;
                findings.wrong += u64::from(found != wanted);
            }
            let real = &slots[from..from + count];
            compare(&mut findings, real, self.exact_layer(image, layer)?);
            self.expected[image] = self.accumulate(layer + 1, real)?;
        }
        self.layers[layer] = findings;
        self.layer += 1;
        Ok(())
    }

    fn accumulate(&self, layer: usize, inputs: &[i64]) -> Result<Vec<i64>> {
        let found = self.exact.accumulate(layer, inputs);
        found.ok_or_else(|| misfit("a layer"))
    }

    /// The exact outputs of every layer for one image.
    fn exact_outputs(&self, image: &[i64]) -> Result<Vec<Vec<i64>>> {
        let mut outputs: Vec<Vec<i64>> = Vec::new();
        for layer in 0..self.exact.layers() {
            let inputs = outputs.last().map_or(image, Vec::as_slice);
            let accumulators = self.accumulate(layer, inputs)?;
            let made = self.exact.activate(layer, &accumulators);
            outputs.push(made.ok_or_else(|| misfit("a layer"))?);
        }
        Ok(outputs)
    }

    fn exact_layer(&self, image: usize, layer: usize) -> Result<&[i64]> {
        let found = self.images[image].get(layer);
        found
            .map(Vec::as_slice)
            .ok_or_else(|| misfit("the number of layers"))
    }

    /// Findings of a layer, taken out to be added to.
    fn take_findings(&mut self, layer: usize, name: &str) -> LayerFindings {
        if self.layers.len() <= layer {
            self.layers.resize_with(layer + 1, LayerFindings::default);
            self.layers[layer].name = name.to_owned();
        }
        std::mem::take(&mut self.layers[layer])
    }

    /// Measures the noise of a ciphertext, in the first run only: it takes long.
    fn measure(&mut self, step: usize, value: &Held) {
        let prepared = self.client.prepared();
        let Held::Ciphertext(value) = value else {
            return;
        };
        let described = &prepared.program().steps[step];
        let name = format!("{step} {}: {}", described.layer, described.op.name());
        let (Type::Ciphertext { noise_bits, .. }, Some(ct)) = (described.ty, value.ciphertext())
        else {
            return;
        };
        if self.noise.iter().any(|known| known.name == name) {
            return;
        }
        let (size, margin_bits) =
            bfv::measure(prepared.params().bfv(), self.client.keys().secret(), ct);
        self.noise.push(StepNoise {
            name,
            predicted_bits: noise_bits,
            measured_bits: size.log2_rms,
            margin_bits,
        });
    }
}

fn compare(findings: &mut LayerFindings, real: &[i64], exact: &[i64]) {
    findings.values += real.len() as u64;
    for (a, b) in real.iter().zip(exact) {
        if a != b {
            *findings.changes.entry(a - b).or_default() += 1;
        }
    }
}

fn misfit(what: &'static str) -> Error {
    Error::Image {
        what,
        found: "of another shape".into(),
        expected: "that of the network the program was compiled from".into(),
    }
}
