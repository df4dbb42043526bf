//! Compiles an integer network to a program of the hybrid mode.

use std::collections::BTreeMap;

use network::{IntNetwork, Layer, Linear, Lut, Window};

use crate::cipher::RingSpec;
use crate::cost::Predicted;
use crate::error::{Error, Result};
use crate::form::Form;
use crate::geometry::{ConvShape, Geometry, Misfit};
use crate::hiding::norms;
use crate::noise::Flooding;
use crate::product_plan::{ProductKind, ProductPlan};
use crate::program::{
    Activations, EncryptedTerm, FORMAT, LayerPlan, LayerWeights, LocalTerm, MOST_BITS, MOST_TABLE,
    ProductTerm, Program, PublicProgram, Step,
};
use crate::quadratic::Quadratic;
use crate::squared::Squared;

/// Bits of statistical security: all answers to a client have a statistical distance of at most
/// `2^-STATISTICAL` from floods without noise.
pub const STATISTICAL: u32 = 40;

/// Number of inputs of one client for which [`compile`] plans floods: the bound holds for all of
/// them together. For a hundred inputs, ResNet-20 sends a tenth more bytes.
pub const HIDDEN_INPUTS: u32 = 10;

/// Largest accumulator up to which a table that is no line with clips is looked up instead of
/// computed as a square: up to here a lookup sends less.
const SHORT_TABLE: i64 = 128;

/// Compiles a network. `bandwidth` is the connection's rate in each direction, in bytes per second:
/// the layout of each linear layer minimises the time for computing and sending.
///
/// # Errors
/// [`Error::Network`] for a network that does not pass its check, [`Error::Activation`] for a layer
/// without a protocol, [`Error::Bits`] and [`Error::NoParameters`] for accumulators that are too
/// large, [`Error::Window`] for images that are too wide.
pub fn compile(network: &IntNetwork, activations: Activations, bandwidth: f64) -> Result<Program> {
    compile_for(network, activations, bandwidth, HIDDEN_INPUTS)
}

/// Compiles a network as [`compile`] does, with floods for `inputs` inputs of one client. `inputs`
/// is at least 1; more inputs need larger rings.
///
/// # Errors
/// The errors of [`compile`].
pub fn compile_for(
    network: &IntNetwork,
    activations: Activations,
    bandwidth: f64,
    inputs: u32,
) -> Result<Program> {
    network.check()?;
    let worst = network.worst_cases()?;
    let shapes = network.shapes()?;
    let mut layers = Vec::new();
    for ((layer, &worst), &shape) in network.layers.iter().zip(&worst).zip(&shapes) {
        layers.push(Normal::new(layer, worst, activations)?.plan(network, &shapes, shape));
    }
    let (mut plans, weights): (Vec<LayerPlan>, Vec<LayerWeights>) = layers.into_iter().unzip();
    for index in 0..plans.len() {
        let reads = |plan: &LayerPlan| {
            let encrypted = plan.encrypted.iter().map(|term| term.source);
            let local = plan.local.iter().map(|term| term.source);
            let factors = plan.product.iter().flat_map(|p| [p.left, p.right]);
            let mut sources = encrypted.chain(local).chain(factors);
            sources.any(|source| source == index + 1)
        };
        let readers = plans.iter().filter(|plan| reads(plan));
        let most = readers.map(|plan| plan.bits).max();
        plans[index].output_bits = most.unwrap_or(plans[index].bits);
    }
    let mut public = PublicProgram {
        format: FORMAT.to_owned(),
        name: network.name.clone(),
        input: network.input.clone(),
        interface: network.interface.clone(),
        activations,
        rings: Vec::new(),
        products: Vec::new(),
        layers: plans,
    };
    Rings::new(&public, bandwidth, inputs)?.choose(&mut public, &weights)?;
    public.check()?;
    Ok(Program { public, weights })
}

