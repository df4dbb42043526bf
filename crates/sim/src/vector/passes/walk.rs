//! Within an operation, each result is made as a whole before the next one is begun.
//!
//! A trace says what is done to all limbs, step by step. A machine does better to finish one limb: a key switch then
//! keeps the limbs of a digit, and what all digits give for one modulus, instead of all digits for all moduli.

use crate::vector::work::Work;

/// For each operation of the trace's main body, its instructions in the order of a walk from its results down to what
/// they need. Operations stay where they are.
pub(super) fn by_results(work: &Work) -> Vec<u32> {
    let mut order: Vec<u32> = Vec::with_capacity(work.instructions());
    let mut done = vec![false; work.instructions()];
    let inner = read_within(work);
    let mut results: Vec<u32> = Vec::new();
    let mut open: Vec<u32> = Vec::new();
    let mut start = 0;
    while start < work.instructions() {
        let group = work.groups[start];
        let end = start
            + work.groups[start..]
                .iter()
                .take_while(|&&other| other == group)
                .count();
        results.clear();
        results.extend((start..end).filter(|&i| !inner[i]).map(|i| i as u32));
        // All results of one modulus share what they read.
        results.sort_by_key(|&i| work.moduli[i as usize]);
        for &result in &results {
            open.push(result);
            while let Some(&next) = open.last() {
                let waits = open.len();
                if !done[next as usize] {
                    let own = |limb: &u32| {
                        (start..end).contains(&(*limb as usize)) && !done[*limb as usize]
                    };
                    open.extend(work.operands(next as usize).filter(own));
                    open[waits..].reverse();
                }
                if open.len() == waits {
                    open.pop();
                    if !std::mem::replace(&mut done[next as usize], true) {
                        order.push(next);
                    }
                }
            }
        }
        start = end;
    }
    order
}

/// For each instruction whether only its own operation reads it.
fn read_within(work: &Work) -> Vec<bool> {
    let mut inner = vec![false; work.instructions()];
    let mut outer = vec![false; work.instructions()];
    for i in 0..work.instructions() {
        for limb in work.operands(i) {
            if let Some(&group) = work.groups.get(limb as usize) {
                let lists = if group == work.groups[i] {
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
