//! Coefficients to slots, for polynomials that are a product with one of a subring.
//!
//! A polynomial `p` of degree `N` is `N/n` polynomials of degree `n`: `p = sum_r X^r p_r(X^(N/n))`.
//! Its *blocks* are slots: the `N/n` blocks of `n/2` columns in each row. The block whose number
//! has the bits of `r` reversed holds the values of `p_r` at the points of the ring of degree `n`.
//! If `z` is a polynomial of degree `n`, then each block of `p z(X^(N/n))` is that of `p` times the
//! values of `z`, and these are the slots of `z(X^(N/n))`. So where `p` is known and `z` encrypted,
//! one product slot by slot gives the blocks. [`CoeffsToSlots`] takes each block to its
//! coefficients.
//!
//! Blocks are what [`SlotsToCoeffs`](super::SlotsToCoeffs) has after `log2(n) - 1` layers. So this
//! map is the inverse of those layers: butterflies at distances `n/4, .., 2, 1`, and last the rows
//! are taken apart. A butterfly of twiddle factor `w` takes `x` and `y` to `(x + y) / 2` and `(x -
//! y) / 2w`.
//!
//! The map runs where the chain is longest, and there a Galois key is several times as large as
//! where slots to coefficients runs. So its baby steps are chained: a stage takes three keys.
//!
//! Source: as for slots to coefficients, and Gentry, Halevi, Smart, "Better Bootstrapping in Fully
//! Homomorphic Encryption", PKC 2012 (a transform and its inverse around a function of the slots).

use super::slots_to_coeffs::{apply_stages, imaginary_unit, twiddle_factors};
use super::{BabySteps, Diagonals, LinearTransform, Offset};
use crate::engine::{Engine, ValueOf};
use crate::error::Result;
use crate::operations::Operations;
use bfv::{Encoder, Params};

const CIRCUIT: &str = "coefficients to slots";

/// Number of maps. At 20 limbs of `N = 2^15` and `n = 1024`, three stages take 60 products and 25
/// rotations, two stages 125 and 29 and 25 bits of modulus less.
const STAGES: usize = 3;

/// The map from the blocks of a polynomial to its coefficients in slots, prepared for ciphertexts.
#[derive(Clone, Debug)]
pub struct CoeffsToSlots {
    dimension: usize,
    stages: Vec<LinearTransform>,
}

impl CoeffsToSlots {
    /// Prepares the map for blocks of polynomials of degree `dimension`, a power of two from 4 to
    /// `N`.
    pub fn new(params: &Params, dimension: usize) -> Self {
        let encoder = params.encoder();
        let all = dimension.ilog2() as usize - 1;
        let layers = (0..STAGES).rev().map(|i| (all + i) / STAGES);
        let layers: Vec<usize> = layers.filter(|&count| count > 0).collect();
        let prepare = |map: &Diagonals| LinearTransform::of(encoder, map, BabySteps::Chained);
        Self {
            dimension,
            stages: stage_maps(encoder, &layers).iter().map(prepare).collect(),
        }
    }

    /// Degree of the polynomials of blocks.
    pub(crate) fn dimension(&self) -> usize {
        self.dimension
    }

    /// Applies the map to blocks: coefficient `k` comes to slot
    /// [`coefficient_of_slot`](super::coefficient_of_slot)`(k)`. The result has factor 1. Its noise
    /// may be up to a limb above the noise of a rounding.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`](crate::Error::OutOfLevels) if the chain is too short, and an error for
    /// a missing Galois key.
    pub fn apply<O: Operations>(
        &self,
        engine: &Engine<O>,
        value: &ValueOf<O>,
    ) -> Result<ValueOf<O>> {
        apply_stages(CIRCUIT, &self.stages, engine, value)
    }

    /// Largest number of limbs that are held at once: the baby steps of a stage and three values
    /// more.
    pub fn live_limbs(&self, level: usize) -> usize {
        let most = self.stages.iter().map(LinearTransform::baby_steps).max();
        2 * (level + 1) * (most.unwrap_or(0) + 3)
    }
}

