//! Parts of a layer that can be run in little memory.

use crate::error::Result;
use crate::frame::Frame;
use crate::layer::Layer;
use crate::packing::Packing;

/// A layer, or part of it, with at most `most` products, rotations and ciphertexts.
///
/// The function halves the layer until its counts are small enough, or until no half has smaller
/// ones. It tries in this order, and takes the first half that lowers the largest count: half of
/// the kernels, of the groups, of the rows or columns of the image, of the channels, of the images.
/// Each part is a layer of its own, and its counts are those of the packing for that layer.
///
/// # Errors
/// The errors of [`Packing::counts`].
pub fn slice(packing: &dyn Packing, layer: &Layer, frame: &Frame, most: u64) -> Result<Layer> {
    let largest = |part: &Layer| -> Result<u64> {
        let counts = packing.counts(part, frame)?;
        let all = [
            counts.products,
            counts.rotations,
            counts.inputs,
            counts.outputs,
        ];
        Ok(all.into_iter().max().unwrap_or(0))
    };
    let mut part = *layer;
    let mut count = largest(&part)?;
    while count > most {
        let mut lowest = None;
        for smaller in halves(&part) {
            let found = largest(&smaller)?;
            if found < count {
                lowest = Some((smaller, found));
                break;
            }
        }
        let Some(smaller) = lowest else { break };
        (part, count) = smaller;
    }
    Ok(part)
}

/// The layer with half of its kernels, groups, rows or columns, channels, images, as far as it has
/// several.
fn halves(layer: &Layer) -> Vec<Layer> {
    let (kernels, channels) = (layer.group_kernels(), layer.group_channels());
    let mut found = Vec::new();
    if kernels > 1 {
        let kernels = layer.groups * kernels.div_ceil(2);
        found.push(Layer { kernels, ..*layer });
    }
    if layer.groups > 1 {
        let groups = layer.groups.div_ceil(2);
        found.push(Layer {
            groups,
            channels: groups * channels,
            kernels: groups * kernels,
            ..*layer
        });
    }
    let (output, span) = (layer.output(), layer.span());
    let axis = usize::from(output[1] >= output[0]);
    let read = (output[axis].div_ceil(2) - 1) * layer.stride[axis] + span[axis];
    let around = layer.pads[axis] + layer.pads[axis + 2];
    let size = read.saturating_sub(around).max(1);
    if size < layer.input[axis] {
        let mut part = *layer;
        part.input[axis] = size;
        found.extend(part.check().is_ok().then_some(part));
    }
    if channels > 1 {
        let channels = layer.groups * channels.div_ceil(2);
        found.push(Layer { channels, ..*layer });
    }
    if layer.batch > 1 {
        let batch = layer.batch.div_ceil(2);
        found.push(Layer { batch, ..*layer });
    }
    found
}
