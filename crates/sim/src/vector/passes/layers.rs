//! Layers: operations that stay within their limbs come together, however many they are.
//!
//! Sums, products word by word and combinations compute a limb from limbs of the same modulus. Key
//! switches and divisions read limbs of several other moduli: they *cross*. Plaintexts do not
//! cross: all their limbs are computed from one limb modulo `t`. An operation that reads the result
//! of a crossing operation is in a later layer. The operations of a layer that do not cross are
//! walked modulus by modulus. A table then reads the limbs of its powers once for each modulus, for
//! all of its sums, and not once for each sum. An operation between two crossing ones, such as a
//! product before its key switch, is walked with the later one.

use super::walk::{self, Sums};
use crate::vector::work::{NONE, Work};
use std::collections::{HashMap, HashSet};

/// The part of the program in which layers are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Within {
    /// Each step of the program. The steps of a network hold many operations.
    Step,
    /// The whole program. Each step of a circuit is one operation.
    Program,
    /// The whole program. In addition up to this many operations of a layer that cross and read one
    /// hint are walked together. Each limb of the hint is then read for all of them, one after the
    /// other, and needs no room afterwards.
    Streams(usize),
}

/// How layers are walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Walk {
    /// How the sums of a modulus follow each other.
    pub(super) sums: Sums,
    /// Operations of a layer are walked together while they change the basis of at most so many
    /// limbs. They stay until the last modulus, as the rows of a packing do.
    pub(super) most: usize,
    /// True if sums wait for their first reader. The tables of networks gain by it, and a circuit of
    /// many products that are added up holds all of them until then.
    pub(super) late: bool,
}

/// Orders instructions by the layers of their operations.
pub(super) fn by_layers(work: &Work, order: &[u32], within: Within, walk: Walk) -> Vec<u32> {
    let Walk { sums, most, late } = walk;
    let group = |instruction: &u32| work.groups[*instruction as usize];
    let operations: Vec<&[u32]> = order.chunk_by(|a, b| group(a) == group(b)).collect();
    let layers = layers(work, &operations, within, late);
    let mut sorted: Vec<usize> = (0..operations.len()).collect();
    sorted.sort_by_key(|&place| (layers[place], place));
    let mut regions = vec![0; work.instructions()];
    let mut region = 0;
    for layer in sorted.chunk_by(|&a, &b| layers[a] == layers[b]) {
        let mut bases = HashSet::new();
        for &place in layer {
            let before = bases.len();
            bases.extend(bases_of(work, operations[place]));
            if bases.len() > most && before > 0 {
                region += 1;
                bases = bases_of(work, operations[place]).collect();
            }
            operations[place]
                .iter()
                .for_each(|&i| regions[i as usize] = region);
        }
        region += 1;
    }
    let order: Vec<u32> = sorted
        .iter()
        .flat_map(|&place| operations[place].iter().copied())
        .collect();
    walk::within(work, &order, &regions, sums)
}

/// The limbs that instructions of an operation read modulo another prime.
fn bases_of<'a>(work: &'a Work, operation: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
    operation.iter().flat_map(move |&i| {
        let other = move |limb: &u32| {
            let modulus = work.moduli.get(*limb as usize);
            modulus.is_some_and(|&modulus| modulus != work.moduli[i as usize])
        };
        work.operands(i as usize).filter(other)
    })
}

/// The layer of an operation. Layers are ordered by their fields. Operations with equal layers are
/// walked together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Layer {
    step: usize,
    /// Number of layers before this one in its step.
    depth: u32,
    /// Index of the crossing operation, or `NONE` for operations that do not cross.
    crossing: u32,
}

