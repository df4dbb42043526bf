//! Compares the integers of a run with the expected ones.

use crate::error::{Result, misfit};
use crate::exact::Exact;
use crate::inspector::Inspector;
use circuits::steps::{layout_of, packed};
use program::{Packed, ValueId};

impl<E: Exact> Inspector<E> {
    /// The coefficients of a batch of samples that the program packs.
    pub(crate) fn coefficients_taken(&self, samples: ValueId) -> Vec<usize> {
        let steps = self.verified.program().steps.iter();
        let reads = steps.filter(|step| step.op.operands().contains(&samples));
        let packings = reads.filter_map(|step| packed(self.verified.params(), &step.op));
        let taken = packings.flat_map(|(sources, values)| {
            let taken = values.iter().flat_map(|v| &v.3);
            let taken = taken.filter(|[source, _]| sources[*source] == samples);
            taken.map(|&[_, at]| at).collect::<Vec<usize>>()
        });
        taken.collect()
    }

    /// Compares the accumulators that a packing reads with the expected ones.
    pub(crate) fn accumulators(
        &mut self,
        step: usize,
        sources: &[ValueId],
        values: &[Packed],
    ) -> Result<()> {
        let layer = self.layer_of(step);
        self.enter(layer)?;
        let (bound, t) = (self.exact.bound(layer), self.verified.params().bfv().t());
        for Packed(_, image, output, samples) in values {
            let Some(image) = self.images.get_mut(*image) else {
                continue; // the batch is not full
            };
            let taken = samples
                .iter()
                .map(|&[source, at]| self.phases[&sources[source]][&at]);
            let entered = t.center(t.from_i64(taken.sum()));
            let wanted = *image
                .expected
                .get(*output)
                .ok_or_else(|| misfit("a layer"))?;
            // A factor of a product may be packed more than once. It is the same sum.
            if image.entered[*output].replace(entered).is_none() {
                self.layers[layer].noise.add(entered - wanted);
                self.layers[layer].beyond_bound += u64::from(entered.abs() > bound);
            }
        }
        Ok(())
    }

    /// Compares the slots that a table left with the table's values for the accumulators that
    /// entered it.
    pub(crate) fn activations(
        &mut self,
        step: usize,
        values: &[Packed],
        ct: &bfv::Ciphertext,
    ) -> Result<()> {
        let (layer, verified) = (self.layer_of(step), self.verified.clone());
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
}
