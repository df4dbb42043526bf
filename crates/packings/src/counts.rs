//! Numbers of operations and ciphertexts: of a built circuit, of our formulas, and of the paper's
//! formulas.

use program::circuit::{Circuit, Op};
use std::ops::AddAssign;

/// Numbers of operations and ciphertexts that a layer takes in a packing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Ciphertexts that the client sends.
    pub inputs: u64,
    /// Ciphertexts that the client gets back.
    pub outputs: u64,
    /// Plaintexts of weights and of masks that the server holds.
    pub plaintexts: u64,
    /// Products of a ciphertext and a plaintext, including the products with masks.
    pub products: u64,
    /// Products with a mask, which move slots that no rotation moves alone. The paper calls this a
    /// permute.
    pub masks: u64,
    /// Rotations, each with a key switch.
    pub rotations: u64,
    /// Rotations of inputs, at the level of inputs. The other rotations are at the level of
    /// outputs.
    pub early: u64,
    /// Inputs that are rotated.
    pub turned: u64,
    /// Sums of products, each followed by a rescale.
    pub sums: u64,
    /// Sums of products with weights. The other sums are of products with masks.
    pub outer: u64,
    /// Decompositions for the key switches. Rotations of one value share a decomposition.
    pub decompositions: u64,
}

impl Counts {
    /// The counts of a circuit, which says by levels which products are with masks and which
    /// rotations are of inputs.
    pub fn of_circuit(circuit: &Circuit) -> Self {
        let (counts, number) = (circuit.counts(), |n: usize| n as u64);
        let plaintext = |op: &Op, encrypted: bool| match op {
            Op::Constant { .. } => true,
            Op::Input { .. } => !encrypted,
            _ => false,
        };
        let steps = circuit.steps.iter();
        let plaintexts = steps.filter(|step| plaintext(&step.op, step.ty.encrypted));
        let at = |level: usize, kind: &str| {
            let kinds = counts.0.get(&level);
            kinds
                .and_then(|kinds| kinds.get(kind))
                .copied()
                .unwrap_or(0)
        };
        let masks = counts.total("mul plain") - at(1, "mul plain");
        let early = counts.total("rotate") - at(0, "rotate");
        Self {
            inputs: number(circuit.inputs().filter(|(_, ty)| ty.encrypted).count()),
            outputs: number(circuit.outputs().count()),
            plaintexts: number(plaintexts.count()),
            products: number(counts.total("mul plain")),
            masks: number(masks),
            rotations: number(counts.total("rotate")),
            early: number(early),
            turned: number(counts.total("decompose") - at(0, "decompose")),
            sums: number(counts.total("rescale")),
            outer: number(at(1, "rescale")),
            decompositions: number(counts.total("decompose")),
        }
    }

    /// These counts `times` times. The plaintexts are the same and count once.
    #[must_use]
    pub(crate) fn repeated(self, times: usize) -> Self {
        let times = times as u64;
        Self {
            inputs: self.inputs * times,
            outputs: self.outputs * times,
            plaintexts: self.plaintexts,
            products: self.products * times,
            masks: self.masks * times,
            rotations: self.rotations * times,
            early: self.early * times,
            turned: self.turned * times,
            sums: self.sums * times,
            outer: self.outer * times,
            decompositions: self.decompositions * times,
        }
    }
}

/// Numbers of operations of the paper's dataflow for the same layer, by the formulas of its public
/// simulator. The formulas leave out borders, padding, groups, and for kernels beyond 2x2 part of
/// the outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// Products.
    pub products: u64,
    /// Cyclic rotations.
    pub shifts: u64,
    /// Permutations of slots.
    pub permutes: u64,
}

/// The largest power of two up to which every power from 2 on passes. 1 is not tested.
pub(crate) fn power_of_two(passes: impl Fn(usize) -> bool) -> usize {
    let mut found = 1;
    while found < 1 << 40 && passes(2 * found) {
        found *= 2;
    }
    found
}

/// The sizes in the paper's formulas, with its letters.
pub(crate) struct Letters {
    pub(crate) c: usize,
    pub(crate) k: usize,
    pub(crate) rs: usize,
    pub(crate) xy: usize,
    /// Output pixels, without padding.
    pub(crate) p: usize,
}

impl Letters {
    pub(crate) fn new(layer: &crate::Layer) -> Self {
        let [y, x] = layer.input;
        let [r, s] = layer.kernel;
        let across = (x + 1).saturating_sub(r) * (y + 1).saturating_sub(s);
        Self {
            c: layer.channels,
            k: layer.kernels,
            rs: r * s,
            xy: x * y,
            p: across / (layer.stride[0] * layer.stride[1]),
        }
    }
}

/// Rotations that sum `count` neighbours by doubling: the logarithm, and one for each further bit.
pub(crate) fn fold_rotations(count: usize) -> u64 {
    u64::from(count.ilog2() + count.count_ones() - 1)
}

/// Decompositions of the rotations that [`fold_rotations`] counts.
pub(crate) fn fold_decompositions(count: usize) -> u64 {
    u64::from(count.ilog2() + u32::from(count.count_ones() > 1))
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.inputs += other.inputs;
        self.outputs += other.outputs;
        self.plaintexts += other.plaintexts;
        self.products += other.products;
        self.masks += other.masks;
        self.rotations += other.rotations;
        self.early += other.early;
        self.turned += other.turned;
        self.sums += other.sums;
        self.outer += other.outer;
        self.decompositions += other.decompositions;
    }
}
