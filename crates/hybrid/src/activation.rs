//! Activations on shares: the protocols of each layer, and the material for them.

use mpc::{Channel, Cost, Material, Needs, Party, Protocol, Requantisation, Role, preprocess};

use crate::error::Result;
use crate::half::Half;
use crate::program::{LayerPlan, Step};

/// The protocol of a layer whose accumulators are at most `largest` in absolute value, and the
/// factor of its accumulators.
///
/// # Errors
/// [`Error::Protocol`](crate::Error::Protocol) for numbers that it cannot compute with.
pub(crate) fn protocol(plan: &LayerPlan) -> Result<Option<(Protocol, i64)>> {
    let found = match &plan.step {
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
            (protocol, form.multiplier)
        }
        Step::Table { .. } => {
            let minimum = -plan.largest;
            let values: Vec<i64> = (minimum..=plan.largest)
                .map(|x| plan.step.apply(x))
                .collect();
            let table = Protocol::table(plan.bits, minimum, &values, plan.output_bits)?;
            (table, 1)
        }
        Step::Logits => return Ok(None),
    };
    Ok(Some(found))
}

/// All protocols of a program, and what they need for one input.
pub(crate) struct Protocols {
    layers: Vec<Option<(Protocol, i64)>>,
    counts: Vec<usize>,
}

impl Protocols {
    /// # Errors
    /// As [`protocol`].
    pub(crate) fn new(half: &Half) -> Result<Self> {
        let layers = (0..half.public.layers.len()).map(|layer| match half.reveals(layer) {
            true => Ok(None),
            false => protocol(&half.public.layers[layer]),
        });
        Ok(Self {
            layers: layers.collect::<Result<_>>()?,
            counts: (0..half.public.layers.len())
                .map(|l| half.values(l))
                .collect(),
        })
    }

    /// What one input uses up.
    pub(crate) fn needs(&self) -> Needs {
        let mut needs = Needs::default();
        for (protocol, &count) in self.layers.iter().zip(&self.counts) {
            if let Some((protocol, _)) = protocol {
                needs += &protocol.needs(count);
            }
        }
        needs
    }

    /// What a layer costs online.
    pub(crate) fn cost(&self, layer: usize) -> Cost {
        let protocol = self.layers[layer].as_ref();
        protocol.map_or(Cost::default(), |(protocol, _)| {
            protocol.cost(self.counts[layer])
        })
    }
}

/// One party's means to apply tables, for a number of inputs.
pub(crate) struct Activation {
    role: Role,
    material: Material,
}

impl Activation {
    /// The offline phase, together with the other party.
    pub(crate) fn prepare<C: Channel>(
        role: Role,
        protocols: &Protocols,
        channel: &mut C,
        inputs: u32,
    ) -> Result<Self> {
        let mut needs = Needs::default();
        for _ in 0..inputs {
            needs += &protocols.needs();
        }
        let material = preprocess(role, channel, &needs, &mut |_, _| {})?;
        Ok(Self { role, material })
    }

    /// This party's share of a layer's outputs from its share of the accumulators.
    pub(crate) fn run<C: Channel>(
        &mut self,
        protocols: &Protocols,
        channel: &mut C,
        layer: usize,
        mut shares: Vec<u64>,
    ) -> Result<Vec<u64>> {
        let Some((protocol, multiplier)) = &protocols.layers[layer] else {
            return Ok(shares);
        };
        for share in &mut shares {
            *share = share.wrapping_mul(*multiplier as u64);
        }
        let material = std::mem::take(&mut self.material);
        let mut party = Party::new(self.role, channel, material);
        let found = party.run(protocol, &shares);
        // After an error the material is not used again: the session ends.
        self.material = party.into_parts().1;
        Ok(found?)
    }
}
