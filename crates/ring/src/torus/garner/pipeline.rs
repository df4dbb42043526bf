//! A product as passes through a pipeline of elements, each with one stage of a transform.
//!
//! A *pass* multiplies one limb of the digits with one limb of the words modulo one prime. The
//! elements of a pass are two twists, `log2(N/2)` stages for each operand, the product of the
//! values, as many stages of the inverse, and an element that gathers the passes of a product. With
//! `N = 2048` these are `4 + 3 x 10 = 34` elements. ATHENA's table IV prints 34 for its FFT
//! multiplier, whose kernels are not published. This structure is therefore *inferred* from that
//! number and from the paper's figures 3 to 5. Three transforms of 11 stages, of `N` points, and
//! one more element would be 34 too.
//!
//! The words of a pass are exact when they are rounded, by the bound of [`Garner`]. The paper's
//! algorithm 2 has three passes, one for each prime, and is [not exact](super::published).

use super::{Garner, PRIMES};
use crate::torus::single::{Complex, mul_add};
use crate::torus::wavefront::Instruction::{self, Float, Load, MultiplyAccumulate, Narrow, Store};
use crate::torus::wavefront::{ACCUMULATORS, Issue, LANES, Section};

/// The place of an element in the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Takes the digits of a product, and twists a limb of them for each pass.
    Digits,
    /// Takes the words of a product, and twists a limb of them for each pass.
    Words,
    /// A stage of the transform.
    Forward(u32),
    /// The product of the values of both operands.
    Multiply,
    /// A stage of the inverse transform.
    Inverse(u32),
    /// Undoes the twist, rounds, and adds the passes of a product.
    Gather,
}

/// The limbs and the prime of a pass.
struct Pass {
    prime: usize,
    digit: usize,
    word: usize,
}

/// Number of stages of a transform.
pub fn stages(n: usize) -> u32 {
    (n / 2).ilog2()
}

/// Number of elements of a pipeline: 34 for `N = 2048`.
pub fn elements(n: usize) -> usize {
    4 + 3 * stages(n) as usize
}

impl Role {
    /// Bytes of local memory of the element, for polynomials of `n` coefficients.
    ///
    /// The last stage of the inverse holds the roots of the twist for the element after it, which
    /// reads the memory of its neighbour.
    pub fn memory(self, n: usize) -> usize {
        let (words, values, twists, roots) = (4 * n, 4 * n, 4 * n, 2 * n);
        match self {
            Self::Digits | Self::Words => words + values + twists,
            Self::Forward(_) => values + roots,
            Self::Inverse(stage) if stage + 1 == stages(n) => values + roots + twists,
            Self::Inverse(_) => values + roots,
            Self::Multiply => 2 * values,
            Self::Gather => values + PRIMES * words,
        }
    }

    /// The instructions of a pass as sections. A vector of [`LANES`] lanes holds half as many
    /// complex numbers.
    ///
    /// Four vectors are computed at a time, as in the direct multiplier. The butterflies are those
    /// of the transform. The numbers of instructions for the limbs, the reduction modulo a prime
    /// and Garner's algorithm are *inferred*.
    pub fn sections(self, n: usize, last: bool) -> Vec<Section> {
        let values = n / LANES;
        let butterflies = (n / 2 / LANES).max(1);
        match self {
            Self::Digits | Self::Words => vec![section(twist(), values)],
            Self::Forward(_) => vec![section(forward(), butterflies)],
            Self::Inverse(_) => vec![section(inverse(), butterflies)],
            Self::Multiply => vec![section(product(), values)],
            Self::Gather => {
                let mut sections = vec![section(gather(), values)];
                if last {
                    sections.push(section(combine(), n / LANES));
                }
                sections
            }
        }
    }
}

impl Garner {
    /// Number of passes of a product of one row: one for each prime and each pair of limbs.
    pub fn passes(&self) -> usize {
        PRIMES * self.digit_limbs.count * self.word_limbs.count
    }

    fn pass(&self, index: usize) -> Pass {
        let words = self.word_limbs.count;
        let pairs = self.digit_limbs.count * words;
        Pass {
            prime: index / pairs,
            digit: index % pairs / words,
            word: index % words,
        }
    }

    /// The digits' limb of a pass, twisted.
    pub fn twist_digits(&self, pass: usize, out: &mut [Complex], digits: &[u32]) {
        let limb = self.pass(pass).digit;
        let get = |i: usize| self.digit_limbs.get((digits[i] as i32).into(), limb);
        self.transform.twist(out, get);
    }

    /// The words' limb of a pass modulo its prime, twisted.
    pub fn twist_words(&self, pass: usize, out: &mut [Complex], words: &[u32]) {
        let Pass { prime, word, .. } = self.pass(pass);
        let p = self.residues.moduli()[prime];
        let centred = |i: usize| p.center(p.from_i64((words[i] as i32).into()));
        self.transform
            .twist(out, |i| self.word_limbs.get(centred(i), word));
    }

    /// A stage of the transform.
    pub fn forward_stage(&self, stage: u32, values: &mut [Complex]) {
        self.transform.forward_stage(values, stage);
    }

    /// A stage of the inverse transform.
    pub fn inverse_stage(&self, stage: u32, values: &mut [Complex]) {
        self.transform.inverse_stage(values, stage);
    }

