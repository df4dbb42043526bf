//! Squares of random numbers from oblivious transfers: one transfer for each bit of a factor.
//!
//! The client's choices are the bits of its number `c`. In the transfer of bit `i` the server's
//! messages `m0` and `m1` become shares of `2^i c_i s`, where `s` is the server's number. The
//! server has `-2^i m0`, and its correction `s - m1 + m0` turns the client's message into `m0` or
//! `m0 + s`. The sums over all bits are shares of `c s`, and `(s + c)^2 = s^2 + c^2 + 2 s c`.
//!
//! Source: Gilboa, "Two Party RSA Key Generation", CRYPTO 1999.

use zeroize::Zeroizing;

use super::{Squares, random};
use crate::slices::{mask, pack, packed_bytes, plane_words, unpack};

/// The pool in which squares of one modulus are computed. `s c` is needed modulo half the modulus,
/// so the highest bit of a number takes no transfer.
pub(super) struct SquarePool {
    bits: u32,
    count: usize,
    /// Number of received rows of 64 transfers: for each 64 squares, one row for each bit.
    rows: usize,
    own: Zeroizing<Vec<u64>>,
    crossed: Zeroizing<Vec<u64>>,
    /// For each bit: the server's corrections, or the client's messages.
    planes: Vec<Zeroizing<Vec<u64>>>,
}

/// Number of bytes of the corrections. The correction of bit `i` is needed modulo
/// `2^(bits - 1 - i)`.
pub(super) fn correction_bytes(bits: u32, count: usize) -> usize {
    let values = 64 * plane_words(count);
    (1..bits).map(|bits| packed_bytes(values, bits)).sum()
}

impl SquarePool {
    pub(super) fn new(bits: u32, count: usize) -> Self {
        let values = 64 * plane_words(count);
        Self {
            bits,
            count,
            rows: 0,
            own: Zeroizing::new(Vec::with_capacity(values)),
            crossed: Zeroizing::new(vec![0; values]),
            planes: (1..bits)
                .map(|_| Zeroizing::new(Vec::with_capacity(values)))
                .collect(),
        }
    }

    pub(super) fn bits(&self) -> u32 {
        self.bits
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows == plane_words(self.count) * self.planes.len()
    }

    /// The plane of the next row, and the index of the row's first value.
    fn next_row(&mut self) -> (usize, usize) {
        let (block, plane) = (self.rows / self.planes.len(), self.rows % self.planes.len());
        self.rows += 1;
        (plane, 64 * block)
    }

    /// Adds the server's part of 64 transfers.
    pub(super) fn send(&mut self, messages: impl Iterator<Item = [u64; 2]>) {
        let (plane, first) = self.next_row();
        if plane == 0 {
            let modulus = mask(self.bits);
            self.own
                .extend(random::words(64).iter().map(|word| word & modulus));
        }
        for (at, [zero, one]) in messages.enumerate() {
            let correction = self.own[first + at].wrapping_sub(one).wrapping_add(zero);
            self.planes[plane].push(correction);
            let share = &mut self.crossed[first + at];
            *share = share.wrapping_sub(zero << plane);
        }
    }

    /// Adds the client's part of 64 transfers.
    pub(super) fn chosen(&mut self, choices: u64, messages: impl Iterator<Item = u64>) {
        let (plane, first) = self.next_row();
        if plane == 0 {
            self.own.extend([0; 64]);
        }
        for (at, number) in self.own[first..].iter_mut().enumerate() {
            *number |= (choices >> at & 1) << plane;
        }
        self.planes[plane].extend(messages);
    }

    /// Appends the server's corrections.
    pub(super) fn write_corrections(&self, out: &mut Vec<u8>) {
        for (plane, bits) in self.planes.iter().zip((1..self.bits).rev()) {
            out.extend(pack(plane.iter().copied(), bits));
        }
    }

    /// Reads the server's corrections, at the client. Returns their number of bytes.
    pub(super) fn correct(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        for (place, (plane, bits)) in self.planes.iter().zip((1..self.bits).rev()).enumerate() {
            let length = packed_bytes(plane.len(), bits);
            let corrections = unpack(&bytes[at..at + length], plane.len(), bits);
            at += length;
            for (value, (message, correction)) in plane.iter().zip(corrections).enumerate() {
                let bit = self.own[value] >> place & 1;
                let product = message.wrapping_add(bit.wrapping_mul(correction));
                let share = &mut self.crossed[value];
                *share = share.wrapping_add(product << place);
            }
        }
        // The highest bits need no transfer.
        let bits = random::words(self.own.len());
        for (number, bit) in self.own.iter_mut().zip(bits.iter()) {
            *number |= (bit & 1) << (self.bits - 1);
        }
        at
    }

    /// This party's shares of the squares.
    pub(super) fn finish(&self) -> Squares {
        let numbers = self.own.iter().zip(self.crossed.iter()).take(self.count);
        let square = |(a, crossed): (&u64, &u64)| {
            let twice = crossed.wrapping_mul(2);
            a.wrapping_mul(*a).wrapping_add(twice) & mask(self.bits)
        };
        Squares {
            a_squared: Zeroizing::new(numbers.map(square).collect()),
            a: Zeroizing::new(self.own[..self.count].to_vec()),
        }
    }
}
