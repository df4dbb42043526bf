//! What a session will take, from its program alone.

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

/// Messages and seconds of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Predicted {
    /// Times that the client waits for an answer.
    pub rounds: u64,
    /// Messages that must follow each other, in either direction.
    pub messages: u64,
    /// Bytes from the client.
    pub bytes_to_server: u64,
    /// Bytes from the server.
    pub bytes_to_client: u64,
    /// Seconds of computation, of both parties, one core each.
    pub compute_seconds: f64,
}

impl Predicted {
    /// Seconds over a connection of `bandwidth` bytes per second in each direction, and `latency`
    /// seconds there and back.
    pub fn seconds(&self, bandwidth: f64, latency: f64) -> f64 {
        let bytes = (self.bytes_to_server + self.bytes_to_client) as f64;
        self.compute_seconds + bytes / bandwidth + self.messages as f64 * latency / 2.0
    }

    /// What an encrypted term takes, without the waiting that the terms of a layer share.
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

/// What a layer will take, and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerPrediction {
    /// Its name.
    pub name: String,
    /// `l`: shares are modulo `2^l`.
    pub bits: u32,
    /// Ring degree of its encrypted terms, if it has any.
    pub n: Option<usize>,
    /// log2 of the modulus.
    pub log_q: Option<f64>,
    /// Estimated bits of security.
    pub security_bits: Option<f64>,
    /// `f` of the flood.
    pub flood_bits: Option<u32>,
    /// Channels that share a ciphertext of a query, for each encrypted term.
    pub tile_channels: Vec<usize>,
    /// Layouts that the ring has for it, which were compared, for each encrypted term.
    pub layouts: Vec<usize>,
    /// Ciphertexts of queries and answers.
    pub ciphertexts: [usize; 2],
    /// Values of the layer.
    pub values: usize,
    /// Its encrypted terms.
    pub linear: Predicted,
    /// Its activation.
    pub activation: Predicted,
}

/// What the making of products of random numbers will take, and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProductPrediction {
    /// Squares or triples.
    pub kind: ProductKind,
    /// They are shared modulo two to this power.
    pub bits: u32,
    /// How many one input uses up.
    pub count: usize,
    /// Ring degree.
    pub n: usize,
    /// log2 of the modulus.
    pub log_q: f64,
    /// Estimated bits of security.
    pub security_bits: Option<f64>,
    /// Primes, and so ciphertexts for `n` products.
    pub primes: usize,
    /// What it takes.
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

/// What a session of one input will take.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// Keys, once for a session.
    pub keys: Predicted,
    /// Material for one input, with the products.
    pub material: Predicted,
    /// Products of random numbers for one input that are made under BFV. A ciphertext holds those of
    /// several inputs, so that more inputs take less than as many times this. If one input has few
    /// squares, they are made of oblivious transfers.
    pub products: Vec<ProductPrediction>,
    /// The layers.
    pub layers: Vec<LayerPrediction>,
    /// All layers together.
    pub online: Predicted,
}

impl Prediction {
    /// # Errors
    /// [`Error::Program`](crate::Error::Program) and [`Error::Protocol`](crate::Error::Protocol) for
    /// a program that does not pass its check.
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
        let found = under_bfv.into_iter();
        let found = found.map(|(products, count)| ProductPrediction::new(public, products, count));
        let products: Vec<ProductPrediction> = found.collect();
        for found in &products {
            material.add(&found.making);
        }
        let mut online = Predicted::default();
        let layers: Vec<LayerPrediction> = (0..public.layers.len())
            .map(|layer| {
                let found = predict_layer(&half, &protocols, layer);
                online.add(&found.linear);
                online.add(&found.activation);
                found
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

/// What a session of so many inputs will take in all. Transfers and products come in blocks, so this
/// is a bound for more inputs than one.
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
        let found = predict_layer(half, protocols, layer);
        online.add(&found.linear);
        online.add(&found.activation);
    }
    let times = u64::from(inputs);
    all.rounds += times * online.rounds;
    all.messages += times * online.messages;
    all.bytes_to_server += times * online.bytes_to_server;
    all.bytes_to_client += times * online.bytes_to_client;
    all.compute_seconds += f64::from(inputs) * online.compute_seconds;
    all
}

/// Most bytes that one party sends before it reads what the other one sends at the same time.
/// Transfers and products are not among them: there one party sends, or both read all the time.
pub(crate) fn longest_message(half: &Half, protocols: &Protocols) -> usize {
    let layers = (0..half.public.layers.len()).flat_map(|layer| {
        let found = predict_layer(half, protocols, layer);
        let parts = [found.linear, found.activation];
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
        // It follows an answer in one direction, unless the layer has no encrypted term.
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
    /// What a session of one input will take.
    ///
    /// # Errors
    /// As [`Prediction::new`].
    pub fn predict(&self) -> Result<Prediction> {
        Prediction::new(&self.public)
    }
}