/// The blocks of the polynomial with the given coefficients, as slots. They are those of
/// polynomials of degree `dimension`.
pub(crate) fn blocks(encoder: &Encoder, dimension: usize, coefficients: &[u64]) -> Vec<u64> {
    let gap = coefficients.len() / dimension;
    let parts = ring::par_map(gap, |r| {
        let mut part = vec![0; coefficients.len()];
        for (own, all) in part.chunks_mut(gap).zip(coefficients.chunks(gap)) {
            own[0] = all[r];
        }
        encoder.slots_of(&encoder.from_residues(part))
    });
    let of_block = |block: usize| match gap {
        1 => 0,
        _ => block.reverse_bits() >> (usize::BITS - gap.ilog2()),
    };
    let slots = 0..coefficients.len();
    slots
        .map(|slot| parts[of_block(slot / (dimension / 2) % gap)][slot])
        .collect()
}

/// The linear maps, in the order in which they are applied. Each entry of `layers` is the number of
/// layers of butterflies in a map.
pub(super) fn stage_maps(encoder: &Encoder, layers: &[usize]) -> Vec<Diagonals> {
    let t = encoder.modulus();
    let mut left: usize = layers.iter().sum();
    let mut stages = Vec::with_capacity(layers.len());
    for &count in layers {
        let mut map: Option<Diagonals> = None;
        for _ in 0..count {
            left -= 1;
            let next = butterflies(encoder, 1 << left);
            map = Some(match map {
                Some(map) => next.after(t, &map),
                None => next,
            });
        }
        let map = map.expect("a stage has a layer");
        stages.push(match left {
            0 => rows_apart(encoder).after(t, &map),
            _ => map,
        });
    }
    stages
}

/// `m_k` in row 0 and `m_(k+n)` in row 1, from `w` and `w'`.
fn rows_apart(encoder: &Encoder) -> Diagonals {
    let (t, slots) = (encoder.modulus(), encoder.slots());
    let half = t.inv(2).expect("t is odd");
    let root = imaginary_unit(encoder);
    let other = t.mul(half, t.inv(root).expect("a root is a unit"));
    let in_row = |slot: usize, values: [u64; 2]| values[slot / (slots / 2)];
    let mut map = Diagonals::zero(slots);
    let proper = Offset::default();
    map.add(t, proper, |slot| in_row(slot, [half, t.neg(other)]));
    let swapped = Offset {
        swap: true,
        ..proper
    };
    map.add(t, swapped, |slot| in_row(slot, [half, other]));
    map
}

/// One layer of butterflies: columns `j` and `j + h` of a block, `x` and `y`, become `(x + y) / 2`
/// and `(x - y) / 2w_j`.
fn butterflies(encoder: &Encoder, h: usize) -> Diagonals {
    let (t, slots) = (encoder.modulus(), encoder.slots());
    let columns = slots / 2;
    let half = t.inv(2).expect("t is odd");
    let twiddles = [false, true].map(|row| {
        let powers = twiddle_factors(encoder, h, row).into_iter();
        let inverse = |w| t.mul(half, t.inv(w).expect("a power of a root is a unit"));
        powers.map(inverse).collect::<Vec<u64>>()
    });
    let place = |slot: usize| {
        let (row, j) = (usize::from(slot >= columns), slot & (2 * h - 1));
        (j < h, twiddles[row][j & (h - 1)])
    };
    let steps = |steps: usize| Offset { swap: false, steps };
    let mut map = Diagonals::zero(slots);
    map.add(t, steps(0), |slot| match place(slot) {
        (true, _) => half,
        (false, w) => t.neg(w),
    });
    map.add(t, steps(h), |slot| match place(slot) {
        (true, _) => half,
        (false, _) => 0,
    });
    map.add(t, steps(columns - h), |slot| match place(slot) {
        (true, _) => 0,
        (false, w) => w,
    });
    map
}
