//! The builder of circuits, which computes with public bits at once.

use super::{Circuit, Layer, Local, MAX_WIDTH, Product};
use crate::cost::Role;

/// A bit of a circuit under construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Bit {
    /// A constant, known to both parties when the circuit is built.
    Public(bool),
    /// A wire of the circuit.
    Wire(u32),
}

impl Bit {
    pub(crate) const ZERO: Self = Self::Public(false);
    pub(crate) const ONE: Self = Self::Public(true);
}

/// The parties with a part in a wire, and the number of exchanges before it.
#[derive(Clone, Copy, Debug)]
struct Wire {
    server: bool,
    client: bool,
    depth: usize,
}

impl Wire {
    fn has(self, role: Role) -> bool {
        match role {
            Role::Server => self.server,
            Role::Client => self.client,
        }
    }

    /// The party that knows the bit, unless it is shared.
    fn owner(self) -> Option<Role> {
        match (self.server, self.client) {
            (true, false) => Some(Role::Server),
            (false, true) => Some(Role::Client),
            _ => None,
        }
    }
}

/// A circuit under construction.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    wires: Vec<Wire>,
    input_wires: usize,
    layers: Vec<Layer>,
}

impl Builder {
    /// Adds an input of `bits` bits. Returns its two shares, lowest bits first: the server's and
    /// the client's.
    ///
    /// # Panics
    /// If an operation was added before the input.
    pub(crate) fn input(&mut self, bits: u32) -> (Vec<Bit>, Vec<Bit>) {
        assert_eq!(self.wires.len(), self.input_wires, "inputs come first");
        let mut share = |server| {
            let bit = |_| self.wire(server, !server, 0);
            (0..bits).map(bit).collect::<Vec<_>>()
        };
        let shares = (share(true), share(false));
        self.input_wires = self.wires.len();
        shares
    }

    pub(crate) fn xor(&mut self, a: Bit, b: Bit) -> Bit {
        match (a, b) {
            (Bit::Public(false), other) | (other, Bit::Public(false)) => other,
            (Bit::Public(true), other) | (other, Bit::Public(true)) => self.not(other),
            (Bit::Wire(x), Bit::Wire(y)) if x == y => Bit::ZERO,
            (Bit::Wire(a), Bit::Wire(b)) => {
                let (x, y) = (self.wires[a as usize], self.wires[b as usize]);
                let (server, client) = (x.server || y.server, x.client || y.client);
                let out = self.wire_index(server, client, x.depth.max(y.depth));
                self.local(Local::Xor { out, a, b }, out)
            }
        }
    }

    pub(crate) fn xor_all(&mut self, bits: impl IntoIterator<Item = Bit>) -> Bit {
        bits.into_iter()
            .fold(Bit::ZERO, |sum, bit| self.xor(sum, bit))
    }

    pub(crate) fn not(&mut self, a: Bit) -> Bit {
        match a {
            Bit::Public(value) => Bit::Public(!value),
            Bit::Wire(a) => {
                let wire = self.wires[a as usize];
                let who = wire.owner().unwrap_or(Role::Server);
                let out = self.wire_index(wire.server, wire.client, wire.depth);
                self.local(Local::Not { out, a, who }, out)
            }
        }
    }

    pub(crate) fn and(&mut self, a: Bit, b: Bit) -> Bit {
        self.and_many(a, &[b])[0]
    }

    pub(crate) fn or(&mut self, a: Bit, b: Bit) -> Bit {
        let both = self.and(a, b);
        let either = self.xor(a, b);
        self.xor(either, both)
    }

    /// Builds the products of `left` with each of `rights`, in one exchange. Equal bits of `rights`
    /// are multiplied once.
    pub(crate) fn and_many(&mut self, left: Bit, rights: &[Bit]) -> Vec<Bit> {
        let left_wire = match left {
            Bit::Public(false) => return vec![Bit::ZERO; rights.len()],
            Bit::Public(true) => return rights.to_vec(),
            Bit::Wire(wire) => wire,
        };
        let mut crossing: Vec<u32> = Vec::new();
        // Each product's outcome: the result, or the index in `crossing` of its right operand.
        let mut outcomes: Vec<Result<Bit, usize>> = Vec::new();
        for &right in rights {
            outcomes.push(match right {
                Bit::Public(false) => Ok(Bit::ZERO),
                Bit::Public(true) => Ok(left),
                Bit::Wire(wire) if wire == left_wire => Ok(left),
                Bit::Wire(wire) => match self.local_and(left_wire, wire) {
                    Some(out) => Ok(out),
                    None => Err(match crossing.iter().position(|&w| w == wire) {
                        Some(place) => place,
                        None => {
                            crossing.push(wire);
                            crossing.len() - 1
                        }
                    }),
                },
            });
        }
        let chunks = crossing.chunks(MAX_WIDTH);
        let products: Vec<Bit> = chunks.flat_map(|c| self.product(left_wire, c)).collect();
        let result = |place| products[place];
        outcomes
            .into_iter()
            .map(|bit| bit.unwrap_or_else(result))
            .collect()
    }

