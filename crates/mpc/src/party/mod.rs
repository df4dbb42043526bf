//! A party of a computation on shares, which runs protocols.

mod arithmetic;
mod wires;

use wires::Wires;

use crate::channel::{Channel, Traffic};
use crate::circuit::{Bit, Product};
use crate::cost::Role;
use crate::material::Material;
use crate::protocol::Protocol;
use crate::slices::{from_planes, mask, plane_words, to_planes};
use crate::{Error, Result};

/// One party of a computation on shares.
///
/// Both parties call the same functions in the same order, each with its own shares.
pub struct Party<C> {
    role: Role,
    channel: C,
    pub(crate) material: Material,
}

impl<C: Channel> Party<C> {
    /// Creates a party, with material from [`preprocess`](crate::preprocess).
    pub fn new(role: Role, channel: C, material: Material) -> Self {
        Self {
            role,
            channel,
            material,
        }
    }

    /// The role of this party.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The bytes and rounds of the channel so far.
    pub fn traffic(&self) -> Traffic {
        self.channel.traffic()
    }

    /// The channel, for messages between protocols.
    pub fn channel(&mut self) -> &mut C {
        &mut self.channel
    }

    /// The channel and the rest of the material.
    pub fn into_parts(self) -> (C, Material) {
        (self.channel, self.material)
    }

    /// Runs a protocol. `shares` has [`Protocol::inputs`] words for each result, one after the
    /// other. Returns a word for each result.
    ///
    /// # Errors
    /// [`Error::Length`] if the number of shares is not a multiple of the inputs;
    /// [`Error::Exhausted`], before anything is sent; [`Error::Connection`].
    pub fn run(&mut self, protocol: &Protocol, shares: &[u64]) -> Result<Vec<u64>> {
        let inputs = protocol.inputs();
        if !shares.len().is_multiple_of(inputs) {
            return Err(Error::Length {
                what: "the shares",
                found: shares.len(),
                expected: format!("a multiple of {inputs}"),
            });
        }
        let count = shares.len() / inputs;
        self.material.check(self.role, &protocol.needs(count))?;
        let mut results = Vec::with_capacity(count);
        let mut at = 0;
        for part in protocol.parts(count) {
            let shares = &shares[at * inputs..(at + part) * inputs];
            results.extend(self.run_part(protocol, shares, part)?);
            at += part;
        }
        Ok(results)
    }

    fn run_part(&mut self, protocol: &Protocol, shares: &[u64], count: usize) -> Result<Vec<u64>> {
        let words = plane_words(count);
        let mut wires = Wires::new(protocol.circuit.wires, words);
        let constant = self.public(protocol.input_constant);
        let inputs = protocol.inputs();
        let mut wire = 0;
        for (input, &bits) in protocol.input_bits.iter().enumerate() {
            let values = shares.iter().skip(input).step_by(inputs);
            let values = values.map(|share| share.wrapping_add(constant) & mask(bits));
            let own = match self.role {
                Role::Server => wire,
                Role::Client => wire + bits,
            };
            to_planes(values, bits, wires.planes_mut(own..own + bits));
            wire += 2 * bits;
        }
        for layer in &protocol.circuit.layers {
            for &operation in &layer.locals {
                wires.local(self.role, operation);
            }
            if !layer.products.is_empty() {
                self.multiply_bits(&layer.products, &mut wires)?;
            }
        }
        if protocol.reveals {
            return self.reveal_bits(protocol, &wires, count);
        }
        let mut results = self.convert(protocol, &wires, count)?;
        if protocol.extends {
            let bits = protocol.input_bits[0];
            for (result, share) in results.iter_mut().zip(shares) {
                let own = share.wrapping_add(constant) & mask(bits);
                *result = own.wrapping_sub(*result);
            }
        }
        let output = &protocol.output;
        let constant = self.public(output.constant);
        for result in &mut results {
            *result = result.wrapping_add(constant) & mask(output.ring);
        }
        Ok(results)
    }

