//! Parts of a layer that can be run in little memory.

use crate::error::Result;
use crate::frame::Frame;
use crate::layer::Layer;
use crate::packing::Packing;

/// A layer, or part of it, with at most `most` plaintexts, products and ciphertexts of each kind.
///
/// First kernels are left out, then groups, then rows and columns of the image, then channels. Each
/// part is a whole layer of its own, and what it costs is what the packing takes for that layer.
///
/// # Errors
/// Those of [`Packing::counts`].
pub fn slice(packing: &dyn Packing, layer: &Layer, frame: &Frame, most: u64) -> Result<Layer> {
    let mut part = *layer;
    loop {
        let counts = packing.counts(&part, frame)?;
        let all = [
            counts.products,
            counts.rotations,
            counts.inputs,
            counts.outputs,
        ];
        if all.iter().all(|&count| count <= most) {
            return Ok(part);
        }
        let Some(smaller) = smaller(&part) else {
            return Ok(part);
        };
        part = smaller;
    }
}

fn smaller(layer: &Layer) -> Option<Layer> {
    let mut part = *layer;
    let (kernels, channels) = (layer.group_kernels(), layer.group_channels());
    if kernels > 1 {
        part.kernels = layer.groups * kernels.div_ceil(2);
        return Some(part);
    }
    if layer.groups > 1 {
        part.groups = layer.groups.div_ceil(2);
        part.channels = part.groups * channels;
        part.kernels = part.groups * kernels;
        return Some(part);
    }
    let (output, span) = (layer.output(), layer.span());
    let axis = usize::from(output[1] >= output[0]);
    if output[axis] > 1 {
        let rows = (output[axis].div_ceil(2) - 1) * layer.stride[axis] + span[axis];
        let around = layer.pads[axis] + layer.pads[axis + 2];
        let input = rows.saturating_sub(around).max(1);
        if input < layer.input[axis] {
            part.input[axis] = input;
            return part.check().is_ok().then_some(part);
        }
    }
    if channels > 1 {
        part.channels = channels.div_ceil(2);
        return Some(part);
    }
    None
}