/// The layer of each operation. Operands of an operation are in earlier layers or in its own.
fn layers(work: &Work, operations: &[&[u32]], within: Within, late: bool) -> Vec<Layer> {
    let mut owner = vec![NONE; work.instructions()];
    let mut layers: Vec<Layer> = Vec::with_capacity(operations.len());
    // For each operation, the only operation that reads it, or `NONE` if there are several.
    let mut reader: Vec<Option<u32>> = Vec::with_capacity(operations.len());
    let mut follows_sum = Vec::with_capacity(operations.len());
    for (place, operation) in operations.iter().enumerate() {
        let own = place as u32;
        operation.iter().for_each(|&i| owner[i as usize] = own);
        let step = match within {
            Within::Step => work.step(operation[0] as usize),
            Within::Program | Within::Streams(_) => 0,
        };
        let step = layers.last().map_or(step, |last| last.step.max(step));
        let (mut other, mut crosses, mut depth, mut follows) = (None, false, 0, false);
        for &i in *operation {
            for limb in work.operands(i as usize) {
                let Some(&from) = owner.get(limb as usize) else {
                    continue;
                };
                let modulus = work.moduli[limb as usize];
                if work.moduli[i as usize] != modulus {
                    crosses |= *other.get_or_insert(modulus) != modulus;
                }
                if from != own {
                    let read = &mut reader[from as usize];
                    *read = Some(read.map_or(own, |other| if other == own { own } else { NONE }));
                    let before = layers[from as usize];
                    if before.step == step {
                        let crossed = before.crossing != NONE;
                        follows |= !crossed;
                        depth = depth.max(2 * before.depth + u32::from(crossed));
                    }
                }
            }
        }
        let crossed = depth % 2 == 1;
        layers.push(Layer {
            step,
            depth: depth / 2 + u32::from(crossed || crosses),
            crossing: if crosses { own } else { NONE },
        });
        reader.push(None);
        follows_sum.push(follows);
    }
    for place in 0..layers.len() {
        if layers[place].crossing == NONE
            && !follows_sum[place]
            && let Some(next) = reader[place]
            && next != NONE
            && layers[next as usize].crossing != NONE
        {
            layers[place] = layers[next as usize];
        }
    }
    if late {
        sums_with_first_reader(work, operations, &owner, &mut layers);
    }
    if let Within::Streams(most) = within {
        stream(work, operations, &mut layers, most);
    }
    if within != Within::Step {
        with_first_reader(work, operations, (&owner, &mut layers));
    }
    layers
}

/// Lets up to `most` crossing operations of a layer share the place of the first one that reads the
/// same hint.
fn stream(work: &Work, operations: &[&[u32]], layers: &mut [Layer], most: usize) {
    // For each layer and hint, the place of the first operation, and the number of operations at
    // this place.
    let mut streams: HashMap<(u32, u32), (u32, usize)> = HashMap::new();
    // For each crossing operation, by its old place, its new place.
    let mut moved: Vec<u32> = (0..operations.len() as u32).collect();
    for (place, operation) in operations.iter().enumerate() {
        let layer = layers[place];
        if layer.crossing != place as u32 {
            continue;
        }
        let limbs = operation.iter().flat_map(|&i| work.operands(i as usize));
        let hint = limbs.filter_map(|limb| work.input(limb)?.hint()).next();
        let Some(hint) = hint else { continue };
        let stream = streams
            .entry((layer.depth, hint))
            .or_insert((layer.crossing, 0));
        if stream.1 == most {
            *stream = (layer.crossing, 0);
        }
        stream.1 += 1;
        moved[place] = stream.0;
    }
    for layer in layers.iter_mut().filter(|layer| layer.crossing != NONE) {
        layer.crossing = moved[layer.crossing as usize];
    }
}

/// Moves operations that do not cross, and that only such operations of the same step read, to the
/// layer of the first reader. A table computes its combinations of powers early otherwise, and
/// nothing reads them until all other powers are there.
fn sums_with_first_reader(work: &Work, operations: &[&[u32]], owner: &[u32], layers: &mut [Layer]) {
    // For each operation the layer of its first reader, and false if some reader crosses or is in
    // another step.
    let mut readers: Vec<(Option<Layer>, bool)> = vec![(None, true); operations.len()];
    for (place, operation) in operations.iter().enumerate().rev() {
        if layers[place].crossing == NONE
            && let (Some(first), true) = readers[place]
        {
            layers[place] = first;
        }
        let layer = layers[place];
        let limbs = operation.iter().flat_map(|&i| work.operands(i as usize));
        for &from in limbs.filter_map(|limb| owner.get(limb as usize)) {
            let from = from as usize;
            if from != place {
                let (first, late) = &mut readers[from];
                *late &= layer.crossing == NONE && layer.step == layers[from].step;
                *first = Some(first.map_or(layer, |first| first.min(layer)));
            }
        }
    }
}

/// Moves operations that read only limbs from outside, such as the transform of a plaintext, to the
/// layer of their first reader, so that results do not wait long for their use.
fn with_first_reader(work: &Work, operations: &[&[u32]], (owner, layers): (&[u32], &mut [Layer])) {
    let mut first: Vec<Option<Layer>> = vec![None; operations.len()];
    for (place, operation) in operations.iter().enumerate().rev() {
        let limbs = operation.iter().flat_map(|&i| work.operands(i as usize));
        let before = limbs.filter_map(|limb| owner.get(limb as usize));
        let mut before = before.filter(|&&from| from as usize != place).peekable();
        if before.peek().is_none() && layers[place].crossing == NONE {
            layers[place] = first[place].unwrap_or(layers[place]);
        }
        for &from in before {
            let first = &mut first[from as usize];
            *first = Some(first.map_or(layers[place], |first| first.min(layers[place])));
        }
    }
}
