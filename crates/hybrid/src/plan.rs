//! From an integer network to a program of the hybrid mode.

use network::{IntNetwork, Layer, Linear, Lut, Window};

use crate::cipher::RingSpec;
use crate::error::{Error, Result};
use crate::form::Form;
use crate::geometry::{ConvShape, Geometry};
use crate::noise::{Flooding, Norms};
use crate::program::{
    Activations, EncryptedTerm, FORMAT, LayerPlan, LayerWeights, LocalTerm, MOST_BITS, Program,
    PublicProgram, Step,
};

/// The statistical distance of all answers of a run from floods without noise is at most
/// `2^-STATISTICAL`.
pub const STATISTICAL: u32 = 40;

/// A table that is no line with clips is looked up on shares if accumulators are at most this.
const MOST_TABLE: i64 = 1 << 16;

/// Compiles a network.
///
/// # Errors
/// [`Error::Network`] for a network that does not pass its check, [`Error::Activation`] for a layer
/// without a protocol, [`Error::Bits`] and [`Error::NoParameters`] for accumulators that are too
/// large, [`Error::Window`] for images that are too wide.
pub fn compile(network: &IntNetwork, activations: Activations) -> Result<Program> {
    network.check()?;
    let worst = network.worst_cases()?;
    let shapes = network.shapes()?;
    let mut layers = Vec::new();
    for ((layer, &worst), &shape) in network.layers.iter().zip(&worst).zip(&shapes) {
        layers.push(Normal::new(layer, worst, activations)?.plan(network, &shapes, shape));
    }
    let (mut plans, mut weights): (Vec<LayerPlan>, Vec<LayerWeights>) = layers.into_iter().unzip();
    for index in 0..plans.len() {
        let reads = |plan: &LayerPlan| {
            let encrypted = plan.encrypted.iter().map(|term| term.source);
            let mut sources = encrypted.chain(plan.local.iter().map(|term| term.source));
            sources.any(|source| source == index + 1)
        };
        let readers = plans.iter().filter(|plan| reads(plan));
        let most = readers.map(|plan| plan.bits).max();
        plans[index].output_bits = most.unwrap_or(plans[index].bits);
    }
    let rings = choose_rings(&mut plans, &weights)?;
    for (plan, weights) in plans.iter().zip(&mut weights) {
        debug_assert_eq!(plan.encrypted.len(), weights.terms.len());
    }
    let public = PublicProgram {
        format: FORMAT.to_owned(),
        name: network.name.clone(),
        input: network.input.clone(),
        interface: network.interface.clone(),
        activations,
        rings,
        layers: plans,
    };
    public.check()?;
    Ok(Program { public, weights })
}

/// A layer whose weights and biases were divided by their greatest common divisor.
struct Normal<'a> {
    layer: &'a Layer,
    divisor: i64,
    largest: i64,
    bits: u32,
    step: Step,
}

impl<'a> Normal<'a> {
    fn new(layer: &'a Layer, worst: i64, activations: Activations) -> Result<Self> {
        let unsupported = |found| Error::Activation {
            layer: layer.name.clone(),
            found,
        };
        if layer.product.is_some() {
            return Err(unsupported("a product of two values"));
        }
        let divisor = match &layer.lut {
            Some(_) => divisor(layer),
            None => 1,
        };
        let largest = worst / divisor;
        let (bits, step) = match &layer.lut {
            None => (Some(signed_bits(largest)), Step::Logits),
            Some(lut) => match (activations, Form::of_table(lut, divisor)) {
                (Activations::Revealed, _) => {
                    (Some(signed_bits(largest)), table(lut, divisor, layer))
                }
                (Activations::Shares, Some(form)) => (form.bits(largest), Step::Form(form)),
                (Activations::Shares, None) if largest <= MOST_TABLE => {
                    (Some(signed_bits(largest)), table(lut, divisor, layer))
                }
                (Activations::Shares, None) => {
                    return Err(unsupported(
                        "a table that is no line with clips, and too long",
                    ));
                }
            },
        };
        match bits {
            Some(bits) if bits <= MOST_BITS => Ok(Self {
                layer,
                divisor,
                largest,
                bits,
                step,
            }),
            found => Err(Error::Bits {
                layer: layer.name.clone(),
                found: found.unwrap_or(u32::MAX),
                most: MOST_BITS,
            }),
        }
    }

