//! The last layer of a network with several heads.
//!
//! Terms that read values in different places cannot be added up under encryption. The last layer
//! has no samples that could be added up instead. But terms of different heads have weights for
//! different channels, so they need not be added up: each group of terms gives its own channels.

use crate::linear::{Operand, Outputs};
use network::{Linear, Shape};

/// The channels of each group of terms, if no channel belongs to several groups.
pub(crate) fn channels(groups: &[Vec<&Operand<'_>>], shape: Shape) -> Option<Vec<Vec<bool>>> {
    let mut taken = vec![false; shape[0]];
    let mut found = Vec::new();
    for group in groups {
        let own: Vec<bool> = (0..shape[0])
            .map(|channel| group.iter().any(|operand| gives(operand, channel)))
            .collect();
        for (taken, &own) in taken.iter_mut().zip(&own) {
            if std::mem::replace(taken, *taken || own) && own {
                return None;
            }
        }
        found.push(own);
    }
    Some(found)
}

/// Whether a term has a weight for an output channel.
fn gives(operand: &Operand<'_>, channel: usize) -> bool {
    let row = |weights: &[i64], rows: usize| {
        let len = weights.len() / rows;
        weights[channel * len..][..len].iter().any(|&w| w != 0)
    };
    match operand.linear {
        Linear::Conv(conv) => row(&conv.weights, conv.kernels),
        Linear::Dense(dense) => row(&dense.weights, dense.outputs),
        Linear::Window(window) => {
            let own = window.first..window.first + operand.tensor.shape[0];
            own.contains(&channel) && window.weights.iter().any(|&w| w != 0)
        }
    }
}

/// The outputs of some channels.
pub(crate) fn kept(outputs: Outputs, own: &[bool], shape: Shape) -> Option<Outputs> {
    let pairs = outputs.rows.into_iter().zip(outputs.at);
    let (rows, at): (Vec<_>, Vec<_>) = pairs
        .filter(|(row, _)| own[channel(row.output, shape)])
        .unzip();
    (!rows.is_empty()).then_some(Outputs {
        value: outputs.value,
        rows,
        at,
    })
}

/// Channel of an output.
pub(crate) fn channel(output: usize, shape: Shape) -> usize {
    output / (shape[1] * shape[2])
}
