//! Merges the outputs of a last layer into fewer ciphertexts.
//!
//! A product on coefficients leaves few useful coefficients in each ciphertext if a channel reads
//! many values: a dense layer of 128 inputs and 50,000 outputs takes 196 products, each with 256
//! outputs, 128 coefficients apart. An answer of 196 ciphertexts takes longer to hide, to send and
//! to decrypt than the products take. [`circuits::merge`] makes two of them.

use crate::builder::Builder;
use crate::error::Result;
use crate::linear::{Operand, Outputs};
use circuits::coefficients::{Kernel, multiply};
use circuits::merge::{self, merge};
use circuits::{DryValue, dry_engine};
use network::{Layer, Shape};
use program::Shifted;
use std::collections::BTreeSet;

/// Least factor by which fewer ciphertexts in an answer are worth a merge, even if the server then
/// takes longer.
const SMALLER: usize = 4;
/// Bits by which the probability that a merge or its output is wrong must lie below the largest one
/// of a whole run. Where noise leaves less room, outputs stay as they are.
const ROOM_BITS: f64 = 6.0;
/// Most sources of one merge.
const MOST_SOURCES: usize = 1 << 10;

/// The number of all outputs and of answers over which floods hide their noise, if they do.
pub(crate) type Over = Option<(usize, u64)>;

/// Merges outputs if the server is then predicted to be faster, or if the answer is
/// [much smaller](SMALLER). Parts of results stay as they are.
pub(crate) fn merged(
    b: &mut Builder<'_>,
    outputs: Vec<Outputs>,
    over: Over,
) -> Result<Vec<Outputs>> {
    let apart: Vec<&Outputs> = outputs.iter().filter(|own| spacing(own) > 1).collect();
    let Some(least) = apart.iter().map(|own| spacing(own)).min() else {
        return Ok(outputs);
    };
    if apart.len() < 2 || have_parts(&outputs) {
        return Ok(outputs);
    }
    let groups: Vec<Group> = apart.chunks(least.min(MOST_SOURCES)).map(group).collect();
    let values = |group: &Group| -> Vec<DryValue> {
        let values = group.sources.iter().map(|source| b.dry(source.value));
        values.collect()
    };
    let mut cost = Merging::default();
    for group in &groups {
        cost.add(b, &values(group), over)?;
    }
    let left = outputs.len() - apart.len() + groups.len();
    if !cost.pays(outputs.len(), left) {
        return Ok(outputs);
    }
    let others = outputs.into_iter().filter(|own| spacing(own) == 1);
    let merged = groups.into_iter().map(|group| {
        let value = match group.sources.as_slice() {
            [alone] => alone.value,
            _ => b.merge(group.sources)?,
        };
        Ok(Outputs {
            value,
            ..group.outputs
        })
    });
    merged.chain(others.map(Ok)).collect()
}

/// The least distance between the channels of products.
pub(crate) struct Least {
    /// In positions.
    distance: usize,
    /// Shape of the layer's output.
    shape: Shape,
    /// Number of positions for all channels of one image.
    room: usize,
}

impl Least {
    pub(crate) fn new(distance: usize, shape: Shape, room: usize) -> Self {
        Self {
            distance,
            shape,
            room,
        }
    }

    /// Number of products at another distance.
    fn products(&self, distance: usize) -> usize {
        let channels = self.shape[0];
        channels.div_ceil((self.room / distance).clamp(1, channels))
    }
}

