//! Slots to coefficients.
//!
//! Let `m_k` be the wanted coefficients, `n = N/2` and `I = zeta^n`, a root of -1. A point
//! `zeta^(5^i)` of row 0 maps `X^n` to `I`, since `5^i = 1 mod 4`, and a point of row 1 maps it to
//! `-I`. Hence with `w_k = m_k + I m_(k+n)` and `w'_k = m_k - I m_(k+n)` the slots of the result
//! are `sum_k w_k zeta^(5^i k)` in row 0 and `sum_k w'_k zeta^(-5^i k)` in row 1.
//!
//! The input has `m_k` in row 0 and `m_(k+n)` in row 1, at the column whose bits are those of `k`
//! reversed. Then two diagonals and a swap of the rows give `w` and `w'`. The sums are `log2 n`
//! layers of butterflies within each row, at distances `1, 2, .., n/2`. The butterfly of distance
//! `h` in a block of `2h` columns has `zeta^(±5^j 2N/8h)` at column `j`. A run of `l` layers is one
//! linear map of `2^(l+1) - 1` diagonals, or `2^l` if it includes the last layer.
//!
//! Sources: Cheon, Han, Kim, Kim, Song, "Bootstrapping for Approximate Homomorphic Encryption",
//! EUROCRYPT 2018 (the transform over powers of five); Chen, Chillotti, Song, "Improved
//! Bootstrapping for Approximate Homomorphic Encryption", EUROCRYPT 2019, section 4 (its layers
//! merged into few maps).

use super::{Diagonals, LinearTransform, Offset};
use crate::engine::{Engine, ValueOf};
use crate::error::{Error, Result};
use crate::operations::Operations;
use bfv::noise::Model;
use bfv::{Encoder, Params};

const CIRCUIT: &str = "slots to coefficients";

/// Number of maps. At `N = 2^15` and four limbs, one thread with AVX-512, layers 4 + 5 + 5 take
/// 0.22 s, 95 MB of keys and 67 bits of modulus. Layers 7 + 7 take 0.59 s, 184 MB and 48 bits. A
/// limb less would save the table before it about a twentieth of its time: 0.3 s for 65537 entries.
const STAGES: usize = 3;

/// Number of maps if products leave values hot. Then a table ends a limb lower.
const SHALLOW_STAGES: usize = 2;

/// Bits of margin that every map must leave: twelve deviations of the noise, or more, are below
/// `Q/2`.
const MARGIN_BITS: f64 = 1.0;

/// The coefficient to which [`SlotsToCoeffs`] brings the value of a slot. Also the slot whose value
/// comes to a coefficient, since the map is its own inverse.
///
/// Row `r`, column `c` comes to coefficient `r N/2 + c'`, where `c'` has the bits of `c` reversed.
pub fn coefficient_of_slot(slots: usize, slot: usize) -> usize {
    let columns = slots / 2;
    let bits = columns.ilog2();
    let reversed = match bits {
        0 => 0,
        _ => (slot % columns).reverse_bits() >> (usize::BITS - bits),
    };
    slot / columns * columns + reversed
}

/// The map from slots to coefficients, prepared for ciphertexts.
#[derive(Clone, Debug)]
pub struct SlotsToCoeffs {
    /// Layers of butterflies in each stage.
    layers: Vec<usize>,
    stages: Vec<LinearTransform>,
}

impl SlotsToCoeffs {
    /// Prepares the map as a product of linear maps, one per entry of `layers`. Each entry is the
    /// number of layers of butterflies in its map. The first map is applied first.
    ///
    /// # Errors
    /// [`Error::Shape`] if the layers do not add up to `log2(N) - 1`, or an entry is zero, or `N`
    /// is 2.
    pub fn new(encoder: &Encoder, layers: &[usize]) -> Result<Self> {
        let all = encoder.slots().ilog2() as usize - 1;
        if layers.iter().sum::<usize>() != all || layers.contains(&0) || all == 0 {
            return Err(Error::Shape {
                what: "the number of layers of slots to coefficients",
                found: format!("{layers:?}"),
                expected: format!("{all} in all, at least one, none of them 0"),
            });
        }
        let maps = stage_maps(encoder, layers);
        Ok(Self {
            layers: layers.to_vec(),
            stages: maps
                .iter()
                .map(|map| LinearTransform::new(encoder, map))
                .collect(),
        })
    }

    /// The same map, which makes coefficients outside of a range 0: those before `kept[0]` and those
    /// from `kept[1]` on. It has the same keys, and costs as much.
    #[must_use]
    pub fn keeping(&self, encoder: &Encoder, kept: [usize; 2]) -> Self {
        let (t, slots) = (encoder.modulus(), encoder.slots());
        let [from, to] = kept;
        let mut mask = Diagonals::zero(slots);
        mask.add(t, Offset::default(), |slot| {
            u64::from((from..to).contains(&coefficient_of_slot(slots, slot)))
        });
        let mut kept = self.clone();
        let first = stage_maps(encoder, &self.layers[..1]);
        kept.stages[0] = LinearTransform::new(encoder, &first[0].after(t, &mask));
        kept
    }

    /// Prepares the map in three stages, or in two if levels are expensive. There are fewer stages
    /// if there are fewer layers.
    ///
    /// # Errors
    /// As [`SlotsToCoeffs::new`].
    pub fn balanced(params: &Params) -> Result<Self> {
        let encoder = params.encoder();
        let all = encoder.slots().ilog2() as usize - 1;
        let stages = match Model::new(params).settles() {
            true => STAGES,
            false => SHALLOW_STAGES,
        };
        let layers: Vec<usize> = (0..stages)
            .map(|i| (all + i) / stages)
            .filter(|&count| count > 0)
            .collect();
        Self::new(encoder, &layers)
    }

