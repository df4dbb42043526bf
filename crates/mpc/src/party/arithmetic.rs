//! Arithmetic on shared numbers: products, squares, and the revealing of values.

use super::Party;
use crate::channel::Channel;
use crate::cost::{Cost, Role};
use crate::error::check_bits;
use crate::material::Needs;
use crate::slices::{mask, pack, packed_bytes, unpack};
use crate::{Error, Result};

impl<C: Channel> Party<C> {
    /// Reveals values to the client: it receives the values modulo `2^bits`, the server receives
    /// zeros.
    ///
    /// # Errors
    /// [`Error::Bits`] and [`Error::Connection`].
    pub fn reveal(&mut self, bits: u32, shares: &[u64]) -> Result<Vec<u64>> {
        check_bits("the modulus", bits, 1..=64)?;
        if shares.is_empty() {
            return Ok(Vec::new());
        }
        self.channel.add_rounds(1);
        if self.role == Role::Server {
            self.channel.send(&pack(shares.iter().copied(), bits))?;
            self.channel.flush()?;
            return Ok(vec![0; shares.len()]);
        }
        let mut bytes = vec![0; packed_bytes(shares.len(), bits)];
        self.channel.receive(&mut bytes)?;
        let servers = unpack(&bytes, shares.len(), bits).into_iter();
        let values = servers
            .zip(shares)
            .map(|(a, b)| a.wrapping_add(*b) & mask(bits));
        Ok(values.collect())
    }

    /// The cost of [`Party::reveal`] of `count` values.
    pub fn reveal_cost(bits: u32, count: usize) -> Cost {
        Cost {
            rounds: u64::from(count > 0),
            bytes_to_server: 0,
            bytes_to_client: packed_bytes(count, bits) as u64,
        }
    }

    /// Squares shared values modulo `2^bits`, with [`Squares`](crate::Squares) from the material.
    ///
    /// # Errors
    /// [`Error::Bits`], [`Error::Exhausted`] and [`Error::Connection`].
    pub fn square(&mut self, bits: u32, x: &[u64]) -> Result<Vec<u64>> {
        check_bits("the modulus", bits, 1..=64)?;
        self.material
            .check(self.role, &Needs::square(bits, x.len()))?;
        let [a, a_squared] = self.material.take_squares(bits, x.len());
        let masked: Vec<u64> = x
            .iter()
            .zip(a.iter())
            .map(|(x, a)| x.wrapping_sub(*a))
            .collect();
        let opened = self.open(bits, &masked)?;
        let is_server = self.public(1);
        let squares = opened.iter().zip(a.iter()).zip(a_squared.iter());
        // x = d + a, so x^2 = d^2 + 2 d a + a^2.
        let squares = squares.map(|((&d, &a), &a_squared)| {
            let linear = d.wrapping_mul(a).wrapping_mul(2);
            let public = d.wrapping_mul(d).wrapping_mul(is_server);
            public.wrapping_add(linear).wrapping_add(a_squared) & mask(bits)
        });
        Ok(squares.collect())
    }

    /// Multiplies shared values modulo `2^bits`, with [`Triples`](crate::Triples) from the
    /// material.
    ///
    /// # Errors
    /// [`Error::Length`] if the vectors differ in length, [`Error::Bits`], [`Error::Exhausted`] and
    /// [`Error::Connection`].
    pub fn multiply(&mut self, bits: u32, x: &[u64], y: &[u64]) -> Result<Vec<u64>> {
        check_bits("the modulus", bits, 1..=64)?;
        if x.len() != y.len() {
            return Err(Error::Length {
                what: "the second factors",
                found: y.len(),
                expected: x.len().to_string(),
            });
        }
        self.material
            .check(self.role, &Needs::multiply(bits, x.len()))?;
        let [a, b, product] = self.material.take_triples(bits, x.len());
        let masked = x.iter().zip(a.iter()).chain(y.iter().zip(b.iter()));
        let masked: Vec<u64> = masked.map(|(x, a)| x.wrapping_sub(*a)).collect();
        let opened = self.open(bits, &masked)?;
        let (d, e) = opened.split_at(x.len());
        let is_server = self.public(1);
        let products = (0..x.len()).map(|at| {
            let (d, e) = (d[at], e[at]);
            let public = d.wrapping_mul(e).wrapping_mul(is_server);
            let linear = d.wrapping_mul(b[at]).wrapping_add(e.wrapping_mul(a[at]));
            public.wrapping_add(linear).wrapping_add(product[at]) & mask(bits)
        });
        Ok(products.collect())
    }

    /// The cost of [`Party::square`] of `count` values. [`Party::multiply`] sends twice the bytes.
    pub fn square_cost(bits: u32, count: usize) -> Cost {
        open_cost(bits, count)
    }

    /// The cost of [`Party::multiply`] of `count` pairs.
    pub fn multiply_cost(bits: u32, count: usize) -> Cost {
        open_cost(bits, 2 * count)
    }

    /// Opens masked values to both parties.
    fn open(&mut self, bits: u32, shares: &[u64]) -> Result<Vec<u64>> {
        if shares.is_empty() {
            return Ok(Vec::new());
        }
        let message = pack(shares.iter().copied(), bits);
        let received = self.channel.exchange(&message, message.len())?;
        let others = unpack(&received, shares.len(), bits).into_iter();
        let values = others
            .zip(shares)
            .map(|(a, b)| a.wrapping_add(*b) & mask(bits));
        Ok(values.collect())
    }
}

fn open_cost(bits: u32, count: usize) -> Cost {
    let bytes = packed_bytes(count, bits) as u64;
    Cost {
        rounds: u64::from(count > 0),
        bytes_to_server: bytes,
        bytes_to_client: bytes,
    }
}
