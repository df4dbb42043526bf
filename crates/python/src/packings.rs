//! Packings of linear layers: shapes, prices, and encrypted trials.

use ::packings::{ALL, Arith, Frame, Layer, Prices, Traffic, by_name, choose, slice};
use client::system_rng;
use inspect::packing::{Numbers, Trial, random_numbers, trial, trial_in_parts};
use network::{IntNetwork, Source};
use program::circuit::Circuit;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::UsageError;
use crate::guard::{guard, guard_with};
use crate::vector::Workload;
use evaluate::circuit::Runner;

/// Largest absolute weight and value of a trial on random numbers.
const MOST: i64 = 7;

/// A shape: batch, channels, kernels, groups, then height and width of the input, of the kernel, of
/// the stride and of the dilation, then the padding at top, left, bottom, right.
type Shape = [usize; 16];
/// The name of a layer, its shape and its weights.
type Named = (String, Shape, Vec<i64>);

fn layer_of(s: &Shape) -> Layer {
    Layer {
        batch: s[0],
        channels: s[1],
        kernels: s[2],
        groups: s[3],
        input: [s[4], s[5]],
        kernel: [s[6], s[7]],
        stride: [s[8], s[9]],
        dilation: [s[10], s[11]],
        pads: [s[12], s[13], s[14], s[15]],
    }
}

fn shape_of(layer: &Layer) -> Shape {
    let Layer {
        input: [h, w],
        kernel: [r, s],
        stride: [sy, sx],
        dilation: [dy, dx],
        pads: [top, left, bottom, right],
        ..
    } = *layer;
    let (n, c, k, g) = (layer.batch, layer.channels, layer.kernels, layer.groups);
    [
        n, c, k, g, h, w, r, s, sy, sx, dy, dx, top, left, bottom, right,
    ]
}

fn arith(scheme: &str) -> PyResult<Arith> {
    match scheme {
        "bfv" => Ok(Arith::Exact),
        "ckks" => Ok(Arith::Approximate),
        other => {
            let words = format!("the scheme is {other:?}, expected bfv or ckks");
            Err(UsageError::new_err(words))
        }
    }
}

/// Names of the packings.
#[pyfunction]
pub(crate) fn packing_names() -> Vec<&'static str> {
    ALL.iter().map(|packing| packing.name()).collect()
}

/// The convolutions and dense maps of an integer network.
#[pyfunction]
pub(crate) fn packing_layers(py: Python<'_>, network: &str) -> PyResult<Vec<Named>> {
    let network = guard(py, || IntNetwork::from_json(network))?;
    let shapes = guard(py, || network.shapes())?;
    let mut found = Vec::new();
    for layer in &network.layers {
        for (index, term) in layer.terms.iter().enumerate() {
            let source = match term.source {
                Source::Input => network.input.shape,
                Source::Layer(index) => shapes[index],
            };
            let packed = guard(py, || Layer::of_linear(&term.linear, source))?;
            if let Some((shape, weights)) = packed {
                let name = match index {
                    0 => layer.name.clone(),
                    other => format!("{} term {}", layer.name, other + 1),
                };
                found.push((name, shape_of(&shape), weights));
            }
        }
    }
    Ok(found)
}

