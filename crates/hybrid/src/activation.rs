//! Activations on shares: the protocols of each layer, and their material.

use mpc::{
    Channel, Cost, Duplex, Material, Needs, Party, Protocol, Requantisation, Role, preprocess,
};
use network::partners;

use crate::cipher::{PublicKey, SecretKey};
use crate::error::{Error, Result};
use crate::half::Half;
use crate::product_plan::ProductKind;
use crate::products::Products;
use crate::program::{LayerPlan, Step, in_range};
use crate::squared::Squared;

/// Largest size of the material of a session in bytes, and of an input that has a session of its
/// own.
const MOST_MATERIAL: u64 = 2 << 30;
const MOST_MATERIAL_OF_INPUT: u64 = 64 << 30;

/// A stage of a layer's protocol. It works on the shares that the stage before it returns.
enum Stage {
    /// Multiplication by a public number.
    Scale(i64),
    Run(Protocol),
    /// `square x^2 + linear x`, modulo `2^bits`.
    Quadratic {
        bits: u32,
        square: i64,
        linear: i64,
    },
}

impl Stage {
    fn needs(&self, count: usize) -> Needs {
        match self {
            Self::Scale(_) => Needs::default(),
            Self::Run(protocol) => protocol.needs(count),
            Self::Quadratic { bits, .. } => Needs::square(*bits, count),
        }
    }

    fn cost(&self, count: usize) -> Cost {
        match self {
            Self::Scale(_) => Cost::default(),
            Self::Run(protocol) => protocol.cost(count),
            Self::Quadratic { bits, .. } => Party::<Duplex>::square_cost(*bits, count),
        }
    }

    fn run<C: Channel>(&self, party: &mut Party<C>, mut shares: Vec<u64>) -> Result<Vec<u64>> {
        match self {
            Self::Scale(factor) => {
                for share in &mut shares {
                    *share = share.wrapping_mul(*factor as u64);
                }
                Ok(shares)
            }
            Self::Run(protocol) => Ok(party.run(protocol, &shares)?),
            Self::Quadratic {
                bits,
                square,
                linear,
            } => {
                let squares = party.square(*bits, &shares)?;
                for (share, squared) in shares.iter_mut().zip(squares) {
                    let linear = share.wrapping_mul(*linear as u64);
                    *share = squared.wrapping_mul(*square as u64).wrapping_add(linear);
                }
                Ok(shares)
            }
        }
    }
}

/// The stages of the protocol of a layer, from its plan.
///
/// # Errors
/// [`Error::Protocol`](crate::Error::Protocol) for numbers outside the protocol's ranges.
fn stages(plan: &LayerPlan) -> Result<Vec<Stage>> {
    let stages = match &plan.step {
        Step::Form(form) => {
            let most = plan.largest.saturating_mul(form.multiplier.abs());
            let protocol = Protocol::requantise(&Requantisation {
                bits: plan.bits,
                minimum: -most,
                maximum: most,
                offset: form.offset,
                shift: form.shift,
                low: form.low,
                high: form.high,
                out_bits: plan.output_bits,
            })?;
            vec![Stage::Scale(form.multiplier), Stage::Run(protocol)]
        }
        Step::Square(squared) => squared_stages(plan, squared)?,
        Step::Table { .. } => {
            let minimum = -plan.largest;
            let values: Vec<i64> = (minimum..=plan.largest)
                .map(|x| plan.step.apply(x))
                .collect();
            let table = Protocol::table(plan.bits, minimum, &values, plan.output_bits)?;
            vec![Stage::Run(table)]
        }
        Step::Logits => Vec::new(),
    };
    Ok(stages)
}

fn squared_stages(plan: &LayerPlan, squared: &Squared) -> Result<Vec<Stage>> {
    let (largest, form) = (plan.largest, &squared.form);
    let mut stages = Vec::new();
    if let Some(clip) = squared.clip {
        stages.push(Stage::Run(Protocol::requantise(&Requantisation {
            bits: plan.bits,
            minimum: -largest,
            maximum: largest,
            offset: 0,
            shift: 0,
            low: -clip,
            high: clip,
            out_bits: squared.bits,
        })?));
    } else if squared.bits > plan.bits {
        let wider = Protocol::extend(plan.bits, -largest..=largest, squared.bits)?;
        stages.push(Stage::Run(wider));
    }
    stages.push(Stage::Quadratic {
        bits: squared.bits,
        square: form.square,
        linear: form.linear,
    });
    let (minimum, maximum) = form.range(squared.reach(largest));
    stages.push(Stage::Run(Protocol::requantise(&Requantisation {
        bits: squared.bits,
        minimum: minimum as i64,
        maximum: maximum as i64,
        offset: form.offset,
        shift: form.shift,
        low: form.low,
        high: form.high,
        out_bits: plan.output_bits,
    })?));
    Ok(stages)
}

/// The protocols of all layers of a program, and their products of random numbers.
pub(crate) struct Protocols {
    layers: Vec<Layer>,
    products: Vec<Products>,
}

struct Layer {
    values: usize,
    /// The product on shares that is added to the accumulators, if there is one: its bits, and the
    /// shapes of its factors.
    product: Option<(u32, [[usize; 3]; 2])>,
    /// Stages of the layer. Without any, the server reveals the accumulators.
    stages: Vec<Stage>,
}

