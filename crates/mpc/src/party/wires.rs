//! The wires of a circuit: this party's shares of their values.

use std::ops::Range;

use crate::circuit::Local;
use crate::cost::Role;

/// This party's shares: one plane of bits for each wire of a circuit.
pub(super) struct Wires {
    /// Number of words of each plane.
    pub(super) words: usize,
    planes: Vec<u64>,
}

impl Wires {
    /// Creates wires with zeros.
    pub(super) fn new(wires: usize, words: usize) -> Self {
        Self {
            words,
            planes: vec![0; wires * words],
        }
    }

    pub(super) fn plane(&self, wire: u32) -> &[u64] {
        &self.planes[wire as usize * self.words..][..self.words]
    }

    pub(super) fn plane_mut(&mut self, wire: u32) -> &mut [u64] {
        &mut self.planes[wire as usize * self.words..][..self.words]
    }

    pub(super) fn planes_mut(&mut self, wires: Range<u32>) -> &mut [u64] {
        &mut self.planes[wires.start as usize * self.words..wires.end as usize * self.words]
    }

    /// The plane of `a`, and the later plane of `out` to write to.
    pub(super) fn pair(&mut self, a: u32, out: u32) -> (&[u64], &mut [u64]) {
        let (before, after) = self.planes.split_at_mut(out as usize * self.words);
        (
            &before[a as usize * self.words..][..self.words],
            &mut after[..self.words],
        )
    }

    pub(super) fn local(&mut self, role: Role, operation: Local) {
        match operation {
            Local::Xor { out, a, b } => self.zip(out, [a, b], |x, y| x ^ y),
            Local::And { out, a, b } => self.and(out, a, b),
            Local::Not { out, a, who } => {
                let flip = if who == role { u64::MAX } else { 0 };
                let (a, out) = self.pair(a, out);
                for (out, a) in out.iter_mut().zip(a) {
                    *out = a ^ flip;
                }
            }
        }
    }

    pub(super) fn and(&mut self, out: u32, a: u32, b: u32) {
        self.zip(out, [a, b], |x, y| x & y);
    }

    fn zip(&mut self, out: u32, [a, b]: [u32; 2], of: impl Fn(u64, u64) -> u64) {
        let words = self.words;
        let (before, after) = self.planes.split_at_mut(out as usize * words);
        let a = &before[a as usize * words..][..words];
        let b = &before[b as usize * words..][..words];
        for ((out, a), b) in after[..words].iter_mut().zip(a).zip(b) {
            *out = of(*a, *b);
        }
    }
}