/// All packings of a layer by price, and the reasons why others are refused. Seconds are of one
/// thread of this machine. With a `factor`, they are of a machine that takes `factor` times as long
/// as the machine on which predictions were measured. Seconds of transfers are for a link of
/// `bandwidth` bytes per second.
#[pyfunction]
pub(crate) fn packing_choice<'py>(
    py: Python<'py>,
    shape: Shape,
    scheme: &str,
    log_n: u32,
    bandwidth: Option<f64>,
    factor: Option<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let (layer, arith) = (layer_of(&shape), arith(scheme)?);
    let choice = guard(py, || {
        let (transforms, products) = factor.map_or_else(
            || {
                let factors = timing::machine_factors();
                (factors.transforms, factors.inner_products)
            },
            |factor| (factor, factor),
        );
        let prices = Prices {
            byte: bandwidth.map_or(0.0, f64::recip),
            ..Prices::REFERENCE.scaled(transforms, products)
        };
        choose(&layer, arith, log_n, &prices)
    })?;
    let mut candidates = Vec::new();
    for candidate in &choice.candidates {
        let entry = PyDict::new(py);
        let counts = &candidate.counts;
        let passes = counts.passes(candidate.depth);
        let slots = 1 << (log_n - 1);
        let published = candidate.packing.published(&layer, slots);
        entry.set_item("packing", candidate.packing.name())?;
        entry.set_item("depth", candidate.depth)?;
        for (name, count) in [
            ("products", counts.products),
            ("masks", counts.masks),
            ("rotations", counts.rotations),
            ("decompositions", counts.decompositions),
            ("inputs", counts.inputs),
            ("outputs", counts.outputs),
            ("plaintexts", counts.plaintexts),
            ("transforms", passes.transforms),
            ("limb_products", passes.products),
            ("published_products", published.products),
            ("published_shifts", published.shifts),
            ("published_permutes", published.permutes),
        ] {
            entry.set_item(name, count)?;
        }
        set_traffic(&entry, &candidate.traffic)?;
        entry.set_item("seconds", candidate.seconds)?;
        entry.set_item("moving_seconds", candidate.moving_seconds)?;
        candidates.push(entry);
    }
    let out = PyDict::new(py);
    out.set_item("layer", layer.to_string())?;
    out.set_item("candidates", candidates)?;
    let refused = choice.refused.iter();
    let refused: Vec<(&str, String)> = refused.map(|(name, e)| (*name, e.to_string())).collect();
    out.set_item("refused", refused)?;
    Ok(out)
}

fn set_traffic(entry: &Bound<'_, PyDict>, traffic: &Traffic) -> PyResult<()> {
    entry.set_item("input_bytes", traffic.inputs)?;
    entry.set_item("output_bytes", traffic.outputs)?;
    entry.set_item("weight_bytes", traffic.weights)?;
    entry.set_item("key_bytes", traffic.keys)
}

/// Runs a layer in a packing, encrypted. If the layer takes more than `most` products, rotations or
/// ciphertexts, only a part of it is run. With `hear`, all parts are run, one after the other, and
/// `hear(done, all)` is called before each part with the number of parts that have run and the
/// number of all parts.
///
/// The weights and the values of the whole layer are random where they are `None`, and so are the
/// weights of a part. With values all parts are run, the results are those of the layer, and
/// numbers that slots do not hold are refused.
#[pyfunction]
pub(crate) fn packing_trial<'py>(
    py: Python<'py>,
    name: &str,
    layer: (Shape, Option<Vec<i64>>),
    values: Option<Vec<i64>>,
    parameters: (String, u32),
    most: u64,
    hear: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let ((shape, weights), (scheme, log_n)) = (layer, parameters);
    let (whole, arith) = (layer_of(&shape), arith(&scheme)?);
    let in_parts = hear.is_some() || values.is_some();
    let tell = |py: Python<'_>, (done, all): (usize, usize)| match &hear {
        Some(hear) => hear.call1(py, (done, all)).map(drop),
        None => Ok(()),
    };
    let (part, taken, seconds, traffic, found) = guard_with(py, tell, |line| {
        let packing = by_name(name)?;
        whole.check()?;
        let depth = packing.depth(&whole);
        let frame = Frame::new(arith, log_n, depth)?;
        let part = slice(packing, &whole, &frame, most)?;
        let taken = if in_parts { whole } else { part };
        let rng = &mut system_rng();
        let own = weights.filter(|_| taken == whole);
        let weights = own.unwrap_or_else(|| random_numbers(taken.weights(), MOST, rng));
        let x = match values {
            Some(x) => frame.check_results(&taken, &x, &weights).map(|()| x)?,
            None => random_numbers(taken.inputs(), MOST, rng),
        };
        let factors = timing::machine_factors();
        let prices = Prices::REFERENCE.scaled(factors.transforms, factors.inner_products);
        let counts = packing.counts(&taken, &frame)?;
        // A part may need one level less than the whole.
        let seconds = counts.seconds(&frame, packing.depth(&taken), &prices);
        let mut traffic = Traffic::new(&counts, &frame, packing.depth(&taken));
        let numbers = Numbers {
            x: &x,
            weights: &weights,
        };
        let found = if part == taken {
            let packed = packing.build(&part, &weights, &frame)?;
            traffic = traffic.with_keys(&packed.circuit, &frame);
            trial(&packed, &part, numbers, rng)?
        } else {
            let hear = |done, all| line.tell((done, all));
            trial_in_parts(packing, &frame, &whole, &part, numbers, rng, hear)?
        };
        Ok::<_, inspect::Error>((part, taken, seconds, traffic, found))
    })?;
    let out = PyDict::new(py);
    out.set_item("layer", taken.to_string())?;
    out.set_item("whole", taken == whole)?;
    out.set_item("parts", ::packings::tiles(&taken, &part).len())?;
    out.set_item("predicted_seconds", seconds)?;
    set_traffic(&out, &traffic)?;
    set_trial(&out, &found)?;
    Ok(out)
}