impl Protocols {
    /// Prepares the protocols of a program.
    ///
    /// # Errors
    /// The errors of [`stages`], and [`Error::Program`](crate::Error::Program) for too much
    /// material.
    pub(crate) fn new(half: &Half) -> Result<Self> {
        let public = &half.public;
        let layer = |layer: usize| {
            let plan = &public.layers[layer];
            let product = plan.product.filter(|_| !half.reveals_all());
            Ok(Layer {
                values: half.values(layer),
                product: product.map(|product| {
                    let shapes = [product.left, product.right].map(|s| public.shape_of(s));
                    (plan.bits, shapes)
                }),
                stages: match half.reveals(layer) {
                    true => Vec::new(),
                    false => stages(plan)?,
                },
            })
        };
        let products = public.products.iter();
        let products = products.map(|plan| Products::new(plan, &half.bases[plan.ring]));
        let protocols = Self {
            layers: (0..public.layers.len()).map(layer).collect::<Result<_>>()?,
            products: products.collect::<Result<_>>()?,
        };
        let bytes = protocols.memory();
        in_range(
            "the bytes of material of one input",
            bytes,
            0,
            MOST_MATERIAL_OF_INPUT,
        )?;
        Ok(protocols)
    }

    /// Size of the material of one input in bytes, at the party that has more.
    fn memory(&self) -> u64 {
        self.needs().memory()
    }

    /// Checks that the material for `inputs` inputs fits the memory of one session.
    ///
    /// # Errors
    /// [`Error::Memory`] for too many inputs.
    pub(crate) fn check_memory(&self, inputs: u32) -> Result<()> {
        let one = self.memory().max(1);
        let most = (MOST_MATERIAL / one).clamp(1, u64::from(u32::MAX)) as u32;
        if inputs > most {
            return Err(Error::Memory {
                inputs,
                needed: one.saturating_mul(u64::from(inputs)) / 1_000_000,
                most,
            });
        }
        Ok(())
    }

    /// The material that one input uses up.
    fn needs(&self) -> Needs {
        let mut needs = Needs::default();
        for layer in &self.layers {
            if let Some((bits, _)) = layer.product {
                needs += &Needs::multiply(bits, layer.values);
            }
            for stage in &layer.stages {
                needs += &stage.needs(layer.values);
            }
        }
        needs
    }

    /// The online cost of a layer.
    pub(crate) fn cost(&self, layer: usize) -> Cost {
        let layer = &self.layers[layer];
        let mut cost = Cost::default();
        if let Some((bits, _)) = layer.product {
            cost += Party::<Duplex>::multiply_cost(bits, layer.values);
        }
        for stage in &layer.stages {
            cost += stage.cost(layer.values);
        }
        cost
    }

    /// The material that `inputs` inputs use up, and the origin of its products of random numbers.
    pub(crate) fn material(&self, inputs: u32) -> Offline<'_> {
        let mut needs = self.needs().times(inputs as usize);
        let mut under_bfv = Vec::new();
        for products in &self.products {
            let plan = products.plan();
            let counts = match plan.kind {
                ProductKind::Squares => needs.squares(),
                ProductKind::Triples => needs.triples(),
            };
            let count = counts.get(&plan.bits).copied().unwrap_or(0);
            if products.by_transfers(count) {
                needs += &Needs::make_squares(plan.bits, count);
            } else {
                under_bfv.push((products, count));
            }
        }
        Offline { needs, under_bfv }
    }
}

/// The material to generate in the offline phase.
pub(crate) struct Offline<'a> {
    /// Needs of oblivious transfers.
    pub(crate) needs: Needs,
    /// Kinds of products under BFV, each with the number of products.
    pub(crate) under_bfv: Vec<(&'a Products, usize)>,
}

/// A party's keys for each ring.
#[derive(Clone, Copy)]
pub(crate) enum KeysOf<'a> {
    Client(&'a [SecretKey]),
    Server(&'a [PublicKey]),
}

/// One party's role and material, with which it computes activations for a number of inputs.
pub(crate) struct Activation {
    role: Role,
    material: Material,
}

impl Activation {
    /// Runs the offline phase with the other party.
    pub(crate) fn prepare<C: Channel>(
        keys: KeysOf<'_>,
        protocols: &Protocols,
        channel: &mut C,
        inputs: u32,
    ) -> Result<Self> {
        let Offline { needs, under_bfv } = protocols.material(inputs);
        let role = match keys {
            KeysOf::Client(_) => Role::Client,
            KeysOf::Server(_) => Role::Server,
        };
        let mut material = preprocess(role, channel, &needs, &mut |_, _| {})?;
        for (products, count) in under_bfv {
            let ring = products.plan().ring;
            match keys {
                KeysOf::Client(keys) => {
                    products.client(channel, &keys[ring], count, &mut material)?;
                }
                KeysOf::Server(keys) => {
                    products.server(channel, &keys[ring], count, &mut material)?;
                }
            }
        }
        Ok(Self { role, material })
    }

    /// This party's share of a layer's outputs, or of its accumulators if the server reveals them,
    /// from its share of the accumulators without the product. `factors` are this party's shares of
    /// the product's factors, if the layer has a product on shares.
    pub(crate) fn run<C: Channel>(
        &mut self,
        protocols: &Protocols,
        channel: &mut C,
        layer: usize,
        mut shares: Vec<u64>,
        factors: Option<[&[u64]; 2]>,
    ) -> Result<Vec<u64>> {
        let layer = &protocols.layers[layer];
        let material = std::mem::take(&mut self.material);
        let mut party = Party::new(self.role, channel, material);
        if let (Some((bits, [of_left, of_right])), Some([left, right])) = (&layer.product, factors)
        {
            let partners = partners(*of_left, *of_right);
            let right: Vec<u64> = partners.into_iter().map(|at| right[at]).collect();
            let products = party.multiply(*bits, left, &right)?;
            for (share, product) in shares.iter_mut().zip(products) {
                *share = share.wrapping_add(product);
            }
        }
        for stage in &layer.stages {
            shares = stage.run(&mut party, shares)?;
        }
        // An error drops the material: the session ends.
        self.material = party.into_parts().1;
        Ok(shares)
    }
}
