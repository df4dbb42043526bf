//! What a session took: seconds, bytes and rounds.

use std::time::Instant;

use mpc::{Channel, Traffic};

use crate::program::{LayerPlan, PublicProgram};

/// What a part of a session took, seen by one party.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Taken {
    /// Seconds.
    pub seconds: f64,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// Times that this party waited for an answer.
    pub rounds: u64,
}

impl Taken {
    /// Adds another part.
    pub(crate) fn add(&mut self, other: &Self) {
        self.seconds += other.seconds;
        self.sent += other.sent;
        self.received += other.received;
        self.rounds += other.rounds;
    }
}

/// What a session took, seen by one party.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Inputs of the session.
    pub inputs: u32,
    /// Greeting, program, and agreement on it.
    pub handshake: Taken,
    /// Keys and material that need no input.
    pub offline: Taken,
    /// For each layer, all inputs together: the encrypted terms and the answers to them, and what
    /// comes after.
    pub layers: Vec<LayerTaken>,
}

/// What a layer took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerTaken {
    /// Its name.
    pub name: String,
    /// Its linear part.
    pub linear: Taken,
    /// Its activation, or the revealing of its accumulators.
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

    /// All layers together.
    pub fn online(&self) -> Taken {
        let mut all = Taken::default();
        for layer in &self.layers {
            all.add(&layer.linear);
            all.add(&layer.activation);
        }
        all
    }
}

/// Measures parts of a session.
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

    /// What was taken since the start or the last lap.
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

/// What a session is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// `keys`, `material`, or the name of a layer.
    pub doing: &'a str,
    /// Steps that are done.
    pub done: usize,
    /// Steps of the session.
    pub total: usize,
}

/// Hears of the progress of a session. The answer `false` ends it.
pub type Observer<'a> = &'a mut dyn FnMut(Progress<'_>) -> bool;