    /// The plan, with rings still to be chosen, and the weights.
    fn plan(
        self,
        network: &IntNetwork,
        shapes: &[[usize; 3]],
        shape: [usize; 3],
    ) -> (LayerPlan, LayerWeights) {
        let (mut encrypted, mut local, mut terms) = (Vec::new(), Vec::new(), Vec::new());
        let divided = |weights: &[i64]| -> Vec<i64> {
            weights
                .iter()
                .map(|&weight| weight / self.divisor)
                .collect()
        };
        for term in &self.layer.terms {
            let source = usize::from(term.source);
            let given = match source.checked_sub(1) {
                None => network.input.shape,
                Some(index) => shapes[index],
            };
            let of = match &term.linear {
                Linear::Window(window) => {
                    let window = Window {
                        weights: divided(&window.weights),
                        ..window.clone()
                    };
                    local.push(LocalTerm { source, window });
                    continue;
                }
                Linear::Conv(conv) => ConvShape::of_conv(conv, given),
                Linear::Dense(dense) => ConvShape::of_dense(dense.inputs, dense.outputs),
            };
            terms.push(divided(term.linear.weights()));
            encrypted.push(EncryptedTerm {
                source,
                shape: of,
                ring: usize::MAX,
                flood_bits: 0,
                answer_bits: 0,
            });
        }
        let bias = divided(&self.layer.bias);
        let plan = LayerPlan {
            name: self.layer.name.clone(),
            shape,
            bits: self.bits,
            largest: self.largest,
            output_bits: self.bits,
            encrypted,
            local,
            step: self.step,
        };
        (plan, LayerWeights { terms, bias })
    }
}

/// Greatest common divisor of all weights of a layer, if it divides all biases; else 1. The
/// accumulators are multiples of it.
fn divisor(layer: &Layer) -> i64 {
    let weights = layer.terms.iter().flat_map(|term| term.linear.weights());
    let found = weights.fold(0, |divisor, &weight| gcd(divisor, weight.abs()));
    let divides = found > 1 && layer.bias.iter().all(|bias| bias % found == 0);
    if divides { found } else { 1 }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Least bits of a signed number of at most this size.
fn signed_bits(largest: i64) -> u32 {
    (64 - largest.unsigned_abs().leading_zeros() + 1).max(2)
}

/// A table's values at the multiples of `divisor`.
fn table(lut: &Lut, divisor: i64, layer: &Layer) -> Step {
    let last = layer.bound / divisor + 1;
    Step::Table {
        first: -last,
        values: (-last..=last).map(|k| lut.apply(k * divisor)).collect(),
    }
}

/// Gives each encrypted term the cheapest ring that hides its noise, and returns the rings used.
fn choose_rings(plans: &mut [LayerPlan], weights: &[LayerWeights]) -> Result<Vec<RingSpec>> {
    let candidates = RingSpec::candidates()?;
    let terms: usize = plans.iter().map(|plan| plan.encrypted.len()).sum();
    // Each term may use an equal share of the distance.
    let target = -f64::from(STATISTICAL) - (terms.max(1) as f64).log2();
    let mut used: Vec<RingSpec> = Vec::new();
    for (plan, weights) in plans.iter_mut().zip(weights) {
        let outputs = plan.shape.iter().product();
        for (term, weights) in plan.encrypted.iter_mut().zip(&weights.terms) {
            let norms = Norms::of(weights, term.shape.kernels);
            let mut too_wide = None;
            let fitting = candidates.iter().find_map(|ring| {
                too_wide = Geometry::new(&term.shape, ring.n).err();
                let flooding = Flooding::largest(ring, plan.bits, &norms, outputs)?;
                let enough = too_wide.is_none() && flooding.log2_distance <= target;
                enough.then_some((ring, flooding))
            });
            let Some((ring, flooding)) = fitting else {
                let layer = plan.name.clone();
                return Err(match too_wide {
                    Some(found) => Error::Window {
                        layer,
                        found,
                        most: candidates.last().map_or(0, |ring| ring.n),
                    },
                    None => Error::NoParameters {
                        layer,
                        bits: plan.bits,
                        statistical: STATISTICAL,
                    },
                });
            };
            term.ring = used.iter().position(|u| u == ring).unwrap_or_else(|| {
                used.push(ring.clone());
                used.len() - 1
            });
            term.flood_bits = flooding.bits;
            term.answer_bits = flooding.answer_bits;
        }
    }
    Ok(used)
}