    /// `out = x y`, place by place.
    pub fn multiply_values(out: &mut [Complex], x: &[Complex], y: &[Complex]) {
        out.fill([0.0; 2]);
        mul_add(out, x, y);
    }

    /// Undoes the twist of `values`, rounds, and adds the result of a pass to `residues`: `N`
    /// residues for each prime.
    pub fn gather(&self, pass: usize, values: &mut [Complex], residues: &mut [u32]) {
        let Pass { prime, digit, word } = self.pass(pass);
        let p = self.residues.moduli()[prime];
        let weight = self.digit_limbs.bits * digit as u32 + self.word_limbs.bits * word as u32;
        self.transform.untwist(values);
        let (low, high) = residues[prime * self.n..][..self.n].split_at_mut(self.n / 2);
        for ((low, high), value) in low.iter_mut().zip(high).zip(values.iter()) {
            for (residue, value) in [(low, value[0]), (high, value[1])] {
                let added = p.from_i64((value.round() as i64) << weight);
                *residue = p.add(u64::from(*residue), added) as u32;
            }
        }
    }

    /// The words of the product that has these residues.
    pub fn combine(&self, residues: &[u32]) -> Vec<u32> {
        let residue = |i: usize, k: usize| u64::from(residues[k * self.n + i]);
        (0..self.n)
            .map(|i| self.residues.centred(|k| residue(i, k)) as u32)
            .collect()
    }
}

/// The instructions of `vectors` vectors, of which as many are computed at a time as in the direct
/// multiplier. The latency of one vector thus overlaps with the others.
fn section(one: Vec<Issue>, vectors: usize) -> Section {
    let together = vectors.min(ACCUMULATORS);
    let shifted = |vector: usize| {
        let first = vector * one.len();
        one.iter().map(move |issue| Issue {
            instruction: issue.instruction,
            needs: issue.needs.iter().map(|i| i + first).collect(),
            not_before: Vec::new(),
        })
    };
    Section {
        issues: (0..together).flat_map(shifted).collect(),
        times: vectors.div_ceil(together),
    }
}

/// Lists instructions, each with those whose results it reads.
fn issues<const COUNT: usize>(list: [(Instruction, &[usize]); COUNT]) -> Vec<Issue> {
    let issue = |(instruction, needs): (Instruction, &[usize])| Issue {
        instruction,
        needs: needs.to_vec(),
        not_before: Vec::new(),
    };
    list.into_iter().map(issue).collect()
}

/// Four butterflies: the sum, and the difference times a root, which is two products of vectors.
fn forward() -> Vec<Issue> {
    issues([
        (Load, &[]),
        (Load, &[]),
        (Load, &[]),
        (Float, &[0, 1]),
        (Float, &[0, 1]),
        (Float, &[3, 2]),
        (Float, &[5]),
        (Store, &[4]),
        (Store, &[6]),
    ])
}

/// Four butterflies: one value times a root, then the sum and the difference.
fn inverse() -> Vec<Issue> {
    issues([
        (Load, &[]),
        (Load, &[]),
        (Load, &[]),
        (Float, &[1, 2]),
        (Float, &[3]),
        (Float, &[0, 4]),
        (Float, &[0, 4]),
        (Store, &[5]),
        (Store, &[6]),
    ])
}

/// Four products of complex numbers.
fn product() -> Vec<Issue> {
    issues([
        (Load, &[]),
        (Load, &[]),
        (Float, &[0, 1]),
        (Float, &[2]),
        (Store, &[3]),
    ])
}

/// Eight words modulo a prime (a quotient, its product, a difference), their limb, and four
/// products with roots.
fn twist() -> Vec<Issue> {
    issues([
        (Load, &[]),
        (Load, &[]),
        (MultiplyAccumulate, &[0]),
        (MultiplyAccumulate, &[2]),
        (MultiplyAccumulate, &[3]),
        (Narrow, &[4]),
        (Float, &[5, 1]),
        (Float, &[6]),
        (Store, &[7]),
    ])
}

/// Four products with roots, eight integers, their residues added to those before.
fn gather() -> Vec<Issue> {
    issues([
        (Load, &[]),
        (Load, &[]),
        (Load, &[]),
        (Float, &[0, 1]),
        (Float, &[3]),
        (Narrow, &[4]),
        (MultiplyAccumulate, &[5, 2]),
        (MultiplyAccumulate, &[6]),
        (MultiplyAccumulate, &[7]),
        (Narrow, &[8]),
        (Store, &[9]),
    ])
}

/// Garner's algorithm on eight words: three products modulo a prime, and the sum.
fn combine() -> Vec<Issue> {
    let mut list = issues([(Load, &[]), (Load, &[]), (Load, &[])]);
    for _step in 0..3 * 3 + 2 {
        list.push(Issue {
            instruction: MultiplyAccumulate,
            needs: vec![list.len() - 1],
            not_before: Vec::new(),
        });
    }
    for instruction in [Narrow, Store] {
        list.push(Issue {
            instruction,
            needs: vec![list.len() - 1],
            not_before: Vec::new(),
        });
    }
    list
}

#[cfg(test)]
mod tests;
