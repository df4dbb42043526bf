//! The longest chains before and after each instruction, on an otherwise idle machine.

use super::around::{Queues, Readers};
use super::queue::Job;
use crate::vector::machine::Machine;
use crate::vector::work::Work;

/// Largest number of instructions for which queues are looked at.
const FEW: usize = 1 << 17;
/// Smallest number of instructions of an operation for which queues around it are looked at.
pub(super) const LARGE: usize = 64;
/// For each large operation, the number of results that get a queue before them, and of first
/// instructions that get a queue after them.
const RESULTS: usize = 2;

/// The longest chains around each instruction. All instructions are as fast as on an idle machine.
pub(super) struct Chains {
    /// For each instruction, the cycles that it occupies its units, and its latency.
    pub(super) takes: Vec<(u64, u64)>,
    /// For each instruction, a lower bound on the cycle in which all its operands are available.
    pub(super) before: Vec<u64>,
    /// For each limb, a lower bound on the cycles from its availability to the end, or `None` if
    /// nothing uses the limb.
    pub(super) behind: Vec<Option<u64>>,
    /// Cycles of the longest chain of instructions.
    pub(super) longest: u64,
}

impl Chains {
    pub(super) fn new(machine: &Machine, work: &Work) -> Self {
        let n = work.n();
        let takes: Vec<(u64, u64)> = (0..work.instructions())
            .map(|i| {
                let uses = machine.uses(work.kind(i)).iter();
                let uses = uses.map(|&unit| &machine.units()[unit]);
                let busy = uses.clone().map(|unit| unit.cycles(n, work.terms(i)));
                let latency = uses.map(|unit| unit.latency).sum();
                (busy.max().unwrap_or(0), latency)
            })
            .collect();
        let arrival = arrival(machine, work);
        let mut before: Vec<u64> = Vec::with_capacity(takes.len());
        let mut longest = 0;
        for i in 0..takes.len() {
            let there = |limb: u32| ready(&before, &takes, &arrival, limb);
            before.push(work.operands(i).map(there).max().unwrap_or(0));
            longest = longest.max(before[i] + takes[i].0 + takes[i].1);
        }
        let mut behind = vec![None; work.limbs()];
        for &output in work
            .outputs()
            .iter()
            .filter(|&&limb| work.input(limb).is_none())
        {
            behind[output as usize] = Some(machine.transfer(n));
        }
        for i in (0..takes.len()).rev() {
            let chain = Some(takes[i].0 + takes[i].1 + behind[i].unwrap_or(0));
            for limb in work.operands(i) {
                let behind = &mut behind[limb as usize];
                *behind = chain.max(*behind);
            }
        }
        Self {
            takes,
            before,
            behind,
            longest,
        }
    }

    pub(super) fn job(&self, instruction: usize) -> Job {
        let (busy, latency) = self.takes[instruction];
        Job {
            head: self.before[instruction],
            busy,
            tail: latency + self.behind[instruction].unwrap_or(0),
        }
    }

    /// The jobs of the memory channel (loads and outputs), and the jobs of the generators.
    pub(super) fn transfers(&self, machine: &Machine, work: &Work) -> [Vec<Job>; 2] {
        let transfer = machine.transfer(work.n());
        let [mut memory, mut generators] = [Vec::new(), Vec::new()];
        for (place, input) in work.inputs().iter().enumerate() {
            let Some(behind) = self.behind[work.instructions() + place] else {
                continue;
            };
            let job = |busy, latency| Job {
                head: 0,
                busy,
                tail: latency + behind,
            };
            match machine.generation(work.n()) {
                Some((busy, latency)) if input.source.sampled() => {
                    generators.push(job(busy, latency))
                }
                _ => memory.push(job(transfer, machine.memory_latency())),
            }
        }
        for &output in work
            .outputs()
            .iter()
            .filter(|&&limb| work.input(limb).is_none())
        {
            let job = self.job(output as usize);
            let head = job.head + job.busy + self.takes[output as usize].1;
            memory.push(Job {
                head,
                busy: transfer,
                tail: 0,
            });
        }
        [memory, generators]
    }

    /// Raises the bounds by queues around large operations, of `large` instructions or more. Some
    /// results of such an operation wait until units, memory and generators have done all the jobs
    /// that the result needs, one after the other. Readers of the result then wait longer too.
    /// Likewise, after some first instructions of the operation, all the jobs that need their
    /// results follow one after the other.
    pub(super) fn with_queues(mut self, machine: &Machine, work: &Work, large: usize) -> Self {
        let count = self.takes.len();
        if count > FEW {
            return self;
        }
        let arrival = arrival(machine, work);
        // `read` is true if an instruction of the same operation reads the result. `reads` is true
        // if the instruction reads a result of its own operation.
        let (mut read, mut reads) = (vec![false; count], vec![false; count]);
        for (i, reads) in reads.iter_mut().enumerate() {
            for limb in work.operands(i).filter(|&limb| (limb as usize) < count) {
                let own = work.group(limb as usize) == work.group(i);
                read[limb as usize] |= own;
                *reads |= own;
            }
        }
        let mut queues = Queues::new(machine, work);
        let mut firsts = vec![false; count];
        let mut begin = 0;
        while begin < count {
            let end = (begin..count)
                .find(|&i| work.group(i) != work.group(begin))
                .unwrap_or(count);
            for i in begin..end {
                let there = |limb: u32| ready(&self.before, &self.takes, &arrival, limb);
                self.before[i] = work.operands(i).map(there).max().unwrap_or(0);
            }
            if end - begin >= large {
                let mut results: Vec<usize> = (begin..end).filter(|&i| !read[i]).collect();
                results.sort_by_key(|&i| std::cmp::Reverse(self.before[i]));
                for &result in results.iter().take(RESULTS) {
                    let queued = queues.before(machine, work, (&self, result));
                    self.before[result] = self.before[result].max(queued);
                }
                let mut first: Vec<usize> = (begin..end).filter(|&i| !reads[i]).collect();
                first.sort_by_key(|&i| std::cmp::Reverse(self.behind[i]));
                first.iter().take(RESULTS).for_each(|&i| firsts[i] = true);
            }
            begin = end;
        }
        let readers = Readers::new(work);
        for i in (0..count).rev() {
            if firsts[i] {
                let queued = queues.behind(machine, work, (&self, &readers, i));
                self.behind[i] = self.behind[i].max(Some(queued));
            }
            let chain = Some(self.takes[i].0 + self.takes[i].1 + self.behind[i].unwrap_or(0));
            for limb in work.operands(i) {
                let behind = &mut self.behind[limb as usize];
                *behind = chain.max(*behind);
            }
        }
        self
    }
}

/// For each input limb, the first cycle in which it can be available.
fn arrival(machine: &Machine, work: &Work) -> Vec<u64> {
    let loaded = machine.transfer(work.n()) + machine.memory_latency();
    let generation = machine.generation(work.n());
    let generated = generation.map_or(loaded, |(cycles, latency)| cycles + latency);
    let of = work.inputs().iter();
    of.map(|input| {
        if input.source.sampled() {
            generated
        } else {
            loaded
        }
    })
    .collect()
}

/// The first cycle in which a limb can be available.
fn ready(before: &[u64], takes: &[(u64, u64)], arrival: &[u64], limb: u32) -> u64 {
    let limb = limb as usize;
    match takes.get(limb) {
        Some((busy, latency)) => before[limb] + busy + latency,
        None => arrival[limb - takes.len()],
    }
}
