//! The cost of a protocol, known before its run.

use std::ops::{Add, AddAssign, Mul};

/// One of the two parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The holder of the weights. Adds public constants to its shares.
    Server,
    /// The holder of the image. Learns the result.
    Client,
}

impl Role {
    /// The other party.
    pub fn other(self) -> Self {
        match self {
            Self::Server => Self::Client,
            Self::Client => Self::Server,
        }
    }
}

/// The messages of a protocol. They depend on shapes alone, never on values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Number of exchanges in sequence. In one exchange both parties send, and then both receive.
    pub rounds: u64,
    /// Bytes from the client to the server.
    pub bytes_to_server: u64,
    /// Bytes from the server to the client.
    pub bytes_to_client: u64,
}

impl Cost {
    /// Bytes in both directions.
    pub fn bytes(&self) -> u64 {
        self.bytes_to_server + self.bytes_to_client
    }

    /// Seconds for the messages, without any computation: on average the longer direction of each
    /// exchange, and half a round trip.
    ///
    /// `bytes_per_second` is the bandwidth of each direction, `round_trip` the latency there and
    /// back in seconds.
    pub fn seconds(&self, bytes_per_second: f64, round_trip: f64) -> f64 {
        let longer = self.bytes_to_server.max(self.bytes_to_client) as f64;
        longer / bytes_per_second + self.rounds as f64 * round_trip / 2.0
    }

    pub(crate) fn add_bytes(&mut self, to: Role, bytes: u64) {
        match to {
            Role::Server => self.bytes_to_server += bytes,
            Role::Client => self.bytes_to_client += bytes,
        }
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            rounds: self.rounds + other.rounds,
            bytes_to_server: self.bytes_to_server + other.bytes_to_server,
            bytes_to_client: self.bytes_to_client + other.bytes_to_client,
        }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<u64> for Cost {
    type Output = Self;

    fn mul(self, times: u64) -> Self {
        Self {
            rounds: self.rounds * times,
            bytes_to_server: self.bytes_to_server * times,
            bytes_to_client: self.bytes_to_client * times,
        }
    }
}
