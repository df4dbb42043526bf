//! Networks that can be compiled: chains in which each layer has one term, of the layer before it.

use crate::error::{Error, Result};
use network::{IntNetwork, Lut, Shape};
use std::fmt::Debug;

/// A chain of linear layers, each but the last with a table.
pub(crate) struct Chain {
    pub(crate) name: String,
    /// Shape of an image.
    pub(crate) input: Shape,
    /// Largest pixel; the smallest is 0.
    pub(crate) max: i64,
    pub(crate) layers: Vec<Layer>,
}

/// A layer of a chain.
pub(crate) struct Layer {
    pub(crate) name: String,
    pub(crate) linear: Linear,
    pub(crate) bound: i64,
    pub(crate) lut: Option<Lut>,
}

/// A linear layer with its bias.
pub(crate) enum Linear {
    Conv(Conv),
    Dense(Dense),
}

/// A convolution of one group, the same in both directions.
pub(crate) struct Conv {
    pub(crate) channels: usize,
    pub(crate) kernels: usize,
    pub(crate) kernel: [usize; 2],
    pub(crate) stride: usize,
    pub(crate) padding: usize,
    pub(crate) input: [usize; 2],
    pub(crate) output: [usize; 2],
    pub(crate) weights: Vec<i64>,
    pub(crate) bias: Vec<i64>,
}

/// A matrix, one row of weights per output.
pub(crate) struct Dense {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) weights: Vec<i64>,
    pub(crate) bias: Vec<i64>,
}

impl Chain {
    /// # Errors
    /// [`Error::Network`], and [`Error::Layer`] for the first layer that does not fit a chain.
    pub(crate) fn new(network: &IntNetwork) -> Result<Self> {
        let mut sources = vec![network.input.shape];
        sources.extend(network.shapes()?);
        if network.input.min != 0 {
            let first = &network.layers[0].name;
            return Err(refused(first, "the smallest input", network.input.min, "0"));
        }
        let layers = network.layers.iter().map(|layer| {
            let name = &layer.name;
            // With one term each, and every layer read, each reads the one before it.
            let [term] = layer.terms.as_slice() else {
                return Err(refused(name, "the number of terms", layer.terms.len(), "1"));
            };
            Ok(Layer {
                name: name.clone(),
                linear: linear(layer, &term.linear, sources[usize::from(term.source)])?,
                bound: layer.bound,
                lut: layer.lut.clone(),
            })
        });
        let layers = layers.collect::<Result<Vec<_>>>()?;
        Ok(Self {
            name: network.name.clone(),
            input: network.input.shape,
            max: network.input.max,
            layers,
        })
    }
}

/// The error of a layer that cannot be done.
fn refused(layer: &str, what: &'static str, found: impl Debug, expected: &str) -> Error {
    Error::Layer {
        layer: layer.into(),
        what,
        found: format!("{found:?}"),
        expected: expected.into(),
    }
}

fn linear(layer: &network::Layer, linear: &network::Linear, source: Shape) -> Result<Linear> {
    let (name, bias) = (&layer.name, layer.bias.clone());
    let conv = match linear {
        network::Linear::Conv(conv) => conv,
        network::Linear::Dense(dense) => {
            return Ok(Linear::Dense(Dense {
                inputs: dense.inputs,
                outputs: dense.outputs,
                weights: dense.weights.clone(),
                bias,
            }));
        }
        network::Linear::Window(window) => {
            let found = window.kernel;
            return Err(refused(
                name,
                "the kernel of a window",
                found,
                "a convolution or a dense layer",
            ));
        }
    };
    let [_, height, width] = source;
    if conv.groups != 1 {
        return Err(refused(name, "the number of groups", conv.groups, "1"));
    }
    if conv.dilation != [1, 1] {
        return Err(refused(name, "the dilation", conv.dilation, "[1, 1]"));
    }
    if conv.stride[0] != conv.stride[1] {
        return Err(refused(
            name,
            "the stride",
            conv.stride,
            "one for both directions",
        ));
    }
    let padding = match usize::try_from(conv.pads[0]) {
        Ok(padding) if conv.pads == [conv.pads[0]; 4] => padding,
        _ => {
            let expected = "the same on all sides, at least 0";
            return Err(refused(name, "the padding", conv.pads, expected));
        }
    };
    Ok(Linear::Conv(Conv {
        channels: conv.channels,
        kernels: conv.kernels,
        kernel: conv.kernel,
        stride: conv.stride[0],
        padding,
        input: [height, width],
        output: conv.sliding().output([height, width]),
        weights: conv.weights.clone(),
        bias,
    }))
}

impl Linear {
    /// Numbers taken.
    pub(crate) fn inputs(&self) -> usize {
        match self {
            Self::Conv(conv) => conv.channels * conv.input[0] * conv.input[1],
            Self::Dense(dense) => dense.inputs,
        }
    }

    /// Numbers given.
    pub(crate) fn outputs(&self) -> usize {
        match self {
            Self::Conv(conv) => conv.kernels * conv.output[0] * conv.output[1],
            Self::Dense(dense) => dense.outputs,
        }
    }

    pub(crate) fn weights(&self) -> &[i64] {
        match self {
            Self::Conv(conv) => &conv.weights,
            Self::Dense(dense) => &dense.weights,
        }
    }

    pub(crate) fn bias(&self) -> &[i64] {
        match self {
            Self::Conv(conv) => &conv.bias,
            Self::Dense(dense) => &dense.bias,
        }
    }
}
