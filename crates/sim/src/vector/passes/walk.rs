//! The walk from results to operands: each limb of a result is completed before the next one is
//! begun.
//!
//! A trace lists operations on all limbs, step by step. A machine does better to finish one limb: a
//! key switch then keeps the limbs of a digit, and the sums of all digits for one modulus, instead
//! of all digits for all moduli. Sums that read the same limbs come together.

use crate::vector::work::Work;

/// Orders the instructions of each region by a walk from its results down to their operands.
/// Regions are successive parts of `order`. A region has whole operations of the trace's main body,
/// as many as are needed for `size` instructions.
pub(super) fn by_results(work: &Work, order: &[u32], size: usize) -> Vec<u32> {
    within(work, order, &regions(work, order, size))
}

/// Orders the instructions of each region by a walk. `regions` has the number of each instruction's
/// region.
pub(super) fn within(work: &Work, order: &[u32], regions: &[u32]) -> Vec<u32> {
    let read = read_within(work, regions);
    let mut walked: Vec<u32> = Vec::with_capacity(order.len());
    let mut done = vec![false; order.len()];
    let mut open: Vec<u32> = Vec::new();
    let of = |instruction: &u32| regions[*instruction as usize];
    for region in order.chunk_by(|a, b| of(a) == of(b)) {
        let mut results: Vec<u32> = region
            .iter()
            .copied()
            .filter(|&i| !read[i as usize])
            .collect();
        // Results of one modulus come together, because they share operands.
        results.sort_by_key(|&i| work.moduli[i as usize]);
        let own = of(&region[0]);
        for &result in &results {
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
