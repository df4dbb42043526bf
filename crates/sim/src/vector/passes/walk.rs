//! The walk from results to operands: each limb of a result is completed before the next one is
//! begun.
//!
//! A trace lists operations on all limbs, step by step. A machine does better to finish one limb: a
//! key switch then keeps the limbs of a digit, and the sums of all digits for one modulus, instead
//! of all digits for all moduli. Sums that read the same limbs come together.
//!
//! A long sum is several instructions, each of which adds to the one before. All sums of one
//! modulus can be made part by part: the first part of each, then the second part of each. What a
//! part reads is then needed once for all sums, and only the sums so far stay. A table makes its
//! products so.

use crate::vector::work::{NONE, Work};
use std::collections::{BTreeSet, HashMap};

/// Orders the instructions of each region by a walk from its results down to their operands.
/// Regions are successive parts of `order`. A region has whole operations of the trace's main body,
/// as many as are needed for `size` instructions.
pub(super) fn by_results(work: &Work, order: &[u32], size: usize) -> Vec<u32> {
    within(work, order, &regions(work, order, size), Sums::Whole)
}

/// How the sums of a modulus follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sums {
    /// Each sum is completed before the next one is begun.
    Whole,
    /// The first part of each sum comes before the second part of any.
    Parts,
}

/// Orders the instructions of each region by a walk. `regions` has the number of each instruction's
/// region.
pub(super) fn within(work: &Work, order: &[u32], regions: &[u32], sums: Sums) -> Vec<u32> {
    let read = read_within(work, regions);
    let mut walked: Vec<u32> = Vec::with_capacity(order.len());
    let mut done = vec![false; order.len()];
    let mut open: Vec<u32> = Vec::new();
    let of = |instruction: &u32| regions[*instruction as usize];
    for region in order.chunk_by(|a, b| of(a) == of(b)) {
        let results: Vec<u32> = region
            .iter()
            .copied()
            .filter(|&i| !read[i as usize])
            .collect();
        let own = of(&region[0]);
        let inside = |i: u32| regions[i as usize] == own;
        // Results of one modulus come together, because they share operands.
        let mut sorted: Vec<(u16, usize, u32)> = match sums {
            Sums::Whole => results
                .iter()
                .map(|&i| (work.moduli[i as usize], 0, i))
                .collect(),
            Sums::Parts => with_turns(work, &results, inside),
        };
        sorted.sort_by_key(|&(modulus, turn, _)| (modulus, turn));
        if sums == Sums::Parts {
            let bases = bases(work, region, inside);
            let mut first = with_turns(work, &bases, inside);
            first.sort_by_key(|&(_, turn, _)| turn);
            sorted.splice(0..0, first);
        }
        for (_, _, result) in sorted {
            open.push(result);
            while let Some(&next) = open.last() {
                let waits = open.len();
                if !done[next as usize] {
                    let needed = |&limb: &u32| {
                        let place = limb as usize;
                        regions.get(place) == Some(&own) && !done[place]
                    };
                    open.extend(work.operands(next as usize).filter(needed));
                    open[waits..].reverse();
                }
                if open.len() == waits {
                    open.pop();
                    if !std::mem::replace(&mut done[next as usize], true) {
                        walked.push(next);
                    }
                }
            }
        }
    }
    walked
}

/// Results with the parts of their sums that lie in the same region, each with its modulus and a
/// turn. All sums make as many turns as the one of fewest parts has, of all with several.
fn with_turns(
    work: &Work,
    results: &[u32],
    inside: impl Fn(u32) -> bool + Copy,
) -> Vec<(u16, usize, u32)> {
    let parts = |result: u32| -> Vec<u32> {
        let before = |&part: &u32| Some(work.continues[part as usize]).filter(|&i| i != NONE);
        let sum = summed(work, result, inside);
        let parts = std::iter::successors(Some(sum), before).take_while(|&part| inside(part));
        let mut parts: Vec<u32> = parts.collect();
        parts.reverse();
        parts
    };
    let sums: Vec<Vec<u32>> = results.iter().map(|&result| parts(result)).collect();
    let several = sums.iter().map(Vec::len).filter(|&parts| parts > 1);
    let turns = several.min().unwrap_or(1);
    let mut all = Vec::new();
    for (parts, &result) in sums.iter().zip(results) {
        let modulus = work.moduli[result as usize];
        for (place, &part) in parts.iter().enumerate() {
            let turn = ((place + 1) * turns).div_ceil(parts.len());
            all.push((modulus, turn, part));
        }
        if parts.last() != Some(&result) {
            all.push((modulus, turns, result));
        }
    }
    all
}

/// The results of a region that it reads modulo several other primes, in their order. They are
/// needed until the last of these primes, so they come first, and together.
fn bases(work: &Work, region: &[u32], inside: impl Fn(u32) -> bool) -> Vec<u32> {
    let mut reader: HashMap<u32, u16> = HashMap::new();
    let mut bases = BTreeSet::new();
    for &i in region {
        let modulus = work.moduli[i as usize];
        for limb in work.operands(i as usize) {
            let own = work.moduli.get(limb as usize);
            if own.is_some_and(|&own| own != modulus)
                && inside(limb)
                && *reader.entry(limb).or_insert(modulus) != modulus
            {
                bases.insert(limb);
            }
        }
    }
    bases.into_iter().collect()
}

/// The sum of several parts that a result is made of, by operations on a single limb; the result
/// itself if it is no multiple of a sum.
fn summed(work: &Work, result: u32, inside: impl Fn(u32) -> bool) -> u32 {
    let mut sum = result;
    while work.continues[sum as usize] == NONE {
        let mut operands = work.operands(sum as usize);
        match (operands.next(), operands.next()) {
            (Some(only), None) if (only as usize) < work.instructions() && inside(only) => {
                sum = only;
            }
            _ => return result,
        }
    }
    sum
}

/// For each instruction, the number of its region.
fn regions(work: &Work, order: &[u32], size: usize) -> Vec<u32> {
    let mut regions = vec![0; order.len()];
    let (mut region, mut length) = (0, 0);
    let group = |instruction: &u32| work.groups[*instruction as usize];
    for operation in order.chunk_by(|a, b| group(a) == group(b)) {
        if length >= size {
            region += 1;
            length = 0;
        }
        length += operation.len();
        operation.iter().for_each(|&i| regions[i as usize] = region);
    }
    regions
}

/// For each instruction, true if its own region reads it and nothing else does.
fn read_within(work: &Work, regions: &[u32]) -> Vec<bool> {
    let mut inner = vec![false; regions.len()];
    let mut outer = vec![false; regions.len()];
    for i in 0..regions.len() {
        for limb in work.operands(i) {
            if let Some(&region) = regions.get(limb as usize) {
                let lists = if region == regions[i] {
                    &mut inner
                } else {
                    &mut outer
                };
                lists[limb as usize] = true;
            }
        }
    }
    for &output in &work.outputs {
        if let Some(outer) = outer.get_mut(output as usize) {
            *outer = true;
        }
    }
    inner
        .iter()
        .zip(outer)
        .map(|(inner, outer)| *inner && !outer)
        .collect()
}