    /// The server's share of a public constant is the constant, the client's is 0.
    fn public(&self, constant: u64) -> u64 {
        match self.role {
            Role::Server => constant,
            Role::Client => 0,
        }
    }

    /// Multiplies the bits of one layer, in one exchange.
    ///
    /// An OT has messages `m` and `m + delta`, and its chooser has `m + r delta`. The chooser sends
    /// `d = left + r`, the other party `e = right + delta`. Then `m + d delta` and
    /// `(m + r delta) + left e` add up to `left right`.
    fn multiply_bits(&mut self, products: &[Product], wires: &mut Wires) -> Result<()> {
        let words = wires.words;
        let mut message: Vec<u64> = Vec::new();
        let mut expected = 0;
        let mut taken = Vec::new();
        for product in products {
            for chooser in [Role::Server, Role::Client] {
                let crossed = product.crossed(chooser);
                let width = crossed.len();
                if width == 0 {
                    continue;
                }
                let is_own = chooser == self.role;
                let rows = self.material.take_transfers(chooser, is_own, width, words);
                if is_own {
                    let rows = rows.chunks_exact(1 + width);
                    let left = wires.plane(product.left).iter();
                    message.extend(left.zip(rows).map(|(left, row)| left ^ row[0]));
                    expected += words * width;
                } else {
                    for (at, &right) in crossed.iter().enumerate() {
                        let rows = rows.chunks_exact(2 * width);
                        let right = wires.plane(product.rights[right]).iter();
                        message.extend(right.zip(rows).map(|(right, row)| right ^ row[width + at]));
                    }
                    expected += words;
                }
                taken.push(rows);
            }
        }
        let received = self.exchange(&message, expected)?;
        let mut received = received.chunks_exact(words.max(1));
        let mut taken = taken.into_iter();
        for product in products {
            for (&right, &out) in product.rights.iter().zip(&product.outs) {
                wires.and(out, product.left, right);
            }
            for chooser in [Role::Server, Role::Client] {
                let crossed = product.crossed(chooser);
                let width = crossed.len();
                if width == 0 {
                    continue;
                }
                let rows = taken.next().expect("as many as were taken");
                if chooser == self.role {
                    for (at, &right) in crossed.iter().enumerate() {
                        let sent = received.next().expect("as many as were expected");
                        let (left, out) = wires.pair(product.left, product.outs[right]);
                        let rows = rows.chunks_exact(1 + width);
                        for (((out, left), e), row) in out.iter_mut().zip(left).zip(sent).zip(rows)
                        {
                            *out ^= row[1 + at] ^ (left & e);
                        }
                    }
                } else {
                    let sent = received.next().expect("as many as were expected");
                    for (at, &right) in crossed.iter().enumerate() {
                        let out = wires.plane_mut(product.outs[right]);
                        let rows = rows.chunks_exact(2 * width);
                        for ((out, d), row) in out.iter_mut().zip(sent).zip(rows) {
                            *out ^= row[at] ^ (d & row[width + at]);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Converts shares of bits to shares of numbers. For a random bit `r` that is shared both ways,
    /// `v = bit + r` modulo 2 is opened. Then the bit is `v + (1 - 2 v) r`.
    fn convert(&mut self, protocol: &Protocol, wires: &Wires, count: usize) -> Result<Vec<u64>> {
        let words = wires.words;
        let output = &protocol.output;
        let mut results = vec![0u64; count];
        let mut opened: Vec<u64> = Vec::new();
        let mut random = Vec::new();
        for (place, modulus) in protocol.random_bits() {
            let Bit::Wire(wire) = output.bits[place] else {
                unreachable!("public bits need no conversion");
            };
            let bits = self.material.take_random_bits(modulus, words);
            let planes = wires.plane(wire).iter().zip(bits.bits.iter());
            opened.extend(planes.map(|(bit, random)| bit ^ random));
            random.push((place, bits.shares));
        }
        if !opened.is_empty() {
            let received = self.exchange(&opened, opened.len())?;
            for (own, others) in opened.iter_mut().zip(received) {
                *own ^= others;
            }
        }
        let is_server = self.public(1);
        for ((place, shares), opened) in random.into_iter().zip(opened.chunks(words.max(1))) {
            for (at, (result, share)) in results.iter_mut().zip(shares.iter()).enumerate() {
                let v = opened[at / 64] >> (at % 64) & 1;
                let sign = 1u64.wrapping_sub(2 * v);
                let bit = (v & is_server).wrapping_add(sign.wrapping_mul(*share));
                *result = result.wrapping_add(bit << place);
            }
        }
        for (place, &bit) in output.bits.iter().enumerate().take(output.ring as usize) {
            match bit {
                Bit::Public(true) => {
                    let constant = is_server << place;
                    results
                        .iter_mut()
                        .for_each(|r| *r = r.wrapping_add(constant));
                }
                // The highest bit of the ring is needed modulo 2, and its share is one modulo 2.
                Bit::Wire(wire) if place + 1 == output.ring as usize => {
                    let plane = wires.plane(wire);
                    for (at, result) in results.iter_mut().enumerate() {
                        let bit = plane[at / 64] >> (at % 64) & 1;
                        *result = result.wrapping_add(bit << place);
                    }
                }
                _ => {}
            }
        }
        Ok(results)
    }

    /// Reveals the result bits to the client and returns its results. The server gets zeros.
    fn reveal_bits(
        &mut self,
        protocol: &Protocol,
        wires: &Wires,
        count: usize,
    ) -> Result<Vec<u64>> {
        let words = wires.words;
        let shared: Vec<u32> = protocol.wire_bits().collect();
        let mut planes: Vec<u64> = shared
            .iter()
            .flat_map(|&wire| wires.plane(wire))
            .copied()
            .collect();
        if !shared.is_empty() && count > 0 {
            self.channel.add_rounds(1);
        }
        if self.role == Role::Server {
            self.send_words(&planes)?;
            return Ok(vec![0; count]);
        }
        let received = self.receive_words(planes.len())?;
        for (own, servers) in planes.iter_mut().zip(received) {
            *own ^= servers;
        }
        let (zeros, ones) = (vec![0; words], vec![u64::MAX; words]);
        let mut shared = planes.chunks(words.max(1));
        let bits = protocol.output.bits.iter();
        let planes: Vec<&[u64]> = bits
            .map(|bit| match bit {
                Bit::Public(false) => &zeros[..],
                Bit::Public(true) => &ones[..],
                Bit::Wire(_) => shared.next().unwrap_or_default(),
            })
            .collect();
        let results = from_planes(&planes, count).into_iter();
        let constant = protocol.output.constant;
        Ok(results.map(|r| r.wrapping_add(constant)).collect())
    }

    fn exchange(&mut self, message: &[u64], expected: usize) -> Result<Vec<u64>> {
        // The channel does not count a round if this party only sends or only receives.
        if message.is_empty() && expected == 0 {
            return Ok(Vec::new());
        }
        self.send_words(message)?;
        let received = self.receive_words(expected)?;
        self.channel
            .add_rounds(u64::from(message.is_empty() || expected == 0));
        Ok(received)
    }

    fn send_words(&mut self, words: &[u64]) -> Result<()> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.channel.send(&bytes)?;
        self.channel.flush()
    }

    fn receive_words(&mut self, count: usize) -> Result<Vec<u64>> {
        let mut bytes = vec![0; 8 * count];
        if count > 0 {
            self.channel.receive(&mut bytes)?;
        }
        let words = bytes.as_chunks::<8>().0.iter();
        Ok(words.map(|word| u64::from_le_bytes(*word)).collect())
    }
}