    /// Builds a choice: `when_one` if `choice` is one, else `when_zero`, bit by bit, in one
    /// exchange.
    pub(crate) fn choose(&mut self, choice: Bit, when_one: &[Bit], when_zero: &[Bit]) -> Vec<Bit> {
        let pairs = when_one.iter().zip(when_zero);
        let differences: Vec<Bit> = pairs.map(|(&a, &b)| self.xor(a, b)).collect();
        let kept = self.and_many(choice, &differences);
        let pairs = kept.into_iter().zip(when_zero);
        pairs.map(|(a, &b)| self.xor(a, b)).collect()
    }

    /// Builds the product of all bits, in logarithmic depth.
    pub(crate) fn and_all(&mut self, mut bits: Vec<Bit>) -> Bit {
        while bits.len() > 1 {
            let pair = |pair: &[Bit]| match *pair {
                [a, b] => self.and(a, b),
                _ => pair[0],
            };
            bits = bits.chunks(2).map(pair).collect();
        }
        bits.first().copied().unwrap_or(Bit::ONE)
    }

    /// Returns true if one party knows `a` and the other knows `b`.
    pub(crate) fn is_crossed(&self, a: Bit, b: Bit) -> bool {
        match (self.owner(a), self.owner(b)) {
            (Some(a), Some(b)) => a != b,
            _ => false,
        }
    }

    fn owner(&self, bit: Bit) -> Option<Role> {
        match bit {
            Bit::Public(_) => None,
            Bit::Wire(wire) => self.wires[wire as usize].owner(),
        }
    }

    pub(crate) fn finish(self) -> Circuit {
        Circuit {
            wires: self.wires.len(),
            layers: self.layers,
        }
    }

    fn local_and(&mut self, a: u32, b: u32) -> Option<Bit> {
        let (x, y) = (self.wires[a as usize], self.wires[b as usize]);
        let owner = x.owner()?;
        if y.owner()? != owner {
            return None;
        }
        let out = self.wire_index(x.server, x.client, x.depth.max(y.depth));
        Some(self.local(Local::And { out, a, b }, out))
    }

    fn product(&mut self, left: u32, rights: &[u32]) -> Vec<Bit> {
        let x = self.wires[left as usize];
        let wires = rights.iter().map(|&wire| self.wires[wire as usize]);
        let depth = wires.map(|y| y.depth).fold(x.depth, usize::max);
        let crossed = [Role::Server, Role::Client].map(|chooser| {
            let other = |wire: u32| self.wires[wire as usize].has(chooser.other());
            let positions = (0..rights.len()).filter(|&at| x.has(chooser) && other(rights[at]));
            positions.collect()
        });
        let outs: Vec<u32> = rights
            .iter()
            .map(|_| self.wire_index(true, true, depth + 1))
            .collect();
        self.layer(depth).products.push(Product {
            left,
            rights: rights.to_vec(),
            outs: outs.clone(),
            crossed,
        });
        outs.into_iter().map(Bit::Wire).collect()
    }

    fn local(&mut self, operation: Local, out: u32) -> Bit {
        let depth = self.wires[out as usize].depth;
        self.layer(depth).locals.push(operation);
        Bit::Wire(out)
    }

    fn layer(&mut self, depth: usize) -> &mut Layer {
        if self.layers.len() <= depth {
            self.layers.resize(depth + 1, Layer::default());
        }
        &mut self.layers[depth]
    }

    fn wire(&mut self, server: bool, client: bool, depth: usize) -> Bit {
        Bit::Wire(self.wire_index(server, client, depth))
    }

    fn wire_index(&mut self, server: bool, client: bool, depth: usize) -> u32 {
        let index = u32::try_from(self.wires.len()).expect("a circuit has fewer than 2^32 wires");
        self.wires.push(Wire {
            server,
            client,
            depth,
        });
        index
    }
}
