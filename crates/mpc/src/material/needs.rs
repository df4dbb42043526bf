//! Needs: the amounts of material that protocols use up.

use std::collections::BTreeMap;
use std::ops::{Add, AddAssign};

use super::store::stride;
use super::{squares, transfers};
use crate::cost::{Cost, Role};
use crate::slices::{packed_bytes, plane_words};

/// Amounts of material of each kind. Adding needs gives the needs of several calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Number of words of 64 random OTs, by the party that chooses, and then by the bits of a
    /// message.
    pub(crate) transfers: [BTreeMap<usize, usize>; 2],
    /// Number of words of 64 random bits, by the bits of the modulus.
    pub(crate) random_bits: BTreeMap<u32, usize>,
    /// Number of squares, by the bits of the modulus. The caller adds them to
    /// [`Material`](super::Material).
    squares: BTreeMap<u32, usize>,
    /// Number of triples, by the bits of the modulus. The caller adds them to
    /// [`Material`](super::Material).
    triples: BTreeMap<u32, usize>,
    /// Number of squares from oblivious transfers, by the bits of the modulus.
    pub(crate) made_squares: BTreeMap<u32, usize>,
}

impl Needs {
    /// The needs of [`Party::square`](crate::Party::square) of `count` values modulo `2^bits`.
    pub fn square(bits: u32, count: usize) -> Self {
        let squares = BTreeMap::from([(bits, count)]);
        Self {
            squares,
            ..Self::default()
        }
    }

    /// The needs of `count` squares of numbers modulo `2^bits` that
    /// [`preprocess`](super::preprocess) computes by oblivious transfers, `bits - 1` for each, and
    /// adds to the material. `bits` is 2 to 64.
    pub fn make_squares(bits: u32, count: usize) -> Self {
        let made_squares = BTreeMap::from([(bits, count)]);
        Self {
            made_squares,
            ..Self::default()
        }
    }

    /// The needs of [`Party::multiply`](crate::Party::multiply) of `count` pairs modulo `2^bits`.
    pub fn multiply(bits: u32, count: usize) -> Self {
        let triples = BTreeMap::from([(bits, count)]);
        Self {
            triples,
            ..Self::default()
        }
    }

    /// The needs of `calls` calls.
    pub fn times(&self, calls: usize) -> Self {
        fn scaled<K: Ord + Copy>(of: &BTreeMap<K, usize>, calls: usize) -> BTreeMap<K, usize> {
            let all = of.iter();
            all.map(|(&key, count)| (key, count.saturating_mul(calls)))
                .collect()
        }
        Self {
            transfers: [0, 1].map(|chooser| scaled(&self.transfers[chooser], calls)),
            random_bits: scaled(&self.random_bits, calls),
            squares: scaled(&self.squares, calls),
            triples: scaled(&self.triples, calls),
            made_squares: scaled(&self.made_squares, calls),
        }
    }

    /// Size of the material in bytes, at the party that has more of it.
    pub fn memory(&self) -> u64 {
        let words = |role: usize| {
            let transfers = [0, 1].into_iter().flat_map(|chooser| {
                let rows = self.transfers[chooser].iter();
                rows.map(move |(&width, &words)| {
                    words.saturating_mul(stride(chooser == role, width))
                })
            });
            let bits = self
                .random_bits
                .values()
                .map(|words| words.saturating_mul(65));
            let squares = self.squares.values().map(|count| count.saturating_mul(2));
            let triples = self.triples.values().map(|count| count.saturating_mul(3));
            let all = transfers.chain(bits).chain(squares).chain(triples);
            all.fold(0u64, |sum, words| sum.saturating_add(words as u64))
        };
        words(0).max(words(1)).saturating_mul(8)
    }

    /// Number of random OTs, of both directions together.
    pub fn oblivious_transfers(&self) -> usize {
        self.counts().iter().sum()
    }

    /// Number of squares that the caller must add, by the bits of their modulus.
    pub fn squares(&self) -> &BTreeMap<u32, usize> {
        &self.squares
    }

    /// Number of triples that the caller must add, by the bits of their modulus.
    pub fn triples(&self) -> &BTreeMap<u32, usize> {
        &self.triples
    }

    /// The cost of [`preprocess`](super::preprocess) for these needs.
    pub fn cost(&self) -> Cost {
        transfers::cost(self)
    }

    pub(crate) fn add_transfers(&mut self, chooser: Role, width: usize, words: usize) {
        if words > 0 {
            *self.transfers[index(chooser)].entry(width).or_default() += words;
        }
    }

    pub(crate) fn add_random_bits(&mut self, bits: u32, words: usize) {
        if words > 0 {
            *self.random_bits.entry(bits).or_default() += words;
        }
    }

    /// Number of random OTs in which the server chooses, and in which the client chooses. A random
    /// bit takes one in which the client chooses, a square one for each bit of a factor but the
    /// highest.
    pub(crate) fn counts(&self) -> [usize; 2] {
        let [server, client] = &self.transfers;
        let bits: usize = self.random_bits.values().sum();
        let squares = self.made_squares.iter();
        let squares: usize = squares
            .map(|(&bits, &count)| plane_words(count) * (bits as usize - 1))
            .sum();
        [
            64 * server.values().sum::<usize>(),
            64 * (client.values().sum::<usize>() + bits + squares),
        ]
    }

    /// Number of bytes of the server's corrections, which turn random OTs into random bits and
    /// squares.
    pub(crate) fn correction_bytes(&self) -> usize {
        let bits = self.random_bits.iter();
        let bits = bits.map(|(&bits, &words)| packed_bytes(64 * words, bits - 1));
        let squares = self.made_squares.iter();
        let squares = squares.map(|(&bits, &count)| squares::correction_bytes(bits, count));
        bits.chain(squares).sum()
    }

    /// A hash of the needs, by which parties compare them.
    pub(crate) fn digest(&self) -> u64 {
        // FNV-1a detects mistakes, not attacks.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in format!("{self:?}").bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        hash
    }
}

pub(crate) fn index(role: Role) -> usize {
    match role {
        Role::Server => 0,
        Role::Client => 1,
    }
}

impl AddAssign<&Needs> for Needs {
    fn add_assign(&mut self, other: &Self) {
        fn merge<K: Ord + Copy>(into: &mut BTreeMap<K, usize>, from: &BTreeMap<K, usize>) {
            for (&key, count) in from {
                *into.entry(key).or_default() += count;
            }
        }
        for (into, from) in self.transfers.iter_mut().zip(&other.transfers) {
            merge(into, from);
        }
        merge(&mut self.random_bits, &other.random_bits);
        merge(&mut self.squares, &other.squares);
        merge(&mut self.triples, &other.triples);
        merge(&mut self.made_squares, &other.made_squares);
    }
}

impl Add for Needs {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += &other;
        self
    }
}