/// Distance in positions between the channels of a layer's products: the least one. If it is the
/// last layer and has one output in each channel, perhaps the next power of two: then outputs can
/// be merged, and that may win.
pub(crate) fn distance(
    b: &Builder<'_>,
    layer: &Layer,
    operands: &[&Operand<'_>],
    least: &Least,
) -> Result<usize> {
    let rounded = least.distance.next_power_of_two();
    let [operand] = operands else {
        return Ok(least.distance);
    };
    let differ = rounded != least.distance && rounded <= least.room;
    let single = layer.lut.is_none() && least.shape[1..] == [1, 1];
    if !differ || !single || least.products(least.distance) == 1 {
        return Ok(least.distance);
    }
    let (value, weights) = (operand.tensor.parts[0].value, operand.linear.weights());
    let engine = dry_engine(b.params());
    let n = b.params().bfv().n();
    let weights = &weights[..weights.len().min(n)];
    let exponents: Vec<i64> = (0..weights.len() as i64).collect();
    let kernel = Kernel {
        weights,
        exponents: &exponents,
    };
    let product = multiply(&engine, &[(&b.dry(value), kernel)])?;
    let seconds = engine.counts().seconds(n);
    // The number of ciphertexts in an answer, and predicted seconds.
    let plan = |distance: usize| -> Result<(usize, f64)> {
        let count = least.products(distance);
        let spacing = 1 << distance.trailing_zeros();
        let groups = count.div_ceil(spacing);
        let all = count as f64 * seconds;
        let mut cost = Merging::default();
        let sources = vec![product.clone(); count];
        for group in sources.chunks(spacing.min(MOST_SOURCES)) {
            cost.add(b, group, None)?;
        }
        Ok(match cost.pays(count, groups) {
            true => (groups, all + cost.seconds + groups as f64 * cost.output),
            false => (count, all + count as f64 * cost.output),
        })
    };
    let (apart, fewer) = (plan(least.distance)?, plan(rounded)?);
    match fewer.1 < apart.1 || fewer.0 * SMALLER <= apart.0 {
        true => Ok(rounded),
        false => Ok(least.distance),
    }
}

/// Predictions for merges, which are not written.
#[derive(Default)]
struct Merging {
    /// Seconds of all merges.
    seconds: f64,
    /// Seconds to hide and write one ciphertext of the answer.
    output: f64,
    /// True if noise leaves too little room.
    fails: bool,
}

impl Merging {
    /// Adds the merge of some values. One value alone is not merged.
    fn add(&mut self, b: &Builder<'_>, values: &[DryValue], over: Over) -> Result<()> {
        let engine = dry_engine(b.params());
        let n = b.params().bfv().n();
        let mut levels = values.iter().map(|value| (value.level(), value.factor()));
        let first = levels.next();
        if levels.any(|level| Some(level) != first) {
            self.fails = true;
            return Ok(());
        }
        // Every power of `X` takes the same product, so any will do.
        let sources: Vec<_> = values.iter().map(|value| (value, 1)).collect();
        let root = match values {
            [alone] => alone.clone(),
            _ => merge(&engine, &sources)?,
        };
        self.seconds += engine.counts().seconds(n);
        let before = engine.counts();
        engine.hide(&root, b.flood_over(&root, over));
        self.output = engine.counts().since(&before).seconds(n);
        self.fails |= values.len() > 1 && engine.take_failure() > b.log2_failure() - ROOM_BITS;
        Ok(())
    }

    /// Returns true if the merges pay that bring an answer from some ciphertexts to fewer.
    fn pays(&self, from: usize, to: usize) -> bool {
        let saved = (from - to) as f64 * self.output;
        !self.fails && to < from && (self.seconds < saved || to * SMALLER <= from)
    }
}

/// Outputs that are merged into one ciphertext.
struct Group {
    sources: Vec<Shifted>,
    /// The outputs of all sources. Their value is not known yet.
    outputs: Outputs,
}

/// The merge of outputs that are far enough apart in each ciphertext.
fn group(all: &[&Outputs]) -> Group {
    let distance = merge::distance(all.len());
    let mut sources = Vec::with_capacity(all.len());
    let mut outputs = Outputs {
        value: 0,
        rows: Vec::new(),
        at: Vec::new(),
    };
    for (index, own) in all.iter().enumerate() {
        let first = own.at.first().map_or(0, |at| at % distance); // 0 for a single source
        sources.push(Shifted {
            value: own.value,
            back: first,
        });
        let place = merge::place(all.len(), index);
        outputs.rows.extend(&own.rows);
        outputs
            .at
            .extend(own.at.iter().map(|at| at - first + place));
    }
    Group { sources, outputs }
}

/// Largest power of two that divides all distances between the coefficients of outputs. The number
/// of coefficients, rounded down to a power of two, if there is one place alone.
fn spacing(outputs: &Outputs) -> usize {
    let mut places = outputs.at.iter();
    let first = places.next().copied().unwrap_or(0);
    let differences = places.fold(0, |all, &at| all | at.abs_diff(first));
    match differences {
        0 => MOST_SOURCES,
        _ => 1 << differences.trailing_zeros(),
    }
}

/// Returns true if several ciphertexts have the same output, so that it is the sum of its parts.
fn have_parts(all: &[Outputs]) -> bool {
    let mut seen = BTreeSet::new();
    let mut rows = all.iter().flat_map(|outputs| &outputs.rows);
    !rows.all(|row| seen.insert((row.image, row.output)))
}
