//! Measurements of a session: seconds, bytes and rounds.

use std::time::Instant;

use mpc::{Channel, Traffic};

use crate::program::{LayerPlan, PublicProgram};

/// Seconds, bytes and rounds of a part of a session, as one party measures them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Taken {
    /// Seconds.
    pub seconds: f64,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// Number of times that this party waited for an answer.
    pub rounds: u64,
}

impl Taken {
    /// Adds the measurement of another part.
    pub(crate) fn add(&mut self, other: &Self) {
        self.seconds += other.seconds;
        self.sent += other.sent;
        self.received += other.received;
        self.rounds += other.rounds;
    }
}

/// The measurements of a session by one party.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Inputs of the session.
    pub inputs: u32,
    /// Greeting, exchange of the program, and agreement.
    pub handshake: Taken,
    /// Keys and material, which need no input.
    pub offline: Taken,
    /// Layers, all inputs together.
    pub layers: Vec<LayerTaken>,
}

/// The measurements of a layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerTaken {
    /// Name of the layer.
    pub name: String,
    /// The encrypted terms and their answers.
    pub linear: Taken,
    /// The activation, or the revealing of the accumulators.
    pub activation: Taken,
}

impl Report {
    pub(crate) fn new(public: &PublicProgram, inputs: u32) -> Self {
        let layer = |plan: &LayerPlan| LayerTaken {
            name: plan.name.clone(),
            ..LayerTaken::default()
        };
        Self {
            inputs,
            layers: public.layers.iter().map(layer).collect(),
            ..Self::default()
        }
    }

    /// Sum over all layers.
    pub fn online(&self) -> Taken {
        let mut all = Taken::default();
        for layer in &self.layers {
            all.add(&layer.linear);
            all.add(&layer.activation);
        }
        all
    }
}

/// Measures the parts of a session.
pub(crate) struct Meter {
    started: Instant,
    before: Traffic,
}

impl Meter {
    pub(crate) fn start(channel: &impl Channel) -> Self {
        Self {
            started: Instant::now(),
            before: channel.traffic(),
        }
    }

    /// The measurement of the part since the start or since the last lap.
    pub(crate) fn lap(&mut self, channel: &impl Channel) -> Taken {
        let now = channel.traffic();
        let taken = Taken {
            seconds: self.started.elapsed().as_secs_f64(),
            sent: now.sent - self.before.sent,
            received: now.received - self.before.received,
            rounds: now.rounds - self.before.rounds,
        };
        self.started = Instant::now();
        self.before = now;
        taken
    }
}

/// The progress of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The current step: `keys`, `material`, or the name of a layer.
    pub doing: &'a str,
    /// Number of finished steps.
    pub done: usize,
    /// Number of all steps of the session.
    pub total: usize,
}

/// Receives the progress of a session. The answer `false` ends the session.
pub type Observer<'a> = &'a mut dyn FnMut(Progress<'_>) -> bool;
