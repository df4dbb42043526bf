//! The predicted cost of a session, from its program alone.

use ::cost::two_parties;
use mpc::Cost;
use serde::Serialize;

use crate::activation::{Offline, Protocols};
use crate::cipher::RingSpec;
use crate::error::Result;
use crate::geometry::Geometry;
use crate::half::Half;
use crate::linear::SEED;
use crate::product_plan::ProductKind;
use crate::products::Products;
use crate::program::{Program, PublicProgram};

/// Predicted messages and seconds of a part of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Predicted {
    /// Number of times that the client waits for an answer.
    pub rounds: u64,
    /// Number of messages that must follow each other, in either direction.
    pub messages: u64,
    /// Bytes from the client.
    pub bytes_to_server: u64,
    /// Bytes from the server.
    pub bytes_to_client: u64,
    /// Seconds of computation by both parties, on one core each.
    pub compute_seconds: f64,
}

impl Predicted {
    /// Seconds of the part over a connection of `bandwidth` bytes per second in each direction,
    /// with `latency` seconds there and back.
    pub fn seconds(&self, bandwidth: f64, latency: f64) -> f64 {
        let bytes = (self.bytes_to_server + self.bytes_to_client) as f64;
        self.compute_seconds + bytes / bandwidth + self.messages as f64 * latency / 2.0
    }

    /// The cost of an encrypted term, without the rounds that the terms of a layer share.
    pub(crate) fn of_term(geometry: &Geometry, ring: &RingSpec, answer_bits: u32) -> Self {
        let (queries, answers) = (geometry.queries(), geometry.answers());
        let n = ring.n as f64;
        Self {
            rounds: 0,
            messages: 0,
            bytes_to_server: (SEED + queries * ring.body_len()) as u64,
            bytes_to_client: geometry.answer_len(answer_bits) as u64,
            compute_seconds: n
                * (queries as f64 * two_parties::QUERY + answers as f64 * two_parties::ANSWER),
        }
    }

    fn add(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.messages += other.messages;
        self.bytes_to_server += other.bytes_to_server;
        self.bytes_to_client += other.bytes_to_client;
        self.compute_seconds += other.compute_seconds;
    }

    fn of_cost(cost: &Cost) -> Self {
        Self {
            rounds: cost.rounds,
            messages: cost.rounds,
            bytes_to_server: cost.bytes_to_server,
            bytes_to_client: cost.bytes_to_client,
            compute_seconds: 0.0,
        }
    }
}

/// The prediction for a layer, and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerPrediction {
    /// Name of the layer.
    pub name: String,
    /// `l`: the layer's shares are modulo `2^l`.
    pub bits: u32,
    /// Ring degree of the encrypted terms, if there are any.
    pub n: Option<usize>,
    /// log2 of the ring's modulus.
    pub log_q: Option<f64>,
    /// Estimated security of the ring in bits.
    pub security_bits: Option<f64>,
    /// `f`: floods are uniform in `[-2^f, 2^f)`.
    pub flood_bits: Option<u32>,
    /// For each encrypted term, the number of channels that share a ciphertext of a query.
    pub tile_channels: Vec<usize>,
    /// For each encrypted term, the number of layouts that were compared: all that fit the ring.
    pub layouts: Vec<usize>,
    /// Number of ciphertexts of queries and of answers.
    pub ciphertexts: [usize; 2],
    /// Number of values of the layer.
    pub values: usize,
    /// Cost of the encrypted terms.
    pub linear: Predicted,
    /// Cost of the activation.
    pub activation: Predicted,
}

/// The prediction for the products of random numbers of one kind, and their parameters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProductPrediction {
    /// Kind of products: squares or triples.
    pub kind: ProductKind,
    /// Bits of the modulus: products are shared modulo `2^bits`.
    pub bits: u32,
    /// Number of products that one input uses up.
    pub count: usize,
    /// Ring degree.
    pub n: usize,
    /// log2 of the ring's modulus.
    pub log_q: f64,
    /// Estimated security of the ring in bits.
    pub security_bits: Option<f64>,
    /// Number of primes, which is the number of ciphertexts for `n` products.
    pub primes: usize,
    /// Cost of the products.
    pub making: Predicted,
}

impl ProductPrediction {
    fn new(public: &PublicProgram, products: &Products, count: usize) -> Self {
        let plan = products.plan();
        let ring = &public.rings[plan.ring];
        let (rounds, [bytes_to_server, bytes_to_client]) = products.cost(count);
        let ciphertexts = count.div_ceil(ring.n) * plan.primes.len();
        Self {
            kind: plan.kind,
            bits: plan.bits,
            count,
            n: ring.n,
            log_q: ring.log_q(),
            security_bits: ring.security().bits(),
            primes: plan.primes.len(),
            making: Predicted {
                rounds,
                messages: 2 * rounds,
                bytes_to_server,
                bytes_to_client,
                compute_seconds: (ciphertexts * ring.n) as f64 * two_parties::PRODUCT,
            },
        }
    }
}

/// The prediction for a session of one input.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// Cost of the keys, once for a session.
    pub keys: Predicted,
    /// Cost of the material for one input, including the products.
    pub material: Predicted,
    /// Products of random numbers under BFV for one input. A ciphertext has room for the products
    /// of several inputs, so `k` inputs cost less than `k` times as much. Few squares come from
    /// oblivious transfers instead.
    pub products: Vec<ProductPrediction>,
    /// Predictions of the layers.
    pub layers: Vec<LayerPrediction>,
    /// Cost of all layers together.
    pub online: Predicted,
}

