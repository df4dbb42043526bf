//! The server of a session: it holds the weights.

use mpc::Channel;
use rlwe::bytes::{Fingerprint, fingerprint};

use crate::activation::{Activation, KeysOf, Protocols};
use crate::bits::{mask, pack};
use crate::cipher::PublicKey;
use crate::cost::{self, Predicted};
use crate::error::{Error, Result};
use crate::half::Half;
use crate::handshake::{Admit, Wish, receive_client};
use crate::hiding;
use crate::linear::{Prepared, SEED};
use crate::program::{Program, PublicProgram};
use crate::report::{Meter, Observer, Progress, Report};

/// A program ready to be served to any number of clients.
pub struct Server {
    half: Half,
    protocols: Protocols,
    /// The encrypted terms of each layer, with their kernels.
    terms: Vec<Vec<Prepared>>,
    biases: Vec<Vec<i64>>,
    public_json: String,
    fingerprint: Fingerprint,
    most_inputs: u32,
    log2_distance: f64,
}

impl Server {
    /// Transforms the weights of a program. A session takes at most `most_inputs` inputs, or fewer
    /// if the material for them would take more than a session's memory.
    ///
    /// # Errors
    /// [`Error::Program`] for a program that does not pass its check, that takes too much memory,
    /// or whose floods do not hide its weights.
    pub fn new(program: &Program, most_inputs: u32) -> Result<Self> {
        program.check()?;
        let half = Half::new(program.public.clone())?;
        half.check_kernels()?;
        let log2_distance = hiding::log2_of_one_input(&half, &program.weights)?;
        let mut terms = Vec::with_capacity(program.weights.len());
        for (index, (plan, weights)) in half.public.layers.iter().zip(&program.weights).enumerate()
        {
            let prepared = plan.encrypted.iter().zip(&half.tables[index]);
            let prepared = prepared.zip(&weights.terms);
            let prepared = prepared.map(|((term, tables), w)| Prepared::new(tables, term, w));
            terms.push(prepared.collect());
        }
        let public_json = half.public.to_json();
        Ok(Self {
            protocols: Protocols::new(&half)?,
            half,
            terms,
            biases: program.weights.iter().map(|w| w.bias.clone()).collect(),
            fingerprint: fingerprint(public_json.as_bytes()),
            public_json,
            most_inputs,
            log2_distance,
        })
    }

    /// log2 of the statistical distance of the answers to one input from floods and masks alone,
    /// which hide nothing. For `k` inputs the distance is `k` times as large.
    pub fn log2_distance(&self) -> f64 {
        self.log2_distance
    }

    /// The predicted cost of a session of `inputs` inputs.
    pub(crate) fn predicted(&self, inputs: u32) -> Predicted {
        cost::session(&self.half, &self.protocols, inputs)
    }

    /// Hash of the public part. Both parties compare it to agree on a program.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    /// The public part of the program.
    pub fn public(&self) -> &PublicProgram {
        &self.half.public
    }

    /// Serves one client. All keys and material belong to this call and end with it.
    ///
    /// # Errors
    /// [`Error::Message`] for a client that does not fit, [`Error::Protocol`] if the connection
    /// ends, [`Error::Stopped`] if the observer answers `false`.
    pub fn serve<C: Channel>(&self, channel: &mut C, observe: Observer<'_>) -> Result<Report> {
        self.serve_admitted(channel, &mut |_| Ok(()), observe)
    }

