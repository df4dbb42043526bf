//! Follows runs of one program.

use crate::error::{Result, misfit};
use crate::exact::Exact;
use crate::findings::LayerFindings;
use crate::noise::StepNoise;
use circuits::steps::packed;
use client::{Client, Decrypted};
use exchange::Verified;
use program::{Op, ValueId};
use runtime::{Event, StepResult};
use std::collections::BTreeMap;

/// Compares runs of one program with an exact network.
pub struct Inspector<E> {
    pub(crate) client: Client,
    pub(crate) verified: Verified,
    pub(crate) exact: E,
    /// Names of the layers in order.
    pub(crate) names: Vec<String>,
    pub(crate) layers: Vec<LayerFindings>,
    pub(crate) noise: Vec<StepNoise>,
    pub(crate) images: Vec<Image>,
    /// Phases of the samples of each step of the current run.
    pub(crate) phases: BTreeMap<ValueId, BTreeMap<usize, i64>>,
}

/// The integers of one image.
pub(crate) struct Image {
    pub(crate) pixels: Vec<i64>,
    /// The outputs of every layer of the exact network.
    pub(crate) exact: Vec<Vec<i64>>,
    /// The actual outputs of the encrypted layers so far.
    pub(crate) real: Vec<Vec<i64>>,
    /// The exact accumulators of the current layer for the actual outputs `real`. Then the
    /// accumulators that entered its table, and for each output true if it has been compared.
    pub(crate) expected: Vec<i64>,
    pub(crate) entered: Vec<Option<i64>>,
    pub(crate) left: Vec<bool>,
}

impl<E: Exact> Inspector<E> {
    /// An inspector of the runs of `client` on its program.
    pub fn new(client: &Client, verified: &Verified, exact: E) -> Self {
        let mut names: Vec<String> = Vec::new();
        for step in &verified.program().steps {
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
            verified: verified.clone(),
            exact,
            layers: names.iter().map(named).collect(),
            names,
            noise: Vec::new(),
            images: Vec::new(),
            phases: BTreeMap::new(),
        }
    }

    /// The findings in each layer.
    pub fn layers(&self) -> &[LayerFindings] {
        &self.layers
    }

    /// The noise of every ciphertext of the first run.
    pub fn noise(&self) -> &[StepNoise] {
        &self.noise
    }

    /// Begins a run on the given images.
    ///
    /// # Errors
    /// [`Error::Misfit`](crate::Error::Misfit) if an image does not fit the exact network, or if
    /// the network has other layers than the program.
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

    /// Takes an event of the run.
    ///
    /// # Errors
    /// [`Error::Misfit`](crate::Error::Misfit) if the layers of the program and the exact network
    /// differ.
    pub fn observe(&mut self, event: &Event<'_>) -> Result<()> {
        let &Event::End { step, value } = event else {
            return Ok(());
        };
        let verified = self.verified.clone();
        match (&verified.program().steps[step].op, value) {
            (Op::ToSamples { .. }, StepResult::Samples(batch)) => {
                let lwe = self.client.keys().lwe();
                let taken = self.coefficients_taken(step).into_iter();
                let phases = taken.map(|k| (k, batch.phase(k, lwe) as i64)).collect();
                self.phases.insert(step, phases);
            }
            (Op::Table { value: packing, .. }, StepResult::Ciphertext(value)) => {
                let packing = &verified.program().steps[*packing].op;
                if let Some((_, values)) = packed(verified.params(), packing) {
                    self.activations(step, &values, value.ciphertext())?;
                }
            }
            (op, _) => {
                if let Some((sources, values)) = packed(verified.params(), op) {
                    self.accumulators(step, &sources, &values)?;
                }
            }
        }
        self.measure(step, value)?;
        Ok(())
    }

    /// Ends a run with its decrypted result.
    ///
    /// # Errors
    /// [`Error::Misfit`](crate::Error::Misfit) if the exact network has other layers.
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

    pub(crate) fn layer_of(&self, step: usize) -> usize {
        let name = &self.verified.program().steps[step].layer;
        let found = self.names.iter().position(|known| known == name);
        found.expect("every step's layer is known")
    }

    /// Begins a layer if it has not begun yet. All layers before it have given their outputs.
    pub(crate) fn enter(&mut self, layer: usize) -> Result<()> {
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
}