impl Prediction {
    /// Predicts a session of one input.
    ///
    /// # Errors
    /// [`Error::Program`](crate::Error::Program) and [`Error::Protocol`](crate::Error::Protocol)
    /// for a program that does not pass its check.
    pub fn new(public: &PublicProgram) -> Result<Self> {
        let half = Half::new(public.clone())?;
        let protocols = Protocols::new(&half)?;
        let mut keys = Predicted {
            messages: 1,
            ..Predicted::default()
        };
        for ring in &public.rings {
            keys.bytes_to_server += (SEED + ring.body_len()) as u64;
        }
        let Offline { needs, under_bfv } = protocols.material(1);
        let mut material = Predicted::of_cost(&needs.cost());
        material.compute_seconds = needs.oblivious_transfers() as f64 * two_parties::TRANSFER;
        let products = under_bfv.into_iter();
        let products =
            products.map(|(products, count)| ProductPrediction::new(public, products, count));
        let products: Vec<ProductPrediction> = products.collect();
        for prediction in &products {
            material.add(&prediction.making);
        }
        let mut online = Predicted::default();
        let layers: Vec<LayerPrediction> = (0..public.layers.len())
            .map(|layer| {
                let prediction = predict_layer(&half, &protocols, layer);
                online.add(&prediction.linear);
                online.add(&prediction.activation);
                prediction
            })
            .collect();
        Ok(Self {
            keys,
            material,
            products,
            layers,
            online,
        })
    }
}

/// The predicted cost of a session of `inputs` inputs. Transfers and products come in blocks, so
/// for more than one input this is a bound.
pub(crate) fn session(half: &Half, protocols: &Protocols, inputs: u32) -> Predicted {
    let mut all = Predicted {
        messages: 1,
        ..Predicted::default()
    };
    for ring in &half.public.rings {
        all.bytes_to_server += (SEED + ring.body_len()) as u64;
    }
    let Offline { needs, under_bfv } = protocols.material(inputs);
    all.add(&Predicted::of_cost(&needs.cost()));
    all.compute_seconds += needs.oblivious_transfers() as f64 * two_parties::TRANSFER;
    for (products, count) in under_bfv {
        all.add(&ProductPrediction::new(&half.public, products, count).making);
    }
    let mut online = Predicted::default();
    for layer in 0..half.public.layers.len() {
        let prediction = predict_layer(half, protocols, layer);
        online.add(&prediction.linear);
        online.add(&prediction.activation);
    }
    let times = u64::from(inputs);
    all.rounds += times * online.rounds;
    all.messages += times * online.messages;
    all.bytes_to_server += times * online.bytes_to_server;
    all.bytes_to_client += times * online.bytes_to_client;
    all.compute_seconds += f64::from(inputs) * online.compute_seconds;
    all
}

/// Largest number of bytes that one party sends before it reads the bytes that the other party
/// sends meanwhile. Transfers and products do not count: in them only one party sends, or both
/// parties read all the time.
pub(crate) fn longest_message(half: &Half, protocols: &Protocols) -> usize {
    let layers = (0..half.public.layers.len()).flat_map(|layer| {
        let prediction = predict_layer(half, protocols, layer);
        let parts = [prediction.linear, prediction.activation];
        parts.map(|part| part.bytes_to_server.max(part.bytes_to_client))
    });
    let rings = half.public.rings.iter();
    let keys: usize = rings.map(|ring| SEED + ring.body_len()).sum();
    layers.fold(keys, |most, bytes| most.max(bytes as usize))
}

fn predict_layer(half: &Half, protocols: &Protocols, layer: usize) -> LayerPrediction {
    let plan = &half.public.layers[layer];
    let first = plan.encrypted.first();
    let ring = first.map(|term| &half.public.rings[term.ring]);
    let mut linear = Predicted::default();
    let mut ciphertexts = [0, 0];
    let mut layouts = Vec::new();
    if first.is_some() {
        (linear.rounds, linear.messages) = (1, 2);
        for (term, tables) in plan.encrypted.iter().zip(&half.tables[layer]) {
            let (ring, geometry) = (&half.public.rings[term.ring], &tables.geometry);
            layouts.push(Geometry::all(&term.shape, ring.n).map_or(0, |all| all.len()));
            ciphertexts[0] += geometry.queries();
            ciphertexts[1] += geometry.answers();
            linear.add(&Predicted::of_term(geometry, ring, term.answer_bits));
        }
    }
    let mut activation = Predicted::of_cost(&protocols.cost(layer));
    activation.compute_seconds =
        (activation.bytes_to_server + activation.bytes_to_client) as f64 * two_parties::BYTE;
    if half.reveals(layer) {
        // The revealed share follows an answer in the same direction, so it counts as a message
        // only if the layer has no encrypted term.
        activation.messages += u64::from(first.is_none());
        activation.bytes_to_client += half.revealed_len(layer) as u64;
    }
    LayerPrediction {
        name: plan.name.clone(),
        bits: plan.bits,
        n: ring.map(|ring| ring.n),
        log_q: ring.map(|ring| ring.log_q()),
        security_bits: ring.and_then(|ring| ring.security().bits()),
        flood_bits: plan.encrypted.iter().map(|term| term.flood_bits).min(),
        tile_channels: plan
            .encrypted
            .iter()
            .map(|term| term.tile_channels)
            .collect(),
        layouts,
        ciphertexts,
        values: half.values(layer),
        linear,
        activation,
    }
}

impl Program {
    /// Predicts a session of one input.
    ///
    /// # Errors
    /// The errors of [`Prediction::new`].
    pub fn predict(&self) -> Result<Prediction> {
        Prediction::new(&self.public)
    }
}