    /// Serves one client as [`serve`](Self::serve) does, if `admit` agrees with the number of
    /// inputs. Otherwise the client receives the error of `admit`.
    ///
    /// # Errors
    /// The errors of [`serve`](Self::serve), and [`Error::Message`] if `admit` does not agree.
    pub fn serve_admitted<C: Channel>(
        &self,
        channel: &mut C,
        admit: Admit<'_>,
        observe: Observer<'_>,
    ) -> Result<Report> {
        let shape = self.half.public.input.shape.map(|side| side as u32);
        let own = Wish {
            hash: self.fingerprint,
            shape,
            inputs: self.most_inputs,
        };
        let mut meter = Meter::start(channel);
        let mut admit = |inputs| {
            let room = self.protocols.check_memory(inputs);
            room.map_err(|error| error.to_string())?;
            admit(inputs)
        };
        let wish = receive_client(channel, &self.public_json, &own, &mut admit)?;
        channel.limit_ahead(cost::longest_message(&self.half, &self.protocols));
        let mut report = Report::new(&self.half.public, wish.inputs);
        report.handshake = meter.lap(channel);
        let total = 2 + self.half.public.layers.len() * wish.inputs as usize;
        let mut tell = |doing: &str, done: usize| {
            let progress = Progress { doing, done, total };
            if observe(progress) {
                Ok(())
            } else {
                Err(Error::Stopped)
            }
        };
        tell("keys", 0)?;
        let mut keys = Vec::with_capacity(self.half.bases.len());
        for (ring, basis) in self.half.public.rings.iter().zip(&self.half.bases) {
            let mut bytes = vec![0; SEED + ring.body_len()];
            channel.receive(&mut bytes)?;
            keys.push(PublicKey::read(basis, &bytes)?);
        }
        tell("material", 1)?;
        let mut activation =
            Activation::prepare(KeysOf::Server(&keys), &self.protocols, channel, wish.inputs)?;
        report.offline = meter.lap(channel);
        for input in 0..wish.inputs as usize {
            let mut shares: Vec<Option<Vec<u64>>> = vec![None];
            for layer in 0..self.half.public.layers.len() {
                let name = &self.half.public.layers[layer].name;
                tell(name, 2 + input * self.half.public.layers.len() + layer)?;
                let taken = &mut report.layers[layer];
                let sums = self.linear(channel, &keys, layer, &shares)?;
                taken.linear.add(&meter.lap(channel));
                let outputs = self.activate(channel, &mut activation, layer, (sums, &shares))?;
                shares.push(outputs);
                taken.activation.add(&meter.lap(channel));
            }
        }
        Ok(report)
    }

    /// The server's share of a layer's accumulators.
    fn linear<C: Channel>(
        &self,
        channel: &mut C,
        keys: &[PublicKey],
        layer: usize,
        shares: &[Option<Vec<u64>>],
    ) -> Result<Vec<u64>> {
        let plan = &self.half.public.layers[layer];
        let [_, height, width] = plan.shape;
        let biases = self.biases[layer].iter();
        let mut sums: Vec<u64> = biases
            .flat_map(|&bias| std::iter::repeat_n(bias as u64, height * width))
            .collect();
        self.half.add_local(layer, shares, &mut sums);
        let terms = plan.encrypted.iter().zip(&self.half.tables[layer]);
        for ((term, tables), prepared) in terms.zip(&self.terms[layer]) {
            let mut query = vec![0; tables.query_len()];
            channel.receive(&mut query)?;
            let share = shares[term.source].as_deref();
            let (answer, own) = prepared.answer(tables, &keys[term.ring], &query, share)?;
            channel.send(&answer)?;
            for (sum, own) in sums.iter_mut().zip(own) {
                *sum = sum.wrapping_add(own);
            }
        }
        if !plan.encrypted.is_empty() {
            channel.flush()?;
        }
        Ok(sums)
    }

    /// The server's share of a layer's outputs; `None` if it is zero.
    fn activate<C: Channel>(
        &self,
        channel: &mut C,
        activation: &mut Activation,
        layer: usize,
        (mut sums, shares): (Vec<u64>, &[Option<Vec<u64>>]),
    ) -> Result<Option<Vec<u64>>> {
        if !self.half.reveals_all() {
            let factors = self.half.factors(layer, shares);
            sums = activation.run(&self.protocols, channel, layer, sums, factors)?;
        }
        if !self.half.reveals(layer) {
            return Ok(Some(sums));
        }
        let bits = self.half.public.layers[layer].bits;
        let mut bytes = Vec::with_capacity(self.half.revealed_len(layer));
        pack(&mut bytes, sums.iter().map(|&sum| sum & mask(bits)), bits);
        channel.send(&bytes)?;
        channel.flush()?;
        Ok(None)
    }
}
