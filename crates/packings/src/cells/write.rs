//! The formula and the circuit of a layer in cells.

use super::{Cells, depth};
use crate::counts::{Counts, fold_decompositions, fold_rotations};
use crate::error::Result;
use crate::frame::Frame;
use crate::layer::{Layer, pairs};
use crate::packed::Packed;
use crate::writer::Writer;
use program::circuit::ValueId;

/// The closed formula. If it is `batched`, images lie side by side.
pub(crate) fn counts(layer: &Layer, frame: &Frame, batched: bool) -> Result<Counts> {
    let cells = Cells::new(layer, frame, batched)?;
    let (sets, parts) = (cells.sets() as u64, cells.parts as u64);
    let block = cells.block();
    let sums = sets * cells.kernels as u64;
    let mut counts = Counts {
        plaintexts: sums * parts,
        ..Counts::default()
    };
    let mut most = [1, 1];
    let mut all = 0;
    for tile in 0..cells.all_tiles() {
        let [down, right] = cells.classes_of(tile);
        all += (down * right) as u64;
        let moves = moves([down, right], cells.grid);
        counts += Counts {
            inputs: sets * parts,
            masks: moves * sets * parts,
            rotations: moves * sets * parts,
            early: moves * sets * parts,
            turned: u64::from(moves > 0) * sets * parts,
            sums: (down * right - 1) as u64 * sets * parts,
            decompositions: u64::from(moves > 0) * sets * parts,
            ..Counts::default()
        };
        most = [most[0].max(down), most[1].max(right)];
    }
    counts.plaintexts += moves(most, cells.grid);
    counts.outputs += all * sums;
    counts.outer += all * sums;
    counts.sums += all * sums;
    counts.products += counts.masks + all * sums * parts;
    counts.rotations += all * sums * fold_rotations(block);
    counts.decompositions += all * sums * fold_decompositions(block);
    Ok(counts)
}

/// Masked rotations that make all classes but the first one: each direction in which a class is
/// moved takes two, if there is a neighbour to reach into.
fn moves(classes: [usize; 2], grid: [usize; 2]) -> u64 {
    let in_axis = |a: usize| 1 + (classes[a] - 1) * (1 + usize::from(grid[a] > 1));
    (in_axis(0) * in_axis(1) - 1) as u64
}

/// Writes the layer. If it is `batched`, images lie side by side.
pub(crate) fn build(
    name: &str,
    layer: &Layer,
    weights: &[i64],
    frame: &Frame,
    batched: bool,
) -> Result<Packed> {
    layer.check_weights(weights)?;
    let cells = Cells::new(layer, frame, batched)?;
    let depth = depth(layer);
    let mut w = Writer::new(name, frame, depth)?;
    let mut base = Vec::new();
    for tile in 0..cells.all_tiles() {
        for set in 0..cells.sets() {
            let parts = (0..cells.parts).map(|part| w.input(cells.input(tile, (set, part))));
            base.push(parts.collect::<Result<Vec<ValueId>>>()?);
        }
    }
    let mut plaintexts = Vec::new();
    for set in 0..cells.sets() {
        for index in 0..cells.kernels {
            let own = (0..cells.parts).map(|part| {
                let slots = cells.weights(weights, (set, part), index);
                w.weights(&slots, 1)
            });
            plaintexts.push(own.collect::<Result<Vec<ValueId>>>()?);
        }
    }
    let tiles = (0..cells.all_tiles()).map(|tile| cells.classes_of(tile));
    let most = tiles.fold([0, 0], |most, own| [0, 1].map(|a| own[a].max(most[a])));
    for (a, b) in pairs(most[0], most[1]) {
        let mut moves = Vec::new();
        if [a, b] != [0, 0] {
            for (steps, mask) in cells.moves([a, b]) {
                moves.push((steps, w.weights(&mask, 2)?));
            }
        }
        for tile in 0..cells.all_tiles() {
            let [down, right] = cells.classes_of(tile);
            if a >= down || b >= right {
                continue;
            }
            for set in 0..cells.sets() {
                let mut parts = Vec::new();
                for &x in &base[tile * cells.sets() + set] {
                    let mut terms = Vec::new();
                    for &(steps, mask) in &moves {
                        terms.push([w.rotate(x, steps)?, mask]);
                    }
                    parts.push(match terms.is_empty() {
                        true => w.drop_to(x, 1)?,
                        false => w.sum(&terms)?,
                    });
                }
                for index in 0..cells.kernels {
                    let weights = &plaintexts[set * cells.kernels + index];
                    let terms = parts.iter().zip(weights).map(|(&x, &w)| [x, w]);
                    let sum = w.sum(&terms.collect::<Vec<_>>())?;
                    let sum = w.fold(sum, 1, cells.block())?;
                    w.output(sum, cells.output((tile, set), [a, b], index))?;
                }
            }
        }
    }
    w.finish(false)
}
