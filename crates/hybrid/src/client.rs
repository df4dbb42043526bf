//! The client of a session: it holds the input and learns the logits.

use mpc::Channel;
use ring::sample::SecretRng;
use rlwe::bytes::Fingerprint;

use crate::activation::{Activation, KeysOf, Protocols};
use crate::bits::{mask, unpack};
use crate::cipher::{PublicKey, SecretKey};
use crate::cost;
use crate::error::{Error, Result};
use crate::half::Half;
use crate::handshake::{Wish, ask, meet};
use crate::program::PublicProgram;
use crate::report::{Meter, Observer, Progress, Report, Taken};

/// A client that has met a server and has received its program.
pub struct Client<C> {
    channel: C,
    half: Half,
    protocols: Protocols,
    fingerprint: Fingerprint,
    handshake: Taken,
}

/// A client with the keys and the material for a number of inputs. [`ReadyClient::run`] uses them
/// up, so it consumes the client.
pub struct ReadyClient<C> {
    client: Client<C>,
    keys: Vec<SecretKey>,
    activation: Activation,
    report: Report,
}

impl<C: Channel> Client<C> {
    /// Greets a server and checks its program. `expected`, if any, is the only program's hash that
    /// the client accepts.
    ///
    /// # Errors
    /// [`Error::Message`] for another kind of server, another version or another program,
    /// [`Error::Program`] for a program that is insecure or does not fit together,
    /// [`Error::Protocol`] if the connection ends.
    pub fn meet(mut channel: C, expected: Option<&Fingerprint>) -> Result<Self> {
        let mut meter = Meter::start(&channel);
        let (public, fingerprint) = meet(&mut channel, expected)?;
        let half = Half::new(public)?;
        let handshake = meter.lap(&channel);
        Ok(Self {
            channel,
            protocols: Protocols::new(&half)?,
            half,
            fingerprint,
            handshake,
        })
    }

    /// The server's program.
    pub fn public(&self) -> &PublicProgram {
        &self.half.public
    }

    /// Hash of the server's program.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    /// The offline phase: keys and material for `inputs` inputs.
    ///
    /// # Errors
    /// [`Error::Memory`] for more inputs than there is room for, [`Error::Message`] if the server
    /// refuses, [`Error::Protocol`] if the connection ends, [`Error::Stopped`] if the observer
    /// answers `false`.
    pub fn prepare(mut self, inputs: u32, observe: Observer<'_>) -> Result<ReadyClient<C>> {
        let mut meter = Meter::start(&self.channel);
        let mut report = Report::new(&self.half.public, inputs);
        self.protocols.check_memory(inputs)?;
        let longest = cost::longest_message(&self.half, &self.protocols);
        self.channel.limit_ahead(longest);
        let wish = Wish {
            hash: self.fingerprint,
            shape: self.half.public.input.shape.map(|side| side as u32),
            inputs,
        };
        ask(&mut self.channel, &wish)?;
        report.handshake = self.handshake;
        report.handshake.add(&meter.lap(&self.channel));
        let total = 2 + self.half.public.layers.len() * inputs as usize;
        let mut tell = |doing: &str, done| {
            let progress = Progress { doing, done, total };
            if observe(progress) {
                Ok(())
            } else {
                Err(Error::Stopped)
            }
        };
        tell("keys", 0)?;
        let mut rng = SecretRng::from_os();
        let mut keys = Vec::with_capacity(self.half.bases.len());
        for basis in &self.half.bases {
            let secret = SecretKey::generate(basis, &mut rng);
            self.channel.send(&PublicKey::generate(&secret, &mut rng))?;
            keys.push(secret);
        }
        self.channel.flush()?;
        tell("material", 1)?;
        let (protocols, channel) = (&self.protocols, &mut self.channel);
        let activation = Activation::prepare(KeysOf::Client(&keys), protocols, channel, inputs)?;
        report.offline = meter.lap(&self.channel);
        Ok(ReadyClient {
            client: self,
            keys,
            activation,
            report,
        })
    }
}

