//! Giant steps of packings, several at once.

use super::{Lowered, Walk};
use crate::error::Result;
use crate::packing::{Layers, Samples};
use program::recording::{Ciphertext, Op, Type, ValueId};
use trace::{self, Builder};

/// Giant steps that one call makes. They read the same rotations of the secret, so a machine that
/// makes sums limb by limb may load each limb of these once for all of them. Their rows modulo `t`
/// must stay meanwhile. ResNet-20 w6a7, simulated on Athena's accelerator, takes 209.8 ms with one
/// and 203.1 ms with two.
const TOGETHER: usize = 2;

impl Walk<'_> {
    /// The giant step of a packing, and with it the next ones of the same packing.
    pub(super) fn giant_steps(
        &mut self,
        b: &mut Builder,
        index: usize,
        ty: Ciphertext,
    ) -> Result<Vec<trace::ValueId>> {
        let steps = &self.recording.steps;
        let Op::MulMasks {
            packing,
            secret,
            units,
            ..
        } = &steps[index].op
        else {
            return Err(self.wrong(index, "its operation", steps[index].op.name(), "mul_masks"));
        };
        // Steps that differ in nothing but the giant step.
        let alike = steps[index..]
            .iter()
            .enumerate()
            .filter_map(|(later, step)| match &step.op {
                Op::MulMasks {
                    packing: p,
                    giant,
                    secret: s,
                    units: u,
                } if (p, s, u) == (packing, secret, units) && step.ty == Type::Ciphertext(ty) => {
                    Some((index + later, *giant))
                }
                _ => None,
            });
        let (places, giants): (Vec<usize>, Vec<usize>) = alike.take(TOGETHER).unzip();
        let pairs = secret.iter().map(|&value| self.pair(b, index, value, ty));
        let pairs: Vec<[trace::ValueId; 2]> = pairs.collect::<Result<_>>()?;
        let chain = self.chain;
        let layers = self.layers(b, index, *packing)?;
        let mut arguments = layers.all_masks();
        for part in 0..2 {
            arguments.extend(pairs.iter().map(|pair| pair[part]));
        }
        let sub = layers.giant_steps(chain, b, (index, &giants), (ty.level, units.as_slice()));
        let sums = b.call(sub, &arguments);
        let mut sums = sums.chunks(2).map(<[trace::ValueId]>::to_vec);
        let first = sums.next().unwrap_or_default();
        self.ahead.extend(places.into_iter().skip(1).zip(sums));
        Ok(first)
    }

    /// The layers of a packing, made once.
    pub(super) fn layers(
        &mut self,
        b: &mut Builder,
        index: usize,
        packing: usize,
    ) -> Result<&Layers> {
        if !self.layers.contains_key(&packing) {
            let described = self.recording.packings.get(packing).ok_or_else(|| {
                let (found, all) = (packing.to_string(), self.recording.packings.len());
                self.wrong(index, "the packing", &found, &format!("below {all}"))
            })?;
            let sources = described.sources.iter();
            let sources = sources.map(|&source| self.samples_of(index, source));
            let sources: Vec<Samples> = sources.collect::<Result<_>>()?;
            let of = (self.modulus(index)?, self.small(index)?.dimension());
            let layers = Layers::new(b, of, described, &sources);
            self.layers.insert(packing, layers);
        }
        Ok(&self.layers[&packing])
    }

    /// Samples that a step made.
    pub(super) fn samples_of(&self, index: usize, value: ValueId) -> Result<Samples> {
        match self.made.get(value) {
            Some(Lowered::Samples(samples)) => Ok(*samples),
            _ => Err(self.wrong(index, "a source", "no samples", "samples")),
        }
    }
}
