//! The last layer, if its terms read values in different places.
//!
//! Such terms cannot be added up under encryption, and the last layer has no samples that could be
//! added up instead. Each group of terms therefore gives the channels for which it has weights.
//! Where several groups give the same channel, each gives a part of the result, and the client adds
//! the parts up. The server hides the parts: only their sum is the result.

use crate::linear::{Operand, Outputs};
use network::Shape;

/// The channels of each group of terms.
pub(crate) fn channels(groups: &[Vec<&Operand<'_>>], shape: Shape) -> Vec<Vec<bool>> {
    let own = |group: &Vec<&Operand<'_>>| {
        let given = |channel| group.iter().any(|operand| gives(operand, channel));
        (0..shape[0]).map(given).collect()
    };
    groups.iter().map(own).collect()
}

/// Returns true if several groups give parts of one channel.
pub(crate) fn meet(channels: &[Vec<bool>]) -> bool {
    let count = |channel: usize| channels.iter().filter(|own| own[channel]).count();
    (0..channels.first().map_or(0, Vec::len)).any(|channel| count(channel) > 1)
}

/// Returns true if a term has a weight for an output channel.
fn gives(operand: &Operand<'_>, channel: usize) -> bool {
    let map = operand.linear.grouped(operand.tensor.shape);
    let weights = |kernel| &map.weights[map.weights_of(kernel)..][..map.row_len()];
    map.kernel_of(channel)
        .is_some_and(|kernel| weights(kernel).iter().any(|&w| w != 0))
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
