//! What is before and behind each instruction, on a machine on which everything else is idle.

use super::queue::{Job, least};
use super::unit_counts;
use crate::vector::machine::Machine;
use crate::vector::work::Work;
use std::collections::BinaryHeap;

/// Instructions up to which the queues before instructions are looked at.
const FEW: usize = 1 << 17;
/// Instructions of an operation from which on queues before its results are looked at.
const LARGE: usize = 64;
/// Results of an operation before which queues are looked at.
const RESULTS: usize = 2;
/// Most instructions of a queue.
const LONGEST: usize = 1 << 12;

/// The longest chains around each instruction, all as fast as on an idle machine.
pub(super) struct Chains {
    /// For each instruction the cycles in which it occupies its units, and its latency.
    takes: Vec<(u64, u64)>,
    /// For each instruction a cycle before which its operands are not there.
    before: Vec<u64>,
    /// For each limb the cycles from the one in which it is there to the end, or nothing if it is not used.
    behind: Vec<Option<u64>>,
    /// The longest chain of instructions.
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

    /// Loads and outputs of the memory channel, and limbs that generators make.
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

    /// The same with queues: some results of each operation wait for all that they need, of which units do one after the
    /// other, and what reads them waits longer.
    pub(super) fn with_queues(mut self, machine: &Machine, work: &Work) -> Self {
        let count = self.takes.len();
        if count > FEW {
            return self;
        }
        let arrival = arrival(machine, work);
        let mut read = vec![false; count];
        for i in 0..count {
            for limb in work.operands(i).filter(|&limb| (limb as usize) < count) {
                read[limb as usize] |= work.group(limb as usize) == work.group(i);
            }
        }
        let mut queues = Queues::new(machine, count);
        let mut begin = 0;
        while begin < count {
            let end = (begin..count)
                .find(|&i| work.group(i) != work.group(begin))
                .unwrap_or(count);
            for i in begin..end {
                let there = |limb: u32| ready(&self.before, &self.takes, &arrival, limb);
                self.before[i] = work.operands(i).map(there).max().unwrap_or(0);
            }
            let mut results: Vec<usize> = match end - begin {
                LARGE.. => (begin..end).filter(|&i| !read[i]).collect(),
                _ => Vec::new(),
            };
            results.sort_by_key(|&i| std::cmp::Reverse(self.before[i]));
            for &result in results.iter().take(RESULTS) {
                let queued = queues.before(machine, work, (&self, result));
                self.before[result] = self.before[result].max(queued);
            }
            begin = end;
        }
        self
    }
}

/// For each limb from outside the first cycle in which it can be there.
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

/// The first cycle in which a limb can be there.
fn ready(before: &[u64], takes: &[(u64, u64)], arrival: &[u64], limb: u32) -> u64 {
    let limb = limb as usize;
    match takes.get(limb) {
        Some((busy, latency)) => before[limb] + busy + latency,
        None => arrival[limb - takes.len()],
    }
}

/// What an instruction waits for, and for how long it is behind.
struct Queues {
    servers: Vec<u64>,
    /// For each instruction that is found the cycles from its end to the beginning of the result; 0 for all others.
    rest: Vec<Option<u64>>,
}

impl Queues {
    fn new(machine: &Machine, instructions: usize) -> Self {
        Self {
            servers: unit_counts(machine)
                .into_iter()
                .map(|count| count as u64)
                .collect(),
            rest: vec![None; instructions],
        }
    }

    /// The first cycle in which an instruction can begin if units do what it needs one after the other.
    fn before(
        &mut self,
        machine: &Machine,
        work: &Work,
        (chains, result): (&Chains, usize),
    ) -> u64 {
        let mut jobs = vec![Vec::new(); self.servers.len()];
        // The last one first, so that all that read it are done.
        let mut open: BinaryHeap<usize> = BinaryHeap::from([result]);
        let mut found = 0;
        while let Some(next) = open.pop() {
            let (busy, _) = chains.takes[next];
            let rest = self.rest[next].take();
            let way = rest.map_or(0, |rest| rest + busy);
            if let Some(rest) = rest {
                let job = Job {
                    head: chains.before[next],
                    busy,
                    tail: rest,
                };
                machine
                    .uses(work.kind(next))
                    .iter()
                    .for_each(|&unit| jobs[unit].push(job));
            }
            for limb in work.operands(next) {
                let Some((_, latency)) = chains.takes.get(limb as usize) else {
                    continue;
                };
                let known = &mut self.rest[limb as usize];
                if known.is_none() {
                    if found == LONGEST {
                        continue;
                    }
                    found += 1;
                    open.push(limb as usize);
                }
                *known = (*known).max(Some(way + latency));
            }
        }
        let queues = jobs.into_iter().zip(&self.servers);
        queues
            .map(|(jobs, &servers)| least(jobs, servers))
            .max()
            .unwrap_or(0)
    }
}