    /// Applies the map: the value of slot `i` becomes coefficient [`coefficient_of_slot`]`(i)` of
    /// the result. The result has factor 1.
    ///
    /// Limbs are dropped only where no precision is lost. The noise of the result may therefore be
    /// up to a limb above the noise of a rounding. [`Engine::settle`] would drop one limb more.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`] if the chain is too short, and an error for a missing Galois key.
    pub fn apply<O: Operations>(
        &self,
        engine: &Engine<O>,
        value: &ValueOf<O>,
    ) -> Result<ValueOf<O>> {
        apply_stages(CIRCUIT, &self.stages, engine, value)
    }
}

/// Applies linear maps one after the other, so that the result has factor 1.
pub(super) fn apply_stages<O: Operations>(
    circuit: &'static str,
    stages: &[LinearTransform],
    engine: &Engine<O>,
    value: &ValueOf<O>,
) -> Result<ValueOf<O>> {
    let mut value = shed(engine, value.clone())?;
    for stage in stages {
        value = stage.apply_to_factor(engine, &value, 1)?;
        if engine.margin_bits(&value) < MARGIN_BITS || !engine.bears_points(&value, 0.0) {
            return Err(Error::OutOfLevels { circuit, need: 1 });
        }
        value = shed(engine, value)?;
    }
    Ok(value)
}

/// Prepares [`SlotsToCoeffs`] and applies it once.
///
/// # Errors
/// As [`SlotsToCoeffs::apply`].
pub fn slots_to_coeffs<O: Operations>(
    engine: &Engine<O>,
    value: &ValueOf<O>,
) -> Result<ValueOf<O>> {
    SlotsToCoeffs::balanced(engine.params())?.apply(engine, value)
}

/// Drops limbs as long as the noise that is left is more than a rounding adds.
fn shed<O: Operations>(engine: &Engine<O>, value: ValueOf<O>) -> Result<ValueOf<O>> {
    let rlwe = engine.params().rlwe();
    let floor = engine.model().rounding().bits();
    let (mut level, mut bits) = (value.level(), value.noise().bits());
    while level > 0 {
        bits -= rlwe.log_q(level) - rlwe.log_q(level - 1);
        if bits < floor {
            break;
        }
        level -= 1;
    }
    if level == value.level() {
        return Ok(value);
    }
    engine.switch_to(value, level)
}

/// The linear maps, in the order in which they are applied.
pub(super) fn stage_maps(encoder: &Encoder, layers: &[usize]) -> Vec<Diagonals> {
    let t = encoder.modulus();
    let mut layer = 0;
    let mut stages = Vec::with_capacity(layers.len());
    for &count in layers {
        let mut map = match layer {
            0 => Some(rows_combined(encoder)),
            _ => None,
        };
        for _ in 0..count {
            let next = butterflies(encoder, 1 << layer);
            map = Some(match map {
                Some(map) => next.after(t, &map),
                None => next,
            });
            layer += 1;
        }
        stages.push(map.expect("a stage has a layer"));
    }
    stages
}

/// `zeta^exponent`. Exponents count modulo `2N`.
fn power(encoder: &Encoder, exponent: usize) -> u64 {
    let order = 2 * encoder.slots();
    encoder
        .modulus()
        .pow(encoder.root(), (exponent % order) as u64)
}

/// `I`, a root of -1.
pub(super) fn imaginary_unit(encoder: &Encoder) -> u64 {
    power(encoder, encoder.slots() / 2)
}

/// `w` in row 0 and `w'` in row 1.
fn rows_combined(encoder: &Encoder) -> Diagonals {
    let (t, slots) = (encoder.modulus(), encoder.slots());
    let root = imaginary_unit(encoder);
    let in_row = |slot: usize, values: [u64; 2]| values[slot / (slots / 2)];
    let mut map = Diagonals::zero(slots);
    let proper = Offset::default();
    map.add(t, proper, |slot| in_row(slot, [1, t.neg(root)]));
    let swapped = Offset {
        swap: true,
        ..proper
    };
    map.add(t, swapped, |slot| in_row(slot, [root, 1]));
    map
}

/// The twiddle factors of the butterflies of distance `h`, in row 0 or in row 1.
pub(super) fn twiddle_factors(encoder: &Encoder, h: usize, second_row: bool) -> Vec<u64> {
    let order = 2 * encoder.slots();
    let exponents = std::iter::successors(Some(order / (8 * h)), |e| Some(e * 5 % order));
    let in_row = |e: usize| if second_row { order - e } else { e };
    exponents
        .take(h)
        .map(|e| power(encoder, in_row(e)))
        .collect()
}

/// One layer of butterflies: columns `j` and `j + h` of a block become `a + w_j b` and `a - w_j b`.
fn butterflies(encoder: &Encoder, h: usize) -> Diagonals {
    let (t, slots) = (encoder.modulus(), encoder.slots());
    let columns = slots / 2;
    let twiddles = [false, true].map(|row| twiddle_factors(encoder, h, row));
    let place = |slot: usize| {
        let (row, j) = (usize::from(slot >= columns), slot & (2 * h - 1));
        (j < h, twiddles[row][j & (h - 1)])
    };
    let steps = |steps: usize| Offset { swap: false, steps };
    let mut map = Diagonals::zero(slots);
    map.add(t, steps(0), |slot| match place(slot) {
        (true, _) => 1,
        (false, w) => t.neg(w),
    });
    map.add(t, steps(h), |slot| match place(slot) {
        (true, w) => w,
        (false, _) => 0,
    });
    map.add(t, steps(columns - h), |slot| match place(slot) {
        (true, _) => 0,
        (false, _) => 1,
    });
    map
}