/// A layer whose weights and biases are divided by their greatest common divisor.
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
        // A product has no weights to divide.
        let divisor = match (&layer.lut, layer.product) {
            (Some(_), None) => divisor(layer),
            _ => 1,
        };
        let largest = worst / divisor;
        let exact = Some(signed_bits(largest));
        let (bits, step) = match (&layer.lut, activations) {
            (None, _) => (exact, Step::Logits),
            (Some(lut), Activations::Revealed) => (exact, table(lut, divisor, layer)),
            (Some(lut), Activations::Shares) => {
                if let Some(form) = Form::of_table(lut, divisor) {
                    (form.bits(largest), Step::Form(form))
                } else if largest <= SHORT_TABLE {
                    (exact, table(lut, divisor, layer))
                } else if let Some((bits, step)) = square(lut, divisor, layer, largest) {
                    (Some(bits), step)
                } else if largest <= MOST_TABLE {
                    (exact, table(lut, divisor, layer))
                } else {
                    return Err(unsupported(
                        "a table that is neither a line nor a quadratic with clips, and too long",
                    ));
                }
            }
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

    /// The plan, before the choice of rings, and the divided weights.
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
            let source_shape = match source.checked_sub(1) {
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
                Linear::Conv(conv) => ConvShape::of_conv(conv, source_shape),
                Linear::Dense(dense) => ConvShape::of_dense(dense.inputs, dense.outputs),
            };
            terms.push(divided(term.linear.weights()));
            encrypted.push(EncryptedTerm {
                source,
                shape: of,
                tile_channels: 0,
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
            product: self.layer.product.map(|product| ProductTerm {
                left: usize::from(product.left),
                right: usize::from(product.right),
            }),
            step: self.step,
        };
        (plan, LayerWeights { terms, bias })
    }
}

/// A table as a quadratic step, and the bits of the accumulators' shares. If the quadratic is right
/// for all accumulators, they are squared as they are; otherwise they are first clipped to the
/// table's ends.
fn square(lut: &Lut, divisor: i64, layer: &Layer, largest: i64) -> Option<(u32, Step)> {
    let end = layer.bound / divisor + 1;
    let (clip, form) = match Quadratic::of_table(lut, divisor, largest) {
        Some(form) => (None, form),
        None if end < largest => (Some(end), Quadratic::of_table(lut, divisor, end)?),
        None => return None,
    };
    let squared = form.bits(clip.unwrap_or(largest))?;
    let bits = match clip {
        Some(clip) => signed_bits(largest + clip),
        // Wider accumulators cost less than an exchange that widens them, up to MOST_BITS.
        None if squared <= MOST_BITS => squared,
        None => signed_bits(largest),
    };
    let squared = Squared {
        clip,
        bits: squared.max(bits),
        form,
    };
    Some((bits, Step::Square(squared)))
}