impl<C: Channel> ReadyClient<C> {
    /// Time, bytes and rounds of the session so far.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The online phase: the logits of each input.
    ///
    /// # Errors
    /// [`Error::Input`] for an input of another shape or number than the material's, before
    /// anything is sent; [`Error::Protocol`] if the connection ends, [`Error::Message`] for
    /// malformed messages, [`Error::Stopped`] if the observer answers `false`.
    pub fn run(
        mut self,
        inputs: &[Vec<i64>],
        observe: Observer<'_>,
    ) -> Result<(Vec<Vec<i64>>, Report)> {
        let public = &self.client.half.public;
        public.check_inputs(inputs, self.report.inputs)?;
        let layers = public.layers.len();
        let total = 2 + layers * inputs.len();
        let mut meter = Meter::start(&self.client.channel);
        let mut logits = Vec::with_capacity(inputs.len());
        for (index, input) in inputs.iter().enumerate() {
            let values = input.iter().map(|&x| x as u64).collect();
            let mut shares = vec![Some(values)];
            for layer in 0..layers {
                let doing = &self.client.half.public.layers[layer].name;
                let done = 2 + index * layers + layer;
                if !observe(Progress { doing, done, total }) {
                    return Err(Error::Stopped);
                }
                let sums = self.linear(layer, &shares)?;
                let linear = meter.lap(&self.client.channel);
                let outputs = self.activate(layer, sums, &shares)?;
                shares.push(Some(outputs));
                let taken = &mut self.report.layers[layer];
                taken.linear.add(&linear);
                taken.activation.add(&meter.lap(&self.client.channel));
            }
            let last = shares.pop().flatten().unwrap_or_default();
            logits.push(last.into_iter().map(|x| x as i64).collect());
        }
        Ok((logits, self.report))
    }

    /// The client's share of a layer's accumulators.
    fn linear(&mut self, layer: usize, shares: &[Option<Vec<u64>>]) -> Result<Vec<u64>> {
        let Client { channel, half, .. } = &mut self.client;
        let terms = || {
            half.public.layers[layer]
                .encrypted
                .iter()
                .zip(&half.tables[layer])
        };
        for (term, tables) in terms() {
            let share = shares[term.source].as_deref().unwrap_or_default();
            channel.send(&tables.query(&self.keys[term.ring], share))?;
            channel.flush()?;
        }
        let mut sums = vec![0; half.values(layer)];
        half.add_local(layer, shares, &mut sums);
        half.add_known_product(layer, shares, &mut sums);
        for (term, tables) in terms() {
            let mut answer = vec![0; tables.answer_len()];
            channel.receive(&mut answer)?;
            let own = tables.open(&self.keys[term.ring], &answer);
            for (sum, own) in sums.iter_mut().zip(own) {
                *sum = sum.wrapping_add(own);
            }
        }
        Ok(sums)
    }

    /// The client's share of a layer's outputs, or the outputs themselves if the server reveals the
    /// accumulators.
    fn activate(
        &mut self,
        layer: usize,
        sums: Vec<u64>,
        shares: &[Option<Vec<u64>>],
    ) -> Result<Vec<u64>> {
        let Client {
            channel,
            half,
            protocols,
            ..
        } = &mut self.client;
        let mut sums = sums;
        if !half.reveals_all() {
            let factors = half.factors(layer, shares);
            sums = self
                .activation
                .run(protocols, channel, layer, sums, factors)?;
        }
        if !half.reveals(layer) {
            return Ok(sums);
        }
        let plan = &half.public.layers[layer];
        let mut bytes = vec![0; half.revealed_len(layer)];
        channel.receive(&mut bytes)?;
        let others = unpack(&bytes, sums.len(), plan.bits);
        let shift = 64 - plan.bits;
        let value = |(own, other): (u64, u64)| {
            let sum = own.wrapping_add(other) & mask(plan.bits);
            plan.step.apply((sum << shift) as i64 >> shift) as u64
        };
        Ok(sums.into_iter().zip(others).map(value).collect())
    }
}