/// The circuit of a layer in a packing, with the approximate arithmetic of the paper in words of 32
/// bits, as instructions for vector machines. If the circuit of the whole layer takes more than
/// `most` products, rotations or ciphertexts, the result is the circuit of a part of the layer.
/// Then `share` is the price of the part's passes over limbs, divided by the price of the whole
/// layer's passes. `keys` bounds the limbs of the whole layer's rotation keys, divided by the limbs
/// of the part's.
#[pyfunction]
pub(crate) fn packing_workload<'py>(
    py: Python<'py>,
    name: &str,
    shape: Shape,
    log_n: u32,
    most: u64,
) -> PyResult<(Workload, Bound<'py, PyDict>)> {
    let whole = layer_of(&shape);
    let (part, share, keys, security, trace) = guard(py, || {
        let packing = by_name(name)?;
        whole.check()?;
        let depth = packing.depth(&whole);
        let params = Frame::params_in_words(log_n, depth)?;
        let frame = Frame::Approximate(params.clone());
        let part = slice(packing, &whole, &frame, most)?;
        let seconds = |layer: &Layer| -> ::packings::Result<f64> {
            let counts = packing.counts(layer, &frame)?;
            Ok(counts.seconds(&frame, packing.depth(layer), &Prices::REFERENCE))
        };
        let share = seconds(&part)? / seconds(&whole)?;
        // No instruction depends on a weight.
        let weights = vec![1; part.weights()];
        let packed = packing.build(&part, &weights, &frame)?;
        let plain = packed.plain.iter();
        let plain = plain.map(|(name, slots)| (name.as_str(), slots.as_slice()));
        let runner = Runner::new(&params, &packed.circuit)?;
        let trace = runner.lower(&plain.collect())?;
        let keys = if part == whole {
            1.0
        } else {
            let counts = packing.counts(&whole, &frame)?;
            let most = if counts.products.max(counts.rotations) > COUNTED {
                // At most as many keys as rotations, and at most one for each distance.
                let distances = (frame.n() / 2) as u64 - 1;
                counts.rotations.min(distances) * key_limbs(depth)
            } else {
                let weights = vec![1; whole.weights()];
                all_key_limbs(&packing.build(&whole, &weights, &frame)?.circuit)
            };
            most.max(1) as f64 / all_key_limbs(&packed.circuit).max(1) as f64
        };
        Ok::<_, inspect::Error>((part, share, keys, params.rlwe().security(), trace))
    })?;
    let found = PyDict::new(py);
    found.set_item("layer", whole.to_string())?;
    found.set_item("part", part.to_string())?;
    found.set_item("whole", part == whole)?;
    found.set_item("share", share)?;
    found.set_item("keys", keys)?;
    found.set_item("security", crate::security::to_dict(py, &security)?)?;
    Ok((Workload::of(py, &trace)?, found))
}

/// Operations up to which a whole layer is written, to count the keys that it needs.
const COUNTED: u64 = 1 << 17;

/// Limbs of all rotation keys of a circuit.
fn all_key_limbs(circuit: &Circuit) -> u64 {
    let levels = circuit.keys().rotations;
    levels.into_values().map(key_limbs).sum()
}

/// Limbs of a rotation key at a level: two components for each digit of one limb, over a special
/// modulus more.
fn key_limbs(level: usize) -> u64 {
    let limbs = level as u64 + 1;
    2 * limbs * (limbs + 1)
}

fn set_trial(out: &Bound<'_, PyDict>, found: &Trial) -> PyResult<()> {
    out.set_item("results", found.results.len())?;
    out.set_item("values", &found.results)?;
    out.set_item("wrong", found.wrong)?;
    out.set_item("seconds", found.seconds)?;
    out.set_item("encoding_seconds", found.encoding_seconds)?;
    out.set_item("encoded_bytes", found.weight_bytes)?;
    out.set_item("key_memory_bytes", found.key_bytes)
}