/// Greatest common divisor of all weights of a layer, if it divides all biases; else 1. All
/// accumulators are multiples of it.
fn divisor(layer: &Layer) -> i64 {
    let weights = layer.terms.iter().flat_map(|term| term.linear.weights());
    let divisor = weights.fold(0, |divisor, &weight| gcd(divisor, weight.abs()));
    let divides = divisor > 1 && layer.bias.iter().all(|bias| bias % divisor == 0);
    if divides { divisor } else { 1 }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Fewest bits of a signed number of absolute value at most `largest`.
fn signed_bits(largest: i64) -> u32 {
    (64 - largest.unsigned_abs().leading_zeros() + 1).max(2)
}

/// The step of a table that holds its values at the multiples of `divisor`.
fn table(lut: &Lut, divisor: i64, layer: &Layer) -> Step {
    let last = layer.bound / divisor + 1;
    Step::Table {
        first: -last,
        values: (-last..=last).map(|k| lut.apply(k * divisor)).collect(),
    }
}

/// The rings that a program may use, and the statistical distance that each of its parts may have.
struct Rings {
    candidates: Vec<RingSpec>,
    /// Rate of the connection in bytes per second.
    bandwidth: f64,
    /// log2 of the statistical distance that each part may have: an equal share of the whole.
    target: f64,
    revealed: bool,
    products: BTreeMap<(ProductKind, u32), usize>,
}

impl Rings {
    fn new(public: &PublicProgram, bandwidth: f64, inputs: u32) -> Result<Self> {
        let products = public.product_counts();
        let terms: usize = public.layers.iter().map(|plan| plan.encrypted.len()).sum();
        // Products count twice: for their masks and for their floods.
        let parts = terms + 2 * products.len();
        Ok(Self {
            candidates: RingSpec::candidates()?,
            bandwidth,
            target: -f64::from(STATISTICAL)
                - f64::from(inputs.max(1)).log2()
                - (parts.max(1) as f64).log2(),
            revealed: public.activations == Activations::Revealed,
            products,
        })
    }

    /// Assigns each encrypted term and each kind of products the cheapest ring that hides its
    /// noise.
    fn choose(&self, public: &mut PublicProgram, weights: &[LayerWeights]) -> Result<()> {
        let (plans, used) = (&mut public.layers, &mut public.rings);
        for (plan, weights) in plans.iter_mut().zip(weights) {
            let outputs = plan.shape.iter().product();
            for (term, weights) in plan.encrypted.iter_mut().zip(&weights.terms) {
                let choice = self.of_term(term, weights, outputs, plan.bits);
                let (ring, geometry, flooding) =
                    choice.map_err(|e| e.into_error(&plan.name, plan.bits))?;
                term.ring = index(used, ring);
                term.tile_channels = geometry.tile_channels();
                term.flood_bits = flooding.bits;
                term.answer_bits = flooding.answer_bits;
            }
        }
        for (&(kind, bits), &count) in &self.products {
            let candidates = &self.candidates;
            let choice = ProductPlan::choose((kind, bits), count, self.target, candidates);
            let Some(mut plan) = choice else {
                let uses = |layer: &&LayerPlan| match (&layer.step, kind) {
                    (Step::Square(squared), ProductKind::Squares) => squared.bits == bits,
                    (_, ProductKind::Triples) => layer.product.is_some() && layer.bits == bits,
                    _ => false,
                };
                let layer = public.layers.iter().find(uses);
                let layer = layer.map_or(String::new(), |layer| layer.name.clone());
                return Err(Unhidden::Noise.into_error(&layer, bits));
            };
            plan.ring = index(used, &candidates[plan.ring]);
            public.products.push(plan);
        }
        Ok(())
    }

    /// The fastest ring and layout of a term, among the rings and layouts that hide the noise.
    fn of_term(
        &self,
        term: &EncryptedTerm,
        weights: &[i64],
        outputs: usize,
        bits: u32,
    ) -> std::result::Result<(&RingSpec, Geometry, Flooding), Unhidden> {
        let mut misfit = None;
        let mut fastest: Option<(f64, (&RingSpec, Geometry, Flooding))> = None;
        for ring in &self.candidates {
            let layouts = Geometry::all(&term.shape, ring.n);
            misfit = layouts.as_ref().err().copied();
            for layout in layouts.unwrap_or_default() {
                let norms = norms(&layout, weights, term.source == 0 || self.revealed);
                let flooding = Flooding::largest(ring, bits, &norms, outputs);
                let hides = |flooding: &Flooding| flooding.log2_distance <= self.target;
                let Some(flooding) = flooding.filter(hides) else {
                    continue;
                };
                let cost = Predicted::of_term(&layout, ring, flooding.answer_bits);
                let seconds = cost.seconds(self.bandwidth, 0.0);
                if fastest.as_ref().is_none_or(|(least, _)| seconds < *least) {
                    fastest = Some((seconds, (ring, layout, flooding)));
                }
            }
        }
        let choice = fastest.map(|(_, choice)| choice);
        choice.ok_or(match (misfit, self.candidates.last()) {
            (Some(misfit), Some(last)) => Unhidden::Misfit(misfit, last.n),
            _ => Unhidden::Noise,
        })
    }
}

/// The reason why no ring suits a term.
enum Unhidden {
    /// No layout exists, even in the largest ring, which has this degree.
    Misfit(Misfit, usize),
    Noise,
}

impl Unhidden {
    fn into_error(self, layer: &str, bits: u32) -> Error {
        let layer = layer.to_owned();
        match self {
            Self::Misfit(Misfit::Band(found), most) => Error::Window { layer, found, most },
            Self::Misfit(misfit, most) => misfit.into_error(most).within(&layer),
            Self::Noise => Error::NoParameters {
                layer,
                bits,
                statistical: STATISTICAL,
            },
        }
    }
}

/// The index of a ring in the list of used rings. A new ring is added to the list.
fn index(used: &mut Vec<RingSpec>, ring: &RingSpec) -> usize {
    used.iter().position(|u| u == ring).unwrap_or_else(|| {
        used.push(ring.clone());
        used.len() - 1
    })
}
